package provider

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/catwalk/pkg/embedded"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

// server is a provider that answers by a script, one step a request, and keeps
// what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	steps []http.HandlerFunc
	seen  []asked
}

type asked struct {
	Method, URI string
	Header      http.Header
	Body        string
}

func serve(t *testing.T, steps ...http.HandlerFunc) *server {
	s := &server{steps: steps}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP takes the next step. A request too many fails in a way that nobody
// asks for again.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, asked{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
	step := answer(http.StatusTeapot, `{"error":{"message":"nothing more in the script"}}`)
	if len(s.steps) > 0 {
		step, s.steps = s.steps[0], s.steps[1:]
	}
	s.mu.Unlock()
	step(w, r)
}

func (s *server) requests() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// answer answers with a status and a JSON body, under headers by turns of name
// and value.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// streamOf answers with frames, cut into pieces of so many bytes, wherever that
// is.
func streamOf(size int, frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		rest := []byte(strings.Join(frames, ""))
		out := http.NewResponseController(w)
		for len(rest) > 0 {
			n := min(size, len(rest))
			_, _ = w.Write(rest[:n])
			_ = out.Flush()
			rest = rest[n:]
		}
	}
}

// breaking answers with frames and breaks the connection.
func breaking(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		streamOf(1<<20, frames...)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// hangUp breaks the connection before anything is answered.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// speaker is a protocol as its providers speak it.
type speaker struct {
	protocol holdfast.Protocol
	base     string // path of the base URL
	uri      string
	header   [2]string // of the credential
	// frames are an answer with reasoning, a text and a call.
	frames []string
	// reasoning is what the answer's reasoning is read as.
	reasoning holdfast.Reasoning
	id        string // of the call
	// ok is an answer of the text "fine".
	ok string
	// counts is the usage of frames.
	counts holdfast.Usage
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func data(json string) string { return "data: " + json + "\n\n" }

// named makes frames that are named by the type of their data.
func named(list ...string) (frames []string) {
	for _, d := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		frames = append(frames, event(name, d))
	}
	return frames
}

var speakers = []speaker{
	{
		protocol: holdfast.Anthropic, base: "", uri: "/v1/messages", header: [2]string{"X-Api-Key", "secret-key"},
		frames: named(
			`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":99,"cache_read_input_tokens":170000,"cache_creation_input_tokens":3000,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"gr\u00fc"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"n"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s\/1"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look: \ud83e\udded"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"command\": "}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}`, `{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":900}}`, `{"type":"message_stop"}`,
		),
		reasoning: holdfast.Reasoning{Text: "grün", Opaque: []byte(`{"type":"thinking","thinking":"gr\u00fcn","signature":"s\/1"}`)},
		id:        "toolu_1", counts: holdfast.Usage{Input: 99, CacheRead: 170_000, CacheWrite: 3000, Output: 900},
		ok: strings.Join(named(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"fine"}}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`), ""),
	},
	{
		protocol: holdfast.Chat, base: "/api/v1", uri: "/api/v1/chat/completions", header: [2]string{"Authorization", "Bearer secret-key"},
		frames: []string{
			": keep-alive\n\n", data(`{"id":"c_1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`),
			data(`{"choices":[{"index":0,"delta":{"reasoning_content":"gr\u00fc"}}]}`), data(`{"choices":[{"index":0,"delta":{"reasoning_content":"n"}}]}`),
			data(`{"choices":[{"index":0,"delta":{"content":"I look: \ud83e"}}]}`), data(`{"choices":[{"index":0,"delta":{"content":"\udded"}}]}`),
			data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":""}}]}}]}`),
			data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\": "}}]}}]}`), data(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}}]}`),
			data(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`),
			data(`{"choices":[],"usage":{"prompt_tokens":184704,"completion_tokens":49,"prompt_tokens_details":{"cached_tokens":183936}}}`), data("[DONE]"),
		},
		reasoning: holdfast.Reasoning{Text: "grün"},
		id:        "call_1", counts: holdfast.Usage{Input: 768, CacheRead: 183_936, Output: 49},
		ok: data(`{"choices":[{"delta":{"content":"fine"}}]}`) + data(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`) + data("[DONE]"),
	},
	{
		protocol: holdfast.Responses, base: "/v1", uri: "/v1/responses", header: [2]string{"Authorization", "Bearer secret-key"},
		frames: named(
			`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"gr\u00fcn"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"gr\u00fcn"}],"encrypted_content":"e\/1"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","role":"assistant","content":[]}}`, `{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I look: \ud83e\udded"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look: \ud83e\udded"}]}}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"call_1","name":"bash","arguments":""}}`, `{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\": \"ls\"}"}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"call_1","name":"bash","arguments":"{\"command\": \"ls\"}"}}`,
			`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":184704,"input_tokens_details":{"cached_tokens":183936},"output_tokens":49}}}`,
		),
		reasoning: holdfast.Reasoning{Text: "grün", Opaque: []byte(`{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"gr\u00fcn"}],"encrypted_content":"e\/1"}`)},
		id:        "call_1", counts: holdfast.Usage{Input: 768, CacheRead: 183_936, Output: 49},
		ok: strings.Join(named(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fine"}]}}`, `{"type":"response.completed","response":{"status":"completed"}}`), ""),
	},
	{
		protocol: holdfast.Gemini, base: "", uri: "/v1beta/models/model-1:streamGenerateContent?alt=sse", header: [2]string{"X-Goog-Api-Key", "secret-key"},
		frames: []string{
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"gr\\u00fcn\",\"thought\":true}],\"role\":\"model\"}}],\"responseId\":\"r_1\"}\r\n\r\n",
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"I look: \U0001f9ed\",\"thoughtSignature\":\"s\\/1\"}],\"role\":\"model\"}}]}\r\n\r\n",
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"bash\",\"args\":{\"command\": \"ls\"}}}]},\"finishReason\":\"STOP\"}],",
			"\"usageMetadata\":{\"promptTokenCount\":1000,\"cachedContentTokenCount\":900,\"candidatesTokenCount\":20,\"thoughtsTokenCount\":30}}", // the last frame has no blank line
		},
		reasoning: holdfast.Reasoning{Text: "grün", Opaque: []byte(`{"thoughtSignature":"s\/1"}`)},
		id:        "bash#" + holdfast.DigestOf(`{"command":"ls"}`).String(), counts: holdfast.Usage{Input: 100, CacheRead: 900, Output: 50},
		ok: data(`{"candidates":[{"content":{"parts":[{"text":"fine"}]},"finishReason":"STOP"}]}`),
	},
}

// upstream is a server as an upstream that speaks the protocol.
func (s speaker) upstream(t *testing.T, address string) *upstream.Upstream {
	base, err := url.Parse(address + s.base)
	if err != nil {
		t.Fatal(err)
	}
	return &upstream.Upstream{Name: "test", Protocol: s.protocol, Base: base, Key: "secret-key"}
}

// client calls the server over a transport of its own.
func (s speaker) client(t *testing.T, to *server, cfg Config, entries ...Model) *Client {
	transport := upstream.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	if cfg.Pause == 0 {
		cfg.Pause = time.Microsecond
	}
	catalogue := NewCatalogue(entries)
	catalogue.known = known
	return New(transport, s.upstream(t, to.URL), catalogue, cfg)
}

// known is the embedded list, read once for all tests.
var known = sync.OnceValue(embedded.GetAll)

func ask(text string) []holdfast.Event {
	return []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}}
}

// hears collects the pieces of an answer.
type hears struct{ text, reasoning bytes.Buffer }

func (h *hears) take(d holdfast.Delta) {
	if d.Reasoning {
		h.reasoning.WriteString(d.Text)
	} else {
		h.text.WriteString(d.Text)
	}
}
