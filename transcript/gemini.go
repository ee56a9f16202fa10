package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// geminiHead is what a file says of its session: its first line, a later change of
// it, or the members beside the messages of the older form, one document.
type geminiHead struct {
	SessionID string            `json:"sessionId"`
	StartTime string            `json:"startTime"`
	Summary   string            `json:"summary"`
	Kind      string            `json:"kind"`
	Messages  []json.RawMessage `json:"messages"`
}

type geminiRecord struct {
	geminiHead
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Tokens *struct {
		Input    int64 `json:"input"` // with what the cache held
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
		Tool     int64 `json:"tool"`
	} `json:"tokens"`
	Model string       `json:"model"`
	Calls []geminiCall `json:"toolCalls"`
	Set   *geminiHead  `json:"$set"`
}

type geminiCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Result    json.RawMessage `json:"result"`
	Status    string          `json:"status"`
	Timestamp string          `json:"timestamp"`
}

// readGemini reads lines, or the document that older versions wrote, which may be
// in one line too.
func readGemini(s *stream, r io.Reader) error {
	s.again = true
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return lines(geminiLine)(s, io.MultiReader(bytes.NewReader(head[:n]), r))
	}
	head = head[:n]
	all := io.MultiReader(bytes.NewReader(head), r)
	if found := records(head); len(found) != 1 || !found[0].has("sessionId", "projectHash", "messages") {
		return lines(geminiLine)(s, all)
	}
	var d geminiHead
	if err := document(all, &d); err != nil {
		return err
	}
	s.geminiHead(d)
	return nil
}

// sniffed is how many bytes tell which form a file has.
const sniffed = 64 << 10

func geminiLine(s *stream, line []byte) error {
	var r geminiRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	switch {
	case r.Set != nil:
		s.geminiHead(*r.Set)
	case r.Type == "" || r.ID == "":
		s.geminiHead(r.geminiHead)
	default:
		return s.geminiMessage(r)
	}
	return nil
}

