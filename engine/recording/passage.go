package recording

import (
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Passage is a piece of a branch's history, or an answer, that may hold what is
// not recorded yet. It is not changed once it was given to Put.
type Passage struct {
	At time.Time // of the request, or of the end of the answer
	// Epoch is the branch's epoch. Anchors of it that stand before the first
	// element are counted in From; Before is the last of them.
	Epoch  int
	From   int
	Before holdfast.Digest
	// Elements begin with the last anchor that was known before, or, with Whole,
	// with the epoch.
	Elements []Element
	Whole    bool
	// Read reads an element; not needed where all have their events.
	Read func(element []byte) ([]holdfast.Event, error)
	// Summary is the digest of the summary that opens the epoch; zero in a part of
	// it, and where no compaction was before. Model wrote it, and Told is the
	// capsule that went with it; both may be empty.
	Summary holdfast.Digest
	Model   string
	Told    holdfast.Capsule
	// Parted are the anchors, from the beginning of epoch PartedIn on, of a branch that
	// was forked in that one: it holds no more of its parent.
	Parted   []holdfast.Digest
	PartedIn int
	// Asks says that the request asks for a summary: only results that come first
	// are new then.
	Asks bool
	// Answer says that it is one.
	Answer bool
	// Capsule is the branch's capsule, of a history as it was before it.
	Capsule holdfast.Capsule

	missed bool // something before it was dropped
}

// Element is one element of a history, or all of an answer.
type Element struct {
	Raw     []byte
	Events  []holdfast.Event // where it was read already: Raw is not looked at
	Anchors []holdfast.Digest
}

// size is about how many bytes the passage holds.
func (p *Passage) size() int {
	n := 256 + len(holdfast.Digest{})*len(p.Parted)
	for _, el := range p.Elements {
		n += 128 + len(el.Raw) + len(holdfast.Digest{})*len(el.Anchors)
		for _, e := range el.Events {
			switch e := e.(type) {
			case holdfast.AssistantMessage:
				n += len(e.Text)
			case holdfast.Reasoning:
				n += len(e.Text) + len(e.Opaque)
			case holdfast.ToolCall:
				n += len(e.Arguments)
			}
		}
	}
	return n
}
