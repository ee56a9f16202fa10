package main

import (
	"runtime"
	"runtime/debug"

	"github.com/holdfast-dev/holdfast/config"
)

// The collector of a server runs when the heap has grown by half of what is in use,
// and by 24 MB at the least. A proxy holds little and lets much pass: by the defaults
// of Go it would be collected for every few megabytes. Above 50 MB in use it is
// collected earlier than by them, since bodies in flight should not count twice.
const (
	growth  = 50 // percent, of what is in use and of reserve
	reserve = 48 << 20
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
	return func() {
		debug.SetGCPercent(before)
		runtime.KeepAlive(held)
	}
}
