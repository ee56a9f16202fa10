package proxy

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// TestReadingWholeGivesTheSameEventsInTheSameOrder: a recording knows its place in
// a history by what the other reading finds. The requests are those of real
// agents.
func TestReadingWholeGivesTheSameEventsInTheSameOrder(t *testing.T) {
	files, err := filepath.Glob("../testdata/wire/*/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	elements := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			URL  string          `json:"url"`
			Body json.RawMessage `json:"body"`
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(f.URL)
		if err != nil {
			t.Fatal(err)
		}
		protocol, readable := protocolOf(u.Path)
		if !readable || len(f.Body) == 0 {
			continue
		}
		form := formats[protocol]
		req, err := form.reader.Rescan(f.Body, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, span := range req.Messages {
			elements++
			plain, err := form.reader.Decode(span.Of(f.Body), nil)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := form.reader.Whole(span.Of(f.Body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(places(plain), places(whole)); diff != "" {
				t.Errorf("%s, element %d:\n%s", file, i, diff)
			}
		}
	}
	if elements < 1000 {
		t.Errorf("only %d elements", elements)
	}
}

// places leaves out what only one of the readings has.
func places(events []holdfast.Event) (out []holdfast.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case holdfast.Reasoning:
			continue // not every one is a part of its own on the wire
		case holdfast.ToolResult:
			out = append(out, holdfast.ToolResult{CallID: e.CallID, IsError: e.IsError})
		case holdfast.UserMessage:
			parts := make([]holdfast.Part, len(e.Parts))
			for i, p := range e.Parts {
				if _, ok := p.(holdfast.Media); ok {
					p = holdfast.Media{}
				}
				parts[i] = p
			}
			out = append(out, holdfast.UserMessage{Parts: parts})
		default:
			out = append(out, e)
		}
	}
	return out
}
