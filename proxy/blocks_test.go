package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What Anthropic's own compaction looks like, on demand and at a threshold:
// https://platform.claude.com/docs/en/build-with-claude/compaction.
const (
	summaryBlock = `{"type":"compaction","content":"They moved the importer to Parquet.","signature":"c2ln"}`
	summaryTurn  = `{"role":"assistant","content":[` + summaryBlock + `]}`
)

// summarize makes a request one for a summary.
func summarize(body string) string {
	return strings.Replace(body, `"stream" :true`, `"stream" :true,"compaction":{"type":"summarize"}`, 1)
}

// summaryStream is a streamed answer that begins with a compaction block, its content in
// two pieces, and ends with the frames of rest.
func summaryStream(rest string) string {
	delta := func(text string) string {
		return frame("\n", "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":`+quote(text)+`}}`)
	}
	return frame("\n", "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`) +
		frame("\n", "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}`) +
		delta("They moved the importer ") + delta("to Parquet.") +
		frame("\n", "content_block_stop", `{"type":"content_block_stop","index":0}`) + rest
}

func stopped(reason string) string {
	return frame("\n", "message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"}}`) + claudeLast("\n")
}

func thinkingTurn(text string) string {
	return `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":` + quote(text) + `}]}`
}

// messagesIn are the messages of a request, each as it stands there.
func messagesIn(t *testing.T, body []byte) (list []string) {
	t.Helper()
	var r struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	for _, m := range r.Messages {
		list = append(list, string(m))
	}
	return list
}

// expectRecord checks that of the messages that a client sent, as the provider got them,
// the record stands in one alone, with the plan, and all others are as they were. It
// returns that one.
func expectRecord(t *testing.T, sent []string, got []byte, at int) string {
	t.Helper()
	list := messagesIn(t, got)
	if len(list) != len(sent) {
		t.Fatalf("%d messages arrived, not %d", len(list), len(sent))
	}
	for i, m := range list {
		if i != at && m != sent[i] {
			t.Errorf("message %d is\n%s, not\n%s", i, m, sent[i])
		}
	}
	if !strings.Contains(list[at], `## Plan in force (1 of 2 steps completed)\n1. [completed] port the reader\n2. [pending] port the writer\n`) {
		t.Errorf("no plan in message %d:\n%s", at, list[at])
	}
	return list[at]
}

func TestThePlanStandsBehindASummaryThatTheProviderMade(t *testing.T) {
	kept := []string{claudeText("user", "Look at the tests."), thinkingTurn("They pass.")}
	for _, tt := range []struct {
		name   string
		asked  []string // the request for the summary; none: the provider makes it by itself
		answer string
		next   []string // the history that follows
	}{
		{"of all, streamed", claudePlanned(), summaryStream(stopped("compaction")), []string{summaryTurn}},
		{
			"of all, in one piece", claudePlanned(),
			`{"id":"m1","type":"message","role":"assistant","content":[` + summaryBlock + `],"stop_reason":"compaction"}`,
			[]string{summaryTurn},
		},
		{"of the older turns", claudePlanned(), summaryStream(stopped("compaction")), append([]string{summaryTurn}, kept...)},
		{
			"at a threshold, in the middle of an answer", nil,
			summaryStream(strings.ReplaceAll(claudeSays("I go on."), `"index":0`, `"index":1`)),
			append(claudePlanned(), claudeText("user", "Go on."),
				`{"role":"assistant","content":[`+summaryBlock+`,{"type":"text","text":"I go on."}]}`),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply := claudeSays("Done.")
			s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
				if strings.HasPrefix(reply, "{") {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, reply)
					return
				}
				sendStream(w, reply)
			})
			send := func(body, answer string) []byte {
				reply = answer
				got := s.post("/v1/messages", claudeHeader("s"), body)
				if got.status != http.StatusOK || got.body != answer {
					t.Fatalf("%d, the answer is\n%s", got.status, got.body)
				}
				calls := s.seen()
				return calls[len(calls)-1].body
			}
			send(claudeTurn(), claudeSays("Done."))
			if tt.asked != nil {
				body := summarize(claudeBody(tt.asked...))
				if got := send(body, tt.answer); string(got) != body {
					t.Errorf("the request for a summary was changed:\n%s", got)
				}
				if log := s.log.String(); !strings.Contains(log, "phase=committed row=anthropic/compact-on-demand") {
					t.Errorf("no boundary was committed:\n%s", log)
				}
			} else {
				send(claudeTurn(), tt.answer)
			}

			history := append(tt.next, claudeText("user", "Next."))
			at := len(history) - 1
			first := expectRecord(t, history, send(claudeBody(history...), claudeSays("Done.")), at)
			if !strings.HasPrefix(first, `{"role":"user","content":[{"type":"text", "text":"Next."},{"type":"text","text":"`) {
				t.Errorf("the record does not follow what the user said:\n%s", first)
			}
			// It stays in its place, byte for byte, so that thinking behind it holds.
			for range 2 {
				history = append(history, thinkingTurn("Looking."), claudeText("user", "Go on."))
				if again := expectRecord(t, history, send(claudeBody(history...), claudeSays("Done.")), at); again != first {
					t.Errorf("it became\n%s", again)
				}
			}
			body := summarize(claudeBody(history...))
			if again := expectRecord(t, history, send(body, summaryStream(stopped("compaction"))), at); again != first {
				t.Errorf("with the next request for a summary it became\n%s", again)
			}
		})
	}
}

