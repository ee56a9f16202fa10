package engine_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

var claude = request{session: "s1", protocol: holdfast.Anthropic}

func TestWordsOfAHarnessAreAPersonsWhereItDoesNotWriteThem(t *testing.T) {
	const (
		asks  = "What did we do so far?"
		names = "Context summary: the owner is team Heron."
	)
	chat := request{session: "s1", agent: agents.OpenCode, protocol: holdfast.Chat}
	for _, tt := range []struct {
		name string
		r    request
		more []entry
	}{
		{"opencode's question in claude-code", claude, []entry{user(asks)}},
		{"opencode's question in opencode, behind a person's words", open1, []entry{user(asks)}},
		{"and its answer", open1, []entry{user(asks), long("We ported the reader"), user("go on")}},
		{"cline's heading behind a person's words", bare, []entry{user(names)}},
		{"pi's heading behind a person's words", bare, []entry{user(piBack + "x</summary>")}},
		{"the answer that confirms a summary, of claude-code's model", claude, []entry{user("the owner is team Heron"), answer(gotIt), user("go on")}},
		{"the same behind a person's words", bare, []entry{user("the owner is team Heron"), answer(gotIt), user("go on")}},
		{"cline's heading in opencode", chat, []entry{user(names)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(tt.r)
			for i, e := range tt.more {
				if e.User == "" {
					continue
				}
				a := w.begin(tt.r, join(h, tt.more[:i+1]...)...)
				if a.Insert != nil || a.Boundary {
					t.Errorf("a turn is changed: %+v, boundary %v\n%s", a.Insert, a.Boundary, w.log)
				}
				done(a, long("yes"))
			}
		})
	}
}

func TestAPromptOfAnotherAgentIsNoCompaction(t *testing.T) {
	w := newWorld(t)
	for _, prompt := range []string{"Provide a detailed summary of our conversation above.", codexMarker} {
		a := w.begin(claude, join(w.planned(claude), user(prompt))...)
		if a.Boundary {
			t.Errorf("%q is a boundary by %s", prompt, a.Verdict.Row)
		}
		done(a, long("yes"))
	}
}

func TestWordsThatOpenOneConversationAreAPersonsInAnother(t *testing.T) {
	w := newWorld(t)
	same := user("Context summary: the owner is team Heron.")
	w.turn(bare, []entry{same, user("go on")}, long("I go on from there"))
	a := w.begin(bare, join(w.planned(bare), same)...)
	if a.Insert != nil {
		t.Errorf("a turn is changed: %+v\n%s", a.Insert, w.log)
	}
	done(a, long("yes"))
}
