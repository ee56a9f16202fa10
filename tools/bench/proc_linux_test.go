package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestCPUTimeIsThatOfTheWholeProcess(t *testing.T) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	// What is burnt on another thread counts, too.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for start := used(); used()-start < 100*time.Millisecond; {
		}
	}()
	<-done
	before := used()
	got, err := cpuTime(os.Getpid())
	after := used()
	const tick = 10 * time.Millisecond // of the kernel's own accounting
	if err != nil || got < before-tick || got > after+tick {
		t.Errorf("%v, %v; want %v to %v", got, err, before, after)
	}
}

func TestMemoryOfThisProcess(t *testing.T) {
	now, peak, err := memoryOf(os.Getpid())
	if err != nil || now < 1<<20 || peak < now {
		t.Errorf("%d now, %d at its peak, %v", now, peak, err)
	}
	if _, _, err := memoryOf(-1); err == nil {
		t.Error("a process that does not exist has memory")
	}
}

func TestKilobytes(t *testing.T) {
	status := []byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSSX:\t 1 kB\nVmRSS:\t    1024 kB\nThreads:\t7\n")
	for _, c := range []struct {
		name string
		want int64
		ok   bool
	}{
		{"VmRSS:", 1 << 20, true}, {"VmHWM:", 2 << 20, true}, {"Threads:", 0, false}, {"VmSwap:", 0, false},
	} {
		if got, err := kilobytes(status, c.name); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s %d, %v", c.name, got, err)
		}
	}
}
