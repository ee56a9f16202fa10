package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

type scanner interface {
	Scan(body []byte) (holdfast.Request, error)
	Decode(element []byte, wanted func(string) bool) ([]holdfast.Event, error)
}

func scannerOf(p holdfast.Protocol) scanner {
	if p == holdfast.Responses {
		return responses.Codec{}
	}
	return anthropic.Codec{}
}

func bodyOf(s *session, i int) []byte {
	text, tail := s.request(i)
	return append(bytes.Clone(text), tail...)
}

// eachKind runs a test for every protocol and size.
func eachKind(t *testing.T, do func(t *testing.T, p holdfast.Protocol, z size)) {
	for _, p := range []holdfast.Protocol{holdfast.Anthropic, holdfast.Responses} {
		for _, z := range sizes {
			t.Run(string(p)+", "+z.name, func(t *testing.T) { do(t, p, z) })
		}
	}
}

func TestEachRequestIsTheOneBeforeItAndOneToolRound(t *testing.T) {
	eachKind(t, func(t *testing.T, p holdfast.Protocol, z size) {
		s := newSession(p, z, true, 1)
		if len(s.cuts) != z.turns+1 {
			t.Fatalf("%d requests, want %d", len(s.cuts), z.turns+1)
		}
		elements := 0
		for _, i := range []int{0, 1, z.turns / 2, z.turns} {
			body := bodyOf(s, i)
			if !json.Valid(body) {
				t.Fatalf("request %d is no JSON", i)
			}
			r, err := scannerOf(p).Scan(body)
			if err != nil {
				t.Fatal(err)
			}
			if r.ToolCount != z.tools || !r.Stream {
				t.Fatalf("request %d: %d tools, stream %v", i, r.ToolCount, r.Stream)
			}
			if i == 0 {
				elements = len(r.Messages)
			}
			if want := elements + 2*i; len(r.Messages) != want {
				t.Fatalf("request %d has %d elements, want %d", i, len(r.Messages), want)
			}
		}
	})
}

func TestARequestInTheMiddleHasTheNominalSize(t *testing.T) {
	eachKind(t, func(t *testing.T, p holdfast.Protocol, z size) {
		s := newSession(p, z, true, 1)
		got := float64(len(bodyOf(s, z.turns/2))) / float64(z.bytes)
		if got < 0.75 || got > 1.25 {
			t.Errorf("it has %.2f of it", got)
		}
	})
}

func TestEveryCallHasItsResult(t *testing.T) {
	eachKind(t, func(t *testing.T, p holdfast.Protocol, z size) {
		s := newSession(p, z, false, 1)
		body := bodyOf(s, z.turns)
		r, err := scannerOf(p).Scan(body)
		if err != nil {
			t.Fatal(err)
		}
		var calls, results []string
		for _, m := range r.Messages {
			events, err := scannerOf(p).Decode(m.Of(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				switch ev := ev.(type) {
				case holdfast.ToolCall:
					calls = append(calls, ev.ID)
				case holdfast.ToolResult:
					results = append(results, ev.CallID)
				}
			}
		}
		if len(calls) <= z.turns || strings.Join(calls, " ") != strings.Join(results, " ") {
			t.Errorf("calls %q, results %q", calls, results)
		}
	})
}

func TestASessionIsKnownByItsTokenEverywhere(t *testing.T) {
	eachKind(t, func(t *testing.T, p holdfast.Protocol, z size) {
		s := newSession(p, z, true, 1).clone()
		s.begin(1)
		s.begin(42)
		body := bodyOf(s, z.turns)
		if n := bytes.Count(body, []byte(tokenMark)); n > 0 {
			t.Errorf("%d places have no token", n)
		}
		if bytes.Contains(body, []byte("000000000001")) {
			t.Error("a place has the token of the session before")
		}
		r, err := scannerOf(p).Scan(body)
		if err != nil {
			t.Fatal(err)
		}
		v := agents.Classify(agents.Evidence{
			Protocol: p, Path: s.path, Header: s.header.Get, Request: &r,
			Tools: func() []holdfast.Tool { return []holdfast.Tool{{Name: "Bash"}} },
		})
		if v.Session != "5e551005-0000-4000-8000-00000000002a" || v.Kind != holdfast.Turn {
			t.Errorf("it is classified as %+v", v)
		}
	})
}

func TestAnAnswerIsReadAsWhatItIs(t *testing.T) {
	const n = 3
	for _, c := range []struct {
		name   string
		p      holdfast.Protocol
		deltas int
		id     string
		length int
	}{
		// " word0 word1 word2" has 18 bytes, "The change is in place." 23.
		{"a stream of Messages", holdfast.Anthropic, n, "msg_000000000007", 18},
		{"a stream of Responses", holdfast.Responses, n, "resp_000000000007", 18},
		{"a whole message", holdfast.Anthropic, 0, "msg_000000000007", 23},
		{"a whole response", holdfast.Responses, 0, "resp_000000000007", 23},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := newAnswer(c.p, c.deltas).numbered(nil, 7)
			got, err := readAnswer(c.p, c.deltas > 0, text)
			if err != nil {
				t.Fatal(err)
			}
			length := 0
			for _, ev := range got.Events {
				if m, ok := ev.(holdfast.AssistantMessage); ok {
					length += m.Len
				}
			}
			if !got.Complete || got.ID != c.id || length != c.length {
				t.Errorf("%+v with %d bytes of text", got, length)
			}
		})
	}
}

func readAnswer(p holdfast.Protocol, stream bool, text []byte) (holdfast.Answer, error) {
	keep := func(string) bool { return false }
	var frames sse.Reader
	switch {
	case !stream && p == holdfast.Responses:
		return responses.Codec{}.ReadBody(text)
	case !stream:
		return anthropic.Codec{}.ReadBody(text)
	case p == holdfast.Responses:
		s := responses.NewStream(keep)
		frames.Feed(text, s.Event)
		return s.Answer(), nil
	}
	s := anthropic.NewStream(keep)
	frames.Feed(text, s.Event)
	return s.Answer(), nil
}

func TestAStreamIsCutIntoItsFrames(t *testing.T) {
	for p, extra := range map[holdfast.Protocol]int{holdfast.Anthropic: 5, holdfast.Responses: 7} {
		a := newAnswer(p, 40)
		if len(a.ends) != 40+extra {
			t.Errorf("%s: %d frames", p, len(a.ends))
		}
		at := 0
		for i, end := range a.ends {
			if frame := a.text[at:end]; !bytes.HasSuffix(frame, []byte("\n\n")) || bytes.Count(frame, []byte("\n\n")) != 1 {
				t.Errorf("%s: frame %d is %q", p, i, frame)
			}
			at = end
		}
		if at != len(a.text) {
			t.Errorf("%s: %d bytes behind the last frame", p, len(a.text)-at)
		}
	}
}

func TestAnAskTravelsInHeaders(t *testing.T) {
	h := claudeHeaders()
	before := fmt.Sprint(h)
	full := ask{deltas: 3, number: 4, pause: 5, hold: true, early: true, sum: 1<<64 - 1}
	full.header(h)
	if got := readAsk(h); got != full {
		t.Errorf("got %+v, want %+v", got, full)
	}
	ask{}.header(h)
	if got := fmt.Sprint(h); got != before {
		t.Errorf("an empty ask leaves %s, want %s", got, before)
	}
}
