package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestACallInEveryProtocol(t *testing.T) {
	for _, s := range speakers {
		for _, size := range []int{1, 2, 7, 1 << 20} {
			t.Run(fmt.Sprintf("%s, in pieces of %d bytes", s.protocol, size), func(t *testing.T) {
				srv := serve(t, streamOf(size, s.frames...), streamOf(size, s.ok))
				c := s.client(t, srv, Config{}, Model{Name: "model-1", MaxOutput: 4000, Price: &holdfast.Price{Input: 1_000_000, CacheRead: 100_000, CacheWrite: 2_000_000, Output: 10_000_000}})
				call := holdfast.Call{Model: "model-1", System: "Be brief.", Events: ask("look"), Tools: []holdfast.ToolDefinition{{Name: "bash"}}}

				var heard hears
				got, err := c.Call(t.Context(), call, heard.take)
				if err != nil {
					t.Fatal(err)
				}
				usage := s.counts
				usage.Model = "model-1"
				cost := usage.Input + (usage.CacheRead+5)/10 + 2*usage.CacheWrite + 10*usage.Output
				usage.Cost = &cost
				want := []holdfast.Event{
					s.reasoning,
					holdfast.AssistantMessage{Text: "I look: 🧭"},
					holdfast.ToolCall{ID: s.id, Name: "bash", Arguments: []byte(`{"command": "ls"}`)},
				}
				if diff := cmp.Diff(want, got.Events); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(usage, got.Usage); diff != "" {
					t.Error(diff)
				}
				if !got.Complete() || got.Finish != holdfast.FinishStop || got.Stop == "" || got.ID == "" {
					t.Errorf("finish %q, stop %q, id %q", got.Finish, got.Stop, got.ID)
				}
				if heard.text.String() != "I look: 🧭" || heard.reasoning.String() != "grün" {
					t.Errorf("heard %q and %q", &heard.text, &heard.reasoning)
				}

				// The answer goes back with the result of its call.
				call.Events = append(call.Events, got.Events...)
				call.Events = append(call.Events, holdfast.ToolResult{CallID: s.id, Parts: []holdfast.Part{holdfast.Text("a.go")}})
				if got, err = c.Call(t.Context(), call, nil); err != nil || !cmp.Equal(got.Events, []holdfast.Event{holdfast.AssistantMessage{Text: "fine"}}) {
					t.Errorf("got %v, %v", got.Events, err)
				}
				s.check(t, srv.requests(), call)
			})
		}
	}
}

// check looks at the two requests of a turn; call is the last one.
func (s speaker) check(t *testing.T, seen []asked, call holdfast.Call) {
	t.Helper()
	if len(seen) != 2 {
		t.Fatalf("%d requests", len(seen))
	}
	call.MaxOutput = 4000
	want, err := protocolOf(s.upstream(t, "http://h.example")).write(call)
	if err != nil {
		t.Fatal(err)
	}
	if seen[1].Body != string(want) || !strings.Contains(seen[1].Body, "4000") {
		t.Errorf("sent %s\nwant %s", seen[1].Body, want)
	}
	opaque := strings.Trim(string(s.reasoning.Opaque), "{}")
	if !strings.Contains(seen[1].Body, opaque) {
		t.Errorf("the state of reasoning did not go back: %s", seen[1].Body)
	}
	for _, r := range seen {
		if r.Method != http.MethodPost || r.URI != s.uri || r.Header.Get(s.header[0]) != s.header[1] || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%s %s, %v", r.Method, r.URI, r.Header)
		}
		version := ""
		if s.protocol == holdfast.Anthropic {
			version = "2023-06-01"
		}
		if got := r.Header.Get("Anthropic-Version"); got != version {
			t.Errorf("version %q", got)
		}
	}
}

