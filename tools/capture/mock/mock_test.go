package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// exchange sends one raw request and returns the reply's body.
func exchange(t *testing.T, m *model, head, body string) string {
	t.Helper()
	client, server := net.Pipe()
	go m.serve(server)
	defer client.Close()
	go io.WriteString(client, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	reply, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(reply), "\r\n\r\n")
	return text
}

func post(t *testing.T, m *model, path, body string) string {
	t.Helper()
	head := "POST " + path + " HTTP/1.1\nHost: h\nContent-Length: " + strconv.Itoa(len(body))
	return exchange(t, m, head, body)
}

func TestACaptureKeepsNamesAndOrderOfTheHeaders(t *testing.T) {
	dir := t.TempDir()
	exchange(t, &model{dir: dir}, "POST /v1/messages?beta=true HTTP/1.1\nHost: h\nx-app: cli\nX-Claude-Code-Session-Id: s\nanthropic-beta: a,b\nContent-Length: 2", "{}")
	got, err := os.ReadFile(filepath.Join(dir, "0001-POST_v1_messages.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "method": "POST",
 "url": "/v1/messages?beta=true",
 "headers": [
  [
   "Host",
   "h"
  ],
  [
   "x-app",
   "cli"
  ],
  [
   "X-Claude-Code-Session-Id",
   "s"
  ],
  [
   "anthropic-beta",
   "a,b"
  ],
  [
   "Content-Length",
   "2"
  ]
 ],
 "body": {}
}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhoGetsTheScriptedAnswer(t *testing.T) {
	const tools = `"tools":[{"name":"Bash"}]`
	tests := []struct{ name, path, body, want string }{
		{
			"a turn of messages", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"hi"}]}`, `"text":"scripted"`,
		},
		{
			"a turn of responses", "/v1/responses",
			`{` + tools + `,"input":[{"type":"message","role":"user"}]}`, `"text":"scripted"`,
		},
		{
			"a turn of Gemini", "/v1beta/models/m:streamGenerateContent?alt=sse",
			`{` + tools + `,"contents":[{"role":"user"}]}`, `"text":"scripted"`,
		},
		{
			"a compaction of Gemini gets a summary", "/v1beta/models/m:generateContent",
			`{"contents":[],"systemInstruction":{"parts":[{"text":"responsible for distilling chat history into a structured XML"}]}}`, `scripted summary 1`,
		},
		{
			"a turn of chat completions", "/v1/chat/completions",
			`{` + tools + `,"messages":[{"role":"user","content":"hi"}]}`, `"content":"scripted"`,
		},
		{
			"a turn of chat completions in a stream", "/v1/chat/completions",
			`{` + tools + `,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, `"content":"scripted"`,
		},
		{
			"a compaction that the system text of a chat asks for", "/v1/chat/completions",
			`{"messages":[{"role":"system","content":"You are a context summarization agent."},{"role":"user","content":"hi"}]}`, `scripted summary 1`,
		},
		{
			"a compaction that the system text of messages asks for", "/v1/messages",
			`{"system":[{"text":"You are a context summarization assistant."}],"messages":[{"role":"user","content":"hi"}]}`, `scripted summary 1`,
		},
		{
			"a compaction that the first item of responses asks for", "/v1/responses",
			`{"input":[{"role":"system","content":"You are a context summarization assistant."},{"role":"user"}]}`, `scripted summary 1`,
		},
		{
			"a side call without tools gets a title", "/v1/messages",
			`{"tools":[],"messages":[{"role":"user","content":"hi"}]}`, `"text":"{\"title\":\"Scripted title\"}"`,
		},
		{
			"a compaction that offers tools gets a summary", "/v1/chat/completions",
			`{` + tools + `,"messages":[{"role":"user","content":"You are the component that summarizes a conversation when its context window is about to overflow."}]}`, `scripted summary 1`,
		},
		{
			"a compaction of messages gets a summary", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}]}`, `scripted summary 1`,
		},
		{
			"a compaction of responses gets a summary", "/v1/responses",
			`{"tools":[],"input":[{"role":"user","content":"You are performing a CONTEXT CHECKPOINT COMPACTION."}]}`, `scripted summary 1`,
		},
		{
			"an opaque compaction gets an item", "/v1/responses",
			`{` + tools + `,"input":[{"type":"compaction_trigger"}]}`, `"type":"compaction"`,
		},
		{
			"a history with the marker further up is a turn", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},{"role":"user","content":"hi"}]}`, `"text":"scripted"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{dir: t.TempDir()}
			post(t, m, "/__script", `[{"text":"scripted"}]`)
			if got := post(t, m, tt.path, tt.body); !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to hold %s", got, tt.want)
			}
			taken := len(m.queue) == 0
			if want := strings.HasSuffix(tt.want, `:"scripted"`); taken != want {
				t.Errorf("took the scripted answer: %v, want %v", taken, want)
			}
		})
	}
}

func TestAnAnswerForACompactionWaitsForIt(t *testing.T) {
	m := &model{dir: t.TempDir()}
	post(t, m, "/__script", `[{"text":"no tags","compaction":true}]`)
	turn := post(t, m, "/v1/messages", `{"tools":[{}],"messages":[{"content":"hi"}]}`)
	compaction := post(t, m, "/v1/messages", `{"tools":[{}],"messages":[{"content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}]}`)
	if !strings.Contains(turn, `"text":"reply 1"`) || !strings.Contains(compaction, `"text":"no tags"`) {
		t.Errorf("got\n%s\nand\n%s", turn, compaction)
	}
}

func TestCallsOfOneAnswerHaveIDsInOrder(t *testing.T) {
	m := &model{dir: t.TempDir()}
	post(t, m, "/__script", `[{"tools":[{"name":"A","input":{}},{"name":"B","input":{"x":1}}]}]`)
	got := post(t, m, "/v1/messages", `{"tools":[{}],"messages":[{}]}`)
	a, b := strings.Index(got, `"id":"toolu_000101"`), strings.Index(got, `"id":"toolu_000102"`)
	if a < 0 || b < a || !strings.Contains(got, `"partial_json":"{\"x\":1}"`) || !strings.Contains(got, `"stop_reason":"tool_use"`) {
		t.Errorf("got\n%s", got)
	}
}

func TestAnUpgradeIsRefused(t *testing.T) {
	client, server := net.Pipe()
	go (&model{dir: t.TempDir()}).serve(server)
	defer client.Close()
	go io.WriteString(client, "GET /v1/responses HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n")
	reply, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(reply), "\r\n")
	if want := "HTTP/1.1 426 " + http.StatusText(http.StatusUpgradeRequired); line != want {
		t.Errorf("got %q, want %q", line, want)
	}
}

func TestAChatStreamEndsWithUsageAndDone(t *testing.T) {
	m := &model{dir: t.TempDir()}
	post(t, m, "/__script", `[{"tools":[{"name":"A","input":{"x":1}}],"usage":99000}]`)
	got := post(t, m, "/v1/chat/completions", `{"model":"m","stream":true,"tools":[{}],"messages":[{}]}`)
	want := `data: {"choices":[{"delta":{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":1}","name":"A"},"id":"call_000101","index":0,"type":"function"}]},"finish_reason":null,"index":0}],"created":1,"id":"chatcmpl-0001","model":"m","object":"chat.completion.chunk"}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls","index":0}],"created":1,"id":"chatcmpl-0001","model":"m","object":"chat.completion.chunk"}

data: {"choices":[],"created":1,"id":"chatcmpl-0001","model":"m","object":"chat.completion.chunk","usage":{"completion_tokens":20,"prompt_tokens":99000,"total_tokens":99020}}

data: [DONE]

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnOverflowIsAnError(t *testing.T) {
	m := &model{dir: t.TempDir()}
	post(t, m, "/__script", `[{"overflow":true}]`)
	client, server := net.Pipe()
	go m.serve(server)
	defer client.Close()
	go io.WriteString(client, "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\n"+`{"tools":[{}],"messages":[{}]}`)
	reply, err := io.ReadAll(client)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(reply), "HTTP/1.1 400 Bad Request\r\n") || !strings.Contains(string(reply), `"code":"context_length_exceeded"`) {
		t.Errorf("got\n%s", reply)
	}
}

func TestAHeldAnswerStopsInTheMiddle(t *testing.T) {
	m := &model{dir: t.TempDir()}
	post(t, m, "/__script", `[{"text":"never whole","held":true}]`)
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		go m.serve(server)
		const body = `{"tools":[{}],"messages":[{}]}`
		go io.WriteString(client, "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		reply, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got atomic.Int64
		go func() {
			for buf := make([]byte, 1); ; got.Add(1) {
				if _, err := reply.Body.Read(buf); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if want := reply.ContentLength / 2; got.Load() != want {
			t.Errorf("got %d bytes of %d, want %d", got.Load(), reply.ContentLength, want)
		}
		client.Close()
	})
}

func TestGeminiAnswersInTheFormThatThePathAsksFor(t *testing.T) {
	const whole = `{"candidates":[{"content":{"parts":[{"text":"hi"},{"functionCall":{"args":{"x":1},"id":"fc_000101","name":"A"}}],"role":"model"},` +
		`"finishReason":"STOP","index":0}],"responseId":"resp_0001","usageMetadata":{"candidatesTokenCount":20,"promptTokenCount":99000,"totalTokenCount":99020}}`
	tests := []struct{ name, path, want string }{
		{"a stream", "/v1beta/models/m:streamGenerateContent?alt=sse", "data: " + whole + "\r\n\r\n"},
		{"a body", "/v1beta/models/m:generateContent", whole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{dir: t.TempDir()}
			post(t, m, "/__script", `[{"text":"hi","tools":[{"name":"A","input":{"x":1}}],"usage":99000}]`)
			if got := post(t, m, tt.path, `{"tools":[{}],"contents":[{}]}`); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
