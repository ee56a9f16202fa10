package transcript

import (
	"strings"
	"testing"
)

var geminiWhole = file(
	`{"sessionId":"g","projectHash":"h","startTime":"2026-01-02T03:04:00Z","lastUpdated":"2026-01-02T03:04:00Z","kind":"main"}`,
	`{"id":"1","timestamp":"2026-01-02T03:04:01Z","type":"user","content":[{"text":"Sort."}]}`,
	`{"$set":{"lastUpdated":"2026-01-02T03:04:01Z"}}`,
	`{"id":"2","timestamp":"2026-01-02T03:04:02Z","type":"gemini","content":"Reading.","thoughts":[{"subject":"Order","description":"By age.","timestamp":"2026-01-02T03:04:02Z"}],"tokens":{"input":100,"output":20,"cached":60,"thoughts":5,"tool":0,"total":125},"model":"gemini-x"}`,
	`{"id":"2","timestamp":"2026-01-02T03:04:02Z","type":"gemini","content":"Reading.","thoughts":[{"subject":"Order","description":"By age.","timestamp":"2026-01-02T03:04:02Z"}],"tokens":{"input":100,"output":20,"cached":60,"thoughts":5,"tool":0,"total":125},"model":"gemini-x","toolCalls":[{"id":"c1","name":"read_file","args":{"path":"a.go"},"result":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"package a"}}}],"status":"success"},{"id":"c2","name":"write_todos","args":{"todos":[]},"result":[{"functionResponse":{"id":"c2","name":"write_todos","response":{"error":"no list"}}}],"status":"error"}]}`,
	`{"id":"3","timestamp":"2026-01-02T03:04:03Z","type":"info","content":"Request cancelled."}`,
	`{"id":"r1","timestamp":"2026-01-02T03:04:03Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"package a"}}}]}`,
	`{"$set":{"messages":[{"id":"1","timestamp":"2026-01-02T03:04:01Z","type":"user","content":[{"text":"Sort."}]},{"id":"2","timestamp":"2026-01-02T03:04:02Z","type":"gemini","content":[{"text":"Reading."},{"functionCall":{"id":"c1","name":"read_file","args":{"path":"a.go"}}}]}]}}`,
	`{"id":"4","timestamp":"2026-01-02T03:04:03Z","type":"user","content":[{"text":"Again."}]}`,
	`{"$set":{"messages":[{"id":"0","timestamp":"2026-01-02T03:04:01Z","type":"user","content":[{"text":"<system>place"}]},{"id":"k1","timestamp":"2026-01-02T03:04:04Z","type":"user","content":[{"text":"<state_snapshot>Half done.</state_snapshot>"}]},{"id":"k2","timestamp":"2026-01-02T03:04:04Z","type":"gemini","content":[{"text":"Got it."}]},{"id":"k3","timestamp":"2026-01-02T03:04:04Z","type":"user","content":[{"text":"Again."}]}]}}`,
	`{"$set":{"messages":[{"id":"k1","timestamp":"2026-01-02T03:04:04Z","type":"user","content":[{"text":"<state_snapshot>Half done.</state_snapshot>"}]},{"id":"k2","timestamp":"2026-01-02T03:04:04Z","type":"gemini","content":[{"text":"Got it."}]},{"id":"k3","timestamp":"2026-01-02T03:04:04Z","type":"user","content":[{"text":"Again."}]}]}}`,
	`{"id":"5","timestamp":"2026-01-02T03:04:05Z","type":"gemini","content":"Sorted.","thoughts":[],"tokens":null}`,
	`{"$set":{"summary":"Queue"}}`,
)

func TestGeminiCLI(t *testing.T) {
	readings(t, Gemini, []reading{
		{
			name: "a message that is written again adds its calls, a result that stands twice is one, a list that begins anew is a compaction",
			in:   geminiWhole,
			want: []string{
				"session g",
				"turn",
				"user Sort.",
				"reasoning Order\nBy age.",
				"assistant Reading.",
				"usage turn gemini-x in 40 read 60 write 0 out 25",
				`call c1 read_file {"path":"a.go"}`,
				"result c1 package a",
				`call c2 write_todos {"todos":[]}`,
				"error c2 no list",
				"turn",
				"user Again.",
				"compaction by agent 0..0 generated <state_snapshot>Half done.</state_snapshot>",
				"assistant Sorted.",
				"session g called Queue",
			},
		},
		{
			name: "the older form is one document",
			in: `{
  "sessionId": "g",
  "projectHash": "h",
  "summary": "Queue",
  "messages": [
    {"id": "1", "timestamp": "2026-01-02T03:04:01Z", "type": "user", "content": "Sort."},
    {"id": "2", "type": 7},
    {"id": "3", "timestamp": "2026-01-02T03:04:02Z", "type": "gemini", "content": "",
     "toolCalls": [{"id": "c1", "name": "ls", "args": {}, "status": "cancelled", "result": [{"functionResponse": {"id": "c1", "response": {"error": "cancelled"}}}]}]}
  ]
}`,
			want: []string{
				"session g called Queue", "turn", "user Sort.", "damage 2: type holds a value of the wrong type",
				"call c1 ls {}", "error c1 cancelled",
			},
		},
		{
			name: "a subagent's file stands in the folder of its parent",
			path: "chats/main-session/kid.jsonl",
			in:   file(`{"sessionId":"kid","projectHash":"h","kind":"subagent"}`, `{"id":"1","type":"gemini","content":[{"text":"Hm.","thoughtSignature":"eA=="}]}`),
			want: []string{"session kid of main-session", `reasoning  {"thoughtSignature":"eA=="}`, "assistant Hm."},
		},
	})
}

func TestADocumentThatIsDamagedAsAWholeIsRefused(t *testing.T) {
	for f, in := range map[Format]string{
		Gemini: `{"sessionId":"g","projectHash":"h","messages":[{"id":"secret`,
		Cline:  `{"sessionId":"g","messages":[{"id":"secret`,
		JP:     `[{"type":"secret`,
	} {
		var last error
		for _, err := range Read(f, strings.NewReader(in), "", asAgents) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "damaged as a whole") || strings.Contains(last.Error(), "secret") {
			t.Errorf("%s: the error is %v", f, last)
		}
	}
}
