package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// message is one entry of a history, whatever the protocol.
type message struct {
	role   string // user, assistant or tool
	text   string // of a tool: what it returned
	notice string // of the harness, beside the user's text
	calls  []Call // of the assistant
	call   Call   // that a tool answers
	failed bool   // the tool did not do it
	again  int    // how often a tool's answer is repeated behind itself
	live   bool   // said by this process, not read back from a file
}

// speaker is how one agent writes its requests and runs its tools.
type speaker interface {
	// turn sends a history.
	turn(ctx context.Context, history []message) (answer, error)
	// tool does what a call asks.
	tool(c Call) result
	// condense compacts, in the middle of a turn or between two.
	condense(ctx context.Context, middle bool) error
}

// dialogue is what the agents of one protocol and another have in common: a
// history, and the summary that stands for what was before it.
type dialogue struct {
	desk
	self    speaker
	agent   string
	late    bool // compacts when a turn has ended, never within
	history []message
	summary string
}

// branch makes the dialogue of a copied agent its own. What a message refers to
// is never changed, so a copy of the list is enough.
func (d *dialogue) branch(self speaker) {
	d.self, d.round = self, 0
	d.history = slices.Clone(d.history)
}

// Prompt implements Agent.
func (d *dialogue) Prompt(ctx context.Context, text string) error {
	at, compacts := d.due(), false
	d.history = append(d.history, message{role: "user", text: text, notice: d.world.notice()})
	for round := range maxRounds {
		got, err := d.self.turn(ctx, d.history)
		if err != nil {
			return err
		}
		if got.text == "" && len(got.calls) == 0 {
			return errors.New("the script of " + d.agent + " has an answer without text and without calls")
		}
		d.history = append(d.history, message{role: "assistant", text: got.text, calls: got.calls, live: true})
		ended := len(got.calls) == 0 || d.carryOut(got.calls)
		compacts = compacts || round+1 == at && len(got.calls) > 0
		if compacts && ended == d.late {
			if err := d.self.condense(ctx, !d.late); err != nil {
				return err
			}
			compacts = false
		}
		if ended {
			return nil
		}
	}
	return errors.New("the script of " + d.agent + " calls tools without end")
}

// Compact implements Agent.
func (d *dialogue) Compact(ctx context.Context) error { return d.self.condense(ctx, false) }

// carryOut runs the calls of an answer and reports whether the turn is over.
func (d *dialogue) carryOut(calls []Call) (ended bool) {
	var behind []message
	for _, c := range calls {
		r := d.self.tool(c)
		if r.withdrawn {
			d.history = d.history[:d.newest()]
			return true
		}
		d.history = append(d.history, message{role: "tool", text: r.text, call: c, failed: r.failed})
		behind = append(behind, r.behind...)
		ended = ended || r.ends
	}
	d.history = append(d.history, behind...)
	return ended
}

// newest is where the newest turn begins.
func (d *dialogue) newest() int {
	for i := len(d.history) - 1; i > 0; i-- {
		if d.history[i].role == "user" {
			return i
		}
	}
	return 0
}

// split parts the history for a compaction: what is summarized, and the newest
// turn, which is kept. A history of one turn is summarized as a whole, but not
// in the middle of that turn.
func (d *dialogue) split(middle bool) (old, kept []message, err error) {
	if len(d.history) < 2 {
		return nil, nil, errNothing
	}
	switch at := d.newest(); {
	case at > 0:
		return d.history[:at:at], d.history[at:], nil
	case middle:
		return nil, nil, errNothing
	}
	return d.history, nil, nil
}

// spell writes the arguments of a call as agents do in prose: name=value, ...
func spell(args json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(args))
	var out []string
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return ""
		}
		out = append(out, name.(string)+"="+string(value))
	}
	return strings.Join(out, ", ")
}

// quote writes a history in words, each piece behind the label of its speaker.
func quote(history []message, model string, user func(string) string) string {
	var out []string
	for _, m := range history {
		switch m.role {
		case "user":
			out = append(out, "[User]: "+user(m.text))
		case "tool":
			out = append(out, "[Tool result]: "+m.text)
		default:
			if m.text != "" {
				out = append(out, "["+model+"]: "+m.text)
			}
			var calls []string
			for _, c := range m.calls {
				calls = append(calls, c.Name+"("+spell(c.Args)+")")
			}
			if calls != nil {
				out = append(out, "["+model+" tool calls]: "+strings.Join(calls, "; "))
			}
		}
	}
	return strings.Join(out, "\n\n")
}
