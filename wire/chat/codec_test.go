package chat

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
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
	body := `{"model":"m-1","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"prompt_cache_key":"k",
 "tools":[{"type":"function","function":{"name":"Read"}},{"type":"function","function":{"name":"Bash"}}],
 "messages":[ {"role":"system","content":"Be \"brief\"."} , {"role":"user","content":"a]b"} ] }
`
	req, err := Codec{}.Scan([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Protocol != holdfast.Chat || req.Model != "m-1" || !req.Stream || req.CacheKey != "k" || req.ToolCount != 2 {
		t.Errorf("got %+v", req)
	}
	if got, want := spans(body, req.Messages), []string{`{"role":"system","content":"Be \"brief\"."}`, `{"role":"user","content":"a]b"}`}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
	got := spans(body, []holdfast.Span{req.List, req.System, req.Tools})
	want := []string{
		`[ {"role":"system","content":"Be \"brief\"."} , {"role":"user","content":"a]b"} ]`,
		`"Be \"brief\"."`,
		`[{"type":"function","function":{"name":"Read"}},{"type":"function","function":{"name":"Bash"}}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("list, system and tools %q, want %q", got, want)
	}
}

func TestTheFirstMessageCanBeTheSystems(t *testing.T) {
	cases := []struct{ name, messages, want string }{
		{"a developer message in parts", `[{"content":[{"type":"text","text":"a"}],"role":"developer"}]`, `[{"type":"text","text":"a"}]`},
		{"a user message", `[{"role":"user","content":"a"}]`, ``},
		{"a system message that is not the first", `[{"role":"user","content":"a"},{"role":"system","content":"b"}]`, ``},
		{"a system message without content", `[{"role":"system"}]`, ``},
		{"a system message whose content is null", `[{"role":"system","content":null}]`, ``},
		{"no object", `["system"]`, ``},
		{"no message", `[]`, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := `{"messages":` + c.messages + `}`
			req, err := Codec{}.Scan([]byte(body))
			if got := string(req.System.Of([]byte(body))); err != nil || got != c.want || req.System.Present() != (c.want != "") {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestScanOfOtherShapes(t *testing.T) {
	cases := []struct {
		name, body string
		want       holdfast.Request
		err        string
	}{
		{"nothing but braces", `{}`, holdfast.Request{}, ""},
		{"null counts as absent", `{"messages":null,"tools":null,"model":null,"stream":null,"prompt_cache_key":null}`, holdfast.Request{}, ""},
		{"an empty list is present", `{"messages":[]}`, holdfast.Request{List: holdfast.Span{Start: 12, End: 14}}, ""},
		{"a key in escapes", `{"m\u006fdel":"x"}`, holdfast.Request{Model: "x"}, ""},
		{
			"the last of a repeated member counts", `{"model":"a","stream":true,"tools":[1,2],"model":"b","stream":false,"tools":[3]}`,
			holdfast.Request{Model: "b", Tools: holdfast.Span{Start: 76, End: 79}, ToolCount: 1},
			"",
		},
		{"messages inside another member are not the history", `{"x":{"messages":[1]},"messages":[]}`, holdfast.Request{List: holdfast.Span{Start: 33, End: 35}}, ""},
		{"the history twice", `{"messages":[],"messages":[]}`, holdfast.Request{}, "messages stands there twice"},
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
				want := "The request is not readable as Chat Completions: " + c.err + ". Check what sent it."
				if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrUsage {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			c.want.Protocol = holdfast.Chat
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
		{
			"a user message in parts",
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"input_audio","input_audio":{}},{"type":"file","file":{}},{"type":"video_url","video_url":{}},{"text":"b","type":"text"}]}`,
			[]holdfast.Event{user(holdfast.Text("a"), holdfast.Media{Type: "image_url"}, holdfast.Media{Type: "input_audio"}, holdfast.Media{Type: "file"}, holdfast.Media{Type: "video_url"}, holdfast.Text("b"))},
		},
		{
			"an unknown part splits the message around it", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"},7,{"type":"text","text":"b"}]}`,
			[]holdfast.Event{user(holdfast.Text("a")), holdfast.Unknown{Type: "hologram"}, holdfast.Unknown{}, user(holdfast.Text("b"))},
		},
		{"an assistant message of one string", `{"role":"assistant","content":" done "}`, []holdfast.Event{said(" done ")}},
		{
			"an assistant message in parts", `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"},{"type":"hologram"}]}`,
			[]holdfast.Event{said("a"), said("no"), holdfast.Unknown{Type: "hologram"}},
		},
		{
			"reasoning, text, refusal and calls, in whatever order they stand",
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"p\": \"\\u0041\"}"}},{"id":"c2","type":"custom","custom":{"name":"patch","input":"a\nb"}}],"refusal":"no","content":"a","reasoning_content":"hm"}`,
			[]holdfast.Event{
				holdfast.Reasoning{},
				said("a"), said("no"),
				holdfast.ToolCall{ID: "c1", Name: "Read", Arguments: []byte(`{"p": "\u0041"}`)},
				holdfast.ToolCall{ID: "c2", Name: "patch", Arguments: []byte(`"a\nb"`)},
			},
		},
		{"reasoning under its other name", `{"role":"assistant","content":"a","reasoning":"hm"}`, []holdfast.Event{holdfast.Reasoning{}, said("a")}},
		{"empty reasoning is none", `{"role":"assistant","content":"a","reasoning":null,"reasoning_content":""}`, []holdfast.Event{said("a")}},
		{
			"calls without text", `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"Read","arguments":""}}]}`,
			[]holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "Read", Arguments: []byte{}}},
		},
		{
			"arguments that are an object already", `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"Read","arguments":{"p": 1}}}]}`,
			[]holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "Read", Arguments: []byte(`{"p": 1}`)}},
		},
		{
			"the older function call gets an id", `{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":"{ \"p\": 1}"}}`,
			[]holdfast.Event{holdfast.ToolCall{ID: callid.Of("Read", []byte(`{"p":1}`)), Name: "Read", Arguments: []byte(`{ "p": 1}`)}},
		},
		{"no call", `{"role":"assistant","content":"a","tool_calls":[],"function_call":null}`, []holdfast.Event{said("a")}},
		{"a call that is no object", `{"role":"assistant","tool_calls":[7]}`, []holdfast.Event{holdfast.ToolCall{ID: callid.Of("", nil)}}},
		{"a blank text of the model is no event", `{"role":"assistant","content":" \n"}`, nil},
		{"a result", `{"role":"tool","tool_call_id":"c1","content":"ok"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c1", Text: "ok"}}},
		{
			"a result in parts, of which only texts count", `{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Text: "a\nb"}},
		},
		{"a result without content", `{"role":"tool","tool_call_id":"c1"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c1"}}},
		{"the older result names the tool", `{"role":"function","name":"Read","content":"ok"}`, []holdfast.Event{holdfast.ToolResult{CallID: "Read#", Text: "ok"}}},
		{"a result that names nothing", `{"role":"tool","content":"ok"}`, []holdfast.Event{holdfast.ToolResult{Text: "ok"}}},
		{
			"a long result is cut between characters", `{"role":"tool","tool_call_id":"c","content":"` + long + `ü"}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c", Text: long}},
		},
		{
			"a long result in parts is cut as a whole", `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"` + long + `"},{"type":"text","text":"b"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c", Text: long + "\n"}},
		},
		{"a system message", `{"role":"system","content":"x"}`, []holdfast.Event{holdfast.SystemMessage{}}},
		{"a developer message", `{"role":"developer","content":"x"}`, []holdfast.Event{holdfast.SystemMessage{}}},
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
	element := []byte(`{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"Read","arguments":{"p":"x"}}}]}`)
	got, _ := Codec{}.Decode(element, nil)
	clear(element)
	want := []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "Read", Arguments: []byte(`{"p":"x"}`)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTools(t *testing.T) {
	raw := `[{"type":"function","function":{"name":"Read","parameters":{}}},{"type":"custom","custom":{"name":"patch"}},{"function":{"name":"Bare"}},{"type":"web_search"},{"type":"builtin","name":"$search"},{"type":"function","function":{}},{"type":"custom"},7]`
	want := []holdfast.Tool{{Name: "Read"}, {Name: "patch"}, {Name: "Bare"}, {Name: "web_search", Server: true}, {Name: "$search", Server: true}}
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
		{"a list of parts", `[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]`, 99, []string{"a", "b"}},
		{"each is cut between characters", `[{"type":"text","text":"aü"},{"type":"text","text":"abcd"}]`, 2, []string{"a", "ab"}},
		{"absent", ``, 9, nil},
		{"another kind", `7`, 9, nil},
		{"broken off", `"a`, 9, nil},
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
			"an older block makes room", `{"messages":[{"role":"user","content":[{"type":"text","text":"a <holdfast-record revision=\"1\">a\ndigest sha256:0123456789abcdef0123456789abcdef\n</holdfast-record> b"},{"type":"text","text":"c"}]}]}`, 0,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a\n\nN \"1\"\n b"},{"type":"text","text":"c"}]}]}`,
		},
		{
			"a string stays one", `{"messages":[{"role":"user","content":"a\u0041\"" }],"x":1}`, 0,
			`{"messages":[{"role":"user","content":"a\u0041\"\n\nN \"1\"\n" }],"x":1}`,
		},
		{
			"an empty string needs no line breaks", `{"messages":[{"role":"user","content":""}]}`, 0,
			`{"messages":[{"role":"user","content":"N \"1\"\n"}]}`,
		},
		{
			"a list gets one more part", `{"messages":[{"content":[ {"type":"text","text":"a"} ],"role":"user"},{"role":"assistant","content":"b"}]}`, 0,
			`{"messages":[{"content":[ {"type":"text","text":"a"} ,{"type":"text","text":"N \"1\"\n"}],"role":"user"},{"role":"assistant","content":"b"}]}`,
		},
		{
			"an empty list gets its first", `{"messages":[{"role":"user","content":[ ]}]}`, 0,
			`{"messages":[{"role":"user","content":[ {"type":"text","text":"N \"1\"\n"}]}]}`,
		},
		{
			"a later message", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, 2,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c\n\nN \"1\"\n"}]}`,
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
	body := []byte(`{"messages":[{"role":"assistant","content":"b"},{"role":"user"},{"role":"user","content":7},"user"]}`)
	req, err := Codec{}.Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	for at, code := range map[int]holdfast.Code{
		-1: holdfast.ErrInternal, 4: holdfast.ErrInternal, 0: holdfast.ErrUsage, 1: holdfast.ErrUsage, 2: holdfast.ErrUsage, 3: holdfast.ErrUsage,
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
			"an answer", `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{}}`,
			holdfast.Answer{ID: "chatcmpl-1", Complete: true, Stop: "stop", Events: []holdfast.Event{said("a")}},
		},
		{
			"calls", `{"id":"1","choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			holdfast.Answer{ID: "1", Complete: true, Stop: "tool_calls", Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "Read", Arguments: []byte(`{}`)}}},
		},
		{
			"of several choices the first counts", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"length"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}`,
			holdfast.Answer{Complete: true, Stop: "length", Events: []holdfast.Event{said("a")}},
		},
		{
			"an answer that was filtered", `{"choices":[{"message":{"content":"a"},"finish_reason":"content_filter"}]}`,
			holdfast.Answer{Stop: "content_filter", Events: []holdfast.Event{said("a")}},
		},
		{"no finish reason", `{"choices":[{"message":{"content":"a"},"finish_reason":null}]}`, holdfast.Answer{Events: []holdfast.Event{said("a")}}},
		{"an error", `{"error":{"message":"overloaded","code":503}}`, holdfast.Answer{}},
		{"an error beside a text", `{"error":{"code":502},"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, holdfast.Answer{Stop: "stop", Events: []holdfast.Event{said("a")}}},
		{"no error after all", `{"error":null,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, holdfast.Answer{Complete: true, Stop: "stop", Events: []holdfast.Event{said("a")}}},
		{"choices of another kind", `{"choices":7}`, holdfast.Answer{}},
		{"a choice of another kind", `{"choices":[7]}`, holdfast.Answer{}},
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

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]bool{
		"stop": true, "length": true, "tool_calls": true, "function_call": true, "eos": true,
		"": false, "content_filter": false, "error": false, "abort": false, "insufficient_system_resource": false,
	} {
		if got := succeeded(reason); got != want {
			t.Errorf("%q: success %v, want %v", reason, got, want)
		}
	}
}

