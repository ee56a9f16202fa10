package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// message is one entry of a history, whatever the protocol.
type message struct {
	role  string // user, assistant or tool
	text  string // of a tool: what it returned
	calls []Call // of the assistant
	call  Call   // that a tool answers
	again int    // how often a tool's answer is repeated behind itself
	live  bool   // said by this process, not read back from a file
}

// dialogue is what the agents of one protocol and another have in common: a
// history, and the summary that stands for what was before it.
type dialogue struct {
	agent   string
	history []message
	summary string
	send    func(ctx context.Context, history []message) (answer, error)
	run     func(c Call) string
}

// Prompt sends a text of the user and goes on until the model calls no more
// tools.
func (d *dialogue) Prompt(ctx context.Context, text string) error {
	d.history = append(d.history, message{role: "user", text: text})
	for range maxRounds {
		got, err := d.send(ctx, d.history)
		if err != nil {
			return err
		}
		if got.text == "" && len(got.calls) == 0 {
			return errors.New("the script of " + d.agent + " has an answer without text and without calls")
		}
		d.history = append(d.history, message{role: "assistant", text: got.text, calls: got.calls, live: true})
		if len(got.calls) == 0 {
			return nil
		}
		for _, c := range got.calls {
			d.history = append(d.history, message{role: "tool", text: d.run(c), call: c})
		}
	}
	return errors.New("the script of " + d.agent + " calls tools without end")
}

// split parts the history for a compaction: what is summarized, and the newest
// turn, which is kept. A history of one turn is summarized as a whole.
func (d *dialogue) split() (old, kept []message, err error) {
	if len(d.history) < 2 {
		return nil, nil, errNothing
	}
	for i := len(d.history) - 1; i > 0; i-- {
		if d.history[i].role == "user" {
			return d.history[:i:i], d.history[i:], nil
		}
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
