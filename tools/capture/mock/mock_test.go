package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
		{"a turn of messages", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"hi"}]}`, `"text":"scripted"`},
		{"a turn of responses", "/v1/responses",
			`{` + tools + `,"input":[{"type":"message","role":"user"}]}`, `"text":"scripted"`},
		{"a side call without tools gets a title", "/v1/messages",
			`{"tools":[],"messages":[{"role":"user","content":"hi"}]}`, `"text":"{\"title\":\"Scripted title\"}"`},
		{"a compaction of messages gets a summary", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}]}`, `scripted summary 1`},
		{"a compaction of responses gets a summary", "/v1/responses",
			`{"tools":[],"input":[{"role":"user","content":"You are performing a CONTEXT CHECKPOINT COMPACTION."}]}`, `scripted summary 1`},
		{"an opaque compaction gets an item", "/v1/responses",
			`{` + tools + `,"input":[{"type":"compaction_trigger"}]}`, `"type":"compaction"`},
		{"a history with the marker further up is a turn", "/v1/messages",
			`{` + tools + `,"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},{"role":"user","content":"hi"}]}`, `"text":"scripted"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{dir: t.TempDir()}
			post(t, m, "/__script", `[{"text":"scripted"}]`)
			if got := post(t, m, tt.path, tt.body); !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to hold %s", got, tt.want)
			}
			taken := len(m.queue) == 0
			if want := tt.want == `"text":"scripted"`; taken != want {
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
