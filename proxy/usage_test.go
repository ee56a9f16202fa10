package proxy_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast"
)

// journal is a ledger that keeps what it is given.
type journal struct {
	mu   sync.Mutex
	list []holdfast.Attempt
}

func (j *journal) Record(a holdfast.Attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, a)
}

func (j *journal) all() []holdfast.Attempt {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.list)
}

// recorded waits for n records and returns all that there are.
func (s *stage) recorded(n int) []holdfast.Attempt {
	s.t.Helper()
	var list []holdfast.Attempt
	s.eventually(fmt.Sprint("records: ", n), func() bool {
		list = s.ledger.all()
		return len(list) >= n
	})
	return list
}

// counts lists what is known of input, cache read, cache write, output and
// reasoning; - is what was not told.
func counts(t holdfast.Tokens) string {
	var list []string
	for _, n := range []*int64{t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning} {
		if n == nil {
			list = append(list, "-")
		} else {
			list = append(list, strconv.FormatInt(*n, 10))
		}
	}
	return strings.Join(list, " ")
}

// wireUsage is one protocol with an answer of each form, which tells its usage.
type wireUsage struct {
	protocol     holdfast.Protocol
	path, body   string
	whole        string
	stream       []string // frames
	begun, ended string   // counts after the first frame, and after all
}

var wires = []wireUsage{
	{
		holdfast.Anthropic, "/v1/messages", `{"model":"m1","messages":[{"role":"user","content":"a"}]}`,
		`{"type":"message","content":[{"type":"text","text":"say \"usage\": {"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"output_tokens":40}}`,
		[]string{
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":20,\"cache_creation_input_tokens\":30,\"output_tokens\":1}}}\n\n",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\\"usage\\\": {\"}}\n\n",
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":40}}\n\n",
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		},
		"10 20 30 - -", "10 20 30 40 -",
	},
	{
		holdfast.Responses, "/v1/responses", `{"model":"m1","input":"a"}`,
		`{"status":"completed","error":null,"output":[],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":5}}}`,
		[]string{
			"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\",\"usage\":null}}\n\n",
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[],\"error\":null,\"usage\":{\"input_tokens\":30,\"input_tokens_details\":{\"cached_tokens\":20},\"output_tokens\":40,\"output_tokens_details\":{\"reasoning_tokens\":5}}}}\n\n",
		},
		"- - - - -", "10 20 - 40 5",
	},
	{
		holdfast.Chat, "/v1/chat/completions", `{"model":"m1","messages":[{"role":"user","content":"a"}]}`,
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":5}}}`,
		[]string{
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n",
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":40,\"prompt_tokens_details\":{\"cached_tokens\":20},\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\n",
			"data: [DONE]\n\n",
		},
		"- - - - -", "10 20 - 40 5",
	},
	{
		holdfast.Gemini, "/v1beta/models/m1:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"cachedContentTokenCount":20,"candidatesTokenCount":35,"thoughtsTokenCount":5}}`,
		[]string{
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}],\"usageMetadata\":{\"promptTokenCount\":30,\"cachedContentTokenCount\":20}}\n\n",
			"data: {\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":30,\"cachedContentTokenCount\":20,\"candidatesTokenCount\":35,\"thoughtsTokenCount\":5}}\n\n",
		},
		"10 20 - - -", "10 20 - 40 5",
	},
}

// send writes an answer as a test asks for it: in one piece, streamed, or only
// begun. hold keeps a begun one open.
func (w wireUsage) send(rw http.ResponseWriter, r *http.Request, how string, hold <-chan struct{}) {
	if how == "whole" {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, w.whole)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	for i, frame := range w.stream {
		fmt.Fprint(rw, frame)
		http.NewResponseController(rw).Flush()
		if i == 0 && hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}
	}
}

func TestEveryProtocolTellsItsUsage(t *testing.T) {
	for _, w := range wires {
		for _, off := range []bool{false, true} {
			for _, how := range []string{"whole", "stream"} {
				t.Run(fmt.Sprintf("%s, %s, continuity off: %t", w.protocol, how, off), func(t *testing.T) {
					s := newStage(t, setting{off: off}, func(rw http.ResponseWriter, r *http.Request) { w.send(rw, r, how, nil) })
					got := s.post(w.path, http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}, w.body)
					want := w.whole
					if how == "stream" {
						want = strings.Join(w.stream, "")
					}
					if got.body != want {
						t.Errorf("the answer was changed: %s", got.body)
					}
					list := s.recorded(1)
					wantRecord := holdfast.Attempt{
						Principal: holdfast.Local, Trace: "0af7651916cd43dd8448eb211c80319c", Role: holdfast.PrimaryRole,
						Upstream: string(w.protocol), Model: "m1", Protocol: w.protocol, Sent: int64(len(w.body)), Status: 200, Outcome: holdfast.OutcomeOK,
					}
					varies := cmpopts.IgnoreFields(holdfast.Attempt{}, "ID", "Began", "Ended", "Tokens", "Session", "Branch", "Received")
					if diff := cmp.Diff([]holdfast.Attempt{wantRecord}, list, varies); diff != "" {
						t.Fatal(diff)
					}
					if got := list[0].Received; how == "whole" && got != int64(len(want)) || got < int64(4*strings.Count(want, "data: ")) || got > int64(len(want)) {
						t.Errorf("%d bytes received of %d", got, len(want))
					}
					if got := counts(list[0].Tokens); got != w.ended {
						t.Errorf("got %s, want %s", got, w.ended)
					}
					if list[0].ID == "" || list[0].Began.After(list[0].Ended) || time.Since(list[0].Began) > time.Minute {
						t.Errorf("the record is no record of this call: %+v", list[0])
					}
				})
			}
		}
	}
}

