package responses

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func said(text string) holdfast.AssistantMessage {
	return holdfast.AssistantMessage{Text: text, Digest: holdfast.TextDigest(text), Len: len(text)}
}

func asked(parts ...holdfast.Part) holdfast.Event { return holdfast.UserMessage{Parts: parts} }

func spans(body string, list []holdfast.Span) (texts []string) {
	for _, s := range list {
		texts = append(texts, body[s.Start:s.End])
	}
	return texts
}

func TestScan(t *testing.T) {
	body := `{"model":"m-1","stream":true,"instructions":"Be brief.","previous_response_id":"resp_9","prompt_cache_key":"c-1",
 "tools":[{"type":"web_search"}],
 "input":[ {"role":"user","content":"a]b"} , {"type":"compaction_trigger"} ],"store":false}
`
	req, err := Codec{}.Scan([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Protocol != holdfast.Responses || req.Model != "m-1" || !req.Stream || req.PreviousResponse != "resp_9" || req.CacheKey != "c-1" || req.ToolCount != 1 {
		t.Errorf("got %+v", req)
	}
	if got, want := spans(body, req.Messages), []string{`{"role":"user","content":"a]b"}`, `{"type":"compaction_trigger"}`}; !slices.Equal(got, want) {
		t.Errorf("input %q, want %q", got, want)
	}
	got := spans(body, []holdfast.Span{req.List, req.System, req.Tools})
	want := []string{`[ {"role":"user","content":"a]b"} , {"type":"compaction_trigger"} ]`, `"Be brief."`, `[{"type":"web_search"}]`}
	if !slices.Equal(got, want) {
		t.Errorf("list, system and tools %q, want %q", got, want)
	}
}

func TestScanOfOtherShapes(t *testing.T) {
	one := func(start, end int) holdfast.Request {
		s := holdfast.Span{Start: start, End: end}
		return holdfast.Request{Messages: []holdfast.Span{s}, List: s}
	}
	cases := []struct {
		name, body string
		want       holdfast.Request
		err        string
	}{
		{"nothing but braces", `{}`, holdfast.Request{}, ""},
		{"null counts as absent", `{"input":null,"instructions":null,"tools":null,"model":null,"prompt_cache_key":null}`, holdfast.Request{}, ""},
		{"an input that is a string", `{"input":"hi"}`, one(9, 13), ""},
		{"an input that is an object", `{"input": {"type":"compaction_trigger"} }`, one(10, 39), ""},
		{"an empty list is present", `{"input":[]}`, holdfast.Request{List: holdfast.Span{Start: 9, End: 11}}, ""},
		{"the last of a repeated member counts", `{"model":"a","model":"b"}`, holdfast.Request{Model: "b"}, ""},
		{"the history twice", `{"input":"a","input":[]}`, holdfast.Request{}, "input stands there twice"},
		{"an input of another kind", `{"input":7}`, holdfast.Request{}, "malformed JSON at byte 9: a list, a string or an object expected"},
		{"a list instead of an object", `[]`, holdfast.Request{}, "malformed JSON at byte 0: an object expected"},
		{"two objects", `{}{}`, holdfast.Request{}, "malformed JSON at byte 2: nothing behind the object expected"},
		{"an item cut off", `{"input":[{"ro`, holdfast.Request{}, "malformed JSON at byte 14: a closing quote expected"},
		{"an input without a value", `{"input":`, holdfast.Request{}, "malformed JSON at byte 9: a list, a string or an object expected"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Scan([]byte(c.body))
			if c.err != "" {
				want := "The request is not readable as Responses API: " + c.err + ". Check what sent it."
				if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrUsage {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			c.want.Protocol = holdfast.Responses
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	long := strings.Repeat("x", holdfast.MaxResultText-1)
	cases := []struct {
		name, element string
		want          []holdfast.Event
	}{
		{"an input that is a string", `"a\nb"`, []holdfast.Event{asked(holdfast.Text("a\nb"))}},
		{
			"a user message in parts", `{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"},{"type":"input_file","file_id":"f"},{"type":"text","text":"b"}]}`,
			[]holdfast.Event{asked(holdfast.Text("a"), holdfast.Media{Type: "input_image"}, holdfast.Media{Type: "input_file"}, holdfast.Text("b"))},
		},
		{"a message without a type", `{"role":"user","content":"a"}`, []holdfast.Event{asked(holdfast.Text("a"))}},
		{
			"an unknown part splits a user message", `{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"hologram"},{"type":"input_text","text":"b"},7]}`,
			[]holdfast.Event{asked(holdfast.Text("a")), holdfast.Unknown{Type: "hologram"}, asked(holdfast.Text("b")), holdfast.Unknown{}},
		},
		{"a developer message", `{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"}]}`, []holdfast.Event{holdfast.SystemMessage{}}},
		{"a system message", `{"role":"system","content":"a"}`, []holdfast.Event{holdfast.SystemMessage{}}},
		{
			"each text of the model is a message", `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"output_text","text":" \n"},{"type":"refusal","refusal":"no"},{"type":"hologram"}]}`,
			[]holdfast.Event{said("a"), said("no"), holdfast.Unknown{Type: "hologram"}},
		},
		{"a message of the model as one string", `{"role":"assistant","content":"a"}`, []holdfast.Event{said("a")}},
		{"another role", `{"role":"critic","content":"a"}`, []holdfast.Event{holdfast.Unknown{Type: "critic"}}},
		{
			"a function call, its arguments decoded once", `{"type":"function_call","id":"fc_1","call_id":"c1","name":"spawn","namespace":"agents","arguments":"{\"m\": \"a\\n\"}","status":"completed"}`,
			[]holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "spawn", Namespace: "agents", Arguments: []byte(`{"m": "a\n"}`)}},
		},
		{
			"a custom call keeps its input as a JSON string", `{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"*** \"x\"\n"}`,
			[]holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "patch", Arguments: []byte(`"*** \"x\"\n"`)}},
		},
		{"a result of one string", `{"type":"function_call_output","call_id":"c1","output":"Plan updated"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c1", Text: "Plan updated"}}},
		{
			"a result in parts, of which only texts count", `{"type":"custom_tool_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},{"type":"input_image"},{"type":"output_text","text":"b"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Text: "a\nb"}},
		},
		{"a long result is cut between characters", `{"type":"function_call_output","call_id":"c","output":"` + long + `ü"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c", Text: long}}},
		{
			"a long result in parts is cut as a whole", `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"` + long + `"},{"type":"input_text","text":"b"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c", Text: long + "\n"}},
		},
		{"a result without output", `{"type":"function_call_output","call_id":"c"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c"}}},
		{"reasoning", `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}`, []holdfast.Event{holdfast.Reasoning{}}},
		{"a compaction", `{"type":"compaction","id":"cmp_1","encrypted_content":"b3Bh"}`, []holdfast.Event{holdfast.CompactionItem{ID: "cmp_1", Digest: holdfast.TextDigest("b3Bh")}}},
		{"a compaction by its other names", `{"type":"compaction_summary","encrypted_content":"b3Bh"}`, []holdfast.Event{holdfast.CompactionItem{Digest: holdfast.TextDigest("b3Bh")}}},
		{"and by the third", `{"type":"context_compaction","id":"c","encrypted_content":"b3Bh"}`, []holdfast.Event{holdfast.CompactionItem{ID: "c", Digest: holdfast.TextDigest("b3Bh")}}},
		{"a compaction trigger", `{"type":"compaction_trigger"}`, []holdfast.Event{holdfast.CompactionTrigger{}}},
		{"an unknown item", `{"type":"web_search_call","id":"w"}`, []holdfast.Event{holdfast.Unknown{Type: "web_search_call"}}},
		{"an item without anything", `{}`, []holdfast.Event{holdfast.Unknown{}}},
		{"no item", `7`, []holdfast.Event{holdfast.Unknown{}}},
		{"no content", `{"role":"user"}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Decode([]byte(c.element), nil)
			if len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) || err != nil {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `{`, `{"role":"user","content":[}`, `"x`} {
		if got, err := (Codec{}).Decode([]byte(bad), nil); err == nil {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
}

func TestTools(t *testing.T) {
	raw := `[{"type":"function","name":"exec","parameters":{}},{"type":"custom","name":"patch","format":{}},
 {"type":"namespace","name":"crm","tools":[{"type":"function","name":"find"},{"type":"custom","name":"note"}]},
 {"type":"web_search"},{"type":"mcp","name":"docs"},{"type":"tool_search","execution":"client"},{"type":"function"},{},7]`
	want := []holdfast.Tool{
		{Name: "exec"},
		{Name: "patch"},
		{Name: "find"},
		{Name: "note"},
		{Name: "web_search", Server: true},
		{Name: "docs", Server: true},
		{Name: "tool_search", Server: true},
	}
	if got := (Codec{}).Tools([]byte(raw)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{``, `{}`, `[`, `null`} {
		if got := (Codec{}).Tools([]byte(bad)); got != nil {
			t.Errorf("%q gave %v", bad, got)
		}
	}
}

func TestSystemTexts(t *testing.T) {
	if got, want := (Codec{}).SystemTexts([]byte(`"Be brief, ü"`), 12), []string{"Be brief, ü"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Codec{}).SystemTexts([]byte(`"Be brief, ü"`), 11), []string{"Be brief, "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, other := range []string{``, `[]`, `7`} {
		if got := (Codec{}).SystemTexts([]byte(other), 9); got != nil {
			t.Errorf("%q gave %q", other, got)
		}
	}
}

func TestInsertBlock(t *testing.T) {
	const own = `{"type":"message","role":"user","content":[{"type":"input_text","text":"N \"1\"\n"}]}`
	cases := []struct {
		name, body string
		at         int
		want       string
	}{
		{
			"behind an item", `{"input":[ {"role":"user","content":"a"} , {"type":"reasoning"} ],"x":1}`, 0,
			`{"input":[ {"role":"user","content":"a"},` + own + ` , {"type":"reasoning"} ],"x":1}`,
		},
		{
			"an older block makes room", `{"input":[{"role":"user","content":"a <holdfast-record revision=\"1\">a\ndigest sha256:0123456789abcdef0123456789abcdef\n</holdfast-record> b"},{"type":"reasoning"}]}`, 0,
			`{"input":[{"role":"user","content":"a\n\nN \"1\"\n b"},{"type":"reasoning"}]}`,
		},
		{"behind the last item", `{"input":[{"type":"compaction"}]}`, 0, `{"input":[{"type":"compaction"},` + own + `]}`},
		{"before the first item", `{"input":[ {"type":"compaction"}]}`, -1, `{"input":[` + own + `, {"type":"compaction"}]}`},
		{"into an empty list", `{"input":[ ]}`, -1, `{"input":[` + own + ` ]}`},
		{"before a string", `{"input":"a\u0041" }`, -1, `{"input":[` + own + `,{"type":"message","role":"user","content":"a\u0041"}] }`},
		{"behind a string", `{"input":"a\u0041" }`, 0, `{"input":[{"type":"message","role":"user","content":"a\u0041"},` + own + `] }`},
		{"before a single object", `{"input":{"type":"compaction_trigger"}}`, -1, `{"input":[` + own + `,{"type":"compaction_trigger"}]}`},
		{"behind a single object", `{"input":{"type":"compaction_trigger"}}`, 0, `{"input":[{"type":"compaction_trigger"},` + own + `]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req, err := Codec{}.Scan([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Codec{}.InsertBlock([]byte(c.body), req, c.at, "N \"1\"\n")
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	for _, body := range []string{`{"input":[1]}`, `{}`} {
		req, _ := Codec{}.Scan([]byte(body))
		for _, at := range []int{-2, 1} {
			if got, err := (Codec{}).InsertBlock([]byte(body), req, at, "x"); err == nil || holdfast.CodeOf(err) != holdfast.ErrInternal || got != nil {
				t.Errorf("%s at %d: got %s, %v", body, at, got, err)
			}
		}
	}
	if _, err := (Codec{}).InsertBlock([]byte(`{}`), holdfast.Request{}, -1, "x"); err == nil {
		t.Error("inserted into a request without input")
	}
	if _, err := (Codec{}).InsertBlock([]byte(`{}`), holdfast.Request{List: holdfast.Span{Start: 1, End: 9}}, -1, "x"); err == nil {
		t.Error("inserted into another body than the scanned one")
	}
}

func TestReadBody(t *testing.T) {
	opaque := holdfast.CompactionItem{ID: "cmp_1", Digest: holdfast.TextDigest("b3Bh")}
	cases := []struct {
		name, body string
		want       holdfast.Answer
	}{
		{
			"a completed response", `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c1","name":"n","arguments":"{}"}]}`,
			holdfast.Answer{ID: "resp_1", Complete: true, Stop: "completed", Events: []holdfast.Event{holdfast.Reasoning{}, said("a"), holdfast.ToolCall{ID: "c1", Name: "n", Arguments: []byte(`{}`)}}},
		},
		{"an incomplete response", `{"id":"resp_1","status":"incomplete","output":[]}`, holdfast.Answer{ID: "resp_1", Stop: "incomplete"}},
		{"a response without a status", `{"id":"resp_1","object":"response","output":[]}`, holdfast.Answer{ID: "resp_1"}},
		{
			"a compaction object", `{"id":"resp_1","object":"response.compaction","output":[{"type":"message","role":"user","content":"a"},{"type":"compaction","id":"cmp_1","encrypted_content":"b3Bh"}]}`,
			holdfast.Answer{ID: "resp_1", Complete: true, Events: []holdfast.Event{asked(holdfast.Text("a")), opaque}},
		},
		{
			"a compaction item and nothing else", `{"output":[{"type":"compaction","id":"cmp_1","encrypted_content":"b3Bh"}]}`,
			holdfast.Answer{Complete: true, Events: []holdfast.Event{opaque}},
		},
		{"an error", `{"error":{"message":"no"}}`, holdfast.Answer{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.ReadBody([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `[]`, `{"a":1`, `{}x`, `<html>`} {
		if _, err := (Codec{}).ReadBody([]byte(bad)); err == nil || holdfast.CodeOf(err) != holdfast.ErrUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

const (
	record   = holdfast.BlockOpen + " revision=\"2\">\nPlan: \"ü\"\n" + holdfast.BlockClose
	recordIn = `<holdfast-record revision=\"2\">\nPlan: \"ü\"\n</holdfast-record>`
	older    = `<holdfast-record revision=\"1\">old</holdfast-record>`
)

func response(output string) string {
	return `{"id":"resp_1","object":"response","status":"completed","output":[` + output + `],"usage":{}}`
}

// message takes the texts as they stand in JSON.
func message(texts ...string) string {
	var parts []string
	for _, text := range texts {
		parts = append(parts, `{"type":"output_text","text":"`+text+`","annotations":[]}`)
	}
	return `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[` + strings.Join(parts, ",") + `]}`
}

func TestPatchBody(t *testing.T) {
	cases := []struct{ name, output, want, text string }{
		{"behind the only text", message(`a\u0041 `), message(`a\u0041 \n\n` + recordIn), "aA \n\n" + record},
		{
			"behind the last text that says something", `{"type":"reasoning","summary":[]},` + message("a") + `,` + message("b", "c", ` `) + `,` + message(``),
			`{"type":"reasoning","summary":[]},` + message("a") + `,` + message("b", `c\n\n`+recordIn, ` `) + `,` + message(``), "c\n\n" + record,
		},
		{
			"an older block makes room, in every text", message(`a\n`+older+` b`) + `,` + message(`c `+older, `\u003choldfast-record revision=x`),
			message(`a b`) + `,` + message(`c`, `\n\n`+recordIn), record,
		},
		{"a text that speaks of the delimiter", message(`a <holdfast-record b`), message(`a <holdfast-record b\n\n` + recordIn), "a <holdfast-record b\n\n" + record},
		{"nothing but an older block", message(` ` + older), message(`\n\n` + recordIn), record},
		{
			"texts of others are left alone", `{"type":"message","role":"user","content":[{"type":"output_text","text":"u ` + older + `"}]},` + message("a"),
			`{"type":"message","role":"user","content":[{"type":"output_text","text":"u ` + older + `"}]},` + message(`a\n\n`+recordIn), "a\n\n" + record,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, summary, ok := Codec{}.PatchBody([]byte(response(c.output)), record)
			if want := response(c.want); !ok || string(got) != want || summary != holdfast.TextDigest(c.text) {
				t.Errorf("got %s, %v, ok %v\nwant %s, %v", got, summary, ok, want, holdfast.TextDigest(c.text))
			}
		})
	}
	call := `{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`
	refused := []struct{ name, body, block string }{
		{"no text", response(`{"type":"reasoning"}`), record},
		{"a function call", response(message("a") + `,` + call), record},
		{"a custom call", response(message("a") + `,` + strings.Replace(call, "function_call", "custom_tool_call", 1)), record},
		{"a refusal", response(message("a") + `,{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`), record},
		{"an incomplete response", strings.Replace(response(message("a")), "completed", "incomplete", 1), record},
		{"an opaque compaction", `{"object":"response.compaction","output":[{"type":"compaction","encrypted_content":"x"}]}`, record},
		{"no JSON", `<html>`, record},
		{"no block", response(message("a " + older)), ""},
	}
	for _, c := range refused {
		t.Run("not patched: "+c.name, func(t *testing.T) {
			got, summary, ok := Codec{}.PatchBody([]byte(c.body), c.block)
			if ok || string(got) != c.body || !summary.IsZero() {
				t.Errorf("got %s, %v, ok %v; want the body as it is", got, summary, ok)
			}
		})
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"input":[{"role":"user","content":"a"},{"type":"custom_tool_call","input":"x"}],"tools":[{"type":"namespace","tools":[{}]}],"instructions":"s"}`), "x\"")
	f.Add([]byte(`{"input":"a"}`), "")
	f.Add([]byte(`{"input":{"type":"compaction_trigger"}}`), "\n")
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		c := Codec{}
		req, err := c.Scan(body)
		if err != nil {
			return
		}
		c.Tools(req.Tools.Of(body))
		c.SystemTexts(req.System.Of(body), 5)
		for at := -1; at < len(req.Messages); at++ {
			if at >= 0 {
				if _, err := c.Decode(req.Messages[at].Of(body), nil); err != nil {
					t.Fatalf("a scanned item is refused: %v", err)
				}
			}
			out, err := c.InsertBlock(body, req, at, text)
			if err != nil {
				if req.List.Present() {
					t.Fatal(err)
				}
				continue
			}
			if json.Valid(body) && !json.Valid(out) {
				t.Fatalf("%s\nbecame malformed: %s", body, out)
			}
			again, err := c.Scan(out)
			if err != nil || len(again.Messages) != len(req.Messages)+1 {
				t.Fatalf("%s is not readable: %v", out, err)
			}
			own := again.Messages[at+1]
			for k, m := range slices.Delete(slices.Clone(again.Messages), at+1, at+2) {
				// A bare string becomes a message that holds it.
				if got, want := string(m.Of(out)), string(req.Messages[k].Of(body)); got != want && got != `{"type":"message","role":"user","content":`+want+`}` {
					t.Fatalf("item %d was %s, is %s", k, want, got)
				}
			}
			events, _ := c.Decode(own.Of(out), nil)
			if strings.ToValidUTF8(text, "") == text && !reflect.DeepEqual(events, []holdfast.Event{asked(holdfast.Text(text))}) {
				t.Fatalf("inserted %v, want %q", events, text)
			}
		}
	})
}

func FuzzReadBody(f *testing.F) {
	f.Add([]byte(response(message("a <holdfast-record", "b"))))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := Codec{}
		out, summary, ok := c.PatchBody(body, record)
		if !ok {
			if string(out) != string(body) {
				t.Fatal("not patched, and changed")
			}
			return
		}
		if json.Valid(body) && !json.Valid(out) {
			t.Fatalf("%s\nbecame malformed: %s", body, out)
		}
		answer, err := c.ReadBody(out)
		if err != nil || !answer.Complete {
			t.Fatalf("%s is not readable: %v", out, err)
		}
		if !slices.ContainsFunc(answer.Events, func(e holdfast.Event) bool {
			m, ok := e.(holdfast.AssistantMessage)
			return ok && strings.HasSuffix(m.Text, separator+record) && m.Digest == summary
		}) {
			t.Fatalf("the summary %v is of no text of %v", summary, answer.Events)
		}
	})
}
