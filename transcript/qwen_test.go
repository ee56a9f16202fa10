package transcript

import "testing"

const qwenHead = `"sessionId":"q","cwd":"/w","version":"0.15.10"`

var qwenWhole = file(
	`{"uuid":"1","parentUuid":null,`+qwenHead+`,"timestamp":"2026-01-02T03:04:01Z","type":"user","message":{"role":"user","parts":[{"text":"Sort."}]}}`,
	`{"uuid":"2","parentUuid":"1",`+qwenHead+`,"timestamp":"2026-01-02T03:04:02Z","type":"assistant","model":"qwen-x","message":{"role":"model","parts":[{"text":"By age.","thought":true},{"text":"Reading."},{"functionCall":{"id":"c1","name":"todo_write","args":{"todos":[]}}}]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"cachedContentTokenCount":60,"thoughtsTokenCount":5,"totalTokenCount":120}}`,
	`{"uuid":"3","parentUuid":"2",`+qwenHead+`,"timestamp":"2026-01-02T03:04:03Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"todo_write","response":{"output":"Todos have been modified"}}}]},"toolCallResult":{"callId":"c1","status":"success"}}`,
	`{"uuid":"4","parentUuid":"3",`+qwenHead+`,"timestamp":"2026-01-02T03:04:04Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{}}}`,
	`{"uuid":"5","parentUuid":"4",`+qwenHead+`,"timestamp":"2026-01-02T03:04:05Z","type":"user","message":{"role":"user","parts":[{"text":"Again."}]}}`,
	`{"uuid":"6","parentUuid":"5",`+qwenHead+`,"timestamp":"2026-01-02T03:04:06Z","type":"system","subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":9,"newTokenCount":3,"compressionStatus":1},"compressedHistory":[{"role":"user","parts":[{"text":"Sorting failed."}]},{"role":"model","parts":[{"text":"Got it."}]},{"role":"user","parts":[{"text":"Again."}]}]}}`,
	`{"uuid":"7","parentUuid":"6",`+qwenHead+`,"timestamp":"2026-01-02T03:04:07Z","type":"user","subtype":"notification","message":{"role":"user","parts":[{"text":"A job ended."}]}}`,
	`{"uuid":"8","parentUuid":"7",`+qwenHead+`,"timestamp":"2026-01-02T03:04:08Z","type":"assistant","model":"qwen-x","message":{"role":"model","parts":[{"text":"Sorted."}]}}`,
	`{"uuid":"9","parentUuid":"8",`+qwenHead+`,"timestamp":"2026-01-02T03:04:09Z","type":"system","subtype":"custom_title","systemPayload":{"customTitle":"Queue"}}`,
)

func TestQwenCode(t *testing.T) {
	readings(t, Qwen, []reading{
		{
			name: "a compaction that kept the newest message covers what is before it",
			in:   qwenWhole,
			want: []string{
				"session q",
				"turn",
				"user Sort.",
				"reasoning By age.",
				"assistant Reading.",
				`call c1 todo_write {"todos":[]}`,
				"usage turn qwen-x in 40 read 60 write 0 out 20",
				"result c1 Todos have been modified",
				"turn",
				"user Again.",
				"compaction by agent 0..0 generated Sorting failed.",
				"synthetic A job ended.",
				"assistant Sorted.",
				"session q called Queue",
			},
		},
		{
			name: "a compaction that kept nothing covers all",
			in: file(
				`{"uuid":"1","sessionId":"q","type":"user","message":{"parts":[{"text":"Sort."}]}}`,
				`{"uuid":"2","sessionId":"q","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"All told."}]},{"role":"model","parts":[{"text":"Got it."}]}]}}`,
			),
			want: []string{"session q", "turn", "user Sort.", "compaction by agent 0..0 generated All told."},
		},
		{
			name: "a turn of which the end was kept is not covered",
			in: file(
				`{"uuid":"1","sessionId":"q","type":"user","message":{"parts":[{"text":"One."}]}}`,
				`{"uuid":"2","sessionId":"q","type":"user","message":{"parts":[{"text":"Two."}]}}`,
				`{"uuid":"3","sessionId":"q","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"Most of it."}]},{"role":"model","parts":[{"text":"Got it."}]},{"role":"model","parts":[{"functionCall":{"name":"ls"}}]}]}}`,
			),
			want: []string{"session q", "turn", "user One.", "turn", "user Two.", "compaction by agent 0..0 generated Most of it."},
		},
		{
			name: "a branch names the session that it left, a failed call is an error",
			in: file(
				`{"uuid":"1","sessionId":"q2","forkedFrom":{"sessionId":"q","messageUuid":"1"},"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c","response":{"output":"no"}}}]},"toolCallResult":{"callId":"c","status":"error"}}`,
			),
			want: []string{"session q2 of q", "error c no"},
		},
	})
}
