package conversations

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Markdown writes what was said and done as a page to read. What came from the
// conversation stands in it as quotes and code, so that it cannot pass for the
// page's own headings, and HTML in it is text. clean makes a text of the conversation harmless; it must
// leave line breaks as they are.
func (s *Service) Markdown(ctx context.Context, id holdfast.ConversationID, w io.Writer, clean func(string) string) error {
	c, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	// A failed write shows at Flush.
	_, _ = fmt.Fprintf(out, "# %s\n", cmp.Or(withoutTags(strings.Join(strings.Fields(clean(c.Title)), " ")), "Conversation "+string(c.ID)))
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

// quoted is Markdown within a quote. Blocks of code are fenced anew, so that it is
// sure where they begin and end: in the rest nothing can begin a tag.
func quoted(text string) string {
	var list, code []string
	open := "" // the fence of the block that code is in
	info := ""
	end := func() {
		list = append(list, strings.Split(strings.TrimSuffix(block(info, strings.Join(code, "\n")), "\n"), "\n")...)
		code, open = nil, ""
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fence, rest := fenceOf(line)
		switch {
		case open == "" && fence == "":
			list = append(list, withoutTags(line))
		case open == "":
			// Behind a blank line a fence begins a block wherever it stands.
			if len(list) > 0 && list[len(list)-1] != "" {
				list = append(list, "")
			}
			open, info = fence, rest
		case strings.HasPrefix(fence, open) && rest == "":
			end()
		default:
			code = append(code, line)
		}
	}
	if open != "" {
		end()
	}
	for i, line := range list {
		list[i] = strings.TrimRight("> "+line, " ")
	}
	return strings.Join(list, "\n") + "\n"
}

// fenceOf is the fence that a line begins with, "" where it begins with none, and
// what follows it.
func fenceOf(line string) (fence, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return "", ""
	}
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(text, mark)
		if n := len(text) - len(rest); n >= 3 && !(mark == "`" && strings.Contains(rest, mark)) {
			return text[:n], strings.TrimSpace(rest)
		}
	}
	return "", ""
}

var tag = regexp.MustCompile(`<([A-Za-z/!?])`)

// withoutTags is text in which no HTML begins.
func withoutTags(text string) string { return tag.ReplaceAllString(text, "&lt;$1") }

// fenced puts text between fences that are longer than any in it.
func fenced(text string) string { return block("", text) }

// block is fenced, with what is said of the code.
func block(info, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + strings.ReplaceAll(info, "`", "") + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// inline is text as code within a line.
func inline(text string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'") + "`"
}
