package transcript

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// asAgents marks what the tests call synthetic.
var asAgents = Options{
	Synthetic: func(text string) bool { return strings.HasPrefix(text, "<system") },
	SyntheticParts: func(parts []holdfast.Part) []bool {
		marks := make([]bool, len(parts))
		for i := 1; i < len(parts); i++ {
			marks[i] = marks[i-1] || parts[i-1] == holdfast.Text("[files]")
		}
		return marks
	},
	Words: func(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, "<say>"), "</say>") },
}

// told prints items, one a line.
func told(t *testing.T, f Format, in, name string) string {
	t.Helper()
	var b strings.Builder
	for item, err := range Read(f, strings.NewReader(in), name, asAgents) {
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		fmt.Fprintln(&b, show(item))
	}
	return strings.TrimSpace(b.String())
}

func show(item Item) string {
	switch it := item.(type) {
	case Session:
		s := "session " + it.ID
		if it.Title != "" {
			s += " called " + it.Title
		}
		if it.Parent != "" {
			s += " of " + it.Parent
		}
		return s
	case Damage:
		return fmt.Sprintf("damage %d: %s", it.Line, it.Reason)
	case Event:
		return shown(it.Entry.Event)
	}
	return "?"
}

func shown(e holdfast.Event) string {
	switch e := e.(type) {
	case holdfast.TurnStart:
		return "turn"
	case holdfast.UserMessage:
		if e.Synthetic {
			return "synthetic " + parts(e.Parts)
		}
		return "user " + parts(e.Parts)
	case holdfast.AssistantMessage:
		if e.Data != nil {
			return "data " + string(e.Data)
		}
		return "assistant " + e.Text
	case holdfast.Reasoning:
		return strings.TrimSpace(fmt.Sprintf("reasoning %s %s", e.Text, e.Opaque))
	case holdfast.ToolCall:
		return fmt.Sprintf("call %s %s%s %s", e.ID, e.Namespace, e.Name, e.Arguments)
	case holdfast.ToolResult:
		if e.IsError {
			return fmt.Sprintf("error %s %s", e.CallID, parts(e.Parts))
		}
		return fmt.Sprintf("result %s %s", e.CallID, parts(e.Parts))
	case holdfast.Usage:
		s := fmt.Sprintf("usage %s %s in %d read %d write %d out %d", e.Purpose, e.Model, e.Input, e.CacheRead, e.CacheWrite, e.Output)
		if e.Cost != nil {
			s += fmt.Sprintf(" cost %d", *e.Cost)
		}
		return s
	case holdfast.Overlay:
		s := fmt.Sprintf("compaction by %s %d..%d", e.Source, e.FromTurn, e.ToTurn)
		if e.StripReasoning {
			s += " strips reasoning"
		}
		if e.Tools != nil {
			s += fmt.Sprintf(" tools %+v", *e.Tools)
		}
		if e.Summary != nil {
			s += fmt.Sprintf(" %s %s", e.Summary.Origin, e.Summary.Text)
		}
		return s
	}
	return fmt.Sprintf("%T", e)
}

func parts(list []holdfast.Part) string {
	var texts []string
	for _, p := range list {
		switch p := p.(type) {
		case holdfast.Text:
			texts = append(texts, string(p))
		case holdfast.Media:
			texts = append(texts, fmt.Sprintf("[%s %s%s%s%s]", p.Type, p.MIME, p.Name, p.Data, p.URI))
		}
	}
	return strings.Join(texts, " + ")
}

