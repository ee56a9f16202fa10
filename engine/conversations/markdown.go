package conversations

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Markdown writes what was said and done as a page to read. What came from the
// conversation stands in it as quotes and code, so that it cannot pass for the
// page's own headings. clean makes a text of the conversation harmless; it must
// leave line breaks as they are.
func (s *Service) Markdown(ctx context.Context, id holdfast.ConversationID, w io.Writer, clean func(string) string) error {
	c, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	// A failed write shows at Flush.
	_, _ = fmt.Fprintf(out, "# %s\n", cmp.Or(strings.Join(strings.Fields(clean(c.Title)), " "), "Conversation "+string(c.ID)))
	var turns conversation.Counter
	shown := 0
	for e, err := range s.Entries(ctx, id, store.EventRange{}) {
		if err != nil {
			return err
		}
		text := clean(markdown(e.Event))
		if turns.Count(e.Event); text == "" {
			continue
		}
		if n := turns.Turns(); n > shown {
			shown = n
			_, _ = fmt.Fprintf(out, "\n## Turn %d\n", n)
		}
		_, _ = out.WriteString(text)
	}
	if err := out.Flush(); err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", err)
	}
	return nil
}

func markdown(e holdfast.Event) string {
	switch e := e.(type) {
	case holdfast.UserMessage:
		who := "User"
		if e.Synthetic {
			who = "User (not typed by a person)"
		}
		return "\n**" + who + "**\n\n" + quoted(plain(e.Parts))
	case holdfast.AssistantMessage:
		if e.Data != nil {
			return "\n**Assistant**\n\n" + fenced(string(e.Data))
		}
		return "\n**Assistant**\n\n" + quoted(e.Text)
	case holdfast.Reasoning:
		if e.Text == "" {
			return ""
		}
		return "\n**Reasoning**\n\n" + quoted(e.Text)
	case holdfast.ToolCall:
		return "\n**Call of " + inline(e.Name) + "**\n\n" + fenced(string(e.Arguments))
	case holdfast.ToolResult:
		what := "Result"
		if e.IsError {
			what = "Result: error"
		}
		return "\n**" + what + "**\n\n" + fenced(plain(e.Parts))
	case holdfast.Overlay:
		if e.Summary != nil {
			return fmt.Sprintf("\n**Summary of turns %d to %d**\n\n", e.FromTurn+1, e.ToTurn+1) + quoted(e.Summary.Text)
		}
	}
	return ""
}

func plain(parts []holdfast.Part) string {
	var list []string
	for _, p := range parts {
		switch p := p.(type) {
		case holdfast.Text:
			list = append(list, string(p))
		case holdfast.Media:
			list = append(list, "["+cmp.Or(p.Name, p.URI, p.MIME, p.Type)+"]")
		}
	}
	return strings.Join(list, "\n")
}

func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n"
}

// fenced puts text between fences that are longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// inline is text as code within a line.
func inline(text string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'") + "`"
}
