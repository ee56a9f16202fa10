package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

func (a *app) conversationShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a conversation: model, size, compactions, what is kept",
		Example:           "  holdfast conversation show last\n  holdfast c show 0193c5d2 --json",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				l, err := s.Load(cmd.Context(), c.ID)
				if err != nil {
					return err
				}
				cfg, err := a.conversationConfig(l.Entries)
				if err != nil {
					return err
				}
				shown := newShownConversation(l, cfg)
				if a.json {
					return a.printJSON(shown)
				}
				return a.print(a.conversationText(shown, conversation.Overlays(l.Entries)))
			})
		},
	}
}

// shownConversation is a conversation in JSON output. Tokens are estimates of
// what a model would be sent. Overlays are as they are stored, turns from 0, with
// the number by which a person names them.
type shownConversation struct {
	conversationJSON
	Model      string            `json:"model"`
	Window     int64             `json:"context_window"` // 0: not known
	Tokens     tokensJSON        `json:"tokens"`
	Overlays   []json.RawMessage `json:"overlays"`
	Capsule    *capsuleCounts    `json:"capsule,omitempty"`
	Unreadable int               `json:"unreadable_events,omitempty"`
	Auto       autoJSON          `json:"automatic_compaction"`
}

type tokensJSON struct {
	Raw       int `json:"raw"`
	Projected int `json:"projected"`
}

type capsuleCounts struct {
	Revision  int `json:"revision"`
	Steps     int `json:"steps"`
	Completed int `json:"steps_completed"`
	// Facts in force; Provisional are those of any kind that are not settled.
	Decisions    int `json:"decisions"`
	Constraints  int `json:"constraints"`
	Alternatives int `json:"rejected_alternatives"`
	Questions    int `json:"open_questions"`
	Facts        int `json:"facts"`
	Provisional  int `json:"provisional"`
	Words        int `json:"user_words"`
}

// autoJSON tells what keeps the trigger from firing; "" for nothing.
type autoJSON struct {
	Enabled bool              `json:"enabled"`
	Reason  compaction.Reason `json:"reason"`
}

func newShownConversation(l conversations.Loaded, cfg conversationConfig) shownConversation {
	model := conversations.Model(l.Entries)
	shown := shownConversation{
		conversationJSON: newConversationJSON(l.Conversation), Model: model, Overlays: []json.RawMessage{}, Unreadable: l.Unreadable,
		Tokens: tokensJSON{Raw: cfg.estimator.Tokens(conversations.Raw(l.Entries)), Projected: cfg.estimator.Tokens(l.Entries)},
		Auto:   autoJSON{Enabled: cfg.auto.Enabled},
	}
	shown.Turns = len(conversation.Turns(l.Entries))
	if model != "" {
		shown.Window = cfg.window(model)
	}
	if shown.Window == 0 {
		shown.Auto.Reason = compaction.WindowUnknown
	}
	if !cfg.auto.Enabled {
		shown.Auto.Reason = compaction.Disabled
	}
	for i, o := range conversation.Overlays(l.Entries) {
		// The stored form, with two members more at its beginning.
		line := conversation.AppendLine(nil, holdfast.Entry{ID: o.ID, Event: o.Overlay})
		shown.Overlays = append(shown.Overlays, fmt.Appendf(nil, `{"number":%d,"revoked":%t,%s`, i+1, o.Revoked, line[1:]))
	}
	for _, e := range l.Entries {
		if c, ok := e.Event.(holdfast.Continuity); ok {
			counts := countsOf(c.Capsule)
			shown.Capsule = &counts
		}
	}
	return shown
}