// The two rows of the contract.
func TestUsageFillsTheWindow(t *testing.T) {
	for _, tt := range []struct {
		speaker int
		want    int64
	}{{0, 173_999}, {1, 184_753}, {2, 184_753}} {
		s := speakers[tt.speaker]
		got, err := s.client(t, serve(t, streamOf(100, s.frames...)), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
		if err != nil || got.Usage.Window() != tt.want || got.Usage.Cost != nil {
			t.Errorf("%s: %d tokens, cost %v, %v", s.protocol, got.Usage.Window(), got.Usage.Cost, err)
		}
	}
}

func TestAnswersThatAreNotWholeAreToldApart(t *testing.T) {
	type end struct {
		finish       holdfast.FinishReason
		text, reason string // of the error; "" for none
	}
	anthropic, chat, responses, gemini := speakers[0], speakers[1], speakers[2], speakers[3]
	text := named(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so"}}`)[0]
	for _, tt := range []struct {
		name string
		s    speaker
		step http.HandlerFunc
		want end
	}{
		{"messages cut by the bound", anthropic, streamOf(9, append([]string{text}, named(`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, `{"type":"message_stop"}`)...)...), end{finish: holdfast.FinishLength, text: "so"}},
		{"messages refused", anthropic, streamOf(9, append([]string{text}, named(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`)...)...), end{finish: holdfast.FinishRefusal, text: "so"}},
		{
			"messages that fail behind the first byte", anthropic, streamOf(9, append([]string{text}, named(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded."}}`)...)...),
			end{text: "so", reason: `The upstream "test" failed while it answered: overloaded_error: Overloaded. Try again.`},
		},
		{"messages whose connection breaks", anthropic, breaking(text), end{text: "so", reason: `The answer of the upstream "test" broke off: unexpected EOF. Try again.`}},
		{"messages that end too early", anthropic, streamOf(9, text), end{text: "so", reason: `The answer of the upstream "test" broke off: unexpected EOF. Try again.`}},
		{"chat cut by the bound", chat, streamOf(9, data(`{"choices":[{"delta":{"content":"so"},"finish_reason":"length"}]}`), data("[DONE]")), end{finish: holdfast.FinishLength, text: "so"}},
		{"chat refused", chat, streamOf(9, data(`{"choices":[{"delta":{"refusal":"so"}}]}`), data(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`)), end{finish: holdfast.FinishRefusal, text: "so"}},
		{
			"chat that stops for a reason that is a failure", chat, streamOf(9, data(`{"choices":[{"delta":{"content":"so"},"finish_reason":"error"}]}`)),
			end{text: "so", reason: `The answer of the upstream "test" broke off: it stopped with "error". Try again.`},
		},
		{
			"chat that fails behind the first byte", chat, streamOf(9, data(`{"choices":[{"delta":{"content":"so"}}]}`), data(`{"error":{"code":502,"message":"gone"}}`)),
			end{text: "so", reason: `The upstream "test" failed while it answered: 502: gone. Try again.`},
		},
		{
			"responses cut by the bound", responses,
			streamOf(9, named(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"so"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`)...),
			end{finish: holdfast.FinishLength, text: "so"},
		},
		{
			"responses above the window", responses, streamOf(9, named(`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Too much."}}}`)...),
			end{reason: "The upstream \"test\" does not take the conversation, it is too long (context_length_exceeded: Too much). `holdfast conversation compact` makes it shorter."},
		},
		{"gemini refused", gemini, streamOf(9, data(`{"candidates":[{"content":{"parts":[{"text":"so"}]},"finishReason":"SAFETY"}]}`)), end{finish: holdfast.FinishRefusal, text: "so"}},
		{"gemini with a prompt that is blocked", gemini, streamOf(9, data(`{"promptFeedback":{"blockReason":"OTHER"}}`)), end{finish: holdfast.FinishRefusal}},
		{
			"gemini with a call that is none", gemini, streamOf(9, data(`{"candidates":[{"content":{"parts":[{"text":"so"}]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`)),
			end{text: "so", reason: `The answer of the upstream "test" broke off: it stopped with "MALFORMED_FUNCTION_CALL". Try again.`},
		},
		{"a frame that never ends", chat, streamOf(1<<20, "data: ", strings.Repeat("x", 17<<20)), end{reason: `The answer of the upstream "test" broke off: a frame is larger than 16 MiB. Try again.`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, tt.step)
			got, err := tt.s.client(t, srv, Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
			var have end
			have.finish = got.Finish
			for _, e := range got.Events {
				have.text += e.(holdfast.AssistantMessage).Text
			}
			if err != nil {
				have.reason = err.Error()
			}
			if diff := cmp.Diff(tt.want, have, cmp.AllowUnexported(end{})); diff != "" {
				t.Error(diff)
			}
			if got.Complete() || len(srv.requests()) != 1 {
				t.Errorf("complete %v after %d requests", got.Complete(), len(srv.requests()))
			}
		})
	}
}

// A call that nobody can make does not stand in the conversation, and neither does
// a usage that nobody told.
func TestOfABrokenAnswerOnlyWhatCameIsHandedOut(t *testing.T) {
	for _, s := range speakers {
		call := len(s.frames) - map[holdfast.Protocol]int{holdfast.Anthropic: 4, holdfast.Chat: 4, holdfast.Responses: 2, holdfast.Gemini: 2}[s.protocol]
		got, err := s.client(t, serve(t, breaking(s.frames[:call]...)), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
		want := []holdfast.Event{s.reasoning, holdfast.AssistantMessage{Text: "I look: 🧭"}}
		if diff := cmp.Diff(want, got.Events); diff != "" || holdfast.CodeOf(err) != holdfast.ErrUnavailable {
			t.Errorf("%s: %s%v", s.protocol, diff, err)
		}
		if s.protocol != holdfast.Anthropic && got.Usage != (holdfast.Usage{}) {
			t.Errorf("%s: usage %+v", s.protocol, got.Usage)
		}
	}
}

func TestAServerThatDoesNotStream(t *testing.T) {
	bodies := []string{
		`{"id":"a","type":"message","content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`,
		`{"id":"a","choices":[{"message":{"content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"id":"a","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fine"}]}],"usage":{"input_tokens":3,"output_tokens":4}}`,
		`[{"responseId":"a","candidates":[{"content":{"parts":[{"text":"fine"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}]`,
	}
	for i, s := range speakers {
		got, err := s.client(t, serve(t, answer(200, bodies[i])), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
		want := Answer{
			ID: "a", Events: []holdfast.Event{holdfast.AssistantMessage{Text: "fine"}}, Stop: got.Stop, Finish: holdfast.FinishStop,
			Usage:  holdfast.Usage{Model: "m", Input: 3, Output: 4},
			Tokens: holdfast.Tokens{Input: new(int64(3)), Output: new(int64(4))},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s%v", s.protocol, diff, err)
		}
	}
	const failed = `{"error":{"message":"no such luck","code":"server_error"}}`
	_, err := speakers[1].client(t, serve(t, answer(200, failed)), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
	if want := `The upstream "test" failed while it answered: server_error: no such luck. Try again.`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestStructuredAnswers(t *testing.T) {
	schema := []byte(`{"type":"object"}`)
	for _, tt := range []struct {
		name, text string
		schema     []byte
		finish     string
		want       holdfast.AssistantMessage
	}{
		{"JSON, byte for byte", ` {"b": 1.0, "a":2}`, schema, "stop", holdfast.AssistantMessage{Data: []byte(`{"b": 1.0, "a":2}`)}},
		{"what is no JSON stays a text", `no`, schema, "stop", holdfast.AssistantMessage{Text: "no"}},
		{"what was cut stays a text", `1`, schema, "length", holdfast.AssistantMessage{Text: "1"}},
		{"JSON that nobody asked for", `{}`, nil, "stop", holdfast.AssistantMessage{Text: "{}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			frame := data(fmt.Sprintf(`{"choices":[{"delta":{"content":%q},"finish_reason":%q}]}`, tt.text, tt.finish))
			got, err := speakers[1].client(t, serve(t, streamOf(5, frame)), Config{}).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look"), Schema: tt.schema}, nil)
			if diff := cmp.Diff([]holdfast.Event{tt.want}, got.Events); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestACallThatIsGivenUpEndsAtOnce(t *testing.T) {
	for _, s := range speakers {
		left := make(chan struct{})
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			streamOf(1<<20, s.frames[:len(s.frames)/2]...)(w, r)
			<-r.Context().Done()
			close(left)
		})
		ctx, cancel := context.WithCancel(t.Context())
		got, err := s.client(t, srv, Config{}).Call(ctx, holdfast.Call{Model: "m", Events: ask("look")}, func(holdfast.Delta) { cancel() })
		if !errors.Is(err, context.Canceled) || holdfast.CodeOf(err) != holdfast.ErrUnavailable || got.Complete() || len(got.Events) == 0 {
			t.Errorf("%s: %v, %v", s.protocol, got, err)
		}
		<-left
	}
}

func TestWhatIsNoViewIsNotSent(t *testing.T) {
	srv := serve(t)
	_, err := speakers[1].client(t, srv, Config{}).Call(t.Context(), holdfast.Call{Events: []holdfast.Event{holdfast.ToolResult{CallID: "a"}}}, nil)
	if holdfast.CodeOf(err) != holdfast.ErrInternal || len(srv.requests()) != 0 {
		t.Errorf("got %v after %d requests", err, len(srv.requests()))
	}
}
