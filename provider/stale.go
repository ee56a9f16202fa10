package provider

import (
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast"
)

// stale knows of conversations, by the cache key of their calls, in how many of their
// first events the provider takes no reasoning back. What it takes is always at the end:
// it was made behind all that stands there now.
type stale struct {
	mu     sync.Mutex
	events map[string]int
}

// without is a call without that reasoning. A conversation that has become shorter was
// compacted: its events are others now, of which nothing is known.
func (s *stale) without(call holdfast.Call) holdfast.Call {
	s.mu.Lock()
	n := s.events[call.CacheKey]
	if n > len(call.Events) {
		delete(s.events, call.CacheKey)
		n = 0
	}
	s.mu.Unlock()
	if n > 0 {
		call.Events = append(slices.DeleteFunc(slices.Clone(call.Events[:n]), isReasoning), call.Events[n:]...)
	}
	return call
}

// grows notes that none of the reasoning that was sent with a call is taken back; false
// when there was none.
func (s *stale) grows(call holdfast.Call) bool {
	if !slices.ContainsFunc(s.without(call).Events, isReasoning) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events == nil {
		s.events = map[string]int{}
	}
	s.events[call.CacheKey] = len(call.Events)
	return true
}

func isReasoning(e holdfast.Event) bool {
	_, ok := e.(holdfast.Reasoning)
	return ok
}
