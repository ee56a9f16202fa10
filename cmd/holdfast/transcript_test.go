package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// leaked is a secret that the model writes into each of its texts.
const leaked = "hf" + "wK3v9QmZ7xT1bR5nY8cL2dF6hJ4gP0sAqE7u"

// recordedRun plays a scenario through a proxy. replies are those of the turns.
func recordedRun(t *testing.T, s eval.Scenario, transcripts bool) (st *store.Memory, requests []eval.Request, replies []eval.Reply) {
	t.Helper()
	script := s.Script()
	up := eval.NewUpstream(eval.Config{Seed: "fixed", Turn: func(n int, r eval.Request) eval.Reply {
		reply := script(n, r)
		if reply.Text != "" {
			reply.Text += " The token is " + leaked
		}
		replies = append(replies, reply)
		return reply
	}})
	provider := httptest.NewServer(up)
	defer provider.Close()
	base, err := url.Parse(provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Transcripts.Enabled = transcripts
	cfg.Upstreams = nil
	for _, p := range holdfast.Protocols() {
		cfg.Upstreams = append(cfg.Upstreams, config.Upstream{Name: string(p), Protocol: p, BaseURL: base})
	}
	st = store.NewMemory()
	stack, err := newStack(cfg, stackStores{st, st, st}, nil, access{}, slog.New(slog.DiscardHandler), time.Now, engine.Ablation{})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(stack.handler)
	if err := s.Run(t.Context(), http.DefaultClient, proxy.URL, "seed"); err != nil {
		t.Fatal(err)
	}
	proxy.Close()
	if err := stack.close(); err != nil {
		t.Fatal(err)
	}
	return st, up.Requests(), replies
}

// digests are what a block ends with; they cover the branch, whose id is made anew.
var digests = regexp.MustCompile(`sha256:[0-9a-f]+`)

// expected is what must be recorded of a session, from what its provider saw:
// results and what the person typed as they first stand in a request, then the
// reply to it.
func expected(t *testing.T, requests []eval.Request, replies []eval.Reply) (want []string) {
	t.Helper()
	read := map[holdfast.Protocol]interface {
		Scan(body []byte) (holdfast.Request, error)
		Whole(element []byte) ([]holdfast.Event, error)
	}{
		holdfast.Anthropic: anthropic.Codec{}, holdfast.Chat: chat.Codec{}, holdfast.Gemini: gemini.Codec{}, holdfast.Responses: responses.Codec{},
	}
	said := map[string]bool{}
	open := 0
	for _, r := range requests {
		if r.Kind != eval.Turn {
			continue
		}
		codec := read[r.Protocol]
		req, err := codec.Scan(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for ; open > 0; open-- {
			want = append(want, "result")
		}
		for _, span := range req.Messages {
			events, err := codec.Whole(span.Of(r.Body))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				m, _ := e.(holdfast.UserMessage)
				for _, part := range m.Parts {
					text, ok := part.(holdfast.Text)
					if words := agents.UserText(string(text)); ok && !agents.Synthetic(string(text)) && !strings.Contains(words, summaryWords) && !said[words] {
						said[words] = true
						want = append(want, "user "+words)
					}
				}
			}
		}
		reply := replies[0]
		replies = replies[1:]
		if reply.Text != "" {
			want = append(want, "assistant "+strings.ReplaceAll(reply.Text, leaked, "[redacted:secret]"))
		}
		for _, c := range reply.Calls {
			want = append(want, "call "+c.Name)
			open++
		}
	}
	return want
}

// summaryWords stand in every summary of eval.Forgetful.
var summaryWords = eval.Forgetful(0, eval.Request{}).Text

func TestARecordedSessionHoldsEachEventOnceAndTheWireIsTheSame(t *testing.T) {
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			st, requests, replies := recordedRun(t, s, true)
			_, unrecorded, _ := recordedRun(t, s, false)
			if len(requests) != len(unrecorded) {
				t.Fatalf("%d requests, and %d without transcripts", len(requests), len(unrecorded))
			}
			for i := range requests {
				with, without := digests.ReplaceAllString(string(requests[i].Body), ""), digests.ReplaceAllString(string(unrecorded[i].Body), "")
				if with != without {
					t.Fatalf("request %d is another one with transcripts:\n%s", i, cmp.Diff(without, with))
				}
			}

			list, err := st.List(t.Context(), holdfast.Local, true)
			if err != nil || len(list) != 1 {
				t.Fatalf("%d conversations, %v", len(list), err)
			}
			c := list[0]
			if !strings.HasPrefix(c.Title, "The nightly import is slow") || c.Origin != store.RecordedConversation || c.Branch == "" {
				t.Errorf("the conversation is %+v", c)
			}
			entries, got := recordedEntries(t, st, c.ID)
			if diff := cmp.Diff(expected(t, requests, replies), got); diff != "" {
				t.Errorf("recorded (+), wanted (-):\n%s", diff)
			}
			overlays := conversation.Overlays(entries)
			if len(overlays) != len(s.Plans()) {
				t.Errorf("%d compactions, want %d", len(overlays), len(s.Plans()))
			}
			for i, o := range overlays {
				if o.Source != holdfast.AgentOverlay || o.FromTurn != 0 || o.Summary == nil || o.Summary.Origin != holdfast.GeneratedSummary || o.Summary.Text == "" {
					t.Errorf("compaction %d is %+v", i, o)
				}
				if steps := s.Plans()[i]; len(steps) > 0 && (o.Summary.Capsule == nil || !slices.EqualFunc(o.Summary.Capsule.Plan.Steps, steps, sameStep)) {
					t.Errorf("compaction %d has the capsule %+v, want the steps %v", i, o.Summary.Capsule, steps)
				}
			}
			if view := conversation.Project(entries, nil); len(view.Orphans) > 0 {
				t.Errorf("%d results without their calls", len(view.Orphans))
			}
		})
	}
}

func sameStep(a, b holdfast.Step) bool { return a.Text == b.Text && a.Status == b.Status }

// recordedEntries reads a conversation, and what it says.
func recordedEntries(t *testing.T, st *store.Memory, id holdfast.ConversationID) (entries []holdfast.Entry, told []string) {
	t.Helper()
	for row, err := range st.Events(context.Background(), holdfast.Local, id, store.EventRange{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(row.Line), leaked) {
			t.Errorf("the secret is in %s", row.Line)
		}
		e, err := conversation.ParseLine(row.Line)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = row.Seq
		entries = append(entries, e)
		switch e := e.Event.(type) {
		case holdfast.UserMessage:
			for _, p := range e.Parts {
				if text, ok := p.(holdfast.Text); ok && !e.Synthetic {
					told = append(told, "user "+agents.UserText(string(text)))
				}
			}
		case holdfast.AssistantMessage:
			told = append(told, "assistant "+e.Text)
		case holdfast.ToolCall:
			told = append(told, "call "+e.Name)
		case holdfast.ToolResult:
			if len(e.Parts) == 0 {
				t.Errorf("a result without content: %s", row.Line)
			}
			told = append(told, "result")
		case holdfast.Unknown:
			told = append(told, string(row.Line))
		}
	}
	return entries, told
}
