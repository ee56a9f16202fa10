package gemini

import (
	"encoding/json"
	"fmt"
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

// called is a call with the id that its name and arguments make.
func called(tool, arguments string) holdfast.ToolCall {
	return holdfast.ToolCall{ID: callid.Of(tool, []byte(arguments)), Name: tool, Arguments: []byte(arguments)}
}

// spans turns the spans of a request into the texts that they cover.
func spans(body string, list []holdfast.Span) (texts []string) {
	for _, s := range list {
		texts = append(texts, body[s.Start:s.End])
	}
	return texts
}

func TestScan(t *testing.T) {
	body := `{"systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]},"generationConfig":{"temperature":1},
 "tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}}],
 "contents":[ {"role":"user","parts":[{"text":"a]b"}]} , {"role":"model","parts":[]} ] }
`
	req, err := Codec{}.Scan([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Protocol != holdfast.Gemini || req.Model != "" || req.Stream || req.ToolCount != 2 {
		t.Errorf("got %+v", req)
	}
	if got, want := spans(body, req.Messages), []string{`{"role":"user","parts":[{"text":"a]b"}]}`, `{"role":"model","parts":[]}`}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
	got := spans(body, []holdfast.Span{req.List, req.System, req.Tools})
	want := []string{
		`[ {"role":"user","parts":[{"text":"a]b"}]} , {"role":"model","parts":[]} ]`,
		`{"role":"user","parts":[{"text":"Be brief."}]}`,
		`[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}}]`,
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
		{"null counts as absent", `{"contents":null,"systemInstruction":null,"tools":null}`, holdfast.Request{}, ""},
		{"an empty list is present", `{"contents":[]}`, holdfast.Request{List: holdfast.Span{Start: 12, End: 14}}, ""},
		{
			"one object is a history of one element", `{"contents":{"parts":{}}}`,
			holdfast.Request{List: holdfast.Span{Start: 12, End: 24}, Messages: []holdfast.Span{{Start: 12, End: 24}}},
			"",
		},
		{
			"the other spelling", `{"system_instruction":"x","tools":{"function_declarations":[]}}`,
			holdfast.Request{System: holdfast.Span{Start: 22, End: 25}, Tools: holdfast.Span{Start: 34, End: 62}, ToolCount: 1},
			"",
		},
		{"a key in escapes", `{"c\u006fntents":[]}`, holdfast.Request{List: holdfast.Span{Start: 17, End: 19}}, ""},
		{
			"the last of a repeated member counts", `{"tools":[1,2],"tools":[3],"systemInstruction":"a","systemInstruction":null}`,
			holdfast.Request{Tools: holdfast.Span{Start: 23, End: 26}, ToolCount: 1},
			"",
		},
		{"contents inside another member are not the history", `{"x":{"contents":[1]},"contents":[]}`, holdfast.Request{List: holdfast.Span{Start: 33, End: 35}}, ""},
		{"a wrapped body has no history", `{"model":"m","request":{"contents":[]}}`, holdfast.Request{}, ""},
		{"the history twice", `{"contents":[],"contents":[]}`, holdfast.Request{}, "contents stands there twice"},
		{"a history of another kind", `{"contents":"hi"}`, holdfast.Request{}, "malformed JSON at byte 12: a list or an object expected"},
		{"a list instead of an object", `[]`, holdfast.Request{}, "malformed JSON at byte 0: an object expected"},
		{"no bytes", ``, holdfast.Request{}, "malformed JSON at byte 0: an object expected"},
		{"two objects", `{} {}`, holdfast.Request{}, "malformed JSON at byte 2: nothing behind the object expected"},
		{"a content cut off", `{"contents":[{"role":"us`, holdfast.Request{}, "malformed JSON at byte 24: a closing quote expected"},
		{"a key without a value", `{"tools":`, holdfast.Request{}, "malformed JSON at byte 9: a value expected"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Scan([]byte(c.body))
			if c.err != "" {
				want := "The request is not readable as Gemini API: " + c.err + ". Check what sent it."
				if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrUsage {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			c.want.Protocol = holdfast.Gemini
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		key, name string
		want      bool
	}{
		{"functionCall", "functionCall", true},
		{"function_call", "functionCall", true},
		{"text", "text", true},
		{"functioncall", "functionCall", false},
		{"function__call", "functionCall", false},
		{"function_Call", "functionCall", false},
		{"functionCalls", "functionCall", false},
		{"function", "functionCall", false},
		{"function_", "functionCall", false},
		{"te_xt", "text", false},
		{"", "text", false},
	} {
		if got := named([]byte(c.key), c.name); got != c.want {
			t.Errorf("%q as %s: %v, want %v", c.key, c.name, got, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	user := func(parts ...holdfast.Part) holdfast.Event { return holdfast.UserMessage{Parts: parts} }
	long := strings.Repeat("x", holdfast.MaxResultText-1)
	result := func(text string, bad bool) []holdfast.Event {
		return []holdfast.Event{holdfast.ToolResult{CallID: "t#", Text: text, IsError: bad}}
	}
	answers := func(response string) string {
		return `{"role":"user","parts":[{"functionResponse":{"id":"x-1","name":"t","response":` + response + `}}]}`
	}
	cases := []struct {
		name, element string
		want          []holdfast.Event
	}{
		{"a user content", `{"role":"user","parts":[{"text":"a\nb"}]}`, []holdfast.Event{user(holdfast.Text("a\nb"))}},
		{
			"texts and media that stand together are one message", `{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"AA"}},{"file_data":{"file_uri":"u"}},{"text":"b"}]}`,
			[]holdfast.Event{user(holdfast.Text("a"), holdfast.Media{Type: "inlineData"}, holdfast.Media{Type: "fileData"}, holdfast.Text("b"))},
		},
		{"no role is the user's, and one part needs no list", `{"parts":{"text":"a"}}`, []holdfast.Event{user(holdfast.Text("a"))}},
		{
			"a function response splits the message around it",
			`{"role":"user","parts":[{"text":"a"},{"functionResponse":{"id":"1","name":"t","response":{"output":"ok"}}},{"text":"b"}]}`,
			[]holdfast.Event{user(holdfast.Text("a")), holdfast.ToolResult{CallID: "t#", Text: "ok"}, user(holdfast.Text("b"))},
		},
		{"the older role of responses", `{"role":"function","parts":[{"function_response":{"name":"t","response":{"output":"ok"}}}]}`, result("ok", false)},
		{"an error", answers(`{"error":"no \"such\" file"}`), result(`no "such" file`, true)},
		{"an error that is no string", answers(`{"error":{"code": 1}}`), result(`{"code": 1}`, true)},
		{"an output beside an error", answers(`{"output":"half","error":"cut"}`), result("half", true)},
		{"an output that is no string", answers(`{"output":{"a": 1}}`), result(`{"output":{"a": 1}}`, false)},
		{"a response of other members", answers(`{"content": [1]}`), result(`{"content": [1]}`, false)},
		{"no response", `{"role":"user","parts":[{"functionResponse":{"name":"t"}}]}`, result("", false)},
		{"a long output is cut between characters", answers(`{"output":"` + long + `ü"}`), result(long, false)},
		{"a long response is cut between characters", answers(`{"x":"` + long[len(`{"x":"`):] + `ü"}`), result(`{"x":"`+long[len(`{"x":"`):], false)},
		{
			"unknown parts split too, members about a part make none", `{"role":"user","parts":[{"text":"a"},{"hologram":{},"x":1},7,{"thoughtSignature":"s"},{"text":"b","videoMetadata":{}}]}`,
			[]holdfast.Event{user(holdfast.Text("a")), holdfast.Unknown{Type: "hologram"}, holdfast.Unknown{}, user(holdfast.Text("b"))},
		},
		{"a model content", `{"role":"model","parts":[{"text":" done "}]}`, []holdfast.Event{said(" done ")}},
		{
			"texts that follow one another are one, thoughts left out", `{"role":"model","parts":[{"text":"hm","thought":true},{"text":"a"},{"thought":true,"text":"hm"},{"text":"b","thought":false},{"text":"","thoughtSignature":"s"}]}`,
			[]holdfast.Event{holdfast.Reasoning{}, said("ab")},
		},
		{
			"a thought behind a call is another one", `{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"t","args":{}}},{"text":"a"},{"text":"hm","thought":true}]}`,
			[]holdfast.Event{holdfast.Reasoning{}, called("t", `{}`), holdfast.Reasoning{}, said("a")},
		},
		{
			"calls, whatever their ids", `{"role":"model","parts":[{"text":"a"},{"functionCall":{"id":"1","name":"t","args":{"p": "\u003c"}},"thoughtSignature":"s"},{"text":"b"},{"function_call":{"name":"u"}}]}`,
			[]holdfast.Event{said("a"), holdfast.ToolCall{ID: callid.Of("t", []byte(`{"p":"<"}`)), Name: "t", Arguments: []byte(`{"p": "\u003c"}`)}, said("b"), holdfast.ToolCall{ID: callid.Of("u", nil), Name: "u"}},
		},
		{
			"other parts of the model", `{"role":"model","parts":[{"executableCode":{}},{"codeExecutionResult":{}},{"inlineData":{}},"x",{}]}`,
			[]holdfast.Event{holdfast.Unknown{Type: "executableCode"}, holdfast.Unknown{Type: "codeExecutionResult"}, holdfast.Unknown{Type: "inlineData"}, holdfast.Unknown{}},
		},
		{"members that are null are absent", `{"role":"model","parts":[{"functionCall":null,"text":"a","thought":null}]}`, []holdfast.Event{said("a")}},
		{"a blank text of the model is no event", `{"role":"model","parts":[{"text":""},{"text":" \n"}]}`, nil},
		{"a system content", `{"role":"system","parts":[{"text":"x"}]}`, []holdfast.Event{holdfast.SystemMessage{}}},
		{"an unknown role", `{"role":"critic","parts":[]}`, []holdfast.Event{holdfast.Unknown{Type: "critic"}}},
		{"no object", `"x"`, []holdfast.Event{holdfast.Unknown{}}},
		{"no parts", `{"role":"user"}`, nil},
		{"parts of another kind", `{"role":"user","parts":7}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.Decode([]byte(c.element), nil)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `{`, `{"role":"user","parts":[}`, `"x`} {
		if got, err := (Codec{}).Decode([]byte(bad), nil); err == nil {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
}

func TestEventsHoldNoReferenceToTheElement(t *testing.T) {
	element := []byte(`{"role":"model","parts":[{"functionCall":{"name":"t","args":{"p":"x"}}}]}`)
	got, _ := Codec{}.Decode(element, nil)
	clear(element)
	if want := []holdfast.Event{called("t", `{"p":"x"}`)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A history as an agent sends it when it resumes: with new ids, and the
// responses twice.
func TestResultsPairWithCallsByTheirBeginning(t *testing.T) {
	history := []string{
		`{"role":"model","parts":[{"functionCall":{"name":"read","args":{"p":"a"}}},{"functionCall":{"id":"9","name":"read_all","args":{}}},{"functionCall":{"name":"read","args":{"p":"b"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"r1","name":"read","response":{"output":"A"}}},{"functionResponse":{"id":"r2","name":"read_all","response":{"output":"all"}}},{"functionResponse":{"id":"r3","name":"read","response":{"output":"B"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"r1","name":"read","response":{"output":"A"}}}]}`,
		`{"role":"model","parts":[{"functionCall":{"name":"read","args":{"p":"a"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"r4","name":"read","response":{"output":"A2"}}}]}`,
	}
	var open []holdfast.ToolCall
	var got []string
	for _, element := range history {
		events, err := Codec{}.Decode([]byte(element), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			switch ev := ev.(type) {
			case holdfast.ToolCall:
				open = append(open, ev)
			case holdfast.ToolResult:
				at := slices.IndexFunc(open, func(c holdfast.ToolCall) bool { return strings.HasPrefix(c.ID, ev.CallID) })
				if at < 0 {
					got = append(got, "repeat "+ev.Text)
					continue
				}
				got = append(got, fmt.Sprintf("%s %s = %s", open[at].Name, open[at].Arguments, ev.Text))
				open = slices.Delete(open, at, at+1)
			}
		}
	}
	want := []string{`read {"p":"a"} = A`, `read_all {} = all`, `read {"p":"b"} = B`, `repeat A`, `read {"p":"a"} = A2`}
	if !slices.Equal(got, want) || len(open) > 0 {
		t.Errorf("got %q, open %v; want %q", got, open, want)
	}
}

func TestTools(t *testing.T) {
	raw := `[{"functionDeclarations":[{"name":"read","parameters":{}},{"description":"x"},7]},{"googleSearch":{}},{"function_declarations":{"name":"write"},"codeExecution":{},"x":null},7]`
	want := []holdfast.Tool{{Name: "read"}, {Name: "googleSearch", Server: true}, {Name: "write"}, {Name: "codeExecution", Server: true}}
	if got := (Codec{}).Tools([]byte(raw)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (Codec{}).Tools([]byte(` {"functionDeclarations":[{"name":"read"}]} `)); !slices.Equal(got, want[:1]) {
		t.Errorf("one object gave %v", got)
	}
	for _, bad := range []string{``, `7`, `[`, `null`, `{}`} {
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
		{"a content", `{"role":"user","parts":[{"text":"a"},{"inlineData":{}},{"text":"b"}]}`, 99, []string{"a", "b"}},
		{"a content with one part", `{"parts":{"text":"a"}}`, 99, []string{"a"}},
		{"a bare part", ` {"text":"a"} `, 99, []string{"a"}},
		{"a bare string", `"a"`, 99, []string{"a"}},
		{"each is cut between characters", `{"parts":[{"text":"aü"},{"text":"abcd"}]}`, 2, []string{"a", "ab"}},
		{"absent", ``, 9, nil},
		{"another kind", `7`, 9, nil},
		{"no parts", `{"role":"user"}`, 9, nil},
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
			"a list gets one more part", `{"contents":[{"parts":[ {"text":"a\u0041"} ],"role":"user"},{"role":"model","parts":[]}],"x":1}`, 0,
			`{"contents":[{"parts":[ {"text":"a\u0041"} ,{"text":"N \"1\"\n"}],"role":"user"},{"role":"model","parts":[]}],"x":1}`,
		},
		{
			"an older block makes room", `{"contents":[{"parts":[{"text":"a <holdfast-record revision=\"1\">a\ndigest sha256:0123456789abcdef0123456789abcdef\n</holdfast-record> b"},{"text":"c"}],"role":"user"}]}`, 0,
			`{"contents":[{"parts":[{"text":"a\n\nN \"1\"\n b"},{"text":"c"}],"role":"user"}]}`,
		},
		{
			"an empty list gets its first", `{"contents":[{"role":"user","parts":[ ]}]}`, 0,
			`{"contents":[{"role":"user","parts":[ {"text":"N \"1\"\n"}]}]}`,
		},
		{
			"one part becomes a list that keeps it", `{"contents":{"parts":{ "text":"a"} }}`, 0,
			`{"contents":{"parts":[{ "text":"a"},{"text":"N \"1\"\n"}] }}`,
		},
		{
			"a later content, behind its responses", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"functionResponse":{}}]}]}`, 1,
			`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"functionResponse":{}},{"text":"N \"1\"\n"}]}]}`,
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
	body := []byte(`{"contents":[{"role":"model","parts":[]},{"role":"user"},{"role":"user","parts":7},"user"]}`)
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

// answer is a whole answer, or a chunk, of the parts as they stand in JSON.
func answer(parts, finish string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"},"finishReason":"%s","index":0}],"usageMetadata":{"totalTokenCount":9},"modelVersion":"m","responseId":"r1"}`, parts, finish)
}

func TestReadBody(t *testing.T) {
	cases := []struct {
		name, body string
		want       holdfast.Answer
	}{
		{
			"an answer", answer(`{"text":"hm","thought":true},{"text":"a"},{"text":"b"},{"functionCall":{"name":"t","args":{"p":1}}}`, "STOP"),
			holdfast.Answer{ID: "r1", Complete: true, Stop: "STOP", Events: []holdfast.Event{holdfast.Reasoning{}, said("ab"), called("t", `{"p":1}`)}},
		},
		{"an answer cut off at the limit", answer(`{"text":"a"}`, "MAX_TOKENS"), holdfast.Answer{ID: "r1", Complete: true, Stop: "MAX_TOKENS", Events: []holdfast.Event{said("a")}}},
		{
			"an answer in chunks", `[{"candidates":[{"content":{"parts":[{"text":"a\ud83e"}]}}]},` + "\n" + answer(`{"text":"\udded"}`, "STOP") + `]`,
			holdfast.Answer{ID: "r1", Complete: true, Stop: "STOP", Events: []holdfast.Event{said("a🧭")}},
		},
		{"chunks without an end", `[{"responseId":"r1","candidates":[{"content":{"parts":[{"text":"a"}]}}]}]`, holdfast.Answer{ID: "r1", Events: []holdfast.Event{said("a")}}},
		{
			"of several candidates the first counts", `{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"SAFETY"}]}`,
			holdfast.Answer{Complete: true, Stop: "STOP", Events: []holdfast.Event{said("a")}},
		},
		{"an answer that was stopped", answer(`{"text":"a"}`, "SAFETY"), holdfast.Answer{ID: "r1", Stop: "SAFETY", Events: []holdfast.Event{said("a")}}},
		{"a broken call", answer(``, "MALFORMED_FUNCTION_CALL"), holdfast.Answer{ID: "r1", Stop: "MALFORMED_FUNCTION_CALL"}},
		{"a reason that is none", answer(`{"text":"a"}`, "FINISH_REASON_UNSPECIFIED"), holdfast.Answer{ID: "r1", Events: []holdfast.Event{said("a")}}},
		{"an end without a part", answer(``, "STOP"), holdfast.Answer{ID: "r1"}},
		{"a prompt that was blocked", `{"promptFeedback":{"blockReason":"SAFETY"},"responseId":"r1"}`, holdfast.Answer{ID: "r1", Stop: "SAFETY"}},
		{"a prompt that was not", `{"promptFeedback":{"safetyRatings":[]},` + answer(`{"text":"a"}`, "STOP")[1:], holdfast.Answer{ID: "r1", Complete: true, Stop: "STOP", Events: []holdfast.Event{said("a")}}},
		{"an error", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, holdfast.Answer{}},
		{"an error behind an end", `[` + answer(`{"text":"a"}`, "STOP") + `,{"error":{}}]`, holdfast.Answer{ID: "r1", Stop: "STOP", Events: []holdfast.Event{said("a")}}},
		{"candidates of another kind", `{"candidates":[7]}`, holdfast.Answer{}},
		{"no chunk", `[]`, holdfast.Answer{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Codec{}.ReadBody([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{``, `7`, `{"a":1`, `{}x`, `[{}`, `<html>`} {
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
		{"behind the only text", answer(`{"text":"a\u0041 "}`, "STOP"), answer(`{"text":"a\u0041 \n\n`+recordIn+`"}`, "STOP"), "aA \n\n" + record},
		{
			"behind the last part of the text", answer(`{"text":"a"},{"text":"b"},{"text":"","thoughtSignature":"s"}`, "MAX_TOKENS"),
			answer(`{"text":"a"},{"text":"b\n\n`+recordIn+`"},{"text":"","thoughtSignature":"s"}`, "MAX_TOKENS"), "ab\n\n" + record,
		},
		{
			"thoughts stay as they are", answer(`{"text":"hm `+older+`","thought":true},{"text":"a"},{"text":"hm","thought":true},{"thoughtSignature":"s"}`, "STOP"),
			answer(`{"text":"hm `+older+`","thought":true},{"text":"a\n\n`+recordIn+`"},{"text":"hm","thought":true},{"thoughtSignature":"s"}`, "STOP"), "a\n\n" + record,
		},
		{
			"an older block makes room, over two parts too", answer(`{"text":"a\n`+older+` b \u003choldfast-"},{"text":"record revision=1>x</holdfast-record>c"}`, "STOP"),
			answer(`{"text":"a b"},{"text":"c\n\n`+recordIn+`"}`, "STOP"), "a bc\n\n" + record,
		},
		{"a text that speaks of the delimiter", answer(`{"text":"a <holdfast-record> b"}`, "STOP"), answer(`{"text":"a <holdfast-record> b\n\n`+recordIn+`"}`, "STOP"), "a <holdfast-record> b\n\n" + record},
		{"an older block that never closes reaches to the end", answer(`{"text":"a <holdfast-record revision=1> b"}`, "STOP"), answer(`{"text":"a\n\n`+recordIn+`"}`, "STOP"), "a\n\n" + record},
		{
			"an answer in chunks", `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]} , ` + answer(``, "STOP") + `]`,
			`[{"candidates":[{"content":{"parts":[{"text":"a\n\n` + recordIn + `"}]}}]} , ` + answer(``, "STOP") + `]`, "a\n\n" + record,
		},
		{"nothing but an older block", answer(`{"text":" `+older+`"}`, "STOP"), answer(`{"text":"\n\n`+recordIn+`"}`, "STOP"), record},
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
		{"no text", answer(`{"text":"hm","thought":true}`, "STOP"), record},
		{"white space", answer(`{"text":" \n"}`, "STOP"), record},
		{"text that is no string", answer(`{"text":7}`, "STOP"), record},
		{"a call", answer(`{"text":"a"},{"functionCall":{"name":"t"}}`, "STOP"), record},
		{"a part of another kind", answer(`{"text":"a"},{"executableCode":{}}`, "STOP"), record},
		{"an answer that was stopped", answer(`{"text":"a"}`, "RECITATION"), record},
		{"two candidates", `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1}]}`, record},
		{"a prompt that was blocked", `{"promptFeedback":{"blockReason":"SAFETY"},` + answer(`{"text":"a"}`, "STOP")[1:], record},
		{"an error", `{"error":{"message":"a"}}`, record},
		{"no JSON", `<html>`, record},
		{"no block", answer(`{"text":"a `+older+`"}`, "STOP"), ""},
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
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"a"},{"functionResponse":{"name":"t","response":{"output":"x"}}}]},{"parts":{"text":"a"}},{"role":"model","parts":[{"functionCall":{"args":{"a":" "}}}]}],"tools":[{"functionDeclarations":[{}]}],"systemInstruction":{"parts":[{"text":"s"}]}}`), "x\"")
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
				t.Fatalf("a scanned content is refused: %v", err)
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
					t.Fatalf("content %d changed by an insertion into %d: %s", k, i, out)
				}
			}
			events, _ := c.Decode(again.Messages[i].Of(out), nil)
			last, ok := events[len(events)-1].(holdfast.UserMessage)
			if !ok || strings.ToValidUTF8(text, "") == text && last.Parts[len(last.Parts)-1] != holdfast.Text(text) {
				t.Fatalf("content %d ends with %v, want %q", i, events, text)
			}
		}
	})
}

func FuzzReadBody(f *testing.F) {
	f.Add([]byte(answer(`{"text":"a <holdfast-record"},{"text":"b","thought":true},{"text":"b"}`, "STOP")))
	f.Add([]byte(`[` + answer(`{"text":"a"}`, "") + `,` + answer(``, "MAX_TOKENS") + `]`))
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
		texts := 0
		for _, e := range answer.Events {
			if m, ok := e.(holdfast.AssistantMessage); ok {
				texts++
				if !strings.HasSuffix(m.Text, separator+record) || m.Digest != summary {
					t.Fatalf("%q is not what the summary is the digest of", m.Text)
				}
			}
		}
		if texts != 1 {
			t.Fatalf("%d texts in %s", texts, out)
		}
		// White space before an older block goes with it, so the first repeat
		// may still change some; the second changes nothing.
		once, _, _ := c.PatchBody(out, record)
		if twice, _, ok := c.PatchBody(once, record); !ok || string(twice) != string(once) || strings.Count(string(once), recordIn) != 1 {
			t.Fatalf("patched again it becomes %s, and then %s", once, twice)
		}
	})
}