func TestAnAnswerThatEndsTooSoon(t *testing.T) {
	for _, w := range wires {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, left by its client, continuity off: %t", w.protocol, off), func(t *testing.T) {
				s := newStage(t, setting{off: off}, func(rw http.ResponseWriter, r *http.Request) { w.send(rw, r, "stream", r.Context().Done()) })
				ctx, cancel := context.WithCancel(t.Context())
				resp := s.open(ctx, w.path, nil, w.body)
				if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				cancel()
				resp.Body.Close()
				a := s.recorded(1)[0]
				if a.Outcome != holdfast.OutcomeCancelled || counts(a.Tokens) != w.begun {
					t.Errorf("got %s with %s, want cancelled with %s", a.Outcome, counts(a.Tokens), w.begun)
				}
			})
			t.Run(fmt.Sprintf("%s, broken off by the upstream, continuity off: %t", w.protocol, off), func(t *testing.T) {
				over := make(chan struct{})
				close(over)
				s := newStage(t, setting{off: off}, func(rw http.ResponseWriter, r *http.Request) { w.send(rw, r, "stream", over) })
				s.post(w.path, nil, w.body)
				a := s.recorded(1)[0]
				if a.Outcome != holdfast.OutcomeBroken || counts(a.Tokens) != w.begun {
					t.Errorf("got %s with %s, want broken with %s", a.Outcome, counts(a.Tokens), w.begun)
				}
			})
		}
	}
}

