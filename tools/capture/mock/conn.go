package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// model answers requests and files them. Its mutex covers all that changes.
type model struct {
	dir string

	mu    sync.Mutex
	files int      // captures written
	turns int      // answers given, for texts that differ
	queue []answer // scripted answers not given yet
}

// serve reads one request, files it and answers. One request per connection
// keeps the reader simple; agents reconnect by themselves.
func (m *model) serve(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	head, fields, err := readHead(br)
	if err != nil {
		return
	}
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head), br)))
	if err != nil {
		return
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r := m.handle(req, fields, body)
	fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		r.status, r.kind, len(r.body))
	switch {
	case req.Method == http.MethodHead:
	case r.held:
		conn.Write(r.body[:len(r.body)/2])
		io.Copy(io.Discard, conn) // until the agent gives up
	default:
		conn.Write(r.body)
	}
}

// reply is what goes back: held stops in the middle of the body.
type reply struct {
	status, kind string
	body         []byte
	held         bool
}

func ok(kind string, body []byte) reply { return reply{status: "200 OK", kind: kind, body: body} }

// sent turns what a protocol wrote for an answer into the reply.
func (a answer) sent(kind string, body []byte) reply {
	if a.Overflow {
		return reply{status: "400 Bad Request", kind: "application/json", body: []byte(
			`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"prompt is too long: the input exceeds the context window of this model"}}`)}
	}
	return reply{status: "200 OK", kind: kind, body: body, held: a.Held}
}

// readHead returns the request's head, and its fields with the case and order
// that net/http drops.
func readHead(br *bufio.Reader) (head []byte, fields [][2]string, err error) {
	for first := true; ; first = false {
		line, err := br.ReadString('\n')
		if err != nil {
			return nil, nil, err
		}
		head = append(head, line...)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return head, fields, nil
		}
		if name, value, ok := strings.Cut(line, ":"); ok && !first {
			fields = append(fields, [2]string{name, strings.TrimSpace(value)})
		}
	}
}

// handle files a request and answers it. A WebSocket upgrade is refused: agents
// then send plain POST requests, which can be filed.
func (m *model) handle(req *http.Request, fields [][2]string, body []byte) reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case req.URL.Path == "/__script":
		var more []answer
		if err := json.Unmarshal(body, &more); err != nil {
			return ok("application/json", fmt.Appendf(nil, "{\"error\":%q}\n", err))
		}
		m.queue = append(m.queue, more...)
		return ok("application/json", []byte("{}\n"))
	case req.URL.Path == "/__mark":
		m.file("mark-"+string(body), map[string]string{"mark": string(body)})
		return ok("application/json", []byte("{}\n"))
	}
	m.file(req.Method+req.URL.Path, capture{req.Method, req.URL.String(), fields, raw(body)})
	switch {
	case req.Header.Get("Upgrade") != "":
		return reply{status: "426 Upgrade Required", kind: "text/plain"}
	case req.Method != http.MethodPost || len(body) == 0:
		return ok("application/json", []byte("{}\n"))
	case strings.HasSuffix(req.URL.Path, "/count_tokens"):
		return ok("application/json", []byte(`{"input_tokens":1000}`))
	case strings.HasSuffix(req.URL.Path, "/messages"):
		var b messagesBody
		if json.Unmarshal(body, &b) != nil {
			return ok("application/json", []byte("{}\n"))
		}
		a := m.answer(b.compaction(), len(b.Tools) > 0)
		return a.sent(writeMessages(b, a, m.turns))
	case strings.HasSuffix(req.URL.Path, "/chat/completions"):
		var b chatBody
		if json.Unmarshal(body, &b) != nil {
			return ok("application/json", []byte("{}\n"))
		}
		a := m.answer(b.compaction(), len(b.Tools) > 0)
		return a.sent(writeChat(b, a, m.turns))
	case strings.HasSuffix(req.URL.Path, "enerateContent"):
		var b geminiBody
		if json.Unmarshal(body, &b) != nil {
			return ok("application/json", []byte("{}\n"))
		}
		a := m.answer(asksForSummary(b.System), len(b.Tools) > 0)
		return a.sent(writeGemini(req.URL.Path, a, m.turns))
	case strings.HasSuffix(req.URL.Path, "/responses"):
		var b responsesBody
		if json.Unmarshal(body, &b) != nil {
			return ok("application/json", []byte("{}\n"))
		}
		a := m.answer(b.compaction(), len(b.Tools) > 0)
		return a.sent(writeResponses(b, a, m.turns))
	}
	return ok("application/json", []byte("{}\n"))
}

// capture is the form of a capture file.
type capture struct {
	Method  string          `json:"method"`
	URL     string          `json:"url"`
	Headers [][2]string     `json:"headers"`
	Body    json.RawMessage `json:"body"`
}

// raw is the body as JSON: itself, or a string when it is something else.
func raw(body []byte) json.RawMessage {
	if json.Valid(body) {
		return body
	}
	s, _ := json.Marshal(string(body))
	return s
}

// file writes one capture; the number in front of the name keeps the order.
func (m *model) file(name string, v any) {
	m.files++
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	text, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(m.dir, fmt.Sprintf("%04d-%s.json", m.files, name)), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mock: cannot write a capture:", err)
	}
}
