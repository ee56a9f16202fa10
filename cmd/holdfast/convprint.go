package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/recording"
)

func (a *app) conversationPrint() *cobra.Command {
	var compacted bool
	var turns string
	c := &cobra.Command{
		Use:   "print ID",
		Short: "Print a conversation as it was, or as the model is sent it",
		Long: "Prints the raw history, with a mark where a compaction applies. --compacted prints what the\n" +
			"model would be sent, with the turns that each part stands for.",
		Example:           "  holdfast conversation print last\n  holdfast c print last --turn -3.. \n  holdfast c print last --compacted --json",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				marks, err := s.Marks(cmd.Context(), c.ID)
				if err != nil {
					return err
				}
				from, to := 0, len(marks.Starts)-1
				if cmd.Flags().Changed("turn") {
					if from, to, err = turnRange(turns, len(marks.Starts)); err != nil {
						return err
					}
				}
				out := bufio.NewWriterSize(a.out, 1<<16)
				p := &printer{app: a, w: out, marks: marks}
				if compacted {
					err = p.view(cmd.Context(), s, c.ID, from, to)
				} else {
					err = p.raw(cmd.Context(), s, c.ID, from, to)
				}
				if err != nil {
					return err
				}
				if err := out.Flush(); err != nil {
					return unwritten(err)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&compacted, "compacted", false, "what the model would be sent")
	c.Flags().StringVar(&turns, "turn", "", "only these turns: N, A..B, A.. or ..B, from 1; -N is the turn with N turns behind it")
	return c
}

// turnRange reads --turn of a conversation with n turns, into turns from 0.
func turnRange(text string, n int) (from, to int, err error) {
	var sel compaction.Selection
	if err := sel.Set("turn", text); err != nil {
		return 0, 0, err
	}
	// Where turns begin is all that such a range depends on.
	markers := make([]holdfast.Entry, n)
	for i := range markers {
		markers[i].Event = holdfast.TurnStart{}
	}
	r, err := sel.Over(compaction.Rule{}).Range(compaction.NewSnapshot(markers, time.Time{}))
	return r.From, r.To, err
}

// printer writes a conversation. The errors of its writer stay with it, so that
// not every write looks at them.
type printer struct {
	app     *app
	w       *bufio.Writer
	marks   conversations.Marks
	turns   int // written so far
	events  int // of the turn
	numbers map[holdfast.EventID]int
	capsule string // digest of the newest one that was printed
}

// raw prints the stream as it is read.
func (p *printer) raw(ctx context.Context, s *conversations.Service, id holdfast.ConversationID, from, to int) error {
	p.begin()
	if len(p.marks.Starts) > 0 {
		turn := from
		opened := false
		for e, err := range s.Entries(ctx, id, p.marks.Range(from, to)) {
			if err != nil {
				return err
			}
			for turn < to && e.Seq >= p.marks.Starts[turn+1] {
				turn++
				opened = false
			}
			if !opened {
				p.turn(conversation.Origin{From: turn, To: turn}, p.marks.Deciding(turn), e)
				opened = true
			}
			if _, marker := e.Event.(holdfast.TurnStart); marker {
				continue
			}
			if err := p.event(e); err != nil {
				return unwritten(err)
			}
		}
	}
	p.end()
	return nil
}

// view prints the projection.
func (p *printer) view(ctx context.Context, s *conversations.Service, id holdfast.ConversationID, from, to int) error {
	l, err := s.Load(ctx, id)
	if err != nil {
		return err
	}
	view := conversations.View(l.Entries)
	p.begin()
	for _, t := range view.Turns {
		if t.Origin.To < from || t.Origin.From > to {
			continue
		}
		var by []int
		if t.Origin.Summary {
			by = []int{t.Origin.Overlay}
		} else {
			by = p.marks.Deciding(t.Origin.From)
		}
		var first holdfast.Entry
		if len(t.Entries) > 0 {
			first = t.Entries[0]
		}
		p.turn(t.Origin, by, first)
		for _, e := range t.Entries {
			if err := p.event(e); err != nil {
				return unwritten(err)
			}
		}
	}
	p.end()
	if n := len(view.Orphans); n > 0 && !p.app.json {
		_, _ = fmt.Fprintf(p.app.err, "holdfast: %s without a call %s left out\n", count(n, "result", "results"), verb(n, "was", "were"))
	}
	return nil
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (p *printer) begin() {
	if p.app.json {
		_, _ = p.w.WriteString(`{"turns":[`)
	}
}

func (p *printer) end() {
	switch {
	case !p.app.json && p.turns == 0:
		_, _ = p.w.WriteString("The conversation is empty.\n")
	case p.app.json && p.turns > 0:
		_, _ = p.w.WriteString("\n]}\n]}\n")
	case p.app.json:
		_, _ = p.w.WriteString("]}\n")
	}
}

// turn begins a turn. by are the overlays that decide how the model sees it.
func (p *printer) turn(o conversation.Origin, by []int, first holdfast.Entry) {
	p.turns++
	if p.app.json {
		if p.turns > 1 {
			_, _ = p.w.WriteString("\n]},")
		}
		_, _ = fmt.Fprintf(p.w, "\n{\"origin\":%s,\"overlays\":%s,\"events\":[", originJSON(o), numbersJSON(by))
		p.events = 0
		return
	}
	head := turnsText(o.From, o.To)
	if !first.At.IsZero() {
		head += "  " + moment(p.app.now(), first.At)
	}
	for _, n := range by {
		o := p.marks.Overlays[n]
		head += fmt.Sprintf("  compacted by %d (%s): %s", n+1, o.Source, policyText(o.Overlay))
	}
	if p.turns > 1 {
		_ = p.w.WriteByte('\n')
	}
	_, _ = p.w.WriteString(p.app.strong(head) + "\n")
}

// originJSON counts turns from 1.
func originJSON(o conversation.Origin) string {
	if o.Summary {
		return fmt.Sprintf(`{"summary":[%d,%d]}`, o.From+1, o.To+1)
	}
	return fmt.Sprintf(`{"kept":%d}`, o.From+1)
}

func numbersJSON(by []int) string {
	texts := make([]string, len(by))
	for i, n := range by {
		texts[i] = fmt.Sprint(n + 1)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// turnsText names turns, given from 0.
func turnsText(from, to int) string {
	if from == to {
		return fmt.Sprintf("turn %d", from+1)
	}
	return fmt.Sprintf("turns %d–%d", from+1, to+1)
}

// policyText says what an overlay does.
func policyText(o holdfast.Overlay) string {
	var list []string
	if o.Summary != nil {
		list = append(list, "summary")
	}
	if o.StripReasoning {
		list = append(list, "reasoning")
	}
	if t := o.Tools; t != nil {
		switch {
		case t.Omit:
			list = append(list, "tools omitted")
		case t.Request && t.Response:
			list = append(list, "tools")
		case t.Request:
			list = append(list, "tool requests")
		default:
			list = append(list, "tool responses")
		}
	}
	return cmp.Or(strings.Join(list, " + "), "nothing")
}

// event writes one event of the turn that was begun.
// The error is that of the writer.
func (p *printer) event(e holdfast.Entry) error {
	if p.app.json {
		if p.events++; p.events > 1 {
			_ = p.w.WriteByte(',')
		}
		_ = p.w.WriteByte('\n')
		_, err := p.w.WriteString(escapeJSON(string(conversation.AppendLine(nil, e))))
		return err
	}
	head, body := p.eventText(e)
	_, err := p.w.WriteString(p.app.faint(line(head)) + "\n")
	for text := range strings.Lines(clean(body)) {
		_, err = p.w.WriteString("  " + strings.TrimRight(text, "\n") + "\n")
	}
	return err
}

// unwritten is the error of an output that cannot be written.
func unwritten(err error) error {
	return holdfast.Errorf(holdfast.ErrUnavailable, "the output cannot be written: %w", err)
}

// eventText is the heading and the content of an event.
func (p *printer) eventText(entry holdfast.Entry) (head, body string) {
	switch e := entry.Event.(type) {
	case holdfast.UserMessage:
		head = "user"
		if e.Synthetic {
			head += " (not typed by a person)"
		}
		return head, partsText(e.Parts)
	case holdfast.AssistantMessage:
		return "assistant", e.Text + string(e.Data)
	case holdfast.Reasoning:
		head = "reasoning"
		if e.Opaque != nil {
			head += fmt.Sprintf(" (with %s of the provider's state)", sizeText(int64(len(e.Opaque))))
		}
		return head, e.Text
	case holdfast.ToolCall:
		return "call " + e.Name + " " + e.ID, string(e.Arguments)
	case holdfast.ToolResult:
		head = "result " + e.CallID
		if e.IsError {
			head += " (error)"
		}
		return head, partsText(e.Parts)
	case holdfast.Settings:
		return "config", string(e.JSON)
	case holdfast.Overlay:
		head = fmt.Sprintf("compaction %d (%s) of %s: %s", p.number(entry.ID), e.Source, overlayRange(e), policyText(e))
		if e.Summary != nil {
			body = e.Summary.Text
		}
		return head, body
	case holdfast.Revocation:
		var numbers []string
		for _, id := range e.Overlays {
			numbers = append(numbers, fmt.Sprint(p.number(id)))
		}
		return "compaction " + strings.Join(numbers, ", ") + " revoked", ""
	case holdfast.Continuity:
		head = fmt.Sprintf("capsule revision %d", e.Capsule.Revision)
		if e.Capsule.Digest != "" && e.Capsule.Digest == p.capsule {
			return head + ", the same: more was read", ""
		}
		p.capsule = e.Capsule.Digest
		return head, conversations.Render(e.Capsule)
	case holdfast.Usage:
		return fmt.Sprintf("usage %s: %d input, %d from cache, %d to cache, %d output", e.Purpose, e.Input, e.CacheRead, e.CacheWrite, e.Output), ""
	case holdfast.Unknown:
		if e.Type == recording.GapKind {
			return "gap: something may be missing here", ""
		}
		return "an event that this version does not know: " + cmp.Or(e.Type, "unreadable"), ""
	}
	return "", ""
}

// number is that of an overlay, from 1; 0 for one that is not there.
func (p *printer) number(id holdfast.EventID) int {
	if p.numbers == nil {
		p.numbers = map[holdfast.EventID]int{}
		for i, o := range p.marks.Overlays {
			p.numbers[o.ID] = i + 1
		}
	}
	return p.numbers[id]
}

// overlayRange names what an overlay covers.
func overlayRange(o holdfast.Overlay) string {
	if o.ByEvents() {
		return fmt.Sprintf("events %d–%d", o.FromEvent, o.ToEvent)
	}
	return turnsText(o.FromTurn, o.ToTurn)
}

func partsText(parts []holdfast.Part) string {
	var list []string
	for _, p := range parts {
		switch p := p.(type) {
		case holdfast.Text:
			list = append(list, string(p))
		case holdfast.Media:
			// Base64 takes four characters for three bytes.
			what := cmp.Or(p.Name, p.URI, p.MIME, sizeText(int64(len(p.Data))*3/4))
			list = append(list, "["+p.Type+": "+what+"]")
		}
	}
	return strings.Join(list, "\n")
}
