package compat

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/upstream"
)

const (
	answer  = "I read the importer; the mapping of columns has two gaps, \u00e9 and \u2028 among them."
	summary = "<analysis>\nNothing.\n</analysis>\n<summary>\nThey worked on the importer.\n</summary>"
	handoff = "They worked on the importer."

	claudeMark = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nWrite an <analysis> block followed by a <summary> block."
	codexMark  = "You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff summary for another LLM."

	session = "11111111-1111-4111-8111-111111111111"
	step    = "port the writer to Parquet"
)

// route is the way from a client to the upstream.
type route string

const (
	direct  route = "direct"
	passing route = "through the proxy without an engine"
	engaged route = "through the proxy with an engine"
)

// open starts an upstream that answers with a text and a call of a tool, and
// returns the base URL of the route to it. All upstreams give the same answers
// to the same requests.
func open(t *testing.T, way route) (base string, up *eval.Upstream) {
	t.Helper()
	up = eval.NewUpstream(eval.Config{
		Seed: "compat",
		Turn: eval.Queue(eval.Reply{Text: answer, Calls: []eval.Call{{Name: "read", Args: []byte(`{"path":"importer.go","lines":[1,2.50]}`)}}}),
		Summary: func(_ int, r eval.Request) eval.Reply {
			if r.Protocol == holdfast.Anthropic {
				return eval.Reply{Text: summary}
			}
			return eval.Reply{Text: handoff}
		},
	})
	behind := httptest.NewServer(up)
	t.Cleanup(behind.Close)
	if way == direct {
		return behind.URL, up
	}
	at, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	log, reg := slog.New(slog.NewTextHandler(io.Discard, nil)), prometheus.NewRegistry()
	var coordinator proxy.Coordinator
	if way == engaged {
		secrets := newRedactor(t)
		eng := engine.New(store.NewMemory(), engine.Config{
			Preserve: continuity.All, MaxCapsuleTokens: 2500, UserWordsTokens: 1000, CopyOnFork: true,
			Redact: func(text string) (string, int) {
				clean, found := secrets.Text(text)
				return clean, len(found)
			},
		}, log, engine.NewMetrics(reg), time.Now)
		t.Cleanup(func() {
			if err := eng.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		coordinator = eng
	}
	transport := upstream.NewTransport()
	transport.Proxy = nil
	t.Cleanup(transport.CloseIdleConnections)
	versioned := *at
	versioned.Path = "/v1"
	set := upstream.New([]upstream.Upstream{
		{Name: "anthropic", Protocol: holdfast.Anthropic, Base: at},
		{Name: "responses", Protocol: holdfast.Responses, Base: &versioned},
		{Name: "chat", Protocol: holdfast.Chat, Base: &versioned},
	})
	front := httptest.NewServer(proxy.New(proxy.Config{MaxBody: 8 << 20, MaxInFlight: 64 << 20}, proxy.Parts{Upstreams: set, Transport: transport, Engine: coordinator}, log, reg))
	t.Cleanup(front.Close)
	return front.URL, up
}

func newClaude(base string) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0),
		anthropicoption.WithHeader("X-Claude-Code-Session-Id", session))
}

func newOpenAI(base string) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(base+"/v1"), openaioption.WithAPIKey("key"), openaioption.WithMaxRetries(0),
		openaioption.WithHeader("Session-Id", session), openaioption.WithHeader("Thread-Id", session))
}

// claudeAsks is a request whose history holds a plan, and that ends with text.
func claudeAsks(text string) anthropic.MessageNewParams {
	todos := json.RawMessage(`{"todos":[{"content":"port the reader","status":"completed","activeForm":"Porting"},{"content":"` + step + `","status":"pending","activeForm":"Porting"}]}`)
	return anthropic.MessageNewParams{
		Model: "claude-x", MaxTokens: 1000,
		Tools: []anthropic.ToolUnionParam{
			{OfTool: &anthropic.ToolParam{Name: "TodoWrite", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
			{OfTool: &anthropic.ToolParam{Name: "read", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
		},
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock("Move the importer to Parquet.")),
			anthropic.NewAssistantMessage(anthropic.NewToolUseBlock("tu_1", todos, "TodoWrite")),
			anthropic.NewUserMessage(anthropic.NewToolResultBlock("tu_1", "Todos have been modified successfully.", false)),
			anthropic.NewAssistantMessage(anthropic.NewTextBlock("The reader is done.")),
			anthropic.NewUserMessage(anthropic.NewTextBlock(text)),
		},
	}
}

// codexAsks is the same over Responses.
func codexAsks(text string) responses.ResponseNewParams {
	plan := `{"plan":[{"step":"port the reader","status":"completed"},{"step":"` + step + `","status":"pending"}]}`
	output := responses.ResponseInputItemParamOfFunctionCallOutput("Plan updated")
	output.OfFunctionCallOutput.CallID = openai.String("c1")
	return responses.ResponseNewParams{
		Model: "gpt-x",
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "update_plan"}}},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{
			responses.ResponseInputItemParamOfMessage("Move the importer to Parquet.", responses.EasyInputMessageRoleUser),
			responses.ResponseInputItemParamOfFunctionCall(plan, "c1", "update_plan"),
			output,
			responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser),
		}},
	}
}

