package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// wire is a protocol as the provider of serveCalls speaks it: two answers that tell
// of the same usage. The stream is left behind its first frame where a client does
// not want more.
type wire struct {
	protocol     holdfast.Protocol
	path, body   string
	streamedPath string // "": the same
	whole        string
	frames       []string
}

var wires = []wire{
	{
		protocol: holdfast.Anthropic, path: "/v1/messages", body: `{"model":"claude","messages":[{"role":"user","content":"a"}]}`,
		whole: `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":10000,"cache_read_input_tokens":20000,"cache_creation_input_tokens":30000,"output_tokens":40000}}`,
		frames: []string{
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10000,\"cache_read_input_tokens\":20000,\"cache_creation_input_tokens\":30000,\"output_tokens\":1}}}\n\n",
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":40000}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		},
	},
	{
		protocol: holdfast.Responses, path: "/v1/responses", body: `{"model":"gpt","input":"a"}`,
		whole: `{"status":"completed","error":null,"output":[],"usage":{"input_tokens":30000,"input_tokens_details":{"cached_tokens":20000},"output_tokens":40000,"output_tokens_details":{"reasoning_tokens":5000}}}`,
		frames: []string{
			"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\",\"usage\":null}}\n\n",
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"error\":null,\"output\":[],\"usage\":{\"input_tokens\":30000,\"input_tokens_details\":{\"cached_tokens\":20000},\"output_tokens\":40000,\"output_tokens_details\":{\"reasoning_tokens\":5000}}}}\n\n",
		},
	},
	{
		protocol: holdfast.Chat, path: "/v1/chat/completions", body: `{"model":"chat","messages":[{"role":"user","content":"a"}]}`,
		whole: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30000,"completion_tokens":40000,"prompt_tokens_details":{"cached_tokens":20000},"completion_tokens_details":{"reasoning_tokens":5000}}}`,
		frames: []string{
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30000,\"completion_tokens\":40000,\"prompt_tokens_details\":{\"cached_tokens\":20000},\"completion_tokens_details\":{\"reasoning_tokens\":5000}}}\n\ndata: [DONE]\n\n",
		},
	},
	{
		protocol: holdfast.Gemini, path: "/v1beta/models/gemini:generateContent", body: `{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		streamedPath: "/v1beta/models/gemini:streamGenerateContent?alt=sse",
		whole:        `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30000,"cachedContentTokenCount":20000,"candidatesTokenCount":35000,"thoughtsTokenCount":5000}}`,
		frames: []string{
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n",
			"data: {\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":30000,\"cachedContentTokenCount\":20000,\"candidatesTokenCount\":35000,\"thoughtsTokenCount\":5000}}\n\n",
		},
	},
}

// ServeHTTP answers in one piece, streamed, or with a stream that ends when the
// client leaves, as X-Answer asks.
func (w wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	how := r.Header.Get("X-Answer")
	if how == "whole" {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, w.whole)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range w.frames {
		_, _ = io.WriteString(rw, frame)
		if how == "endless" {
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
			return
		}
	}
}

// serveCalls runs a server on the data of a script and makes three calls of each
// protocol through it: one for an answer in one piece, one for a streamed one, and
// one that is left behind the first frame.
func serveCalls(ts *testscript.TestScript, _ bool, args []string) {
	var upstreams []string
	for _, w := range wires {
		provider := httptest.NewServer(w)
		defer provider.Close()
		base := provider.URL + paths[w.protocol]
		upstreams = append(upstreams, fmt.Sprintf(`{name="%s",protocol="%s",base_url="%s"}`, w.protocol, w.protocol, base))
	}
	out, in := io.Pipe()
	a := &app{out: in, err: io.Discard, now: time.Now, open: openStore, environ: config.Environ{"HOME=" + ts.Getenv("HOME")}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- a.run(ctx, append([]string{
			"--json", "--data", filepath.Join(ts.Getenv("WORK"), "data"), "--set", "upstream=[" + strings.Join(upstreams, ",") + "]",
			"serve", "--listen", "127.0.0.1:0",
		}, args...))
		_ = in.Close()
	}()
	var line struct {
		Listening string `json:"listening"`
	}
	ts.Check(json.NewDecoder(out).Decode(&line))
	for _, w := range wires {
		for _, how := range []string{"whole", "streamed", "endless"} {
			ts.Check(w.call(line.Listening, how))
		}
	}
	cancel()
	if status := <-ended; status != 0 {
		ts.Fatalf("the server ended with %d", status)
	}
}