// With a threshold in its request, OpenAI's API makes the item in the course of an answer,
// and the client may leave out what stands before it:
// https://developers.openai.com/api/docs/guides/compaction.
func TestThePlanStandsBehindAnItemThatTheProviderMadeByItself(t *testing.T) {
	before := append(codexPlanned(), codexText("user", "Go on."))
	for _, kept := range [][]string{before, nil} {
		t.Run(fmt.Sprintf("%d items stand before it", len(kept)), func(t *testing.T) {
			s := newStage(t, setting{}, respondWith(codexSays("Done.")))
			s.post("/v1/responses", codexHeader("s", "turn"), codexBody(before...))
			item := `{"type":"compaction","id":"cmp_1","encrypted_content":"b3BhcXVl"}`
			history := append(slices.Clone(kept), item, codexText("assistant", "Done."), codexText("user", "Next."))
			record := ""
			for range 2 {
				s.post("/v1/responses", codexHeader("s", "turn"), codexBody(history...))
				calls := s.seen()
				_, behind, _ := strings.Cut(string(calls[len(calls)-1].body), item)
				text, _, _ := strings.Cut(behind, codexText("assistant", "Done."))
				if !strings.Contains(text, `## Plan in force (1 of 2 steps completed)\n1. [completed] port the reader\n2. [pending] port the writer\n`) || record != "" && text != record {
					t.Errorf("behind the item stands\n%s\n%s", text, s.log)
				}
				record = text
				history = append(history, codexText("assistant", "Ok."), codexText("user", "More."))
			}
		})
	}
}

// A client may have a history summed up again before anybody said a word behind the first
// summary. What was thought in it was thought without the record.
func TestARequestForASummaryGetsNoRecordBeforeThinkingThatKnewNone(t *testing.T) {
	reply := ""
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) { sendStream(w, reply) })
	send := func(body, answer string) []byte {
		reply = answer
		s.post("/v1/messages", claudeHeader("s"), body)
		calls := s.seen()
		return calls[len(calls)-1].body
	}
	send(claudeTurn(), claudeSays("Done."))
	send(summarize(claudeBody(claudePlanned()...)), summaryStream(stopped("compaction")))
	history := []string{summaryTurn, claudeText("user", "Look at the tests."), thinkingTurn("They pass.")}
	body := summarize(claudeBody(history...))
	if got := send(body, summaryStream(stopped("compaction"))); string(got) != body {
		t.Errorf("it became\n%s\n%s", got, s.log)
	}
	// The client goes on without that summary.
	history = append(history, claudeText("user", "Go on."))
	for range 2 {
		expectRecord(t, history, send(claudeBody(history...), claudeSays("Done.")), 3)
		history = append(history, thinkingTurn("Looking."), claudeText("user", "More."))
	}
}