func countsOf(c holdfast.Capsule) capsuleCounts {
	counts := capsuleCounts{Revision: c.Revision, Words: len(c.UserWords)}
	if c.Plan != nil {
		counts.Steps = len(c.Plan.Steps)
		for _, s := range c.Plan.Steps {
			if s.Status == holdfast.StepCompleted {
				counts.Completed++
			}
		}
	}
	of := map[string]*int{
		"decision": &counts.Decisions, "constraint": &counts.Constraints, "rejected_alternative": &counts.Alternatives,
		"open_question": &counts.Questions, "fact": &counts.Facts,
	}
	for _, f := range facts(&c) {
		switch {
		case f.inForce():
			*of[f.kind]++
		case f.status == holdfast.FactProvisional:
			counts.Provisional++
		}
	}
	return counts
}

// text tells the counts in one line. Of the facts only decisions are named where
// there are none.
func (k capsuleCounts) text() string {
	text := fmt.Sprintf("revision %d: %d of %s completed, %s", k.Revision, k.Completed, count(k.Steps, "step", "steps"), count(k.Decisions, "decision", "decisions"))
	for i, n := range []int{k.Constraints, k.Alternatives, k.Questions, k.Facts} {
		if kind := factKinds[i+1]; n > 0 {
			text += ", " + count(n, kind.one, kind.many)
		}
	}
	if k.Provisional > 0 {
		text += fmt.Sprintf(", %d not settled", k.Provisional)
	}
	return text + ", " + count(k.Words, "message of the user", "messages of the user")
}

func (a *app) conversationText(c shownConversation, overlays []conversation.PlacedOverlay) string {
	now := a.now()
	var b strings.Builder
	row := func(name, value string) {
		b.WriteString(wrap(fmt.Sprintf("%-13s ", name), strings.Repeat(" ", 14), value, a.width))
	}
	row("conversation", line(string(c.ID)))
	row("title", untitled(c.Title))
	origin := string(c.Origin)
	if c.Agent != "" {
		origin += ", " + line(c.Agent)
	}
	switch {
	case c.Parent != "" && c.ParentEvent > 0:
		origin += fmt.Sprintf(", fork of %s behind event %d", line(string(c.Parent)), c.ParentEvent)
	case c.Parent != "": // agents do not say where, and it may be a subagent
		origin += ", from " + line(string(c.Parent))
	}
	if c.Archived {
		origin += ", archived"
	}
	row("origin", origin)
	row("created", moment(now, c.CreatedAt))
	row("used", ago(now, c.UsedAt))
	model, window := line(c.Model), "unknown"
	if model == "" {
		model = "unknown"
	}
	if c.Window > 0 {
		window = tokensText(int(c.Window)) + " tokens"
	}
	row("model", model+", window "+window)
	row("turns", fmt.Sprintf("%d, %s", c.Turns, count(int(c.Events), "event", "events")))
	row("tokens", fmt.Sprintf("~%s raw, ~%s as the model is sent it", tokensText(c.Tokens.Raw), tokensText(c.Tokens.Projected)))
	row("automatic", autoText(c))
	if k := c.Capsule; k != nil {
		row("capsule", k.text())
	}
	if c.Unreadable > 0 {
		row("unreadable", count(c.Unreadable, "event is", "events are")+" of a later version and not shown")
	}
	if len(overlays) == 0 {
		row("compactions", "none")
		return b.String()
	}
	rows := make([][]string, len(overlays))
	for i, o := range overlays {
		state := ""
		if o.Revoked {
			state = "revoked"
		}
		rows[i] = []string{fmt.Sprint(i + 1), overlayRange(o.Overlay), policyText(o.Overlay), string(o.Source), state}
	}
	b.WriteString("\n" + table([]column{{title: "N", keep: 5}, {title: "RANGE", keep: 4}, {title: "POLICY", keep: 3, least: 8}, {title: "SOURCE", keep: 2}, {title: "", keep: 1}}, rows, a.width))
	return b.String()
}

// autoText says what automatic compaction would need.
func autoText(c shownConversation) string {
	switch c.Auto.Reason {
	case compaction.Disabled:
		return "compaction is off"
	case compaction.WindowUnknown:
		name := line(c.Model)
		if name == "" {
			name = "NAME"
		}
		return "compaction: window unknown, set models." + name + ".context_window"
	}
	return "compaction is on"
}