// call makes one call and reads its answer, of an endless one the first frame.
func (w wire) call(base, how string) error {
	path, read := w.path, io.ReadAll
	if how != "whole" && w.streamedPath != "" {
		path = w.streamedPath
	}
	if how == "endless" {
		read = func(r io.Reader) ([]byte, error) {
			first := make([]byte, len(w.frames[0]))
			_, err := io.ReadFull(r, first)
			return first, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(w.body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Answer", how)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := read(resp.Body)
	want := map[string]string{"whole": w.whole, "streamed": strings.Join(w.frames, ""), "endless": w.frames[0]}[how]
	if err == nil && string(got) != want {
		err = fmt.Errorf("the %s answer of %s arrived as %s", how, w.protocol, got)
	}
	return err
}

// seedUsage writes records of several days, sessions and roles.
func seedUsage(ts *testscript.TestScript, _ bool, _ []string) {
	st, err := sqlite.Open(filepath.Join(ts.Getenv("WORK"), "data", "holdfast.db"))
	ts.Check(err)
	ts.Check(st.AddAttempts(context.Background(), usageRecords()))
	ts.Check(st.Close())
}

func usageRecords() []holdfast.Attempt {
	record := func(n int, began time.Time, change func(*holdfast.Attempt)) holdfast.Attempt {
		a := holdfast.Attempt{
			ID: holdfast.AttemptID(fmt.Sprintf("019ca000-0000-7000-8000-%012d", n)), Began: began, Ended: began.Add(time.Second),
			Principal: holdfast.Local, Session: claudeSession, Agent: "claude-code", Role: holdfast.PrimaryRole, Upstream: "anthropic",
			Model: "opus", Protocol: holdfast.Anthropic, Status: 200, Outcome: holdfast.OutcomeOK,
			Tokens: holdfast.Tokens{Input: new(int64(100)), CacheRead: new(int64(2000)), CacheWrite: new(int64(30)), Output: new(int64(400))},
			Price:  &holdfast.Price{Input: 5_000_000, CacheRead: 500_000, CacheWrite: 6_250_000, Output: 25_000_000}, Cost: new(int64(11_688)),
		}
		change(&a)
		return a
	}
	return []holdfast.Attempt{
		record(1, noon.Add(-time.Hour), func(*holdfast.Attempt) {}),
		record(2, noon.Add(-2*time.Hour), func(a *holdfast.Attempt) {
			a.Tokens, a.Price, a.Cost, a.Outcome = holdfast.Tokens{}, nil, nil, holdfast.OutcomeCancelled
		}),
		record(3, noon.AddDate(0, 0, -1), func(a *holdfast.Attempt) {
			a.Session, a.Agent, a.Conversation, a.Role = "", "", "c1", holdfast.SummaryRole
		}),
		record(4, noon.AddDate(0, 0, -9), func(a *holdfast.Attempt) {
			a.Session, a.Agent, a.Model, a.Protocol, a.Upstream = codexSession, "codex", "own\x1b[31m\nmodel", holdfast.Responses, "openai"
			a.Tokens = holdfast.Tokens{Input: new(int64(7)), Output: new(int64(8)), Reasoning: new(int64(6))}
			a.Price, a.Cost, a.Principal = nil, nil, "bob"
		}),
	}
}

func TestAQueryIsRecordedWithAllItsCalls(t *testing.T) {
	q := newAsking(t, holdfast.Chat, func(_ int, r eval.Request) eval.Reply {
		if bytes.Contains(r.Body, []byte("And then?")) && !bytes.Contains(r.Body, []byte(`"tool"`)) {
			return eval.Reply{Calls: []eval.Call{{Name: "update_plan", Args: json.RawMessage(`{"plan":[]}`)}}}
		}
		return eval.Reply{Text: "An answer."}
	})
	q.config = []string{"models.m.price = {input = 1, output = 10}", "query.titles=true"}
	q.ok("query", "Move to PostgreSQL. "+strings.Repeat("It is a long story. ", 100))
	q.ok("q", "-c", "And then?")
	q.ok("q", "-c", "-k", "s:..-1", "And now?")
	var calls []callJSON
	if err := json.Unmarshal([]byte(q.ok("usage", "--calls", "100", "--json")), &calls); err != nil {
		t.Fatal(err)
	}
	roles := map[holdfast.Role]int{}
	for _, c := range calls {
		roles[c.Role]++
		if c.Conversation == "" || c.Conversation != calls[0].Conversation || c.Session != "" || c.Principal != holdfast.Local ||
			c.Upstream != "here" || c.Model != "m" || c.Outcome != holdfast.OutcomeOK || c.Status != 200 {
			t.Errorf("a call is recorded as %+v", c)
		}
		if c.Input == nil || c.Output == nil || c.Cost == nil || *c.Cost != *c.Input+10**c.Output {
			t.Errorf("the tokens of a call are %+v, its cost is %v", c.toldJSON, c.Cost)
		}
	}
	// Two calls in the second turn, for the tool that the model used.
	if roles[holdfast.PrimaryRole] != 4 || roles[holdfast.TitleRole] != 1 || roles[holdfast.SummaryRole] != 1 || len(roles) != 3 {
		t.Errorf("the roles are %v", roles)
	}
}

func TestAQueryThatIsNotKeptIsRecordedWithoutAConversation(t *testing.T) {
	q := newAsking(t, holdfast.Chat, plans)
	q.ok("query", "One.")
	q.ok("query", "--no-persist", "Two.")
	var calls []callJSON
	if err := json.Unmarshal([]byte(q.ok("usage", "--calls", "1", "--json")), &calls); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 1 || calls[0].Conversation != "" || calls[0].Role != holdfast.PrimaryRole {
		t.Errorf("got %+v", calls)
	}
}

func TestSince(t *testing.T) {
	for text, want := range map[string]time.Time{
		"": {}, "7d": noon.AddDate(0, 0, -7), "0d": noon, "12h": noon.Add(-12 * time.Hour), "1h30m": noon.Add(-90 * time.Minute),
		"2026-02-03": time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := since(text, noon); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "7", "-7d", "+7d", "7.5d", "d", "99999999d", "-1h", "2026-2-3", "2026-02-30", "7d "} {
		if got, err := since(text, noon); holdfast.CodeOf(err) != holdfast.ErrUsage {
			t.Errorf("%q: got %s, %v, want an error", text, got, err)
		}
	}
}

func TestCostText(t *testing.T) {
	for micro, want := range map[int64]string{0: "$0.0000", 1: "<$0.0001", 99: "<$0.0001", 100: "$0.0001", 1_016_000: "$1.0160", 12_345_678_901: "$12345.6789"} {
		if got := costText(&micro); got != want {
			t.Errorf("%d: got %s, want %s", micro, got, want)
		}
	}
	if got := costText(nil); got != "-" {
		t.Errorf("got %s for an unknown cost", got)
	}
}

func TestAPriceIsTheUsersOwnOrThatOfTheList(t *testing.T) {
	cfg := config.Default()
	own := config.Price{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}
	cfg.Models = map[string]config.Model{"claude-sonnet-4-5": {Price: &own}, "gpt-4.1": {Upstream: "openai-chat", Price: &own}}
	price := pricing(cfg)
	for _, tt := range []struct {
		name, upstream, model string
		own, known            bool
	}{
		{"a price of the user's wins", "anthropic", "claude-sonnet-4-5", true, true},
		{"it counts at the upstream that it is for", "openai-chat", "gpt-4.1", true, true},
		{"and not at another one", "openai", "gpt-4.1", false, true},
		{"the list knows a model with a date behind its name", "anthropic", "claude-opus-4-1-20250805", false, true},
		{"nobody knows the model", "anthropic", "no-such-model", false, false},
		{"nobody knows the upstream", "gone", "claude-sonnet-4-5", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := price(tt.upstream, tt.model)
			if (got != nil) != tt.known || got != nil && (*got == holdfast.Price{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}) != tt.own {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// BenchmarkPricing is what finding a price takes, off the path of requests.
func BenchmarkPricing(b *testing.B) {
	price := pricing(config.Default())
	for b.Loop() {
		price("anthropic", "claude-sonnet-4-5-20250929")
	}
}