const (
	record   = holdfast.BlockOpen + " revision=\"2\">\nPlan: \"ü\"\n" + holdfast.BlockClose
	recordIn = `<holdfast-record revision=\"2\">\nPlan: \"ü\"\n</holdfast-record>`
	older    = `<holdfast-record revision=\"1\">old</holdfast-record>`
)

// choice is an answer with one choice, of the message as it stands in JSON.
func choice(message, finish string) string {
	return `{"id":"1","choices":[{"index":0,"message":{` + message + `},"finish_reason":"` + finish + `"}],"usage":{"total_tokens":9}}`
}

func TestPatchBody(t *testing.T) {
	cases := []struct {
		name, body, want, summary string
	}{
		{"behind the text", choice(`"role":"assistant","content":"a\u0041 "`, "stop"), choice(`"role":"assistant","content":"a\u0041 \n\n`+recordIn+`"`, "stop"), "aA \n\n" + record},
		{"reasoning stays as it is", choice(`"reasoning_content":"hm `+older+`","content":"a"`, "length"), choice(`"reasoning_content":"hm `+older+`","content":"a\n\n`+recordIn+`"`, "length"), "a\n\n" + record},
		{
			"behind the last part that says something", choice(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":" "}]`, "stop"),
			choice(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n\n`+recordIn+`"},{"type":"text","text":" "}]`, "stop"), "b\n\n" + record,
		},
		{"an older block makes room", choice(`"content":"a\n`+older+` b `+older+`"`, "stop"), choice(`"content":"a b\n\n`+recordIn+`"`, "stop"), "a b\n\n" + record},
		{"an older block that never closes reaches to the end", choice(`"content":"a \u003choldfast-record revision=1> b"`, "stop"), choice(`"content":"a\n\n`+recordIn+`"`, "stop"), "a\n\n" + record},
		{"empty calls and no refusal", choice(`"content":"a","tool_calls":[],"function_call":null,"refusal":null`, "stop"), choice(`"content":"a\n\n`+recordIn+`","tool_calls":[],"function_call":null,"refusal":null`, "stop"), "a\n\n" + record},
		{"a text that speaks of the delimiter", choice(`"content":"It begins with `+"`<holdfast-record`"+`. Next: port it"`, "stop"), choice(`"content":"It begins with `+"`<holdfast-record`"+`. Next: port it\n\n`+recordIn+`"`, "stop"), "It begins with `<holdfast-record`. Next: port it\n\n" + record},
		{"nothing but an older block", choice(`"content":" `+older+`"`, "stop"), choice(`"content":"\n\n`+recordIn+`"`, "stop"), record},
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
		{"no text", choice(`"content":null`, "stop"), record},
		{"white space", choice(`"content":" \n"`, "stop"), record},
		{"a tool call", choice(`"content":"a","tool_calls":[{"id":"c1","function":{"name":"n","arguments":"{}"}}]`, "tool_calls"), record},
		{"a tool call that the finish reason hides", choice(`"content":"a","tool_calls":[{"id":"c1","function":{"name":"n","arguments":"{}"}}]`, "stop"), record},
		{"a finish reason that tells of a call", choice(`"content":"a"`, "tool_calls"), record},
		{"the older function call", choice(`"content":"a","function_call":{"name":"n","arguments":"{}"}`, "stop"), record},
		{"a refusal", choice(`"content":"a","refusal":"no"`, "stop"), record},
		{"a refusal among parts", choice(`"content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"}]`, "stop"), record},
		{"an answer that was filtered", choice(`"content":"a"`, "content_filter"), record},
		{"two choices", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}`, record},
		{"an error", `{"error":{"message":"a"}}`, record},
		{"no JSON", `<html>`, record},
		{"no block", choice(`"content":"a `+older+`"`, "stop"), ""},
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
	f.Add([]byte(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"tool","content":[]},{"role":"assistant","content":null,"tool_calls":[{"function":{}}]}],"tools":[{}]}`), "x\"")
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
			if !ok || strings.ToValidUTF8(text, "") == text && !strings.HasSuffix(string(last.Parts[len(last.Parts)-1].(holdfast.Text)), text) {
				t.Fatalf("message %d ends with %v, want %q", i, events, text)
			}
		}
	})
}

func FuzzReadBody(f *testing.F) {
	f.Add([]byte(choice(`"content":"a <holdfast-record"`, "stop")))
	f.Add([]byte(choice(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "stop")))
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