func chatAsks(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-x",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		Tools:    []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "read"})},
	}
}

// seen is what a client made of an answer: each event or the whole, as it was
// on the wire and as the SDK understands it.
type seen struct {
	raw  []string
	text string
	call string
}

// claude sends a request over Messages.
func claude(t *testing.T, base string, ask anthropic.MessageNewParams, streamed bool) (got seen) {
	t.Helper()
	client := newClaude(base)
	message := &anthropic.Message{}
	if streamed {
		stream := client.Messages.NewStreaming(t.Context(), ask)
		for stream.Next() {
			event := stream.Current()
			got.raw = append(got.raw, event.RawJSON())
			if err := message.Accumulate(event); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
	} else {
		var err error
		if message, err = client.Messages.New(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		got.raw = []string{message.RawJSON()}
	}
	if message.StopReason == "" || message.Usage.OutputTokens == 0 {
		t.Errorf("the message has the stop reason %q and %d tokens", message.StopReason, message.Usage.OutputTokens)
	}
	for _, block := range message.Content {
		got.text += block.Text
		if block.Type == "tool_use" {
			got.call = block.Name + string(block.Input)
		}
	}
	return got
}

// codex sends a request over Responses. Of a stream the deltas must make up the
// text that the final object holds.
func codex(t *testing.T, base string, ask responses.ResponseNewParams, streamed bool, more ...openaioption.RequestOption) (got seen) {
	t.Helper()
	client := newOpenAI(base)
	var whole responses.Response
	if streamed {
		var deltas, done string
		numbers := []int64{}
		stream := client.Responses.NewStreaming(t.Context(), ask, more...)
		for stream.Next() {
			event := stream.Current()
			got.raw = append(got.raw, event.RawJSON())
			numbers = append(numbers, event.SequenceNumber)
			switch e := event.AsAny().(type) {
			case responses.ResponseTextDeltaEvent:
				deltas += e.Delta
			case responses.ResponseTextDoneEvent:
				done += e.Text
			case responses.ResponseCompletedEvent:
				whole = e.Response
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if deltas != whole.OutputText() || done != deltas {
			t.Errorf("the deltas say\n%q\nthe done event\n%q\nthe response\n%q", deltas, done, whole.OutputText())
		}
		for i, n := range numbers {
			if n != int64(i) {
				t.Errorf("the sequence numbers are %v", numbers)
				break
			}
		}
	} else {
		response, err := client.Responses.New(t.Context(), ask, more...)
		if err != nil {
			t.Fatal(err)
		}
		whole, got.raw = *response, []string{response.RawJSON()}
	}
	if whole.Status != responses.ResponseStatusCompleted || whole.Usage.TotalTokens == 0 {
		t.Errorf("the response has the status %q and %d tokens", whole.Status, whole.Usage.TotalTokens)
	}
	got.text = whole.OutputText()
	for _, item := range whole.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			got.call = call.Name + call.Arguments
		}
	}
	return got
}

// chat sends a request over Chat Completions.
func chat(t *testing.T, base string, ask openai.ChatCompletionNewParams, streamed bool) (got seen) {
	t.Helper()
	client := newOpenAI(base)
	var whole openai.ChatCompletion
	if streamed {
		var all openai.ChatCompletionAccumulator
		stream := client.Chat.Completions.NewStreaming(t.Context(), ask)
		for stream.Next() {
			chunk := stream.Current()
			got.raw = append(got.raw, chunk.RawJSON())
			if !all.AddChunk(chunk) {
				t.Fatalf("the chunk %s does not fit", chunk.RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		whole = all.ChatCompletion
	} else {
		completion, err := client.Chat.Completions.New(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		whole, got.raw = *completion, []string{completion.RawJSON()}
	}
	if len(whole.Choices) != 1 || whole.Choices[0].FinishReason == "" {
		t.Fatalf("the completion has the choices %v", whole.Choices)
	}
	message := whole.Choices[0].Message
	got.text = message.Content
	for _, call := range message.ToolCalls {
		got.call = call.Function.Name + call.Function.Arguments
	}
	return got
}

// sends are the clients, asking for a turn.
var sends = map[string]func(t *testing.T, base string, streamed bool) seen{
	"anthropic-sdk-go": func(t *testing.T, base string, streamed bool) seen {
		return claude(t, base, claudeAsks("Go on."), streamed)
	},
	"openai-go over Responses": func(t *testing.T, base string, streamed bool) seen {
		return codex(t, base, codexAsks("Go on."), streamed)
	},
	"openai-go over Chat Completions": func(t *testing.T, base string, streamed bool) seen {
		return chat(t, base, chatAsks("Go on."), streamed)
	},
}

func form(streamed bool) string {
	if streamed {
		return "streamed"
	}
	return "whole"
}

func TestAClientGetsThroughTheProxyWhatItGetsDirectly(t *testing.T) {
	for name, send := range sends {
		for _, streamed := range []bool{false, true} {
			base, up := open(t, direct)
			want := send(t, base, streamed)
			asked := string(up.Requests()[0].Body)
			if want.text != answer || want.call != `read{"path":"importer.go","lines":[1,2.50]}` {
				t.Fatalf("%s, %s: directly it reads the text %q and the call %q", name, form(streamed), want.text, want.call)
			}
			for _, way := range []route{passing, engaged} {
				t.Run(name+", "+form(streamed)+", "+string(way), func(t *testing.T) {
					base, up := open(t, way)
					got := send(t, base, streamed)
					if got.text != want.text || got.call != want.call || !slices.Equal(got.raw, want.raw) {
						t.Errorf("got\n%+v\nwant\n%+v", got, want)
					}
					if body := string(up.Requests()[0].Body); body != asked {
						t.Errorf("the upstream was asked\n%s\nwant\n%s", body, asked)
					}
				})
			}
		}
	}
}

func TestAClientReadsACompactionThatWasPatched(t *testing.T) {
	for name, c := range map[string]struct {
		send func(t *testing.T, base string, streamed bool) seen
		want string // how the text begins
	}{
		"anthropic-sdk-go": {func(t *testing.T, base string, streamed bool) seen {
			return claude(t, base, claudeAsks(claudeMark), streamed)
		}, "<analysis>\nNothing.\n</analysis>\n<summary>\nThey worked on the importer.\n"},
		"openai-go over Responses": {func(t *testing.T, base string, streamed bool) seen {
			return codex(t, base, codexAsks(codexMark), streamed, openaioption.WithHeader("X-Codex-Turn-Metadata",
				`{"session_id":"`+session+`","thread_id":"`+session+`","request_kind":"compaction","compaction":{"implementation":"responses"}}`))
		}, handoff},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(name+", "+form(streamed), func(t *testing.T) {
				base, up := open(t, engaged)
				got := c.send(t, base, streamed)
				if kind := up.Requests()[0].Kind; kind != eval.PlainCompaction {
					t.Fatalf("the upstream takes the request for a %s", kind)
				}
				if !strings.HasPrefix(got.text, c.want) {
					t.Errorf("the summary is\n%s\nit must begin with\n%s", got.text, c.want)
				}
				if n := strings.Count(got.text, step); n != 1 {
					t.Errorf("the open step stands %d times in\n%s", n, got.text)
				}
			})
		}
	}
}

func TestAClientUnderstandsARefusalOfTheProxy(t *testing.T) {
	base, _ := open(t, passing)
	big := strings.Repeat("x", 9<<20)
	claudeClient, openaiClient := newClaude(base), newOpenAI(base)

	_, err := claudeClient.Messages.New(t.Context(), claudeAsks(big))
	if e, ok := err.(*anthropic.Error); !ok || e.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("anthropic-sdk-go says %v", err)
	}
	_, err = openaiClient.Responses.New(t.Context(), codexAsks(big))
	if e, ok := err.(*openai.Error); !ok || e.StatusCode != http.StatusRequestEntityTooLarge || e.Message == "" {
		t.Errorf("openai-go says %v", err)
	}
}
