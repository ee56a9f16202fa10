package proxy_test

import (
	"io"
	"net/http"
	"testing"
)

// TestAPersonsQuestionPassesAsItIs asks what other agents' harnesses ask around a
// compaction, in claude-code.
func TestAPersonsQuestionPassesAsItIs(t *testing.T) {
	for _, question := range []string{"What did we do so far?", "Provide a detailed summary of our conversation above."} {
		reply := frame("\n", "message_start", `{"type":"message_start","message":{"id":"m1"}}`) +
			frame("\n", "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
			claudeDelta("\n", "We ported the reader.") + claudeEnd("\n")
		s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, reply)
		})
		s.post("/v1/messages", claudeHeader("s"), claudeTurn())
		asked := claudeBody(append(claudePlanned(), claudeText("user", "Go on."), claudeText("assistant", "We ported the reader."), claudeText("user", question))...)
		got := s.post("/v1/messages", claudeHeader("s"), asked)
		if sent := string(s.seen()[1].body); sent != asked {
			t.Errorf("%s: the request was changed:\n%s", question, sent)
		}
		if got.body != reply {
			t.Errorf("%s: the answer was changed:\n%s", question, got.body)
		}
	}
}
