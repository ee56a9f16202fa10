package transcript

import "testing"

var codexWhole = file(
	`{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"c","timestamp":"2026-01-02T03:04:00Z","cwd":"/w","source":"cli"}}`,
	`{"timestamp":"2026-01-02T03:04:05Z","type":"turn_context","payload":{"cwd":"/w","model":"gpt-x"}}`,
	`{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Rules."}]}}`,
	`{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<system>place"}]}}`,
	`{"timestamp":"2026-01-02T03:04:06Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Sort."},{"type":"input_image","image_url":"data:image/png;base64,QQ=="}]}}`,
	`{"timestamp":"2026-01-02T03:04:06Z","type":"event_msg","payload":{"type":"user_message","message":"Sort."}}`,
	`{"timestamp":"2026-01-02T03:04:07Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":130},"last_token_usage":{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":10,"output_tokens":30,"reasoning_output_tokens":20,"total_tokens":130}}}}`,
	`{"timestamp":"2026-01-02T03:04:07Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":130},"last_token_usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":30,"total_tokens":130}}}}`,
	`{"timestamp":"2026-01-02T03:04:07Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{}}}`,
	`{"timestamp":"2026-01-02T03:04:07Z","type":"response_item","payload":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"By age."}],"content":null,"encrypted_content":"gA==","metadata":{"turn_id":"t"}}}`,
	`{"timestamp":"2026-01-02T03:04:07Z","type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\": []}","call_id":"k1"}}`,
	`{"timestamp":"2026-01-02T03:04:08Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k1","output":"Plan updated"}}`,
	`{"timestamp":"2026-01-02T03:04:08Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"k2"}}`,
	`{"timestamp":"2026-01-02T03:04:08Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"k2","output":{"content":[{"type":"input_text","text":"no"}],"success":false}}}`,
	`{"timestamp":"2026-01-02T03:04:09Z","type":"compacted","payload":{"message":"Sorting, half done.","replacement_history":[]}}`,
	`{"timestamp":"2026-01-02T03:04:10Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Sorted."}]}}`,
	`{"timestamp":"2026-01-02T03:04:11Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"Queue"}}`,
)

func TestCodex(t *testing.T) {
	readings(t, Codex, []reading{
		{
			name: "items are read, what repeats them is not",
			in:   codexWhole,
			want: []string{
				"session c",
				"synthetic <system>place",
				"turn",
				"user Sort. + [image image/pngQQ==]",
				"usage turn gpt-x in 30 read 60 write 10 out 30",
				`reasoning By age. {"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"By age."}],"encrypted_content":"gA=="}`,
				`call k1 update_plan {"plan": []}`,
				"result k1 Plan updated",
				"call k2 apply_patch *** Begin Patch",
				"error k2 no",
				"compaction by agent 0..1 generated Sorting, half done.",
				"turn",
				"assistant Sorted.",
				"session c called Queue",
			},
		},
		{
			name: "a summary that only the provider can read is told as one",
			in: file(
				`{"type":"session_meta","payload":{"id":"c"}}`,
				`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Go."}]}}`,
				`{"type":"compacted","payload":{"message":"","replacement_history":[{"type":"compaction","encrypted_content":"gA=="}]}}`,
			),
			want: []string{"session c", "turn", "user Go.", "compaction by agent 0..0 generated " + opaqueSummary},
		},
		{
			name: "a subagent names its parent, and the parent's head in its copy is none",
			in: file(
				`{"type":"session_meta","payload":{"id":"kid","source":{"subagent":{"thread_spawn":{"parent_thread_id":"c"}}}}}`,
				`{"type":"session_meta","payload":{"id":"c","source":"cli"}}`,
				`{"type":"response_item","payload":{"type":"function_call","name":"spawn_agent","namespace":"multi_agent_v1/","arguments":"{}","call_id":"k"}}`,
			),
			want: []string{"session kid of c", "call k multi_agent_v1/spawn_agent {}"},
		},
		{
			name: "the first form, without payloads, has its items bare",
			in: file(
				`{"id":"old","timestamp":"2025-06-01T00:00:00Z","instructions":null}`,
				`{"record_type":"state"}`,
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"Go."}]}`,
				`{"type":"local_shell_call","call_id":"k","action":{"type":"exec","command":["ls"]}}`,
			),
			want: []string{"session old", "turn", "user Go.", `call k local_shell {"type":"exec","command":["ls"]}`},
		},
		{
			name: "without a head the name says the session",
			path: "sessions/2026/01/02/rollout-2026-01-02T03-04-05-019fc8be-3658-7ca3-9e29-000000000000.jsonl",
			in:   file(`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hm."}]}}`),
			want: []string{"session 019fc8be-3658-7ca3-9e29-000000000000", "assistant Hm."},
		},
	})
}
