package proxy

import (
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
)

// maxKnown bounds the elements of all histories that are remembered, of 16 bytes
// each. What is forgotten is scanned again.
const maxKnown = 128 << 10

// histories remember the elements of histories by length and hash. An agent sends
// its history again with every request: an element that stands where one of these
// bytes stood before ends where that ended, and need not be scanned. Safe for
// concurrent use.
type histories struct {
	mu    sync.Mutex
	known map[opening][]sighted
	held  int
}

// opening is what a history begins with: the hash of its first element.
type opening struct {
	principal holdfast.Principal
	sum       uint64
}

// sighted is an element; its length is 0 when it cannot be known again.
type sighted struct {
	length int
	sum    uint64
}

func newHistories() *histories { return &histories{known: map[opening][]sighted{}} }

func (h *histories) of(o opening) []sighted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[o]
}

func (h *histories) put(o opening, list []sighted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held += len(list) - len(h.known[o])
	if h.held > maxKnown {
		clear(h.known)
		h.held = len(list)
	}
	h.known[o] = list
}

// rescan is one scan of a history of which much may be known. It is not for
// concurrent use.
type rescan struct {
	h       *histories
	body    []byte
	opening opening
	first   int // where the history begins
	before  []sighted
	now     []sighted
}

func (h *histories) rescan(p holdfast.Principal, body []byte) *rescan {
	return &rescan{h: h, body: body, opening: opening{principal: p}}
}

// known returns where the next element ends, which begins at a position; 0 when it
// was not seen before.
func (r *rescan) known(at int) (end int) {
	i := len(r.now)
	r.now = append(r.now, sighted{})
	switch i {
	case 0:
		r.first = at
		return 0
	case 1:
		// With what stands between the two: where the first ends is not told.
		r.opening.sum = engine.SumOf(r.body[r.first:at])
		r.before = r.h.of(r.opening)
		r.now = slices.Grow(r.now, len(r.before)+1) // a turn adds two to what was there
	}
	if i >= len(r.before) {
		return 0
	}
	was := r.before[i]
	end = at + was.length
	if was.length == 0 || end > len(r.body) || engine.SumOf(r.body[at:end]) != was.sum {
		return 0
	}
	r.now[i] = was
	return end
}

// sums are the hashes of all elements, once the scan has found them. They are
// remembered for the next one.
func (r *rescan) sums(elements []holdfast.Span) []uint64 {
	if len(r.now) != len(elements) {
		return nil // no list, or several of them
	}
	sums := make([]uint64, len(elements))
	for i, s := range elements {
		if r.now[i].length == 0 {
			r.now[i].sum = engine.SumOf(s.Of(r.body))
			// Only an object tells by its own bytes where it ends.
			if r.body[s.Start] == '{' {
				r.now[i].length = s.End - s.Start
			}
		}
		sums[i] = r.now[i].sum
	}
	if len(elements) > 1 {
		r.h.put(r.opening, r.now)
	}
	return sums
}
