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

func TestWhatIsNoCallOfAModelNeedsNoMoney(t *testing.T) {
	for _, path := range []string{"/v1/messages/count_tokens", "/v1/messages/count%5Ftokens", "/v1beta/models/m1:countTokens"} {
		s := newStage(t, setting{admission: &spent{}}, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, `{"input_tokens":1}`) })
		if got := s.post(path, nil, `{"model":"m1"}`); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}
