package transcript

import (
	"strings"
	"testing"
)

var piWhole = file(
	`{"type":"session","version":3,"id":"p","timestamp":"2026-01-02T03:04:00Z","cwd":"/w","parentSession":"/h/sessions/--w--/2026-01-01T00-00-00-000Z_older.jsonl"}`,
	`{"type":"model_change","id":"00","parentId":null,"timestamp":"2026-01-02T03:04:01Z","provider":"anthropic","modelId":"claude-x"}`,
	`{"type":"message","id":"01","parentId":"00","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"Sort.","timestamp":1}}`,
	`{"type":"message","id":"02","parentId":"01","timestamp":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"By age.","thinkingSignature":"c2ln"},{"type":"text","text":"Reading."},{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"a.go"}}],"api":"anthropic-messages","model":"claude-x","usage":{"input":3,"output":4,"cacheRead":5,"cacheWrite":6,"cost":{"total":0.0174}},"stopReason":"toolUse"}}`,
	`{"type":"message","id":"03","parentId":"02","timestamp":"2026-01-02T03:04:07Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text","text":"gone"}],"isError":true}}`,
	`{"type":"message","id":"04","parentId":"03","timestamp":"2026-01-02T03:05:00Z","message":{"role":"user","content":[{"type":"text","text":"Again."}]}}`,
	`{"type":"message","id":"05","parentId":"04","timestamp":"2026-01-02T03:05:01Z","message":{"role":"bashExecution","command":"ls","output":"b.go"}}`,
	`{"type":"compaction","id":"06","parentId":"05","timestamp":"2026-01-02T03:05:02Z","summary":"Sorting failed.","firstKeptEntryId":"04","tokensBefore":9}`,
	`{"type":"message","id":"07","parentId":"06","timestamp":"2026-01-02T03:05:03Z","message":{"role":"assistant","content":[{"type":"text","text":"Sorted."}],"api":"anthropic-messages","model":"claude-x","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0}}}`,
	`{"type":"session_info","id":"08","parentId":"07","timestamp":"2026-01-02T03:05:04Z","name":"Queue"}`,
)

func TestPi(t *testing.T) {
	readings(t, Pi, []reading{
		{
			name: "a compaction that kept the newest turn covers those before it",
			in:   piWhole,
			want: []string{
				"session p of older",
				"turn",
				"user Sort.",
				`reasoning By age. {"type":"thinking","thinking":"By age.","signature":"c2ln"}`,
				"assistant Reading.",
				`call t1 read {"path":"a.go"}`,
				"usage turn claude-x in 3 read 5 write 6 out 4 cost 17400",
				"error t1 gone",
				"turn",
				"user Again.",
				"synthetic Ran `ls`\n```\nb.go\n```",
				"compaction by agent 0..0 generated Sorting failed.",
				"assistant Sorted.",
				"usage turn claude-x in 1 read 0 write 0 out 1",
				"session p called Queue of older",
			},
		},
		{
			name: "the first version counts its records from the head",
			in: file(
				`{"type":"session","id":"p","timestamp":"2026-01-02T03:04:00Z","cwd":"/w"}`,
				`{"type":"message","timestamp":"2026-01-02T03:04:01Z","message":{"role":"user","content":"One."}}`,
				`{"type":"message","timestamp":"2026-01-02T03:04:02Z","message":{"role":"user","content":"Two."}}`,
				`{"type":"message","timestamp":"2026-01-02T03:04:03Z","message":{"role":"user","content":"Three."}}`,
				`{"type":"compaction","timestamp":"2026-01-02T03:04:04Z","summary":"Counted.","firstKeptEntryIndex":3}`,
			),
			want: []string{"session p", "turn", "user One.", "turn", "user Two.", "turn", "user Three.", "compaction by agent 0..1 generated Counted."},
		},
		{
			name: "a compaction that kept a part of the only turn is told as it stands",
			in: file(
				`{"type":"session","id":"p","cwd":"/w"}`,
				`{"type":"message","id":"1","message":{"role":"user","content":"One."}}`,
				`{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"text","text":"Long."}]}}`,
				`{"type":"compaction","id":"3","summary":"The first part.","firstKeptEntryId":"2"}`,
			),
			want: []string{"session p", "turn", "user One.", "assistant Long.", "synthetic The first part."},
		},
		{
			name: "reasoning has the form of its wire",
			in: file(
				`{"type":"session","id":"p","cwd":"/w"}`,
				`{"type":"message","message":{"role":"assistant","api":"openai-responses","content":[{"type":"thinking","thinking":"a","thinkingSignature":"{\"type\":\"reasoning\",\"encrypted_content\":\"x\"}"}]}}`,
				`{"type":"message","message":{"role":"assistant","api":"google-generative-ai","content":[{"type":"thinking","thinking":"b","thinkingSignature":"eA=="}]}}`,
				`{"type":"message","message":{"role":"assistant","api":"openai-completions","content":[{"type":"thinking","thinking":"c","thinkingSignature":"reasoning_content"}]}}`,
			),
			want: []string{
				"session p",
				`reasoning a {"type":"reasoning","encrypted_content":"x"}`,
				`reasoning b {"thoughtSignature":"eA=="}`,
				"reasoning c",
			},
		},
	})
}

func TestPiKeepsTheIDsWhenItGivesAnOldFileItsOwn(t *testing.T) {
	old := file(
		`{"type":"session","id":"p","timestamp":"2026-01-02T03:04:00Z","cwd":"/w"}`,
		`{"type":"message","timestamp":"2026-01-02T03:04:01Z","message":{"role":"user","content":"One."}}`,
	)
	later := strings.NewReplacer(`"type":"session"`, `"type":"session","version":3`, `"type":"message"`, `"type":"message","id":"01","parentId":null`).Replace(old)
	a, b := events(Pi, old), events(Pi, later)
	if len(a) != 2 || strings.Join(a, "\n") != strings.Join(b, "\n") {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}
