package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

func (a *app) conversationPlot() *cobra.Command {
	var svg string
	c := &cobra.Command{
		Use:   "plot ID|FILE",
		Short: "Draw how the context of a conversation grew, and what compactions took",
		Long: "Draws the tokens of a request behind each event: in full what a model is sent, light what compactions\n" +
			"leave out, with the model's window and the threshold of automatic compaction where they are known.\n" +
			"A FILE that an agent left is read and not kept. --svg writes a picture with the same, - to standard output.",
		Example: "  holdfast conversation plot last\n" +
			"  holdfast c plot ~/.claude/projects/-work/0198c0de.jsonl\n" +
			"  holdfast c plot last --svg context.svg",
		Args:              arguments(1, 1, "ID|FILE"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			plots, err := a.plots(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case svg != "" && len(plots) != 1:
				return holdfast.Errorf(holdfast.ErrUsage, "%s holds %d conversations, and a picture shows one. Import it, and name one", line(args[0]), len(plots))
			case svg == "-":
				return a.print(plotSVG(plots[0]))
			case svg != "":
				if err := os.WriteFile(svg, []byte(plotSVG(plots[0])), 0o600); err != nil {
					return holdfast.Errorf(holdfast.ErrUnavailable, "the picture cannot be written: %w", err)
				}
				return nil
			case a.json:
				return a.printJSON(plots)
			}
			var b strings.Builder
			for i, p := range plots {
				if i > 0 {
					b.WriteString("\n")
				}
				b.WriteString(a.plotText(p))
			}
			return a.print(b.String())
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write a picture to this file; - is standard output")
	return c
}

// plotJSON is the curve of a conversation. Tokens are estimates, calibrated by what
// the provider reported; events are sequence numbers.
type plotJSON struct {
	ID    holdfast.ConversationID `json:"id"`
	Title string                  `json:"title"`
	Model string                  `json:"model"`
	// Window is the model's context window, Threshold what the request has to exceed
	// for automatic compaction; 0: not known, or off.
	Window      int64            `json:"context_window"`
	Threshold   int64            `json:"threshold"`
	Points      []plotPoint      `json:"points"`
	Reported    []plotReport     `json:"reported"`
	Compactions []plotCompaction `json:"compactions"`
}

type plotPoint struct {
	Event     int64 `json:"event"`
	Turn      int   `json:"turn"` // from 1
	Raw       int   `json:"raw"`
	Projected int   `json:"projected"`
}

// plotReport is what a provider counted of a request, with the answer.
type plotReport struct {
	Event  int64 `json:"event"`
	Tokens int64 `json:"tokens"`
}

// plotCompaction is a compaction and the events that it covers.
type plotCompaction struct {
	Number  int                    `json:"number"`
	Event   int64                  `json:"event"` // where it was made
	From    int64                  `json:"from_event"`
	To      int64                  `json:"to_event"`
	Range   string                 `json:"range"`
	Policy  string                 `json:"policy"`
	Source  holdfast.OverlaySource `json:"source"`
	Revoked bool                   `json:"revoked"`
}

func (a *app) plots(ctx context.Context, name string) (plots []plotJSON, err error) {
	list, err := a.replayed(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		cfg, err := a.conversationConfig(l.Entries)
		if err != nil {
			return nil, err
		}
		plots = append(plots, newPlot(l, cfg))
	}
	return plots, nil
}

func newPlot(l conversations.Loaded, cfg conversationConfig) plotJSON {
	p := plotJSON{
		ID: l.ID, Title: l.Title, Model: conversations.Model(l.Entries),
		Points: []plotPoint{}, Reported: []plotReport{}, Compactions: []plotCompaction{},
	}
	if p.Model != "" {
		p.Window = cfg.window(p.Model)
	}
	if cfg.auto.Enabled {
		p.Threshold = int64(float64(p.Window) * cfg.auto.TriggerRatio)
	}
	turns := conversation.Turns(l.Entries)
	for _, at := range cfg.estimator.Curve(l.Entries) {
		turn := sort.Search(len(turns), func(t int) bool { return turns[t].End > at.Index })
		p.Points = append(p.Points, plotPoint{l.Entries[at.Index].Seq, turn + 1, at.Raw, at.Projected})
	}
	for _, e := range l.Entries {
		if u, ok := e.Event.(holdfast.Usage); ok && u.Purpose == holdfast.ForTurn && u.Window() > 0 {
			p.Reported = append(p.Reported, plotReport{e.Seq, u.Window()})
		}
	}
	for i, o := range conversation.Overlays(l.Entries) {
		c := plotCompaction{Number: i + 1, Event: o.Seq, From: o.FromEvent, To: o.ToEvent, Range: overlayRange(o.Overlay), Policy: policyText(o.Overlay), Source: o.Source, Revoked: o.Revoked}
		if !o.ByEvents() {
			if o.FromTurn >= len(turns) {
				continue // it covers nothing
			}
			c.From, c.To = l.Entries[turns[o.FromTurn].Start].Seq, l.Entries[turns[min(o.ToTurn, len(turns)-1)].End-1].Seq
		}
		// It covers what was there when it was made.
		c.To = min(c.To, o.Seq)
		p.Compactions = append(p.Compactions, c)
	}
	return p
}

// top is the largest figure of the plot, at least 1.
func (p plotJSON) top() int64 {
	top := max(p.Threshold, 1)
	for _, at := range p.Points {
		top = max(top, int64(at.Raw), int64(at.Projected))
	}
	for _, r := range p.Reported {
		top = max(top, r.Tokens)
	}
	// A window that is far away would press the curve to the ground.
	if p.Window <= 2*top {
		top = max(top, p.Window)
	}
	return top
}

// at is the point that an event belongs to: the first one from it on, or the last.
func (p plotJSON) at(event int64) int {
	i, _ := slices.BinarySearchFunc(p.Points, event, func(at plotPoint, e int64) int { return cmp.Compare(at.Event, e) })
	return min(i, len(p.Points)-1)
}

const (
	plotHeight = 14 // lines
	plotMargin = 11 // columns before the curve
	leastPlot  = 20 // columns of it
)

// plotText draws on a terminal. Every column is an equal part of the events.
func (a *app) plotText(p plotJSON) string {
	var b strings.Builder
	b.WriteString(wrap("", "", untitled(p.Title), a.width))
	if len(p.Points) == 0 {
		b.WriteString("The conversation is empty.\n")
		return b.String()
	}
	width := 100
	if a.width > 0 {
		width = min(a.width-1, 160)
	}
	width = max(width-plotMargin, leastPlot)
	top := p.top()
	last := func(column int) plotPoint { return p.Points[max((column+1)*len(p.Points)/width-1, 0)] }
	column := func(point int) int { return min(point*width/len(p.Points), width-1) }
	level := func(tokens int64) int { // of plotHeight lines, in eighths
		return int(tokens * plotHeight * 8 / top)
	}
	marks := map[int]string{}
	if p.Threshold > 0 {
		marks[level(p.Threshold-1)/8] = "┄"
	}
	if p.Window > 0 && p.Window <= top {
		marks[level(p.Window-1)/8] = "─"
	}
	for row := plotHeight - 1; row >= 0; row-- {
		label := ""
		if row%4 == 1 || row == plotHeight-1 {
			label = tokensText(int(int64(row+1) * top / plotHeight))
		}
		fmt.Fprintf(&b, "%*s ", plotMargin-2, label)
		b.WriteString("┤")
		var cells strings.Builder
		for c := range width {
			at := last(c)
			sent, raw := level(int64(at.Projected))-row*8, level(int64(at.Raw))-row*8
			switch {
			case sent >= 8:
				cells.WriteString("█")
			case sent > 0:
				cells.WriteRune([]rune("▁▂▃▄▅▆▇")[min(sent, 7)-1])
			case raw > 0:
				cells.WriteString("░")
			default:
				cells.WriteString(cmp.Or(marks[row], " "))
			}
		}
		b.WriteString(strings.TrimRight(cells.String(), " ") + "\n")
	}
	p.writeAxis(&b, width, a.width, column)
	legend := "█ what a model is sent   ░ what compactions leave out"
	if p.Window > 0 {
		far := ""
		if p.Window > top {
			far = ", above the picture"
		}
		legend += fmt.Sprintf("   ─ window %s%s", tokensText(int(p.Window)), far)
	}
	if p.Threshold > 0 {
		legend += fmt.Sprintf("   ┄ threshold %s", tokensText(int(p.Threshold)))
	}
	b.WriteString(wrap("", "", legend, a.width))
	end := p.Points[len(p.Points)-1]
	b.WriteString(wrap("", "", fmt.Sprintf("at the end: ~%s of ~%s tokens, %s", tokensText(end.Projected), tokensText(end.Raw), count(end.Turn, "turn", "turns")), a.width))
	return b.String()
}

// mostBands is how many compactions a picture shows one by one.
const mostBands = 12

// writeAxis writes turns, and below them each compaction: what it covers, and
// where it was made. The curve has width columns, the terminal as many as terminal says.
func (p plotJSON) writeAxis(b *strings.Builder, width, terminal int, column func(point int) int) {
	axis, names := []rune(strings.Repeat("─", width)), []rune(strings.Repeat(" ", width+8))
	free := 0
	for i, at := range p.Points {
		if i > 0 && at.Turn == p.Points[i-1].Turn {
			continue
		}
		name := []rune(fmt.Sprint(at.Turn))
		c := column(i)
		if c < free || c+len(name) > width {
			continue
		}
		axis[c] = '┬'
		copy(names[c:], name)
		free = c + max(len(name)+2, width/10)
	}
	indent, margin := strings.Repeat(" ", plotMargin-1), strings.Repeat(" ", plotMargin)
	fmt.Fprintf(b, "%s└%s\n", indent, string(axis))
	fmt.Fprintf(b, "%-*s%s\n", plotMargin, "      turn", strings.TrimRight(string(names), " "))
	shown := p.Compactions
	if n := len(shown) - mostBands; n > 0 {
		shown = shown[n:]
		b.WriteString(wrap(margin, margin, count(n, "older compaction is", "older compactions are")+" not shown here: conversation show lists all", terminal))
	}
	for _, c := range shown {
		band := []rune(strings.Repeat(" ", width))
		from, to := column(p.at(c.From)), column(p.at(c.To))
		bar := '━'
		if c.Revoked {
			bar = '┅'
		}
		for i := from; i <= to; i++ {
			band[i] = bar
		}
		band[column(p.at(c.Event))] = '▲'
		name := fmt.Sprintf("%d %s", c.Number, c.Source)
		if c.Revoked {
			name = fmt.Sprintf("%d revoked", c.Number)
		}
		fmt.Fprintf(b, "%-*s%s\n", plotMargin, fit(name, plotMargin-1), strings.TrimRight(string(band), " "))
	}
	if len(shown) > 0 {
		b.WriteString(wrap(margin, margin, "━ what a compaction covers   ▲ where it was made", terminal))
	}
}
