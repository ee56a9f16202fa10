package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// kinds are elements of all kinds that tell something of others; n tells one from
// another.
var kinds = []func(n int) []holdfast.Event{
	func(n int) []holdfast.Event { return typed(fmt.Sprint("do part ", n)) },
	func(n int) []holdfast.Event { return typed(fmt.Sprint("[User]: part ", n, "\n[Assistant]: done")) },
	func(int) []holdfast.Event { return answered("Done.") },
	func(n int) []holdfast.Event { return answered(fmt.Sprint(strings.Repeat("It is moved. ", 9), n)) },
	func(int) []holdfast.Event { return answered("Got it. Thanks for the additional context!") },
	func(n int) []holdfast.Event {
		return append(answered("Got it. Thanks for the additional context!"), holdfast.ToolCall{ID: fmt.Sprint("read", n), Name: "Read"})
	},
	func(n int) []holdfast.Event {
		return typed(fmt.Sprint("This session is being continued from a previous conversation that ran out of context. ", n))
	},
	func(int) []holdfast.Event { return typed("What did we do so far?") },
	func(n int) []holdfast.Event {
		return typed(fmt.Sprintf("%s\nrecord revision 1, digest sha256:%032d\n%s", holdfast.BlockOpen, n, holdfast.BlockClose))
	},
	func(n int) []holdfast.Event {
		return []holdfast.Event{holdfast.CompactionItem{Digest: holdfast.DigestOf(fmt.Sprint(n))}}
	},
	func(n int) []holdfast.Event {
		return []holdfast.Event{holdfast.ToolCall{ID: fmt.Sprint("call", n), Name: "TodoWrite", Arguments: []byte("{}")}}
	},
	func(n int) []holdfast.Event {
		return []holdfast.Event{holdfast.ToolResult{CallID: fmt.Sprint("call", n)}}
	},
	func(n int) []holdfast.Event {
		return []holdfast.Event{holdfast.ToolCall{ID: fmt.Sprint("write_todos#", n), Name: "write_todos", Arguments: []byte("{}")}}
	},
	func(n int) []holdfast.Event {
		return []holdfast.Event{holdfast.ToolResult{CallID: "write_todos#", Text: fmt.Sprint(n)}}
	},
}

func typed(text string) []holdfast.Event {
	return []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}}
}

func answered(text string) []holdfast.Event {
	return []holdfast.Event{holdfast.AssistantMessage{Text: text, Digest: holdfast.TextDigest(text), Len: len(text)}}
}

// kindCodec reads elements that are written as the number of their kind, and n.
type kindCodec struct{ Codec }

func (kindCodec) Decode(element []byte, _ func(string) bool) ([]holdfast.Event, error) {
	var kind, n int
	if _, err := fmt.Sscanf(string(element), "%d/%d;", &kind, &n); err != nil {
		return nil, err
	}
	return kinds[kind](n), nil
}

func TestAHistoryThatGoesOnIsReadAsOneThatIsReadWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Engine{
			pool: &extraction.Pool{}, metrics: NewMetrics(prometheus.NewRegistry()),
			cfg: Config{Redact: func(text string) (string, int) { return text, 0 }},
		}
		element := func() string {
			return fmt.Sprintf("%d/%d;", rapid.IntRange(0, len(kinds)-1).Draw(t, "kind"), rapid.IntRange(0, 2).Draw(t, "n"))
		}
		upTo := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
		on, whole := newMemo(), newMemo()
		var list []string
		type pair struct{ want, got *history }
		var pairs []pair
		same := func(p pair) {
			all := cmp.AllowUnexported(history{}, anchor{}, placedText{}, opening{})
			if diff := cmp.Diff(p.want, p.got, all, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the histories differ (-want +got):\n%s", diff)
			}
		}
		for range 1 + upTo("requests", 7) {
			switch upTo("change", 9) {
			case 0:
				list = list[:upTo("cut to", len(list))]
			case 1:
				if len(list) > 0 {
					list[upTo("edited", len(list)-1)] = element()
				}
			case 2: // it is sent again
			default: // the last one is written anew, as when a cache mark moves
				list = list[:max(len(list)-upTo("anew", 1), 0)]
			}
			for range upTo("new", 3) {
				list = append(list, element())
			}
			in := Inbound{Body: []byte(strings.Join(list, "")), Request: holdfast.Request{Protocol: holdfast.Responses}}
			at := 0
			for _, raw := range list {
				in.Request.Messages = append(in.Request.Messages, holdfast.Span{Start: at, End: at + len(raw)})
				at += len(raw)
			}
			marker, words, relayed := upTo("marker", 5) == 0, upTo("words", 9) > 0, upTo("relayed", 5) == 0
			agent := rapid.SampledFrom([]string{"", agents.ClaudeCode, agents.Qwen}).Draw(t, "agent")
			whole.last = nil
			var p pair
			var err error
			if p.want, err = whole.read(e, kindCodec{}, in, agent, marker, words); err != nil {
				t.Fatal(err)
			}
			if p.got, err = on.read(e, kindCodec{}, in, agent, marker, words); err != nil {
				t.Fatal(err)
			}
			for _, h := range []*history{p.want, p.got} {
				h.adopt(func(holdfast.Digest) bool { return relayed })
			}
			same(p)
			pairs = append(pairs, p)
		}
		for _, p := range pairs {
			same(p) // those that followed have changed nothing in it
		}
	})
}
