package eval_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/eval"
)

// Thinking holds as long as nothing before it changes, however that is written.
func TestThinkingIsBoundToWhatStandsBeforeIt(t *testing.T) {
	const question = `{"role":"user","content":[{"type":"text","text":"Look at it."},{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}`
	for _, tt := range []struct {
		name     string
		change   func(body string) string
		wantMove bool
	}{
		{"as it was", func(b string) string { return b }, false},
		{"with a cache mark", func(b string) string {
			return strings.Replace(b, `"text":"Look at it."`, `"text":"Look at it.","cache_control":{"type":"ephemeral"}`, 1)
		}, false},
		{"in two messages", func(b string) string {
			return strings.Replace(b, `"Look at it."},`, `"Look at it."}]},{"role":"user","content":[`, 1)
		}, false},
		{"with another text behind it", func(b string) string { return strings.Replace(b, `"And now?"`, `"What else?"`, 1) }, false},
		{"with a text more before it", func(b string) string {
			return strings.Replace(b, `"content":"ok"}`, `"content":"ok"},{"type":"text","text":"more"}`, 1)
		}, true},
		{"with another system text", func(b string) string { return strings.Replace(b, `"Be brief."`, `"Be kind."`, 1) }, true},
		{"with another tool", func(b string) string { return strings.Replace(b, `{"name":"Bash"}`, `{"name":"Read"}`, 1) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Thinks: true, Turn: eval.Queue(eval.Reply{Text: "Done."}, eval.Reply{Text: "Yes."})})
			srv := httptest.NewServer(up)
			defer srv.Close()
			post := func(body string) (content string) {
				resp, err := http.Post(srv.URL+"/v1/messages", "application/json", bytes.NewReader([]byte(body)))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var r struct{ Content json.RawMessage }
				if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
					t.Fatal(err)
				}
				return string(r.Content)
			}
			body := func(messages string) string {
				return `{"model":"m","system":"Be brief.","tools":[{"name":"Bash"}],"messages":[` + messages + `]}`
			}
			thought := post(body(question))
			if !strings.Contains(thought, `"type":"thinking"`) || up.Moved() != 0 {
				t.Fatalf("%d moved, the answer is %s", up.Moved(), thought)
			}
			post(tt.change(body(fmt.Sprintf(`%s,{"role":"assistant","content":%s},{"role":"user","content":"And now?"}`, question, thought))))
			if got := up.Moved() > 0; got != tt.wantMove {
				t.Errorf("moved: %v", got)
			}
		})
	}
}
