package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
)

// defective is a codec that cannot read the tools of a request.
type defective struct{ codec }

func (defective) Tools([]byte) []holdfast.Tool { panic("a defect") }

func TestASessionIsIdleBehindADefect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.counting()
		h := w.planned(s1)
		c.since()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the defect was not told")
				}
			}()
			body := []byte(`{"User":"go on"}`)
			w.e.Begin(context.Background(), defective{}, engine.Inbound{
				Caller: holdfast.Caller{Principal: holdfast.Local}, Path: "/v1/x", Body: body,
				Header: func(n string) string { return map[string]string{"Session-Id": "s1", "Thread-Id": "s1"}[n] },
				Request: holdfast.Request{
					Protocol: holdfast.Responses, ToolCount: 1, Tools: holdfast.Span{End: 2}, Messages: []holdfast.Span{{End: len(body)}},
				},
			})
		}()
		time.Sleep(2 * engine.IdleTimeout)
		c.since()
		done(w.begin(s1, append(h, user("go on"))...), long("yes"))
		if read := c.since(); read == "" {
			t.Error("the session is still in memory")
		}
	})
}
