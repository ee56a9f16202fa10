package transcript

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// openCodeInfo is what is told of a session, or of a message.
type openCodeInfo struct {
	ID       string `json:"id"`
	ParentID string `json:"parentID"`
	Title    string `json:"title"`
	Time     struct {
		Created int64 `json:"created"` // milliseconds
	} `json:"time"`
	Role    string          `json:"role"`
	Model   string          `json:"modelID"`
	Summary json.RawMessage `json:"summary"` // true, of an answer that is a summary
	Cost    *float64        `json:"cost"`
	Tokens  *struct {
		Input     int64 `json:"input"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
		Cache     struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

type openCodePart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
	MIME      string `json:"mime"`
	FileName  string `json:"filename"`
	URL       string `json:"url"`
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	TailStart string `json:"tail_start_id"`
	State     struct {
		Status      string          `json:"status"`
		Input       json.RawMessage `json:"input"`
		Output      string          `json:"output"`
		Error       string          `json:"error"`
		Attachments []openCodePart  `json:"attachments"`
	} `json:"state"`
	Metadata struct {
		Anthropic struct {
			Signature string `json:"signature"`
			Redacted  string `json:"redactedData"`
		} `json:"anthropic"`
		Google struct {
			Signature string `json:"thoughtSignature"`
		} `json:"google"`
	} `json:"metadata"`
}

// openCodeState is what is kept of a session while it is read.
type openCodeState struct {
	turns map[string]int // of messages
	tail  string         // the first message that the compaction kept
}

// openCodeStore is where sessions, their messages and the parts of these are kept.
// Each list is in its order.
type openCodeStore struct {
	sessions func() ([]openCodeDoc, error)
	messages func(session string) ([]openCodeDoc, error)
	parts    func(message string) ([]openCodeDoc, error)
}

// openCodeDoc is a record with the id that it is kept under; "" where only the
// record says it.
type openCodeDoc struct {
	id  string
	doc []byte
}

// readOpenCode reads the document that "opencode export" writes.
func readOpenCode(s *stream, r io.Reader) error {
	var d struct {
		Info     json.RawMessage `json:"info"`
		Messages []struct {
			Info  json.RawMessage   `json:"info"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"messages"`
	}
	if err := document(r, &d); err != nil {
		return err
	}
	var st openCodeState
	if !s.openCodeSession(openCodeDoc{doc: d.Info}) {
		s.session(Session{ID: baseID(s.name)})
	}
	for i, m := range d.Messages {
		s.line = i + 1
		var parts []openCodeDoc
		for _, p := range m.Parts {
			parts = append(parts, openCodeDoc{doc: p})
		}
		_ = s.openCodeMessage(&st, openCodeDoc{doc: m.Info}, func(string) ([]openCodeDoc, error) { return parts, nil })
	}
	return nil
}

// OpenCodeDB yields all sessions of OpenCode's database, opened by the caller, which
// only reads it. The laws are those of Read; the line of a Damage counts messages
// of its session. An error is of the database (unavailable) and the last that comes.
func OpenCodeDB(ctx context.Context, db *sql.DB, o Options) iter.Seq2[Item, error] {
	list := func(query string, args ...any) ([]openCodeDoc, error) {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var all []openCodeDoc
		for rows.Next() {
			var d openCodeDoc
			if err := rows.Scan(&d.id, &d.doc); err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		return all, rows.Err()
	}
	return openCodeAll(o, openCodeStore{
		sessions: func() ([]openCodeDoc, error) {
			return list(`SELECT id, json_object('id', id, 'parentID', parent_id, 'title', title, 'time', json_object('created', time_created))
				FROM session ORDER BY time_created, id`)
		},
		messages: func(session string) ([]openCodeDoc, error) {
			return list(`SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id`, session)
		},
		parts: func(message string) ([]openCodeDoc, error) {
			return list(`SELECT id, data FROM part WHERE message_id = ? ORDER BY id`, message)
		},
	})
}

// OpenCodeFiles yields all sessions of OpenCode's folder "storage", where versions
// before 1.2 kept one file for each session, message and part. The laws are those
// of OpenCodeDB.
func OpenCodeFiles(storage fs.FS, o Options) iter.Seq2[Item, error] {
	list := func(pattern string) ([]openCodeDoc, error) {
		files, err := fs.Glob(storage, pattern)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(files, func(a, b string) int { return cmp.Compare(path.Base(a), path.Base(b)) })
		var all []openCodeDoc
		for _, f := range files {
			doc, err := fs.ReadFile(storage, f)
			if err != nil {
				return nil, err
			}
			all = append(all, openCodeDoc{baseID(f), doc})
		}
		return all, nil
	}
	// Ids of OpenCode grow with time, and hold no signs of a pattern.
	plain := strings.NewReplacer("*", "", "?", "", "[", "", `\`, "", "/", "")
	return openCodeAll(o, openCodeStore{
		sessions: func() ([]openCodeDoc, error) { return list("session/*/*.json") },
		messages: func(session string) ([]openCodeDoc, error) {
			return list("message/" + plain.Replace(session) + "/*.json")
		},
		parts: func(message string) ([]openCodeDoc, error) {
			return list("part/" + plain.Replace(message) + "/*.json")
		},
	})
}

func openCodeAll(o Options, from openCodeStore) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		s := newStream(OpenCode, "", o, yield)
		if err := s.openCodeAll(from); err != nil {
			s.fail(holdfast.Errorf(holdfast.ErrUnavailable, "the sessions of OpenCode cannot be read: %w. Stop OpenCode, or try again", err))
		}
	}
}

func (s *stream) openCodeAll(from openCodeStore) error {
	sessions, err := from.sessions()
	for i, info := range sessions {
		if s.stopped {
			return nil
		}
		s.line = i + 1
		if !s.openCodeSession(info) {
			s.damage("what is told of a session is no JSON object with an id")
			continue
		}
		messages, err := from.messages(s.now.ID)
		if err != nil {
			return err
		}
		var st openCodeState
		for i, info := range messages {
			s.line = i + 1
			if err := s.openCodeMessage(&st, info, from.parts); err != nil {
				return err
			}
		}
	}
	return err
}

// openCodeSession goes on in the session that is told of; ok is false when it is
// none.
func (s *stream) openCodeSession(info openCodeDoc) (ok bool) {
	var d openCodeInfo
	if json.Unmarshal(info.doc, &d) != nil || first(d.ID, info.id) == "" {
		return false
	}
	s.session(Session{ID: first(d.ID, info.id), Title: d.Title, Parent: d.ParentID, StartedAt: millis(d.Time.Created)})
	return true
}

// openCodeMessage reads a message. The error is that of parts.
func (s *stream) openCodeMessage(st *openCodeState, info openCodeDoc, parts func(message string) ([]openCodeDoc, error)) error {
	var m openCodeInfo
	if err := json.Unmarshal(info.doc, &m); err != nil {
		s.damage("what is told of a message: " + reason(err))
		return nil
	}
	m.ID = first(m.ID, info.id)
	docs, err := parts(m.ID)
	if err != nil {
		return err
	}
	var pieces []openCodePart
	for _, d := range docs {
		var p openCodePart
		if err := json.Unmarshal(d.doc, &p); err != nil {
			s.damage("a part: " + reason(err))
			continue
		}
		pieces = append(pieces, p)
	}
	s.from(millis(m.Time.Created), m.ID)
	switch m.Role {
	case "user":
		s.openCodeUser(st, pieces)
	case "assistant":
		s.openCodeAnswer(st, m, pieces)
	}
	if st.turns == nil {
		st.turns = map[string]int{}
	}
	st.turns[m.ID] = max(s.now.turns-1, 0)
	return nil
}

func (s *stream) openCodeUser(st *openCodeState, parts []openCodePart) {
	var typed, synthetic []holdfast.Part
	for _, p := range parts {
		switch {
		case p.Type == "compaction":
			st.tail = p.TailStart
		case p.Type == "file" && p.URL != "":
			typed = append(typed, p.media())
		case p.Type == "text" && !p.Ignored && p.Synthetic:
			synthetic = append(synthetic, holdfast.Text(p.Text))
		case p.Type == "text" && !p.Ignored:
			typed = append(typed, holdfast.Text(p.Text))
		}
	}
	s.user(typed, false)
	s.user(synthetic, true)
}

func (p openCodePart) media() holdfast.Media {
	m := imageAt(p.URL)
	m.Name, m.MIME = p.FileName, first(p.MIME, m.MIME)
	if !strings.HasPrefix(m.MIME, "image/") {
		m.Type = "file"
	}
	return m
}

func (s *stream) openCodeAnswer(st *openCodeState, m openCodeInfo, parts []openCodePart) {
	if string(m.Summary) == "true" {
		var texts []string
		for _, p := range parts {
			if p.Type == "text" {
				texts = append(texts, p.Text)
			}
		}
		kept := 0
		if turn, ok := st.turns[st.tail]; ok {
			kept = s.now.turns - turn
		}
		if len(texts) > 0 {
			s.compacted(strings.Join(texts, "\n"), m.Model, kept)
		}
		s.openCodeUsage(m, holdfast.ForSummary)
		return
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			if !p.Synthetic && !p.Ignored {
				s.assistant(p.Text)
			}
		case "reasoning":
			s.reasoning(p.Text, p.opaque())
		case "tool":
			s.call(holdfast.ToolCall{ID: p.CallID, Name: p.Tool, Arguments: compact(p.State.Input)})
			if p.State.Status != "completed" && p.State.Status != "error" {
				continue // it was running when this was written
			}
			answer := []holdfast.Part{holdfast.Text(first(p.State.Output, p.State.Error))}
			for _, a := range p.State.Attachments {
				if a.URL != "" {
					answer = append(answer, a.media())
				}
			}
			s.result(holdfast.ToolResult{CallID: p.CallID, IsError: p.State.Status == "error", Parts: answer})
		}
	}
	s.openCodeUsage(m, holdfast.ForTurn)
}

// opaque is the state of reasoning in the form of the wire that it came from. Of
// other wires it is not read.
func (p openCodePart) opaque() []byte {
	if data := p.Metadata.Anthropic.Redacted; data != "" {
		return marshal(map[string]string{"type": "redacted_thinking", "data": data})
	}
	if opaque := thinking(p.Text, p.Metadata.Anthropic.Signature); opaque != nil {
		return opaque
	}
	return signed(p.Metadata.Google.Signature)
}

func (s *stream) openCodeUsage(m openCodeInfo, purpose holdfast.Purpose) {
	if t := m.Tokens; t != nil {
		s.usage(holdfast.Usage{
			Purpose: purpose, Model: m.Model, Input: t.Input, Output: t.Output + t.Reasoning,
			CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write, Cost: usd(m.Cost),
		})
	}
}
