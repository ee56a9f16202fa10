package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func cpuSupported() error { return nil }

// cpuTime is what all threads of a process have used, the ended ones too, in
// user and kernel mode.
func cpuTime(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3): the complement of the pid, and 2 for the
	// scheduler's own count, which is exact to the nanosecond.
	const scheduler = 2
	clock := int32(^pid<<3 | scheduler)
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// memoryOf is the resident memory of a process in bytes, now and at its peak.
func memoryOf(pid int) (now, peak int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	if now, err = kilobytes(raw, "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = kilobytes(raw, "VmHWM:")
	return now, peak, err
}

// kilobytes reads the line "NAME  N kB" of a status file, in bytes.
func kilobytes(status []byte, name string) (int64, error) {
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == name && string(fields[2]) == "kB" {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			return n << 10, nil
		}
	}
	return 0, fmt.Errorf("the kernel tells no %s", name)
}
