package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/config"
)

// The collector of a server runs when the heap has grown by half of what is in use,
// and by 24 MB at the least. A proxy holds little and lets much pass: by the defaults
// of Go it would be collected for every few megabytes. Above 50 MB in use it is
// collected earlier than by them, since bodies in flight should not count twice.
//
// What that leaves behind a burst is given back once little passes: by itself Go would
// keep it for minutes.
const (
	growth  = 50 // percent, of what is in use and of reserve
	reserve = 48 << 20

	quietFor  = 4 * time.Second // that little must pass for
	littlePer = 6 << 20         // bytes that are allocated in that time
	worth     = 8 << 20         // bytes to be given back
	// again is after how many such times more may be given back: sessions that nobody
	// uses have left memory then.
	again = 11
)

// steady has the collector run so, until the end is called. Whoever sets GOGC or
// GOMEMLIMIT has their own way.
func steady(environ config.Environ) (end func()) {
	if environ.Get("GOGC") != "" || environ.Get("GOMEMLIMIT") != "" {
		return func() {}
	}
	// It counts as in use. Nobody writes to it, so that it takes no memory.
	held := make([]byte, reserve)
	before := debug.SetGCPercent(growth)
	stop := make(chan struct{})
	var giving sync.WaitGroup
	giving.Go(func() { giveBack(stop) })
	return func() {
		close(stop)
		giving.Wait()
		debug.SetGCPercent(before)
		runtime.KeepAlive(held)
	}
}

// giveBack gives memory back to the system when it is worth it, until stop is closed.
func giveBack(stop <-chan struct{}) {
	look := time.NewTicker(quietFor)
	defer look.Stop()
	var b burst
	for {
		select {
		case <-stop:
			return
		case <-look.C:
		}
		if b.over(heapNow()) {
			runtime.GC() // buffers in pools outlast one collection
			debug.FreeOSMemory()
			b.given(heapNow())
		}
	}
}

// heap is what was allocated since the start, and what of the system's memory the heap
// has.
type heap struct{ allocated, has uint64 }

func heapNow() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	h := heap{allocated: samples[0].Value.Uint64()}
	for _, s := range samples[1:] {
		h.has += s.Value.Uint64()
	}
	return h
}

// burst follows a heap through time.
type burst struct {
	last heap
	kept uint64 // what was left when memory was given back last
	wait int    // quiet looks until more may be; 0: nothing is waited for
}

// over reports whether little has passed since the last look, and the heap has more than
// was left when it gave back last, or may have less use for that now.
func (b *burst) over(now heap) bool {
	quiet := now.allocated-b.last.allocated < littlePer
	b.last = now
	if !quiet || now.has <= b.kept+worth && b.wait == 0 {
		return false
	}
	if now.has > b.kept+worth {
		b.wait = again + 1
		return true
	}
	b.wait--
	return b.wait == 0
}

// given notes what is left now. Where that is much less, there may be more to come.
func (b *burst) given(now heap) {
	if now.has+worth < b.last.has {
		b.wait = again + 1
	}
	b.last, b.kept = now, now.has
}
