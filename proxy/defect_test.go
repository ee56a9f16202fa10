package proxy_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/proxy"
)

// begin is a coordinator as a function.
type begin func(ctx context.Context, codec engine.Codec, in engine.Inbound) *engine.Attempt

func (f begin) Begin(ctx context.Context, codec engine.Codec, in engine.Inbound) *engine.Attempt {
	return f(ctx, codec, in)
}

// brittle is a codec that panics after some elements.
type brittle struct {
	engine.Codec
	left *atomic.Int32
}

func (b brittle) Decode(element []byte, wanted func(string) bool) ([]holdfast.Event, error) {
	if b.left.Add(-1) == 0 {
		panic("defect near the words of the user: " + string(element))
	}
	return b.Codec.Decode(element, wanted)
}

func TestADefectInsideLeavesTheTrafficAsItWas(t *testing.T) {
	decodes := func(n int32) func(proxy.Coordinator) proxy.Coordinator {
		left := &atomic.Int32{}
		left.Store(n)
		return func(next proxy.Coordinator) proxy.Coordinator {
			return begin(func(ctx context.Context, codec engine.Codec, in engine.Inbound) *engine.Attempt {
				return next.Begin(ctx, brittle{codec, left}, in)
			})
		}
	}
	inserts := func(at int) func(proxy.Coordinator) proxy.Coordinator {
		return func(proxy.Coordinator) proxy.Coordinator {
			return begin(func(context.Context, engine.Codec, engine.Inbound) *engine.Attempt {
				return &engine.Attempt{Insert: &engine.Insertion{At: at, Text: "block"}}
			})
		}
	}
	says := claudeSays("They worked.")
	for _, c := range []struct {
		name   string
		wrap   func(proxy.Coordinator) proxy.Coordinator
		panics float64
		unread float64
	}{
		{"the coordinator panics", func(proxy.Coordinator) proxy.Coordinator {
			return begin(func(_ context.Context, _ engine.Codec, in engine.Inbound) *engine.Attempt {
				panic("defect near the words of the user: " + string(in.Body))
			})
		}, 1, 0},
		{"the codec panics before the session is known", decodes(1), 1, 0},
		{"the codec panics while the session is held", decodes(3), 1, 0},
		{"the block has no place", inserts(1 << 30), 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{wrap: c.wrap}, respondWith(says))
			if got := s.post("/v1/messages", claudeHeader("s"), claudeCompact()); got.status != 200 || got.body != says {
				t.Errorf("the client got %d %s", got.status, got.body)
			}
			if calls := s.seen(); len(calls) != 1 || string(calls[0].body) != claudeCompact() {
				t.Errorf("the upstream got %d calls, the first with %s", len(calls), calls[0].body)
			}
			if n := s.sum("holdfast_panics_total"); n != c.panics {
				t.Errorf("%v defects counted, want %v", n, c.panics)
			}
			if n := s.metric("holdfast_unread_total", "insert"); n != c.unread {
				t.Errorf("%v insertions failed, want %v", n, c.unread)
			}
			if log := s.log.String(); strings.Contains(log, "words of the user") || strings.Contains(log, "Parquet") {
				t.Errorf("the log holds content: %s", log)
			}
		})
	}
}

func TestASessionGoesOnAfterADefect(t *testing.T) {
	left := &atomic.Int32{}
	left.Store(3)
	s := newStage(t, setting{wrap: func(next proxy.Coordinator) proxy.Coordinator {
		return begin(func(ctx context.Context, codec engine.Codec, in engine.Inbound) *engine.Attempt {
			return next.Begin(ctx, brittle{codec, left}, in)
		})
	}}, respondWith(claudeSays("They worked.")))
	s.post("/v1/messages", claudeHeader("s"), claudeTurn())
	if n := s.sum("holdfast_panics_total"); n != 1 {
		t.Fatalf("%v defects, want 1", n)
	}
	got := s.post("/v1/messages", claudeHeader("s"), claudeCompact())
	checkPatched(t, got.body, claudeSays("They worked."))
}
