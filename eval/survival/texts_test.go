package survival_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

func TestTextsAreThoseOfTheHistory(t *testing.T) {
	conversation := []survival.Passage{{Role: "user", Text: "Hello."}, {Role: "assistant", Text: "Yes?"}, {Role: "tool", Text: "ok"}}
	for _, tt := range []struct {
		name, body string
		want       []survival.Passage
	}{
		{"no JSON", `hello`, nil},
		{"Messages, with reasoning, a call and a result", `{"system":"S","tools":[{"name":"x"}],"messages":[
			{"role":"user","content":"Hello."},
			{"role":"assistant","content":[{"type":"thinking","thinking":"T"},{"type":"text","text":"Yes?"},{"type":"tool_use","name":"x","input":{"text":"I"}}]},
			{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"ok"}]}]}]}`, conversation},
		{"Chat, with a system message and a call", `{"messages":[{"role":"system","content":"S"},
			{"role":"user","content":[{"type":"text","text":"Hello."}]},
			{"role":"assistant","content":"Yes?","tool_calls":[{"function":{"name":"x","arguments":"A"}}]},
			{"role":"tool","content":"ok"}]}`, conversation},
		{"Responses, with a developer item and an opaque one", `{"instructions":"S","input":[{"role":"developer","content":"D"},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello."}]},
			{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"T"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes?"}]},
			{"type":"function_call","name":"x","arguments":"A"},{"type":"function_call_output","output":"ok"},
			{"type":"compaction","encrypted_content":"E"},{"type":"compaction_trigger"}]}`, conversation},
		{"Responses, of one string", `{"input":"Hello."}`, conversation[:1]},
		{"Gemini, with a thought and a call", `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[
			{"role":"user","parts":[{"text":"Hello."}]},
			{"role":"model","parts":[{"text":"T","thought":true},{"text":"Yes?"},{"functionCall":{"name":"x","args":{"text":"A"}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"ok"}}}]}]}`, conversation},
		{"a prompt for a summary with a text behind it", `{"messages":[{"role":"user","content":[{"type":"text","text":"Hello."},
			{"type":"text","text":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},{"type":"text","text":"A hint."}]}]}`, conversation[:1]},
		{"the words of a prompt earlier in the history", `{"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. What is that?"},
			{"role":"assistant","content":"Yes?"}]}`, []survival.Passage{{Role: "user", Text: "CRITICAL: Respond with TEXT ONLY. What is that?"}, conversation[1]}},
		{"the second prompt of gemini-cli", `{"contents":[{"role":"user","parts":[{"text":"Hello."}]},{"role":"model","parts":[{"text":"Yes?"}]},
			{"role":"user","parts":[{"text":"Critically evaluate the <state_snapshot> you just generated."}]}]}`, conversation[:2]},
	} {
		if diff := cmp.Diff(tt.want, survival.Texts([]byte(tt.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTextsOfAHistoryInWords(t *testing.T) {
	for _, a := range scripted {
		start, ok := map[string]string{
			"opencode":      "[User]: First words.\n\n[Assistant]: I read on",
			"pi, chat":      "[User]: First words.\n\n[Assistant]: I read on",
			"pi, responses": "[User]: First words.\n\n[Assistant]: I read on",
			"cline":         `[User]: <user_input mode="act">First words.</user_input>`, // it keeps the answer
		}[a.name]
		if !ok {
			continue
		}
		n := 0
		play(t, a.make, func(_ int, r eval.Request) eval.Reply {
			n++
			texts := survival.Texts(r.Body)
			words := texts[len(texts)-1]
			if n == 1 && (len(texts) != 1 || words.Role != "user" || !strings.HasPrefix(words.Text, start)) {
				t.Errorf("%s: texts of the first request: %q", a.name, texts)
			}
			if n == 2 && (len(texts) != 2 || texts[0].Role != "user" || texts[0].Text != "The summary.") {
				t.Errorf("%s: texts of the second request: %q", a.name, texts)
			}
			return eval.Reply{Text: "The summary."}
		}, []string{"First words.", "Second words.", "Third words."})
		if n != 2 {
			t.Errorf("%s asks for %d summaries", a.name, n)
		}
	}
}
