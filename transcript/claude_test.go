package transcript

import "testing"

const claudeHead = `"sessionId":"s","version":"2.1.9","cwd":"/w","userType":"external","isSidechain":false`

var claudeWhole = file(
	`{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`,
	`{"type":"user",`+claudeHead+`,"uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"Sort the queue."}}`,
	`{"type":"assistant",`+claudeHead+`,"uuid":"a1","parentUuid":"u1","timestamp":"2026-01-02T03:04:06Z","message":{"id":"msg_1","model":"claude-x","role":"assistant","content":[{"type":"thinking","thinking":"By age.","signature":"c2ln"}],"usage":{"input_tokens":3,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}`,
	`{"type":"assistant",`+claudeHead+`,"uuid":"a2","parentUuid":"a1","timestamp":"2026-01-02T03:04:07Z","message":{"id":"msg_1","model":"claude-x","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{"todos": [{"content":"Sort"}]}}],"usage":{"input_tokens":3,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":40}}}`,
	`{"type":"user",`+claudeHead+`,"uuid":"u2","parentUuid":"a2","timestamp":"2026-01-02T03:04:08Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"Done."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}]}]}}`,
	`{"type":"user",`+claudeHead+`,"uuid":"u3","parentUuid":"u2","timestamp":"2026-01-02T03:04:09Z","isMeta":true,"message":{"role":"user","content":[{"type":"text","text":"A note of the harness."}]}}`,
	`{"type":"assistant",`+claudeHead+`,"uuid":"a3","parentUuid":"u3","timestamp":"2026-01-02T03:04:10Z","message":{"id":"e","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":0,"output_tokens":0}}}`,
	`{"type":"system","subtype":"compact_boundary",`+claudeHead+`,"uuid":"b","parentUuid":null,"timestamp":"2026-01-02T03:05:00Z","content":"Conversation compacted","compactMetadata":{"trigger":"auto"}}`,
	`{"type":"user",`+claudeHead+`,"uuid":"u4","parentUuid":"b","timestamp":"2026-01-02T03:05:01Z","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"The queue is being sorted."}}`,
	`{"type":"assistant",`+claudeHead+`,"uuid":"a4","parentUuid":"u4","timestamp":"2026-01-02T03:05:02Z","message":{"id":"msg_2","model":"claude-x","role":"assistant","content":[{"type":"text","text":"Sorted."}],"usage":{"input_tokens":2,"output_tokens":4}}}`,
	`{"type":"custom-title","customTitle":"Queue","sessionId":"s"}`,
)

func TestClaudeCode(t *testing.T) {
	readings(t, ClaudeCode, []reading{
		{
			name: "an answer of two records, a result, a compaction in the middle of the turn, a title",
			in:   claudeWhole,
			want: []string{
				"session s",
				"turn",
				"user Sort the queue.",
				`reasoning By age. {"type":"thinking","thinking":"By age.","signature":"c2ln"}`,
				`call t1 TodoWrite {"todos":[{"content":"Sort"}]}`,
				"usage turn claude-x in 3 read 7 write 5 out 40",
				"result t1 Done. + [image image/pngQQ==]",
				"synthetic A note of the harness.",
				"compaction by agent 0..0 generated The queue is being sorted.",
				"turn",
				"assistant Sorted.",
				"usage turn claude-x in 2 read 0 write 0 out 4",
				"session s called Queue",
			},
		},
		{
			name: "a result between the records of an answer counts its usage once",
			in: file(
				`{"type":"assistant","sessionId":"s","uuid":"a1","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}],"usage":{"input_tokens":1,"output_tokens":9}}}`,
				`{"type":"user","sessionId":"s","uuid":"u1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}`,
				`{"type":"assistant","sessionId":"s","uuid":"a2","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}],"usage":{"input_tokens":1,"output_tokens":9}}}`,
				`{"type":"system","sessionId":"s","uuid":"d"}`,
			),
			want: []string{
				"session s", "call t1 Read {}", "usage turn x in 1 read 0 write 0 out 9", "error t1 no", "call t2 Read {}",
			},
		},
		{
			name: "a subagent's file is a session of its own",
			path: "p/s/subagents/agent-7.jsonl",
			in: file(
				`{"type":"user","isSidechain":true,"agentId":"7","sessionId":"s","uuid":"u1","message":{"content":"Look."}}`,
				`{"type":"assistant","isSidechain":true,"agentId":"7","sessionId":"s","uuid":"a1","message":{"id":"m","content":[{"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"Seen."}]}}`,
			),
			want: []string{
				"session s/7 of s", "turn", "user Look.", `reasoning  {"data":"eA==","type":"redacted_thinking"}`, "assistant Seen.",
			},
		},
		{
			name: "side chains between the records of their caller are sessions of their own",
			in: file(
				`{"type":"user","sessionId":"s","uuid":"u1","message":{"content":"Ask both."}}`,
				`{"type":"user","isSidechain":true,"sessionId":"s","uuid":"x1","parentUuid":null,"message":{"content":"First."}}`,
				`{"type":"user","isSidechain":true,"sessionId":"s","uuid":"y1","parentUuid":null,"message":{"content":"Second."}}`,
				`{"type":"assistant","isSidechain":true,"sessionId":"s","uuid":"x2","parentUuid":"x1","message":{"id":"m","content":[{"type":"text","text":"One."}]}}`,
				`{"type":"assistant","sessionId":"s","uuid":"a1","message":{"id":"n","content":[{"type":"text","text":"Both."}]}}`,
			),
			want: []string{
				"session s", "turn", "user Ask both.", "session s/x1 of s", "turn", "user First.",
				"session s/y1 of s", "turn", "user Second.", "assistant One.", "assistant Both.",
			},
		},
		{
			name: "a file that begins with a copy of another session is one session",
			path: "p/0198c0de-0000-4000-8000-000000000002.jsonl",
			in: file(
				`{"type":"user","sessionId":"0198c0de-0000-4000-8000-000000000001","uuid":"u1","message":{"content":"Go."}}`,
				`{"type":"assistant","sessionId":"0198c0de-0000-4000-8000-000000000002","uuid":"a1","message":{"id":"m","content":[{"type":"text","text":"Gone."}]}}`,
			),
			want: []string{
				"session 0198c0de-0000-4000-8000-000000000002 of 0198c0de-0000-4000-8000-000000000001", "turn", "user Go.", "assistant Gone.",
			},
		},
		{
			name: "zeros that a crash left are no damage",
			in:   "\x00\x00" + file(`{"type":"user","sessionId":"s","uuid":"u","message":{"content":"Go."}}`) + "\x00\n",
			want: []string{"session s", "turn", "user Go."},
		},
		{
			name: "a summary with nothing before it is told as it stands",
			in:   file(`{"type":"user","sessionId":"s","uuid":"u","isCompactSummary":true,"message":{"content":"Earlier: much."}}`),
			want: []string{"session s", "synthetic Earlier: much."},
		},
	})
}