// file joins lines.
func file(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

type reading struct {
	name string // a sentence
	in   string
	path string
	want []string
}

func readings(t *testing.T, f Format, list []reading) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			if got, want := told(t, f, c.in, c.path), strings.Join(c.want, "\n"); got != want {
				t.Errorf("read\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// whole are files of lines with most of what each form has, for the laws.
var whole = map[Format]string{ClaudeCode: claudeWhole, Codex: codexWhole, Pi: piWhole, Gemini: geminiWhole, Qwen: qwenWhole}

func TestAPrefixOfAFileOfLinesGivesAPrefixOfItsEvents(t *testing.T) {
	for f, in := range whole {
		t.Run(string(f), func(t *testing.T) {
			all := events(f, in)
			if len(all) < 8 {
				t.Fatalf("the file gives only %d events", len(all))
			}
			rapid.Check(t, func(t *rapid.T) {
				cut := events(f, in[:rapid.IntRange(0, len(in)).Draw(t, "length")])
				if len(cut) > len(all) {
					t.Fatalf("%d events of %d", len(cut), len(all))
				}
				for i, e := range cut {
					if e != all[i] {
						t.Fatalf("event %d is %s, in the whole file %s", i, e, all[i])
					}
				}
			})
		})
	}
}

// events are the events of a file with their ids, sessions and times.
func events(f Format, in string) (list []string) {
	for item, err := range Read(f, strings.NewReader(in), "f.jsonl", asAgents) {
		if e, ok := item.(Event); ok && err == nil {
			list = append(list, fmt.Sprintf("%s %s %s %s", e.Session, e.Entry.ID, e.Entry.At, shown(e.Entry.Event)))
		}
	}
	return list
}

func TestEveryEventHasAnIDOfItsOwn(t *testing.T) {
	for f, in := range whole {
		// The same lines again, as no agent writes them.
		seen := map[holdfast.EventID]bool{}
		for item := range Read(f, strings.NewReader(in+in), "f.jsonl", asAgents) {
			e, ok := item.(Event)
			if !ok {
				continue
			}
			if u, err := uuid.Parse(string(e.Entry.ID)); err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 {
				t.Errorf("%s: %q is no UUID of version 8", f, e.Entry.ID)
			}
			if seen[e.Entry.ID] {
				t.Errorf("%s: %s has an id that was given before", f, shown(e.Entry.Event))
			}
			seen[e.Entry.ID] = true
		}
	}
}

func TestALoopThatIsLeftIsNotCalledAgain(t *testing.T) {
	for f, in := range whole {
		n := len(events(f, in))
		for stop := range n {
			i := 0
			for range Read(f, strings.NewReader(in), "f.jsonl", asAgents) {
				if i++; i > stop {
					break
				}
			}
		}
	}
}

func TestAReaderThatFailsEndsTheReading(t *testing.T) {
	cause := errors.New("gone")
	var last error
	for _, err := range Read(Pi, iotest.ErrReader(cause), "", Options{}) {
		last = err
	}
	if holdfast.CodeOf(last) != holdfast.ErrUnavailable || !errors.Is(last, cause) {
		t.Errorf("the error is %v", last)
	}
}

func TestAFormatThatIsNotKnownIsRefused(t *testing.T) {
	for item, err := range Read("fax", strings.NewReader("{}"), "", Options{}) {
		if item != nil || holdfast.CodeOf(err) != holdfast.ErrUsage {
			t.Errorf("got %v, %v", item, err)
		}
	}
}

func TestDamagedLinesAreNamedAndTheRestIsRead(t *testing.T) {
	readings(t, Pi, []reading{
		{
			name: "each kind of damage, without what the line says",
			in: file(
				`{"type":"session","id":"s","cwd":"/w"}`,
				``,
				`{"type":"message","secret`,
				`["secret"]`,
				`{"type":"message","message":{"role":["secret"]}}`,
				`{"type":"message","message":{"role":"user","content":"On."}}`,
			),
			want: []string{
				"session s",
				"damage 3: it is no JSON, or breaks off, at byte 25",
				"damage 4: it is no JSON object",
				"damage 5: message.role holds a value of the wrong type",
				"turn",
				"user On.",
			},
		},
	})
}

func TestTextsOfHarnessesStandApartFromThoseOfThePerson(t *testing.T) {
	readings(t, Pi, []reading{
		{
			name: "a person's message with a reminder in front begins a turn",
			path: "f.jsonl",
			in:   piUser(`[{"type":"text","text":"<system>mode"},{"type":"text","text":"<say>Go on.</say>"},{"type":"image","mimeType":"image/png","data":"QQ=="}]`),
			want: []string{"session f", "turn", "synthetic <system>mode", "user Go on. + [image image/pngQQ==]"},
		},
		{
			name: "a reminder alone begins none",
			path: "f.jsonl",
			in:   piUser(`"<system>mode"`) + piUser(`"Go on."`),
			want: []string{"session f", "synthetic <system>mode", "turn", "user Go on."},
		},
		{
			name: "an image beside a reminder is the harness's",
			path: "f.jsonl",
			in:   piUser(`[{"type":"text","text":"<system>screen"},{"type":"image","mimeType":"image/png","data":"QQ=="}]`),
			want: []string{"session f", "synthetic <system>screen + [image image/pngQQ==]"},
		},
		{
			name: "what its place tells to be a file is the harness's",
			path: "f.jsonl",
			in:   piUser(`[{"type":"text","text":"Read @a."},{"type":"text","text":"[files]"},{"type":"text","text":"Use MySQL."}]`),
			want: []string{"session f", "turn", "user Read @a. + [files]", "synthetic Use MySQL."},
		},
	})
}

func piUser(content string) string {
	return `{"type":"message","message":{"role":"user","content":` + content + "}}\n"
}
