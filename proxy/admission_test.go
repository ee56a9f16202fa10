package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// spent refuses every call, and keeps what it was asked.
type spent struct{ asked atomic.Value }

func (s *spent) Admit(c holdfast.Caller, upstream, model string) error {
	s.asked.Store(fmt.Sprintf("%s %s %s", c.Principal, upstream, model))
	return holdfast.Errorf(holdfast.ErrBudget, "the budget b is spent")
}

func TestACallThatThereIsNoMoneyForGoesNowhere(t *testing.T) {
	for _, w := range wires {
		t.Run(string(w.protocol), func(t *testing.T) {
			var reached atomic.Int64
			admission := &spent{}
			s := newStage(t, setting{admission: admission}, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
			got := s.post(w.path, nil, w.body)
			if got.status != http.StatusPaymentRequired || !strings.Contains(got.body, "the budget b is spent") || !strings.HasPrefix(got.body, `{"`) {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if n := reached.Load(); n != 0 {
				t.Errorf("the upstream got %d calls", n)
			}
			if want := fmt.Sprintf("local %s m1", w.protocol); admission.asked.Load() != want {
				t.Errorf("asked for %v, want %s", admission.asked.Load(), want)
			}
			s.recorded(0)
		})
	}
}

func TestACallNeedsMoneyHoweverItsPathIsWritten(t *testing.T) {
	for _, c := range []struct{ path, asked string }{
		{"/v1/messages/", "local anthropic m1"},
		{"/v1//messages", "local anthropic m1"},
		{"/v1/messages/.", "local anthropic m1"},
		{"/v1/m%65ssages", "local anthropic m1"},
		{"/v1%2Fmessages%2F", "local anthropic m1"},
		{"/u/anthropic/v1/%6dessages", "local anthropic m1"},
		{"/v1/chat/completion%73", "local chat m1"},
		{"/v1/responses/./", "local responses m1"},
		{"/v1beta/models/m1%3AgenerateContent", "local gemini m1"},
		{"/v1beta/models/m%31:streamGenerateConten%74", "local gemini m1"},
	} {
		var reached atomic.Int64
		admission := &spent{}
		s := newStage(t, setting{admission: admission}, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
		got := s.raw("POST " + c.path + " HTTP/1.1\nHost: HOST\nContent-Length: 14\n\n" + `{"model":"m1"}`)
		if got.status != http.StatusPaymentRequired || reached.Load() != 0 || admission.asked.Load() != c.asked {
			t.Errorf("%s: got %d %s, asked for %v", c.path, got.status, got.body, admission.asked.Load())
		}
	}
}

// uncounted refuses what no model is named of.
type uncounted struct{}

func (uncounted) Admit(_ holdfast.Caller, _, model string) error {
	if model == "" {
		return holdfast.Errorf(holdfast.ErrBudget, "the budget b could not count it")
	}
	return nil
}

func TestWhatMayCostAndCannotBeCountedNeedsMoney(t *testing.T) {
	s := newStage(t, setting{admission: uncounted{}}, func(http.ResponseWriter, *http.Request) {})
	for _, path := range []string{
		"/v1/messages/batches", "/v1beta/models/m1:batchGenerateContent", "/v1beta/models/m1:predict", "/v1beta/models/m1:embedContent",
		"/v1/messages/count_tokens/x", "/u/chat/v1/completions", "/u/chat/v1/embeddings", "/u/chat/v1/images/generations", "/u/chat/api/chat", "/u/anthropic/",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "post"} {
			got := s.raw(method + " " + path + " HTTP/1.1\nHost: HOST\nContent-Length: 14\n\n" + `{"model":"m1"}`)
			if got.status != http.StatusPaymentRequired {
				t.Errorf("%s %s: got %d %s", method, path, got.status, got.body)
			}
		}
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("the upstream got %d calls", n)
	}
}

func TestWhatIsNoCallOfAModelNeedsNoMoney(t *testing.T) {
	for _, line := range []string{
		"POST /v1/messages/count_tokens", "POST /v1/messages/count%5Ftokens", "POST /v1beta/models/m1:countTokens", "POST /v1/responses/input_tokens",
		"POST /v1/responses/resp_1/cancel", "POST /v1/messages/batches/b1/cancel", "POST /u/chat/v1/files", "POST /upload/v1beta/files?x", "POST /api/event_logging/batch",
		"GET /v1/messages/batches", "HEAD /", "DELETE /u/chat/v1/files/1", "OPTIONS /v1/messages",
	} {
		s := newStage(t, setting{admission: &spent{}}, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, `{"input_tokens":1}`) })
		if got := s.raw(line + " HTTP/1.1\nHost: HOST\nX-Goog-Api-Key: k\nContent-Length: 14\n\n" + `{"model":"m1"}`); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", line, got.status, got.body)
		}
	}
}
