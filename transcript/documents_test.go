package transcript

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// documents are files that are one document, for the laws.
var documents = map[Format]string{
	Cline: `{"version":1,"sessionId":"k","messages":[
		{"id":"1","role":"user","ts":1767323041000,"content":[{"type":"text","text":"<say>Sort.</say>"}]},
		{"id":"2","role":"assistant","ts":1767323042000,"modelInfo":{"id":"claude-x","provider":"p"},"metrics":{"inputTokens":3,"outputTokens":4,"cacheReadTokens":5,"cacheWriteTokens":6,"cost":0.5},"content":[{"type":"thinking","thinking":"By age."},{"type":"tool_use","id":"t","name":"team_task","input":{"action":"list"}}]},
		{"id":"3","role":"user","ts":1767323043000,"content":[{"type":"tool_result","tool_use_id":"t","content":"none"}]},
		{"id":"4","role":"user","ts":1767323044000,"metadata":{"kind":"compaction_summary"},"content":[{"type":"text","text":"Context summary: sorting."}]},
		{"id":"5","role":"assistant","content":"Sorted."}],"system_prompt":"Rules."}`,
	JP: `[
		{"type":"config_delta","timestamp":"2026-01-02 03:04:00.5","delta":{}},
		{"timestamp":"2026-01-02 03:04:01.25","type":"turn_start"},
		{"timestamp":"2026-01-02 03:04:01.25","type":"chat_request","content":"Sort.","schema":{"type": "object"}},
		{"timestamp":"2026-01-02 03:04:02","type":"chat_response","reasoning":"By age.","metadata":{"anthropic_thinking_signature":"` + b64("sig") + `"}},
		{"timestamp":"2026-01-02 03:04:03","type":"tool_call_request","id":"t","name":"fs_read_file","arguments":{"path":"` + b64("z.go") + `","all":[true,"` + b64("a") + `"]}},
		{"timestamp":"2026-01-02 03:04:03","type":"inquiry_request","id":"i","question":{"text":"Apply?"}},
		{"timestamp":"2026-01-02 03:04:03","type":"inquiry_response","id":"i","answer":true},
		{"timestamp":"2026-01-02 03:04:04","type":"tool_call_response","id":"t","content":"` + b64("gone\n") + `","is_error":true},
		{"timestamp":"2026-01-02 03:04:05","type":"chat_request","content":"And now?"},
		{"timestamp":"2026-01-02 03:04:06","type":"chat_response","data":{"ok": true}},
		{"timestamp":"2026-01-02 03:04:07","type":"turn_start"},
		{"timestamp":"2026-01-02 03:04:07","type":"chat_request","content":"Thanks."},
		{"timestamp":"2026-01-02 03:04:08","type":"compaction","from_turn":0,"to_turn":0,"summary":{"summary":"It was gone.","source":"authored"}},
		{"timestamp":"2026-01-02 03:04:08","type":"compaction","from_turn":0,"to_turn":9,"reasoning":"strip","tool_calls":{"policy":"strip","request":true,"response":false}},
		{"timestamp":"2026-01-02 03:04:08","type":"compaction","from_turn":0,"to_turn":1,"tool_calls":{"policy":"omit","over":"1kB"}}
	]`,
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCline(t *testing.T) {
	readings(t, Cline, []reading{
		{
			name: "the document of a session",
			in:   documents[Cline],
			want: []string{
				"session k",
				"turn",
				"user Sort.",
				"reasoning By age.",
				`call t team_task {"action":"list"}`,
				"usage turn claude-x in 3 read 5 write 6 out 4 cost 500000",
				"result t none",
				"compaction by agent 0..0 generated Context summary: sorting.",
				"turn",
				"assistant Sorted.",
			},
		},
		{
			name: "a subagent names its parent, a result in pieces has their texts",
			in:   `{"sessionId":"k__a","origin":{"parentThreadId":"k"},"messages":[{"id":"1","role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"query":"a","result":"one","success":true},{"query":"b","result":{"n": 2},"success":false}]}]}]}`,
			want: []string{"session k__a of k", `error t one + {"n":2}`},
		},
		{
			name: "the list of the extension, named by its folder, with a damaged message",
			path: "tasks/1767323041000/api_conversation_history.json",
			in:   `[{"role":"user","content":"Go."},{"role":9},{"role":"assistant","content":[{"type":"text","text":"Gone."}]}]`,
			want: []string{"session 1767323041000", "turn", "user Go.", "damage 2: role holds a value of the wrong type", "assistant Gone."},
		},
	})
}

func TestJP(t *testing.T) {
	readings(t, JP, []reading{
		{
			name: "stored texts are plain again, questions of tools are left out, turns are those that it marks",
			path: "conversations/17673230410-sort-it/events.json",
			in:   documents[JP],
			want: []string{
				"session 17673230410 called sort it",
				"turn",
				"user Sort.",
				`reasoning By age. {"type":"thinking","thinking":"By age.","signature":"sig"}`,
				`call t fs_read_file {"path":"z.go","all":[true,"a"]}`,
				"error t gone\n",
				"user And now?",
				`data {"ok":true}`,
				"turn",
				"user Thanks.",
				"compaction by agent 0..0 authored It was gone.",
				"compaction by agent 0..1 strips reasoning tools {Omit:false Request:true Response:false}",
			},
		},
		{
			name: "without marks a request begins a turn, and the first event names the session",
			in:   `[{"timestamp":"2026-01-02 03:04:01","type":"chat_request","content":"One."},{"timestamp":"2026-01-02 03:04:02","type":"chat_request","content":"Two."}]`,
			want: []string{"session " + holdfast.DigestOf("jp", `{"timestamp":"2026-01-02 03:04:01","type":"chat_request","content":"One."}`).String(), "turn", "user One.", "turn", "user Two."},
		},
	})
}

func TestADocumentThatGrewKeepsTheIDsOfItsEvents(t *testing.T) {
	for f, in := range documents {
		all := events(f, in)
		at := strings.LastIndex(in[:strings.LastIndex(in, "{\"")], "},")
		closing := "}]"
		if f == Cline {
			closing = "}]}"
		}
		short := events(f, in[:at]+closing)
		if len(short) == 0 || len(short) > len(all) {
			t.Fatalf("%s: %d events of %d", f, len(short), len(all))
		}
		for i, e := range short {
			if e != all[i] {
				t.Errorf("%s: event %d was %s, is %s", f, i, e, all[i])
			}
		}
	}
}

func TestTextsOfJPThatWereNotStoredInBase64StayAsTheyAre(t *testing.T) {
	for stored, want := range map[string]string{
		b64("müde"): "müde",
		"a file":    "a file", // no base64
		"/w==":      "/w==",   // base64 of what is no text
		"":          "",
	} {
		if got := plain(stored); got != want {
			t.Errorf("%q is %q, not %q", stored, got, want)
		}
	}
}
