package conversation_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// TestTheFrozenFormReadsAndWritesAlike: the first file has every kind with every
// member, as a build of the first version wrote it, the second what joined since.
// Neither must ever be changed.
func TestTheFrozenFormReadsAndWritesAlike(t *testing.T) {
	data, err := os.ReadFile("testdata/form-v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	head, ok, err := conversation.ParseHead(lines[0])
	want := conversation.Head{
		Version: 1, ID: "0198c0de-0000-7000-8000-000000000001", Title: "Retry queue", Agent: "claude-code",
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Parent: "0198c0de-0000-7000-8000-000000000000", ParentSeq: 4,
	}
	if err != nil || !ok || head != want {
		t.Errorf("head %+v, %v, %v", head, ok, err)
	}
	if got := conversation.AppendHead(nil, head); !bytes.Equal(got, lines[0]) {
		t.Errorf("the head is written as %s", got)
	}
	bands, err := os.ReadFile("testdata/form-v1-bands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, line := range append(lines[1:], bytes.TrimSuffix(bands, []byte("\n"))) {
		e, err := conversation.ParseLine(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		kinds[conversation.KindOf(e.Event)] = true
		if got := conversation.AppendLine(nil, e); !bytes.Equal(got, line) {
			t.Errorf("%s\nis written as\n%s", line, got)
		}
	}
	for _, kind := range []string{"turn", "user", "assistant", "reasoning", "tool_call", "tool_result", "config", "compaction", "revocation", "continuity", "usage", "hologram"} {
		if !kinds[kind] {
			t.Errorf("the file has no %s", kind)
		}
	}
}

func TestParseLine(t *testing.T) {
	cost := int64(5)
	cases := []struct {
		name, line string
		want       holdfast.Event
	}{
		{"a turn", `{"kind":"turn"}`, holdfast.TurnStart{}},
		{"white space around it", " {\"kind\":\"turn\"}\r\n", holdfast.TurnStart{}},
		{"a user message without content", `{"kind":"user"}`, holdfast.UserMessage{}},
		{
			"a part of an unknown type", `{"kind":"user","content":[{"type":"video","uri":"u"}]}`,
			holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "video", URI: "u"}}},
		},
		{"an answer in pieces", `{"kind":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, holdfast.AssistantMessage{Text: "ab"}},
		{"a call without arguments", `{"kind":"tool_call","call_id":"1","name":"n"}`, holdfast.ToolCall{ID: "1", Name: "n"}},
		{
			"arguments keep their order and their numbers", `{"kind":"tool_call","call_id":"","name":"n","arguments":{"b":1e2, "a":0.10}}`,
			holdfast.ToolCall{Name: "n", Arguments: []byte(`{"b":1e2, "a":0.10}`)},
		},
		{"a compaction without a source is manual", `{"kind":"compaction","from_turn":0,"to_turn":2,"reasoning":"strip"}`, holdfast.Overlay{ToTurn: 2, Source: holdfast.ManualOverlay, StripReasoning: true}},
		{
			"a strip without halves strips both", `{"kind":"compaction","from_turn":0,"to_turn":0,"tool_calls":{"policy":"strip"}}`,
			holdfast.Overlay{Source: holdfast.ManualOverlay, Tools: &holdfast.ToolPolicy{Request: true, Response: true}},
		},
		{
			"a strip with one half strips that", `{"kind":"compaction","from_turn":0,"to_turn":0,"tool_calls":{"policy":"strip","response":true}}`,
			holdfast.Overlay{Source: holdfast.ManualOverlay, Tools: &holdfast.ToolPolicy{Response: true}},
		},
		{"a summary without an origin was generated", `{"kind":"compaction","from_turn":1,"to_turn":1,"summary":{"text":"S"}}`, holdfast.Overlay{FromTurn: 1, ToTurn: 1, Source: holdfast.ManualOverlay, Summary: &holdfast.Summary{Text: "S", Origin: holdfast.GeneratedSummary}}},
		{"a compaction without a policy", `{"kind":"compaction","from_turn":0,"to_turn":0}`, holdfast.Overlay{Source: holdfast.ManualOverlay}},
		{"usage is of a turn where it is not said", `{"kind":"usage","output_tokens":3,"cost_microusd":5}`, holdfast.Usage{Purpose: holdfast.ForTurn, Output: 3, Cost: &cost}},
		{
			"an unknown kind that uses a known name for something else", `{"kind":"hologram","text":7}`,
			holdfast.Unknown{Type: "hologram", Raw: []byte(`{"kind":"hologram","text":7}`)},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := conversation.ParseLine([]byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(holdfast.Entry{Event: c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	cases := []struct{ name, line, want string }{
		{"nothing", ``, "this is no JSON object: it is wrong or breaks off at byte 0"},
		{"a torn line", `{"kind":"user","content":[{"type":"te`, "this is no JSON object: it is wrong or breaks off at byte 37"},
		{"no object", `[1]`, "this is no JSON object"},
		{"no kind", `{"text":"secret"}`, `there is no "kind"`},
		{"a value of the wrong type, without repeating it", `{"kind":"user","content":"secret"}`, "/content holds a value of the wrong type"},
		{"a call without its id", `{"kind":"tool_call","name":"n"}`, "tool_call: a call needs call_id and name"},
		{"a result without the id of its call", `{"kind":"tool_result"}`, "tool_result: a result needs the call_id of its call"},
		{"arguments twice", `{"kind":"tool_call","call_id":"1","name":"n","arguments":{},"arguments_text":"x"}`, "tool_call: arguments and arguments_text exclude each other"},
		{"settings that are no object", `{"kind":"config","config":[]}`, "config: config must be an object"},
		{"a range that ends before it starts", `{"kind":"compaction","from_turn":2,"to_turn":1}`, "compaction: from_turn and to_turn must be a range, from 0 and inclusive"},
		{"no range", `{"kind":"compaction","reasoning":"strip"}`, "compaction: from_turn and to_turn must be a range, from 0 and inclusive"},
		{"an unknown policy", `{"kind":"compaction","from_turn":0,"to_turn":1,"tool_calls":{"policy":"keep"}}`, `compaction: tool_calls must have the policy "omit", or "strip" with request or response`},
		{"a strip of nothing", `{"kind":"compaction","from_turn":0,"to_turn":1,"tool_calls":{"policy":"strip","request":false}}`, `compaction: tool_calls must have the policy "omit", or "strip" with request or response`},
		{"an unknown source", `{"kind":"compaction","from_turn":0,"to_turn":1,"source":"x"}`, `compaction: source must be "manual", "auto" or "agent"`},
		{"a summary of events", `{"kind":"compaction","from_event":1,"to_event":2,"summary":{"text":"S"}}`, "compaction: a range of events ends behind its start, has no turns beside it and no summary"},
		{"kept calls in a range of turns", `{"kind":"compaction","from_turn":1,"to_turn":2,"kept_calls":[1],"reasoning":"strip"}`, "compaction: kept_calls stands only beside from_event and to_event"},
		{"kept calls out of order", `{"kind":"compaction","from_event":1,"to_event":9,"kept_calls":[4,3],"reasoning":"strip"}`, "compaction: kept_calls must be in ascending order"},
		{"a revocation of nothing", `{"kind":"revocation"}`, "revocation: a revocation names the ids of compactions in compactions"},
		{"a capsule that is missing", `{"kind":"continuity"}`, "continuity: there is no capsule"},
		{"tokens below 0", `{"kind":"usage","input_tokens":-1}`, "usage: a count of tokens is below 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := conversation.ParseLine([]byte(c.line))
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestParseHead(t *testing.T) {
	if _, ok, err := conversation.ParseHead([]byte(`{"kind":"turn"}`)); ok || err != nil {
		t.Errorf("a turn: %v, %v", ok, err)
	}
	_, ok, err := conversation.ParseHead([]byte(`{"kind":"conversation","version":2}`))
	if !ok || holdfast.CodeOf(err) != holdfast.ErrNewer {
		t.Errorf("a later version: %v, %v", ok, err)
	}
}

// TestWhatIsWrittenIsReadBack: lines hold all of an event, in one line, whatever
// bytes its values have.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		raw := rapid.SampledFrom([]string{`{}`, `{"a": 1}`, "{\n}", `{"torn`, `"text"`, "\u2028"})
		var e holdfast.Event
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			e = holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text.Draw(t, "text")), holdfast.Media{Type: "image", MIME: text.Draw(t, "mime"), Name: text.Draw(t, "name"), Data: text.Draw(t, "data"), URI: text.Draw(t, "uri")}}, Schema: []byte(raw.Draw(t, "schema")), Synthetic: rapid.Bool().Draw(t, "synthetic")}
		case 1:
			e = holdfast.AssistantMessage{Text: text.Draw(t, "text"), Data: []byte(raw.Draw(t, "data"))}
		case 2:
			e = holdfast.Reasoning{Text: text.Draw(t, "text"), Opaque: []byte(raw.Draw(t, "opaque"))}
		case 3:
			e = holdfast.ToolCall{ID: text.Draw(t, "id"), Name: "n" + text.Draw(t, "name"), Arguments: []byte(raw.Draw(t, "arguments"))}
		case 4:
			e = holdfast.ToolResult{CallID: text.Draw(t, "id"), IsError: rapid.Bool().Draw(t, "error"), Parts: []holdfast.Part{holdfast.Text(text.Draw(t, "text"))}}
		}
		want := holdfast.Entry{ID: holdfast.EventID(text.Draw(t, "event")), At: time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(t, "at")).UTC(), Event: e}
		line := conversation.AppendLine(nil, want)
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("more than one line: %q", line)
		}
		got, err := conversation.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", line, diff)
		}
	})
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	entry := holdfast.Entry{ID: "new", At: at}
	cases := []struct {
		name, line string
		e          holdfast.Entry
		want       string
	}{
		{"what is missing is put at the end", `{"kind":"turn"}`, entry, `{"kind":"turn","at":"2026-03-01T12:00:00Z","id":"new"}`},
		{"another id is replaced where it stands", `{"id":"old","kind":"turn","at":"2026-03-01T12:00:00Z"}`, entry, `{"id":"new","kind":"turn","at":"2026-03-01T12:00:00Z"}`},
		{"what is there already leaves the line as it is", `{ "id":"new", "at":"2026-03-01T13:00:00+01:00"}`, entry, `{ "id":"new", "at":"2026-03-01T13:00:00+01:00"}`},
		{"all else stays byte for byte", `{"kind":"user" ,"x\"":{ "a": 1.0}}`, entry, `{"kind":"user","x\"":{ "a": 1.0},"at":"2026-03-01T12:00:00Z","id":"new"}`},
		{
			"the ids that a revocation names", `{"kind":"revocation","compactions":["a"],"id":"new","at":"2026-03-01T12:00:00Z"}`,
			holdfast.Entry{ID: "new", At: at, Event: holdfast.Revocation{Overlays: []holdfast.EventID{"b"}}},
			`{"kind":"revocation","compactions":["b"],"id":"new","at":"2026-03-01T12:00:00Z"}`,
		},
		{
			"the id that the watermark of a capsule names, and nothing else of the capsule",
			`{"kind":"continuity","capsule":{"schema_version":1,"watermark":"a","later":{ "x":1}},"id":"new","at":"2026-03-01T12:00:00Z"}`,
			holdfast.Entry{ID: "new", At: at, Event: holdfast.Continuity{Capsule: holdfast.Capsule{SchemaVersion: 1, Watermark: "b"}}},
			`{"kind":"continuity","capsule":{"schema_version":1,"watermark":"b","later":{ "x":1}},"id":"new","at":"2026-03-01T12:00:00Z"}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := conversation.Stamp([]byte(c.line), c.e); string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestARawResultIsKeptAndGoesToNoModel(t *testing.T) {
	e := conversation.RawResult(holdfast.ToolCall{ID: "c"}, holdfast.ToolResult{IsError: true, Parts: []holdfast.Part{holdfast.Text("all of it")}})
	want := `{"kind":"raw_result","call_id":"c","content":[{"type":"text","text":"all of it"}],"is_error":true}`
	if line := conversation.AppendLine(nil, holdfast.Entry{Event: e}); string(line) != want {
		t.Errorf("line %s", line)
	}
	if v := conversation.Project([]holdfast.Entry{{Seq: 1, Event: e}}, nil); len(v.Turns) != 0 {
		t.Errorf("view %+v", v)
	}
}

func TestNamerNamesLinesByAllBeforeThem(t *testing.T) {
	names := func(lines ...string) (ids []string) {
		var n conversation.Namer
		for _, line := range lines {
			ids = append(ids, string(n.Next([]byte(line))))
		}
		return ids
	}
	a, again, longer, other := names("x", "x"), names("x", "x"), names("x", "x", "y"), names("y", "x")
	if !cmp.Equal(a, again) || !cmp.Equal(a, longer[:2]) {
		t.Errorf("%q, %q and %q do not begin alike", a, again, longer)
	}
	if a[0] == a[1] || a[1] == other[1] || len(a[0]) != 36 || a[0][14] != '8' || !strings.Contains("89ab", a[0][19:20]) {
		t.Errorf("%q, %q: the ids do not tell the lines apart, or are no UUIDs of version 8", a, other)
	}
}

func TestTail(t *testing.T) {
	cases := []struct {
		name, in string
		want     string // of the last entry
		turns    int
	}{
		{"a result of a call in the turn", `{"kind":"turn"}
			{"kind":"tool_call","call_id":"c","name":"n"}
			{"kind":"tool_result","call_id":"c"}`, "", 1},
		{"a second result of one call", `{"kind":"tool_call","call_id":"c","name":"n"}
			{"kind":"tool_result","call_id":"c"}
			{"kind":"tool_result","call_id":"c"}`, `tool_result: there is no call "c" in this turn that waits for a result`, 1},
		{"a result of a call in the turn before", `{"kind":"turn"}
			{"kind":"tool_call","call_id":"c","name":"n"}
			{"kind":"turn"}
			{"kind":"tool_result","call_id":"c"}`, `tool_result: there is no call "c" in this turn that waits for a result`, 2},
		{"a revocation of a compaction", `{"kind":"compaction","id":"o","from_turn":0,"to_turn":0}
			{"kind":"revocation","compactions":["o"]}`, "", 0},
		{"a revocation of nothing there", `{"kind":"revocation","compactions":["o"]}`, `revocation: there is no compaction "o" before it`, 0},
		{"messages before the first turn", `{"kind":"config","config":{}}
			{"kind":"user"}
			{"kind":"turn"}`, "", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var tail conversation.Tail
			var last error
			for _, e := range stream(t, c.in) {
				last = tail.Append(e)
			}
			if got := errorText(last); got != c.want || tail.Turns() != c.turns {
				t.Errorf("error %q, %d turns; want %q, %d", got, tail.Turns(), c.want, c.turns)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzParseLine(f *testing.F) {
	data, err := os.ReadFile("testdata/form-v1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := conversation.ParseLine(line)
		if err != nil {
			return
		}
		if _, unknown := e.Event.(holdfast.Unknown); unknown {
			return // its line is its own, whatever it holds
		}
		written := conversation.AppendLine(nil, e)
		again, err := conversation.ParseLine(written)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", line, written, err)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q was written as %q:\n%s", line, written, diff)
		}
	})
}
