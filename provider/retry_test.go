package provider

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// exhausted is an error of Google's that asks for a pause.
func exhausted(pause string) string {
	return `{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + pause + `"}]}}`
}

func TestRetrying(t *testing.T) {
	const (
		slow   = `{"error":{"message":"slow down"}}`
		failed = `The upstream "test" failed (status 503: slow down). Try again later.`
		busy   = `The upstream "test" asks to slow down (status 429: slow down). Wait `
	)
	again := answer(503, slow)
	for _, tt := range []struct {
		name  string
		steps func(s speaker) []http.HandlerFunc
		// requests is how many were made, told how many pauses were told of.
		requests, told int
		want           string // of the error
	}{
		{"an answer at once", func(s speaker) []http.HandlerFunc { return []http.HandlerFunc{streamOf(5, s.ok)} }, 1, 0, ""},
		{
			"failures of the server, then an answer",
			func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{again, answer(500, ""), answer(529, ""), streamOf(5, s.ok)}
			}, 4, 3, "",
		},
		{"failures without an end", func(speaker) []http.HandlerFunc { return []http.HandlerFunc{again, again, again, again, again} }, 4, 3, failed},
		{
			"a connection that breaks before an answer, and behind its head",
			func(s speaker) []http.HandlerFunc { return []http.HandlerFunc{hangUp, breaking(), streamOf(5, s.ok)} }, 3, 2, "",
		},
		{"an answer without a byte", func(s speaker) []http.HandlerFunc { return []http.HandlerFunc{streamOf(5), streamOf(5, s.ok)} }, 2, 1, ""},
		{
			"as the server asks",
			func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(429, slow, "Retry-After-Ms", "1"), answer(503, slow, "Retry-After", "0.001"), streamOf(5, s.ok)}
			}, 3, 2, "",
		},
		{
			"as Google asks, which has no header for it",
			func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(429, exhausted("0.000500001s")), answer(503, "["+exhausted("0.001s")+"]"), streamOf(5, s.ok)}
			}, 3, 2, "",
		},
		{
			"a pause of Google's that is too long",
			func(speaker) []http.HandlerFunc { return []http.HandlerFunc{answer(429, exhausted("61.2s"))} }, 1, 0, busy + "1m1s and try again.",
		},
		{
			"a pause that is none",
			func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(429, exhausted("soon")), answer(429, exhausted("-70s")), answer(429, strings.Replace(exhausted("70s"), "RetryInfo", "Help", 1)), streamOf(5, s.ok)}
			}, 4, 3, "",
		},
		{
			"a pause that is too long",
			func(speaker) []http.HandlerFunc { return []http.HandlerFunc{answer(429, slow, "Retry-After", "61")} }, 1, 0, busy + "1m1s and try again.",
		},
		{
			"a server that says no",
			func(speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(429, slow, "X-Should-Retry", "false")}
			}, 1, 0, busy + "a while and try again.",
		},
		{
			"a server that says yes",
			func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(400, slow, "X-Should-Retry", "true"), streamOf(5, s.ok)}
			}, 2, 1, "",
		},
		{
			"a key without credit",
			func(speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(429, `{"error":{"code":"insufficient_quota","message":"Out of quota."}}`)}
			}, 1, 0, `The upstream "test" has no credit left for this key (status 429: Out of quota). Add some, or use another upstream.`,
		},
		{
			"a call that is wrong", func(speaker) []http.HandlerFunc { return []http.HandlerFunc{answer(400, slow)} }, 1, 0,
			`The upstream "test" does not take the call (status 400: slow down).`,
		},
	} {
		for _, s := range speakers {
			t.Run(tt.name+", "+string(s.protocol), func(t *testing.T) {
				srv := serve(t, tt.steps(s)...)
				told := 0
				cfg := Config{Attempts: 4, Retrying: func(err error, pause time.Duration) {
					if err == nil || pause <= 0 || pause > time.Millisecond {
						t.Errorf("told of %v and a pause of %v", err, pause)
					}
					told++
				}}
				var heard hears
				got, err := s.client(t, srv, cfg).Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, heard.take)
				if (err != nil || tt.want != "") && (err == nil || err.Error() != tt.want) {
					t.Errorf("got %v", err)
				}
				if err == nil && (!cmp.Equal(got.Events, []holdfast.Event{holdfast.AssistantMessage{Text: "fine"}}) || heard.text.String() != "fine" && s.protocol != holdfast.Responses) {
					t.Errorf("got %v, heard %q", got.Events, &heard.text)
				}
				seen := srv.requests()
				if len(seen) != tt.requests || told != tt.told {
					t.Errorf("%d requests, told of %d", len(seen), told)
				}
				for _, r := range seen {
					if r.Body != seen[0].Body || r.Body == "" {
						t.Errorf("another body: %s", r.Body)
					}
				}
			})
		}
	}
}

func TestPauses(t *testing.T) {
	c := New(nil, speakers[1].upstream(t, "http://h.example"), NewCatalogue(nil), Config{})
	for _, tt := range []struct {
		attempt   int
		f         failure
		low, high time.Duration
		again     bool
	}{
		{1, failure{again: true}, time.Second, 2 * time.Second, true},
		{2, failure{again: true}, 2 * time.Second, 4 * time.Second, true},
		{4, failure{again: true}, 8 * time.Second, 16 * time.Second, true},
		{5, failure{again: true}, 0, 0, false},
		{1, failure{}, 0, 0, false},
		{1, failure{again: true, after: time.Minute}, time.Minute, time.Minute, true},
	} {
		for range 100 {
			if got, again := c.pause(tt.attempt, &tt.f); again != tt.again || got < tt.low || got > tt.high {
				t.Errorf("attempt %d, %+v: %v, %v", tt.attempt, tt.f, got, again)
			}
		}
	}
	c.cfg.Attempts = 100
	if got, again := c.pause(99, &failure{again: true}); !again || got < 30*time.Second || got > time.Minute {
		t.Errorf("late pause %v, %v", got, again)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second},
		{"a time", "Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second},
		{"a time that is over", "Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT", 0},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond},
		{"no number", "Retry-After", "soon", 0},
		{"less than nothing", "Retry-After", "-1", 0},
		{"more than time holds", "Retry-After", "1e300", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := retryAfter(http.Header{tt.header: {tt.value}}, now); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAPauseEndsWhenTheCallIsGivenUp(t *testing.T) {
	srv := serve(t, answer(503, `{}`))
	ctx, cancel := context.WithCancel(t.Context())
	cfg := Config{Pause: time.Hour, MaxPause: time.Hour, Retrying: func(error, time.Duration) { cancel() }}
	_, err := speakers[1].client(t, srv, cfg).Call(ctx, holdfast.Call{Model: "m", Events: ask("look")}, nil)
	if !errors.Is(err, context.Canceled) || len(srv.requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(srv.requests()))
	}
}