func TestWhatIsRecordedOfACall(t *testing.T) {
	const whole = `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`
	say := func(status int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if header != "" {
				w.Header().Set("Content-Encoding", header)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	const question = `{"model":"m1","messages":[{"role":"user","content":"a"}]}`
	for _, tt := range []struct {
		name, path, body string
		answer           http.HandlerFunc
		want             string // status, outcome, model and counts
	}{
		{"a refusal", "/v1/messages", question, say(429, "", `{"type":"error","error":{"type":"rate_limit_error"},"usage":{"input_tokens":1}}`), "429 error m1: - - - - -"},
		{"a redirection", "/v1/messages", question, say(307, "", ``), "307 error m1: - - - - -"},
		{"an error in a whole answer", "/v1/messages", question, say(200, "", `{"type":"error","error":{"type":"api_error"}}`), "200 error m1: - - - - -"},
		{"an error in a stream", "/v1/messages", question, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n")
		}, "200 error m1: - - - - -"},
		{"an answer with a coding", "/v1/messages", question, say(200, "gzip", gzipped(whole)), "200 ok m1: 1 - - 2 -"},
		{"an answer with a coding that nobody knows", "/v1/messages", question, say(200, "rot13", whole), "200 ok m1: - - - - -"},
		{"an answer that does not decode", "/v1/messages", question, say(200, "gzip", whole), "200 ok m1: - - - - -"},
		{"an answer of another kind", "/v1/messages", question, say(200, "", `usage`), "200 ok m1: - - - - -"},
		{"a request that cannot be read", "/v1/messages", `{"model":`, say(200, "", whole), "200 ok : 1 - - 2 -"},
		{"a count of tokens is no call of a model", "/v1/messages/count_tokens", question, say(200, "", `{"input_tokens":9}`), ""},
		{"a count of tokens by Gemini", "/v1beta/models/m1:countTokens", `{"contents":[]}`, say(200, "", `{"totalTokens":9}`), ""},
		{"a batch is none", "/v1/messages/batches", `{"requests":[]}`, say(200, "", `{}`), ""},
	} {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, continuity off: %t", tt.name, off), func(t *testing.T) {
				s := newStage(t, setting{off: off}, tt.answer)
				s.post(tt.path, nil, tt.body)
				var got []string
				if tt.want != "" {
					for _, a := range s.recorded(1) {
						got = append(got, fmt.Sprintf("%d %s %s: %s", a.Status, a.Outcome, a.Model, counts(a.Tokens)))
					}
				}
				s.proxy.Close() // what is under way has ended
				if want := strings.Fields(tt.want); len(want) == 0 {
					if n := len(s.ledger.all()); n > 0 {
						t.Errorf("%d calls were recorded", n)
					}
				} else if len(got) != 1 || got[0] != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// A coding makes nothing cheaper: what was not told is reckoned by what was said.
func TestSizesAreThoseWithoutACoding(t *testing.T) {
	stream := []string{}
	for range 20 {
		stream = append(stream, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\""+strings.Repeat("again ", 100)+"\"}}\n\n")
	}
	for _, w := range wires {
		for _, off := range []bool{false, true} {
			sizes := func(coding string) string {
				s := newStage(t, setting{off: off}, func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "text/event-stream")
					if coding != "" {
						rw.Header().Set("Content-Encoding", coding)
					}
					fmt.Fprint(rw, encode(coding, stream...))
				})
				header := http.Header{}
				if coding != "" {
					header.Set("Content-Encoding", coding)
				}
				long := strings.TrimSuffix(w.body, "}") + `,"note":"` + strings.Repeat("again ", 1000) + `"}`
				s.post(w.path, header, encode(coding, long))
				a := s.recorded(1)[0]
				return fmt.Sprintf("%d sent, %d received", a.Sent, a.Received)
			}
			plain := sizes("")
			for coding := range coders {
				if got := sizes(coding); got != plain {
					t.Errorf("%s in %s, continuity off: %t: %s, want %s", w.protocol, coding, off, got, plain)
				}
			}
		}
	}
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	w.Write([]byte(text)) //nolint:errcheck // to memory
	w.Close()             //nolint:errcheck // to memory
	return b.String()
}

func TestASideCallIsRecordedWithItsSession(t *testing.T) {
	s := newStage(t, setting{}, func(w http.ResponseWriter, r *http.Request) { wires[0].send(w, r, "whole", nil) })
	const side = `{"model":"small","messages":[{"role":"user","content":"Write a title."}]}`
	s.post("/v1/messages", claudeHeader("s"), side) // nothing is known of the session yet
	s.post("/v1/messages", claudeHeader("s"), claudeNext())
	s.post("/v1/messages", claudeHeader("s"), side)
	s.post("/v1/messages", claudeHeader("other"), side)
	list := s.recorded(4)
	turn := list[1]
	if turn.Session == "" || turn.Branch == "" || turn.Agent != "claude-code" {
		t.Fatalf("the turn is recorded as %+v", turn)
	}
	for i, want := range map[int]holdfast.SessionID{0: "", 2: turn.Session, 3: ""} {
		if a := list[i]; a.Session != want || a.Branch != "" || a.Agent != "claude-code" || a.Model != "small" || counts(a.Tokens) != wires[0].ended {
			t.Errorf("call %d is recorded as %+v, want session %q", i, a, want)
		}
	}
}

func TestAListOfModelsIsNoCall(t *testing.T) {
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[]}`) })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.proxy.URL+"/u/chat/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.proxy.Close()
	if len(s.ledger.all()) > 0 || len(s.seen()) != 1 {
		t.Errorf("recorded %v of %d requests", s.ledger.all(), len(s.seen()))
	}
}

func TestACallThatNobodyAnswers(t *testing.T) {
	s := newStage(t, setting{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := s.post("/v1/messages", nil, wires[0].body); got.status != 502 {
		t.Errorf("got %d", got.status)
	}
	a := s.recorded(1)[0]
	if a.Status != 0 || a.Outcome != holdfast.OutcomeError {
		t.Errorf("got %d, %s, want an error without a status", a.Status, a.Outcome)
	}
}

func TestACallThatIsLeftBeforeItsAnswer(t *testing.T) {
	reached := make(chan struct{})
	s := newStage(t, setting{}, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.proxy.URL+"/v1/messages", strings.NewReader(wires[0].body))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-reached
		cancel()
	}()
	if resp, err := s.client.Do(req); err == nil {
		resp.Body.Close()
		t.Fatal("the call was answered")
	}
	a := s.recorded(1)[0]
	if a.Status != 0 || a.Outcome != holdfast.OutcomeCancelled || a.Tokens != (holdfast.Tokens{}) {
		t.Errorf("got %d, %s, %s, want a cancelled call of which nothing is known", a.Status, a.Outcome, counts(a.Tokens))
	}
}

// A client may close the connection as soon as it has the last event.
func TestAClientThatLeavesWithTheWholeAnswer(t *testing.T) {
	for _, w := range wires {
		t.Run(string(w.protocol), func(t *testing.T) {
			s := newStage(t, setting{off: true}, func(rw http.ResponseWriter, r *http.Request) {
				w.send(rw, r, "stream", nil)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			resp := s.open(ctx, w.path, nil, w.body)
			if _, err := io.ReadFull(resp.Body, make([]byte, len(strings.Join(w.stream, "")))); err != nil {
				t.Fatal(err)
			}
			cancel()
			resp.Body.Close()
			a := s.recorded(1)[0]
			if a.Outcome != holdfast.OutcomeOK || counts(a.Tokens) != w.ended {
				t.Errorf("got %s with %s, want ok with %s", a.Outcome, counts(a.Tokens), w.ended)
			}
		})
	}
}
