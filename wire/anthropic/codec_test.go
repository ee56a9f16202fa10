package anthropic

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

// spans turns the spans of a request into the texts that they cover.
func spans(body string, list []holdfast.Span) (texts []string) {
	for _, s := range list {
		texts = append(texts, body[s.Start:s.End])
	}
	return texts
}

func TestScan(t *testing.T) {
	body := `{"model":"m-1","max_tokens":9,"stream":true,
 "metadata":{"user_id":"{\"session_id\":\"s\"}"},
 "system":[{"type":"text","text":"Be brief."}],
 "tools":[{"name":"Read"},{"name":"Bash"}],
 "messages":[ {"role":"user","content":"a]b"} , {"role":"assistant","content":[]} ] }
`
	req, err := Codec{}.Scan([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Protocol != holdfast.Anthropic || req.Model != "m-1" || !req.Stream || req.UserID != `{"session_id":"s"}` || req.ToolCount != 2 {
		t.Errorf("got %+v", req)
	}
	if got, want := spans(body, req.Messages), []string{`{"role":"user","content":"a]b"}`, `{"role":"assistant","content":[]}`}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
	got := spans(body, []holdfast.Span{req.List, req.System, req.Tools})
	want := []string{
		`[ {"role":"user","content":"a]b"} , {"role":"assistant","content":[]} ]`,
		`[{"type":"text","text":"Be brief."}]`,
		`[{"name":"Read"},{"name":"Bash"}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("list, system and tools %q, want %q", got, want)
	}
}

func TestScanOfOtherShapes(t *testing.T) {
	cases := []struct {
		name, body string
		want       holdfast.Request
		err        string
	}{
		{"nothing but braces", `{}`, holdfast.Request{}, ""},
		{"null counts as absent", `{"messages":null,"system":null,"tools":null,"metadata":null,"model":null,"stream":null}`, holdfast.Request{}, ""},
		{"an empty list is present", `{"messages":[]}`, holdfast.Request{List: holdfast.Span{Start: 12, End: 14}}, ""},
		{"a key in escapes", `{"m\u006fdel":"x"}`, holdfast.Request{Model: "x"}, ""},
		{
			"the last of a repeated member counts", `{"model":"a","stream":true,"tools":[1,2],"metadata":{"user_id":"u"},"model":"b","stream":false,"tools":[3],"metadata":{}}`,
			holdfast.Request{Model: "b", Tools: holdfast.Span{Start: 103, End: 106}, ToolCount: 1},
			"",
		},
		{"a request for a summary", `{"compaction":{"type":"summarize","instructions":"Be brief."}}`, holdfast.Request{Summarize: true}, ""},
		{"another compaction", `{"compaction":{"type":"hologram"}}`, holdfast.Request{}, ""},
		{"a compaction that is no object", `{"compaction":"summarize"}`, holdfast.Request{}, ""},
		{"messages inside another member are not the history", `{"x":{"messages":[1]},"messages":[]}`, holdfast.Request{List: holdfast.Span{Start: 33, End: 35}}, ""},
		{"the history twice", `{"messages":[],"messages":[]}`, holdfast.Request{}, "messages stands there twice"},
		{"the history twice in escapes", `{"messages":[],"mess\u0061ges":[]}`, holdfast.Request{}, "messages stands there twice"},
		{"a history that is no list", `{"messages":"hi"}`, holdfast.Request{}, "malformed JSON at byte 12: an array expected"},
		{"a list instead of an object", `[]`, holdfast.Request{}, "malformed JSON at byte 0: an object expected"},
		{"no bytes", ``, holdfast.Request{}, "malformed JSON at byte 0: an object expected"},
		{"two objects", `{} {}`, holdfast.Request{}, "malformed JSON at byte 2: nothing behind the object expected"},
		{"a message cut off", `{"messages":[{"role":"us`, holdfast.Request{}, "malformed JSON at byte 24: a closing quote expected"},
		{"a key without a value", `{"tools":`, holdfast.Request{}, "malformed JSON at byte 9: a value expected"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Scan([]byte(c.body))
			if c.err != "" {
				want := "The request is not readable as Messages API: " + c.err + ". Check what sent it."
				if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrUsage {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			c.want.Protocol = holdfast.Anthropic
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	user := func(parts ...holdfast.Part) holdfast.Event { return holdfast.UserMessage{Parts: parts} }
	long := strings.Repeat("x", holdfast.MaxResultText-1)
	cases := []struct {
		name, element string
		want          []holdfast.Event
	}{
		{"a user message of one string", `{"role":"user","content":"a\nb"}`, []holdfast.Event{user(holdfast.Text("a\nb"))}},
		{"content before the role", `{"content":"a","role":"user"}`, []holdfast.Event{user(holdfast.Text("a"))}},
		{
			"texts and media that stand together are one message",
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","data":"AA"}},{"type":"document","source":{}},{"text":"b","type":"text"}]}`,
			[]holdfast.Event{user(holdfast.Text("a"), holdfast.Media{Type: "image"}, holdfast.Media{Type: "document"}, holdfast.Text("b"))},
		},
		{
			"a tool result splits the message around it",
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"text","text":"b"}]}`,
			[]holdfast.Event{user(holdfast.Text("a")), holdfast.ToolResult{CallID: "t1", Text: "ok"}, user(holdfast.Text("b"))},
		},
		{
			"a failed result in parts, of which only texts count",
			`{"role":"user","content":[{"type":"tool_result","is_error":true,"tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "t1", IsError: true, Text: "a\nb"}},
		},
		{"a result without content", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}`, []holdfast.Event{holdfast.ToolResult{CallID: "t1"}}},
		{
			"a long result is cut between characters", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` + long + `ü"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "t", Text: long}},
		},
		{
			"a long result in parts is cut as a whole", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"` + long + `"},{"type":"text","text":"b"}]}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "t", Text: long + "\n"}},
		},
		{
			"an unknown block splits too", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"},7]}`,
			[]holdfast.Event{user(holdfast.Text("a")), holdfast.Unknown{Type: "hologram"}, holdfast.Unknown{}},
		},
		{"an assistant message of one string", `{"role":"assistant","content":" done "}`, []holdfast.Event{said(" done ")}},
		{
			"an assistant message with all its blocks",
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"z"},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"tool_use","id":"t1","name":"Read","input":{"p": "x\u0041"}},{"type":"server_tool_use","id":"t2","name":"web_search","input":{}}]}`,
			[]holdfast.Event{
				holdfast.Reasoning{},
				holdfast.Reasoning{},
				said("a"), said("b"),
				holdfast.ToolCall{ID: "t1", Name: "Read", Arguments: []byte(`{"p": "x\u0041"}`)},
				holdfast.Unknown{Type: "server_tool_use"},
			},
		},
		{
			"a summary of the provider's before a text", `{"role":"assistant","content":[{"type":"compaction","content":"They moved it.","signature":"s"},{"type":"text","text":"a"}]}`,
			[]holdfast.Event{holdfast.CompactionItem{Digest: holdfast.TextDigest("They moved it.")}, said("a")},
		},
		{"a compaction that failed", `{"role":"assistant","content":[{"type":"compaction","content":null,"encrypted_content":"x"}]}`, []holdfast.Event{holdfast.Unknown{Type: "compaction"}}},
		{"a blank text of the model is no event", `{"role":"assistant","content":[{"type":"text","text":""},{"type":"text","text":" \n"}]}`, nil},
		{"a system message", `{"role":"system","content":"x"}`, []holdfast.Event{holdfast.SystemMessage{}}},
		{"an unknown role", `{"role":"critic","content":"x"}`, []holdfast.Event{holdfast.Unknown{Type: "critic"}}},
		{"no role", `{}`, []holdfast.Event{holdfast.Unknown{}}},
		{"no object", `"x"`, []holdfast.Event{holdfast.Unknown{}}},
		{"no content", `{"role":"user"}`, nil},
		{"content of another kind", `{"role":"user","content":7}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Decode([]byte(c.element), nil)
			if err != nil || !reflect.DeepEqual(got, c.want) {
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

func TestEventsHoldNoReferenceToTheElement(t *testing.T) {
	element := []byte(`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"p":"x"}}]}`)
	got, _ := Codec{}.Decode(element, nil)
	clear(element)
	want := []holdfast.Event{holdfast.ToolCall{ID: "t1", Name: "Read", Arguments: []byte(`{"p":"x"}`)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTools(t *testing.T) {
	raw := `[{"name":"Read","input_schema":{}},{"type":"custom","name":"Own"},{"type":"web_search_20250305","name":"web_search"},{"type":"custom","name":"C","input_schema":{}},{"name":"Bare"},{"type":"x"},7]`
	want := []holdfast.Tool{{Name: "Read"}, {Name: "Own"}, {Name: "web_search", Server: true}, {Name: "C"}, {Name: "Bare"}}
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
	cases := []struct {
		name, raw string
		max       int
		want      []string
	}{
		{"one string", `"You are brief."`, 99, []string{"You are brief."}},
		{"a list of blocks", `[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b","cache_control":{}}]`, 99, []string{"a", "b"}},
		{"each is cut between characters", `[{"type":"text","text":"aü"},{"type":"text","text":"abcd"}]`, 2, []string{"a", "ab"}},
		{"absent", ``, 9, nil},
		{"another kind", `7`, 9, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := (Codec{}).SystemTexts([]byte(c.raw), c.max); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestInsertBlock(t *testing.T) {
	cases := []struct {
		name, body string
		at         int
		want       string
	}{
		{
			"a string becomes a list that keeps it", `{"messages":[{"role":"user","content":"a\u0041\"" }],"x":1}`, 0,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a\u0041\""},{"type":"text","text":"N \"1\"\n"}] }],"x":1}`,
		},
		{
			"a list gets one more block", `{"messages":[{"content":[ {"type":"text","text":"a"} ],"role":"user"},{"role":"assistant","content":"b"}]}`, 0,
			`{"messages":[{"content":[ {"type":"text","text":"a"} ,{"type":"text","text":"N \"1\"\n"}],"role":"user"},{"role":"assistant","content":"b"}]}`,
		},
		{
			"an empty list gets its first", `{"messages":[{"role":"user","content":[ ]}]}`, 0,
			`{"messages":[{"role":"user","content":[ {"type":"text","text":"N \"1\"\n"}]}]}`,
		},
		{
			"an older block makes room", `{"messages":[{"role":"user","content":[{"type":"text","text":"a <holdfast-record revision=\"1\">a\ndigest sha256:0123456789abcdef0123456789abcdef\n</holdfast-record> b"},{"type":"text","text":"c"}]}]}`, 0,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a\n\nN \"1\"\n b"},{"type":"text","text":"c"}]}]}`,
		},
		{
			"a later message", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, 2,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"N \"1\"\n"}]}]}`,
		},
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
}

func TestInsertBlockRefuses(t *testing.T) {
	body := []byte(`{"messages":[{"role":"assistant","content":"b"},{"role":"user"},{"role":"user","content":7}]}`)
	req, err := Codec{}.Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	for at, code := range map[int]holdfast.Code{
		-1: holdfast.ErrInternal, 3: holdfast.ErrInternal, 0: holdfast.ErrUsage, 1: holdfast.ErrUsage, 2: holdfast.ErrUsage,
	} {
		if got, err := (Codec{}).InsertBlock(body, req, at, "x"); err == nil || holdfast.CodeOf(err) != code || got != nil {
			t.Errorf("at %d: got %s, %v; want code %s", at, got, err, code)
		}
	}
	if _, err := (Codec{}).InsertBlock(body[:20], req, 0, "x"); holdfast.CodeOf(err) != holdfast.ErrInternal || err == nil {
		t.Errorf("another body than the scanned one: %v", err)
	}
}

func TestReadBody(t *testing.T) {
	cases := []struct {
		name, body string
		want       holdfast.Answer
	}{
		{
			"a message", `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Read","input":{}}],"stop_reason":"tool_use","usage":{}}`,
			holdfast.Answer{ID: "msg_1", Complete: true, Stop: "tool_use", Events: []holdfast.Event{said("a"), holdfast.ToolCall{ID: "t1", Name: "Read", Arguments: []byte(`{}`)}}},
		},
		{"a refusal", `{"id":"msg_1","type":"message","content":[],"stop_reason":"refusal"}`, holdfast.Answer{ID: "msg_1", Stop: "refusal"}},
		{"no stop reason", `{"id":"msg_1","type":"message","content":[],"stop_reason":null}`, holdfast.Answer{ID: "msg_1"}},
		{"an error", `{"type":"error","error":{"type":"overloaded_error"}}`, holdfast.Answer{}},
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
		if _, err := (Codec{}).ReadBody([]byte(bad)); holdfast.CodeOf(err) != holdfast.ErrUsage || err == nil {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

const (
	record   = holdfast.BlockOpen + " revision=\"2\">\nPlan: \"ü\"\n" + holdfast.BlockClose
	recordIn = `<holdfast-record revision=\"2\">\nPlan: \"ü\"\n</holdfast-record>`
	older    = `<holdfast-record revision=\"1\">old</holdfast-record>`
)

func TestPatchBody(t *testing.T) {
	cases := []struct {
		name, body, want, summary string
	}{
		{
			"behind the only text", `{"id":"m","type":"message","content":[{"type":"text","text":"a\u0041 "}],"stop_reason":"end_turn"}`,
			`{"id":"m","type":"message","content":[{"type":"text","text":"a\u0041 \n\n` + recordIn + `"}],"stop_reason":"end_turn"}`, "aA \n\n" + record,
		},
		{
			"behind the last text that says something", `{"type":"message","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":" "}],"stop_reason":"max_tokens"}`,
			`{"type":"message","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"text","text":"b\n\n` + recordIn + `"},{"type":"text","text":" "}],"stop_reason":"max_tokens"}`, "b\n\n" + record,
		},
		{
			"an older block makes room, in every text", `{"type":"message","content":[{"type":"text","text":"a\n` + older + ` b"},{"type":"text","text":"c ` + older + `"},{"text":"\u003choldfast-record revision=x","type":"text"}],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[{"type":"text","text":"a b"},{"type":"text","text":"c"},{"text":"\n\n` + recordIn + `","type":"text"}],"stop_reason":"end_turn"}`, record,
		},
		{
			"a text that speaks of the delimiter", `{"type":"message","content":[{"type":"text","text":"a <holdfast-record b"}],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[{"type":"text","text":"a <holdfast-record b\n\n` + recordIn + `"}],"stop_reason":"end_turn"}`, "a <holdfast-record b\n\n" + record,
		},
		{
			"an older block that never closes reaches to the end", `{"type":"message","content":[{"type":"text","text":"a <holdfast-record revision=1> b"}],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[{"type":"text","text":"a\n\n` + recordIn + `"}],"stop_reason":"end_turn"}`, "a\n\n" + record,
		},
		{
			"nothing but an older block", `{"type":"message","content":[{"type":"text","text":" ` + older + `"}],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[{"type":"text","text":"\n\n` + recordIn + `"}],"stop_reason":"end_turn"}`, record,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, summary, ok := Codec{}.PatchBody([]byte(c.body), record)
			if !ok || string(got) != c.want || summary != holdfast.TextDigest(c.summary) {
				t.Errorf("got %s, %v, ok %v\nwant %s, %v", got, summary, ok, c.want, holdfast.TextDigest(c.summary))
			}
		})
	}
	refused := []struct{ name, body, block string }{
		{"no text", `{"type":"message","content":[{"type":"thinking","thinking":"t"}],"stop_reason":"end_turn"}`, record},
		{"a tool call", `{"type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"tool_use"}`, record},
		{"a refusal", `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"refusal"}`, record},
		{"an error", `{"type":"error","error":{"message":"a"}}`, record},
		{"no JSON", `<html>`, record},
		{"no block", `{"type":"message","content":[{"type":"text","text":"a ` + older + `"}],"stop_reason":"end_turn"}`, ""},
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
	f.Add([]byte(`{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"tool_result","content":"x"}]},{"role":"assistant","content":[]}],"tools":[{}],"system":"s","metadata":{"user_id":"u"}}`), "x\"")
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		c := Codec{}
		req, err := c.Scan(body)
		if err != nil {
			return
		}
		c.Tools(req.Tools.Of(body))
		c.SystemTexts(req.System.Of(body), 5)
		for i, m := range req.Messages {
			if _, err := c.Decode(m.Of(body), nil); err != nil {
				t.Fatalf("a scanned message is refused: %v", err)
			}
			out, err := c.InsertBlock(body, req, i, text)
			if err != nil {
				continue
			}
			if json.Valid(body) && !json.Valid(out) {
				t.Fatalf("%s\nbecame malformed: %s", body, out)
			}
			again, err := c.Scan(out)
			if err != nil || len(again.Messages) != len(req.Messages) {
				t.Fatalf("%s is not readable: %v", out, err)
			}
			for k := range req.Messages {
				if k != i && string(again.Messages[k].Of(out)) != string(req.Messages[k].Of(body)) {
					t.Fatalf("message %d changed by an insertion into %d: %s", k, i, out)
				}
			}
			events, _ := c.Decode(again.Messages[i].Of(out), nil)
			last, ok := events[len(events)-1].(holdfast.UserMessage)
			want := holdfast.Text(strings.ToValidUTF8(text, "\ufffd"))
			if !ok || strings.ToValidUTF8(text, "") == text && last.Parts[len(last.Parts)-1] != want {
				t.Fatalf("message %d ends with %v, want %q", i, events, want)
			}
		}
	})
}

func FuzzReadBody(f *testing.F) {
	f.Add([]byte(`{"type":"message","content":[{"type":"text","text":"a <holdfast-record"},{"type":"text","text":"b"}],"stop_reason":"end_turn"}`))
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
		last := answer.Events[slices.IndexFunc(answer.Events, func(e holdfast.Event) bool {
			m, ok := e.(holdfast.AssistantMessage)
			return ok && strings.HasSuffix(m.Text, separator+record)
		})]
		if last.(holdfast.AssistantMessage).Digest != summary {
			t.Fatalf("the summary is not the digest of %v", last)
		}
		// White space before an older block goes with it, so the first repeat
		// may still change some; the second changes nothing.
		once, _, _ := c.PatchBody(out, record)
		if twice, _, ok := c.PatchBody(once, record); !ok || string(twice) != string(once) || strings.Count(string(once), recordIn) != 1 {
			t.Fatalf("patched again it becomes %s, and then %s", once, twice)
		}
	})
}
