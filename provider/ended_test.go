package provider

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestEachAttemptIsToldOnce(t *testing.T) {
	frames := func(s speaker) http.HandlerFunc { return streamOf(1<<20, s.frames...) }
	for _, tt := range []struct {
		name  string
		steps func(s speaker) []http.HandlerFunc
		want  []string // status and outcome
	}{
		{"an answer", func(s speaker) []http.HandlerFunc { return []http.HandlerFunc{frames(s)} }, []string{"200 ok"}},
		{
			"what is tried again", func(s speaker) []http.HandlerFunc {
				return []http.HandlerFunc{answer(503, ""), hangUp, breaking(), frames(s)}
			}, []string{"503 error", "0 error", "200 broken", "200 ok"},
		},
		{"a refusal", func(speaker) []http.HandlerFunc { return []http.HandlerFunc{answer(400, "")} }, []string{"400 error"}},
		{"an answer that breaks off", func(s speaker) []http.HandlerFunc { return []http.HandlerFunc{breaking(s.frames[:2]...)} }, []string{"200 broken"}},
		{"an answer that tells of a failure", func(speaker) []http.HandlerFunc {
			return []http.HandlerFunc{answer(200, `{"type":"error","error":{"type":"api_error","status":"INTERNAL","code":"server_error","message":"no"}}`)}
		}, []string{"200 error"}},
	} {
		for _, s := range speakers {
			t.Run(fmt.Sprintf("%s, %s", tt.name, s.protocol), func(t *testing.T) {
				var told []holdfast.Attempt
				c := s.client(t, serve(t, tt.steps(s)...), Config{
					Pause: time.Millisecond, Ended: func(a holdfast.Attempt) { told = append(told, a) },
				})
				got, _ := c.Call(t.Context(), holdfast.Call{Model: "m", Events: ask("look")}, nil)
				var list []string
				for _, a := range told {
					list = append(list, fmt.Sprintf("%d %s", a.Status, a.Outcome))
					if a.Upstream != "test" || a.Model != "m" || a.Protocol != s.protocol || a.Began.IsZero() || a.Ended.Before(a.Began) {
						t.Errorf("the attempt is %+v", a)
					}
				}
				if diff := cmp.Diff(tt.want, list); diff != "" {
					t.Error(diff)
				}
				if last := told[len(told)-1]; !cmp.Equal(last.Tokens, got.Tokens) || got.Complete() && !cmp.Equal(last.Tokens.Usage(), s.counts) {
					t.Errorf("got the tokens %+v, want %+v", last.Tokens.Usage(), s.counts)
				}
			})
		}
	}
}

func TestAnAttemptThatIsGivenUpIsToldAsCancelled(t *testing.T) {
	for _, s := range speakers {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			streamOf(1<<20, s.frames[:len(s.frames)/2]...)(w, r)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		var told []holdfast.Attempt
		c := s.client(t, srv, Config{Ended: func(a holdfast.Attempt) { told = append(told, a) }})
		_, err := c.Call(ctx, holdfast.Call{Model: "m", Events: ask("look")}, func(holdfast.Delta) { cancel() })
		if err == nil || len(told) != 1 || told[0].Outcome != holdfast.OutcomeCancelled || told[0].Status != 200 {
			t.Errorf("%s: got %+v, %v", s.protocol, told, err)
		}
		cancel()
	}
}
