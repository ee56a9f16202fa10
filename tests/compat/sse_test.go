package compat

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	oracle "github.com/tmaxmax/go-sse"

	"github.com/holdfast-dev/holdfast/sse"
)

// event is what both readers say of a frame that has data.
type event struct{ name, data string }

// stream makes up an event stream of the frames, fields and line ends that the
// format allows.
func stream(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteString("\ufeff")
	}
	eol := pick("\n", "\r\n", "\r")
	for range 1 + r.IntN(12) {
		for range r.IntN(5) {
			b.WriteString(pick("data", "data", "data", "event", "id", "retry", "other", "", "dat", "datax", " data"))
			b.WriteString(pick(":", ": ", ":  ", "", "::"))
			b.WriteString(pick("", "x", "{\"a\":1}", "a:b", " ", "\u00e9\u2028", "[DONE]", "7", "\x00"))
			b.WriteString(eol)
		}
		b.WriteString(eol)
	}
	return b.String()
}

// byOracle is what go-sse reads. Frames without data are left out: it reports
// some of those, which the format does not.
func byOracle(t *testing.T, text string) (events []event) {
	for e, err := range oracle.Read(strings.NewReader(text), nil) {
		if err != nil {
			t.Fatalf("go-sse on %q: %v", text, err)
		}
		if e.Data != "" {
			events = append(events, event{e.Type, e.Data})
		}
	}
	return events
}

// byReader is what our reader says of the text, fed in pieces of random size.
func byReader(t *testing.T, r *rand.Rand, text string) (events []event) {
	var reader sse.Reader
	var raw bytes.Buffer
	for rest := []byte(text); len(rest) > 0; {
		n := 1 + r.IntN(len(rest))
		reader.Feed(rest[:n], func(e sse.Event) {
			raw.Write(e.Raw)
			if len(e.Data) > 0 {
				events = append(events, event{string(e.Name), string(e.Data)})
			}
		})
		rest = rest[n:]
	}
	raw.Write(reader.Rest())
	if raw.String() != text {
		t.Fatalf("of %q came back %q", text, raw.String())
	}
	return events
}

func TestBothReadersSeeTheSameEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	total := 0
	for range 20_000 {
		text := stream(r)
		ours, theirs := byReader(t, r, text), byOracle(t, text)
		if !reflect.DeepEqual(ours, theirs) {
			t.Fatalf("of %q\nwe read      %q\ngo-sse reads %q", text, ours, theirs)
		}
		total += len(ours)
	}
	t.Logf("%d events", total)
	if total < 20_000 {
		t.Errorf("the streams hold %d events, too few to tell", total)
	}
}

func TestTheOtherReaderReadsWhatWeWrite(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       event
	}{
		{"", "x", event{"", "x"}},
		{"message_stop", `{"type":"message_stop"}`, event{"message_stop", `{"type":"message_stop"}`}},
		{"lines", "a\nb\r\nc\rd", event{"lines", "a\nb\nc\nd"}},
		{"space", " x", event{"space", " x"}},
	} {
		frame := sse.Append(nil, c.name, []byte(c.data))
		if got := byOracle(t, string(frame)); len(got) != 1 || got[0] != c.want {
			t.Errorf("go-sse reads %q as %q, want %q", frame, got, c.want)
		}
		changed := sse.Rewrite(nil, append([]byte(": a comment\r\nid: 1\r\n"), frame...), []byte(strings.ToUpper(strings.ReplaceAll(c.want.data, "\n", "-\n"))))
		want := event{c.want.name, strings.ToUpper(strings.ReplaceAll(c.want.data, "\n", "-\n"))}
		if got := byOracle(t, string(changed)); len(got) != 1 || got[0] != want {
			t.Errorf("go-sse reads the rewritten %q as %q, want %q", changed, got, want)
		}
	}
}