// geminiHead takes what is said of the session, and the messages that come with it.
func (s *stream) geminiHead(h geminiHead) {
	if h.SessionID != "" && s.now == nil {
		d := Session{ID: h.SessionID, Title: h.Summary, StartedAt: when(h.StartTime)}
		if h.Kind == "subagent" {
			// chats/PARENT/SESSION
			if folders := strings.Split(strings.ReplaceAll(s.name, `\`, "/"), "/"); len(folders) > 1 {
				d.Parent = folders[len(folders)-2]
			}
		}
		s.session(d)
	}
	s.title(h.Summary)
	at := s.line
	var list []geminiRecord
	for i, raw := range h.Messages {
		if at == 0 {
			s.line = i + 1 // of the document
		}
		s.record(bytes.TrimSpace(raw), func(s *stream, object []byte) error {
			var r geminiRecord
			if err := json.Unmarshal(object, &r); err != nil {
				return err
			}
			if at == 0 {
				return s.geminiMessage(r)
			}
			list = append(list, r)
			return nil
		})
	}
	s.line = at
	s.geminiList(list)
}

// geminiState is what is kept of a file while it is read, by the ids of messages.
type geminiState struct {
	known map[string]bool
	// copies are messages that a compaction kept: written again with new ids.
	copies map[string]bool
}

// geminiList reads the messages that the history is from here on. Where its first
// message of a person is a new one while others were told before, it is the summary
// of a compaction, and what stands behind it was kept.
func (s *stream) geminiList(list []geminiRecord) {
	st := stateOf[geminiState](s)
	for i, r := range list {
		c, err := contentsOf(r.Content)
		if err != nil || r.Type != "user" || c.text() == "" || s.o.Synthetic(c.text()) {
			continue
		}
		if st.known[r.ID] || st.copies[r.ID] || s.now == nil || s.now.turns == 0 {
			break
		}
		var behind []qwenContent
		for _, k := range list[i+1:] {
			role := "user"
			if k.Type == "gemini" {
				role = "model"
			}
			c, _ := contentsOf(k.Content)
			behind = append(behind, qwenContent{role, c})
		}
		if st.copies == nil {
			st.copies = map[string]bool{}
		}
		for _, k := range list[i:] {
			st.copies[k.ID] = true
		}
		s.from(when(r.Timestamp), r.ID)
		s.compacted(c.text(), "", s.keptTurns(behind))
		return
	}
	for _, r := range list {
		if err := s.geminiMessage(r); err != nil {
			s.damage(reason(err))
		}
	}
}

func (s *stream) geminiMessage(r geminiRecord) error {
	contents, err := contentsOf(r.Content)
	if err != nil {
		return err
	}
	st := stateOf[geminiState](s)
	if st.copies[r.ID] {
		return nil
	}
	if st.known == nil {
		st.known = map[string]bool{}
	}
	st.known[r.ID] = true
	s.from(when(r.Timestamp), r.ID)
	switch r.Type {
	case "user":
		for _, p := range contents {
			if p.Response != nil {
				parts, failed := p.Response.result()
				s.result(holdfast.ToolResult{CallID: p.Response.ID, IsError: failed, Parts: parts})
			}
		}
		s.user(contents.parts(), false)
	case "gemini", "qwen":
		for _, t := range r.Thoughts {
			s.reasoning(strings.TrimSpace(t.Subject+"\n"+t.Description), nil)
		}
		for _, p := range contents {
			s.geminiPart(p)
		}
		for _, c := range r.Calls {
			s.geminiCall(c)
		}
		if t := r.Tokens; t != nil {
			s.usage(holdfast.Usage{Model: r.Model, Input: max(t.Input-t.Cached, 0) + t.Tool, CacheRead: t.Cached, Output: t.Output + t.Thoughts})
		}
	}
	return nil
}

// geminiCall yields a call, and its result when there is one.
func (s *stream) geminiCall(c geminiCall) {
	s.call(holdfast.ToolCall{ID: c.ID, Name: c.Name, Arguments: compact(c.Args)})
	if isNull(c.Result) {
		return
	}
	// A result that cannot be read is no reason to leave it out.
	contents, _ := contentsOf(c.Result)
	failed := c.Status == "error" || c.Status == "cancelled"
	parts := contents.parts()
	for _, p := range contents {
		if p.Response != nil {
			told, bad := p.Response.result()
			parts, failed = append(parts, told...), failed || bad
		}
	}
	s.result(holdfast.ToolResult{CallID: c.ID, IsError: failed, Parts: parts})
}

// content is a list of parts as Gemini's wire has them. Qwen Code writes it too.
type content []contentPart

type contentPart struct {
	Text      string         `json:"text"`
	Thought   bool           `json:"thought"`
	Signature string         `json:"thoughtSignature"`
	Inline    *contentData   `json:"inlineData"`
	File      *contentData   `json:"fileData"`
	Call      *contentCall   `json:"functionCall"`
	Response  *contentAnswer `json:"functionResponse"`
}

type contentData struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"fileUri"`
	Name string `json:"displayName"`
}

type contentCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type contentAnswer struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
	Parts    content         `json:"parts"`
}

// contentsOf reads content: a text, a part, or a list of both.
func contentsOf(raw json.RawMessage) (content, error) {
	if isNull(raw) {
		return nil, nil
	}
	if t, ok := text(raw); ok {
		return content{{Text: t}}, nil
	}
	if raw[0] != '[' {
		var p contentPart
		err := json.Unmarshal(raw, &p)
		return content{p}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var all content
	for _, piece := range list {
		if len(piece) > 0 && piece[0] == '[' {
			return nil, errors.New("a list within a list")
		}
		c, err := contentsOf(piece)
		if err != nil {
			return nil, err
		}
		all = append(all, c...)
	}
	return all, nil
}

func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// parts are the texts and media.
func (c content) parts() (parts []holdfast.Part) {
	for _, p := range c {
		if p.Text != "" && !p.Thought {
			parts = append(parts, holdfast.Text(p.Text))
		}
		for _, d := range []*contentData{p.Inline, p.File} {
			if d == nil || d.Data == "" && d.URI == "" {
				continue
			}
			m := holdfast.Media{Type: "file", MIME: d.MIME, Name: d.Name, Data: d.Data, URI: d.URI}
			if strings.HasPrefix(d.MIME, "image/") {
				m.Type = "image"
			}
			parts = append(parts, m)
		}
	}
	return parts
}

// result is what a function answered: the text of an output or an error, else the
// answer as JSON.
func (a *contentAnswer) result() (parts []holdfast.Part, failed bool) {
	var r struct {
		Output json.RawMessage `json:"output"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(a.Response, &r)
	output, isText := text(r.Output)
	fault, isFault := text(r.Error)
	switch {
	case isFault:
		parts, failed = []holdfast.Part{holdfast.Text(fault)}, true
	case isText:
		parts = []holdfast.Part{holdfast.Text(output)}
	case !isNull(a.Response):
		parts = []holdfast.Part{holdfast.Text(compact(a.Response))}
	}
	return append(parts, a.Parts.parts()...), failed
}

// geminiPart yields a part of an answer.
func (s *stream) geminiPart(p contentPart) {
	switch {
	case p.Thought:
		s.reasoning(p.Text, signed(p.Signature))
		return
	case p.Signature != "":
		// It may stand in a part of any kind, and belongs before it.
		s.reasoning("", signed(p.Signature))
	}
	s.assistant(p.Text)
	if c := p.Call; c != nil {
		s.call(holdfast.ToolCall{ID: c.ID, Name: c.Name, Arguments: compact(c.Args)})
	}
}
