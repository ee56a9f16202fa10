package survival

import (
	"context"

	"github.com/holdfast-dev/holdfast"
)

// Product starts what is measured.
type Product interface {
	// Start runs a proxy with a store of its own on a free port of loopback, in
	// front of the base URL of each protocol, as the provider's SDK takes it.
	// extractor is the base URL, for Chat, of the model that reads the sessions; "":
	// none does.
	Start(ctx context.Context, upstreams map[holdfast.Protocol]string, extractor string, without Ablation) (Proxy, error)
}

// Proxy is one running proxy. Its methods are safe for concurrent use.
type Proxy interface {
	Base() string
	// Stop ends it in order and waits: what it knows is written.
	Stop()
	// Kill ends it at once: what was not durable is lost.
	Kill()
	// Next starts another proxy over the same store, after this one or beside it.
	Next(ctx context.Context) (Proxy, error)
}

// Ablation is a safeguard that is switched off, to see which figure needs it.
type Ablation string

// The ablations. The zero value is the whole product.
const (
	Whole          Ablation = ""
	NoGrounding    Ablation = "no grounding"      // what harnesses write counts as the user's words
	NoSupersession Ablation = "no supersession"   // an answer that was replaced stays in force
	NoBarrier      Ablation = "no barrier"        // nothing waits at a compaction
	NoRevision     Ablation = "no revision check" // the store takes what comes last, and tells nobody that it is ahead
)

// Ablations lists them.
func Ablations() []Ablation {
	return []Ablation{NoGrounding, NoSupersession, NoBarrier, NoRevision}
}
