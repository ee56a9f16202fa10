package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Format names a form on disk by the agent that writes it.
type Format string

// The formats.
const (
	ClaudeCode Format = "claude-code"
	Codex      Format = "codex"
	OpenCode   Format = "opencode"
	Pi         Format = "pi"
	Gemini     Format = "gemini-cli"
	Qwen       Format = "qwen-code"
	Cline      Format = "cline"
	JP         Format = "jp"
)

// Formats lists all formats in their fixed order.
func Formats() []Format {
	return []Format{ClaudeCode, Codex, OpenCode, Pi, Gemini, Qwen, Cline, JP}
}

// Item is one thing that was read. The union is sealed: Session, Event, Damage.
type Item interface{ item() }

// Session is a conversation of a file. It comes before the first of its events,
// and again when more is known of it.
type Session struct {
	// ID is the agent's own; of a subagent, "SESSION/ID" where the agent names it
	// only within the session. Made of the file's name or of its first record
	// where it says none.
	ID string
	// Agent is the name of the agent, the same as the format.
	Agent string
	// Title is what the agent calls it; "" for none.
	Title string
	// Parent is the session that this one is a subagent or a fork of; "" for none.
	Parent string
	// StartedAt is zero where it is not said.
	StartedAt time.Time
}

// Event is one event of a session. Its Seq is 0. Its time is that of the event
// before where the file says none, and zero before the first that it says.
type Event struct {
	Session string
	Entry   holdfast.Entry
}

// Damage is a record that was left out.
type Damage struct {
	// Line is its line from 1; in a format that is one document, its place in the
	// list of records, from 1.
	Line   int
	Reason string // without content
}

func (Session) item() {}
func (Event) item()   {}
func (Damage) item()  {}

// Options say how texts in the user's role are read. The zero value takes all of
// them as typed by a person.
type Options struct {
	// Synthetic reports whether a harness wrote a text; nil: none.
	Synthetic func(text string) bool
	// SyntheticParts reports the same of each part of one message, where its place
	// tells; nil: each text alone.
	SyntheticParts func(parts []holdfast.Part) []bool
	// Words takes the words of the person out of what a harness wraps them in;
	// nil: as they are.
	Words func(text string) string
}

// readers read one format each.
var readers = map[Format]func(*stream, io.Reader) error{
	ClaudeCode: lines(claudeLine),
	Codex:      lines(codexLine),
	Pi:         lines(piLine),
	Gemini:     readGemini,
	Qwen:       lines(qwenLine),
	Cline:      readCline,
	JP:         readJP,
	OpenCode:   readOpenCode,
}

// Read yields what a file of a format holds, in its order: each session before its
// events, damaged records in their place. name is the file's, with its folder
// where that is known. The only errors are a reader's that fails (unavailable), a
// document that is damaged as a whole, and a format that is not known (both
// usage); each is the last that comes.
func Read(f Format, r io.Reader, name string, o Options) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		s := newStream(f, name, o, yield)
		read, ok := readers[f]
		if !ok {
			s.fail(holdfast.Errorf(holdfast.ErrUsage, "%q is not a format that can be read from a file. Give one of the names of agents that the documentation lists", f))
			return
		}
		if err := read(s, r); err != nil {
			s.fail(err)
		}
	}
}

// maxLine bounds a line in bytes. Images stand in lines.
const maxLine = 128 << 20

// lines makes a reader of a function for one line, which gets its JSON object and
// returns what is wrong with it.
func lines(line func(*stream, []byte) error) func(*stream, io.Reader) error {
	return func(s *stream, r io.Reader) error {
		in := bufio.NewReaderSize(r, 256<<10)
		var text []byte
		for s.line = 1; !s.stopped; s.line++ {
			text = text[:0]
			long := false
			var err error
			for {
				var piece []byte
				piece, err = in.ReadSlice('\n')
				if long = long || len(text)+len(piece) > maxLine; !long {
					text = append(text, piece...)
				}
				if !errors.Is(err, bufio.ErrBufferFull) {
					break
				}
			}
			// A crash can leave a file with zeros in it.
			if object := bytes.Trim(text, "\ufeff\x00 \t\r\n"); long {
				s.damage("the line is too long")
			} else if len(object) > 0 {
				s.record(object, line)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return holdfast.Errorf(holdfast.ErrUnavailable, "the file cannot be read: %w", err)
			}
		}
		return nil
	}
}

// document reads a whole JSON document into v.
func document(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the file cannot be read: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return holdfast.Errorf(holdfast.ErrUsage, "the file is damaged as a whole: %s. Get another copy of it", reason(err))
	}
	return nil
}

// reason words an error of the decoder without text of the record.
func reason(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON, or breaks off, at byte %d", syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s holds a value of the wrong type", kind.Field)
	}
	return "it is no JSON object"
}

// baseID is the id that a file's name gives: without folder and endings.
func baseID(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	for _, end := range []string{".jsonl", ".json", ".messages"} {
		base = strings.TrimSuffix(base, end)
	}
	return base
}

// when reads a time; zero when it is none.
func when(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// millis is a time in milliseconds since 1970; zero for 0.
func millis(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// isNull reports whether a value is absent or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// text is a JSON string's value; ok is false for any other value.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// compact is a JSON value in one line.
func compact(raw json.RawMessage) []byte {
	if isNull(raw) {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
