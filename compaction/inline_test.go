package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/compaction"
)

// policies is a rule's policies as text.
func policies(r compaction.Rule) string {
	var out []string
	if r.Reasoning {
		out = append(out, "reasoning")
	}
	if r.Tools != nil {
		out = append(out, fmt.Sprintf("tools %+v", *r.Tools))
	}
	if r.Summary != nil {
		out = append(out, "summary")
	}
	return strings.Join(out, ", ")
}

func TestTheInlineFormSaysPoliciesAndARange(t *testing.T) {
	const strip = "tools {Omit:false Request:true Response:true}"
	for _, tt := range []struct {
		spec     string
		policies string
		turns    string // of ten, as outcome writes it
	}{
		{"r", "reasoning", "1-6"},
		{"reasoning", "reasoning", "1-6"},
		{"s", "summary", "1-6"},
		{"summary", "summary", "1-6"},
		{"summarize", "summary", "1-6"},
		{"t", strip, "1-6"},
		{"tools", strip, "1-6"},
		{"t=strip", strip, "1-6"},
		{"t=s", strip, "1-6"},
		{"t=strip-requests", "tools {Omit:false Request:true Response:false}", "1-6"},
		{"t=sreq", "tools {Omit:false Request:true Response:false}", "1-6"},
		{"tools=strip-responses", "tools {Omit:false Request:false Response:true}", "1-6"},
		{"t=sres", "tools {Omit:false Request:false Response:true}", "1-6"},
		{"t=omit", "tools {Omit:true Request:false Response:false}", "1-6"},
		{"t=o", "tools {Omit:true Request:false Response:false}", "1-6"},
		{"r+t", "reasoning, " + strip, "1-6"},
		{"s+r+t=o:2..4", "reasoning, tools {Omit:true Request:false Response:false}, summary", "1-3"},
		{"s:..-3", "summary", "0-6"},
		{"s:-3", "summary", "0-6"},
		{"r:5", "reasoning", "4-9"},
		{"s:5..", "summary", "4-9"},
		{"s:5..-3", "summary", "4-6"},
		{"s:..", "summary", "0-9"},
		{"s:..-0", "summary", "0-9"},
		{"s:-4..-2", "summary", "5-7"},
		{"s:-4..9", "summary", "5-8"},
		{"s:3..3", "summary", "2-2"},
		{"s:..99", "summary", "0-9"},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			r := inline(t, tt.spec)
			if got := policies(r); got != tt.policies {
				t.Errorf("policies: got %s, want %s", got, tt.policies)
			}
			if got := outcome(r.Range(compaction.NewSnapshot(conversation(10, 1), start))); got != tt.turns {
				t.Errorf("turns: got %s, want %s", got, tt.turns)
			}
		})
	}
}

func TestAWrongInlineFormIsShownWithThePlace(t *testing.T) {
	const (
		policy = "here a policy is expected: r (reasoning), t (tools) or s (summary)"
		mode   = "here a mode is expected: strip (s), strip-requests (sreq), strip-responses (sres) or omit (o)"
		turn   = "here a turn is expected, such as 4 or -3 (the turn with three behind it)"
	)
	for _, tt := range []struct{ name, spec, why, caret string }{
		{"nothing", "", policy, "^"},
		{"nothing behind a plus", "r+", policy, "  ^"},
		{"nothing before a plus", "+r", policy, "^"},
		{"an unknown policy", "x", policy, "^"},
		{"an unknown policy behind a known one", "r+x:2..", policy, "  ^"},
		{"a policy in capitals", "R", policy, "^"},
		{"a blank", "r +t", policy, "^"},
		{"a value where none is allowed", "r=strip", "r takes no value", " ^"},
		{"an empty value where none is allowed", "summary=", "summary takes no value", "       ^"},
		{"an unknown mode", "t=nope", mode, "  ^"},
		{"no mode", "t=", mode, "  ^"},
		{"no mode before a range", "r+tools=:3", mode, "        ^"},
		{"a policy twice", "r+reasoning", "reasoning stands here a second time", "  ^"},
		{"tools twice", "t=o+tools=s", "tools stands here a second time", "    ^"},
		{"a summary twice", "s+r+summary", "summary stands here a second time", "    ^"},
		{"a word for a turn", "s:abc", turn, "  ^"},
		{"a word for the last turn", "s:2..abc", turn, "     ^"},
		{"nothing behind the colon", "s:", turn, "  ^"},
		{"nothing before the colon", ":2..", policy, "^"},
		{"a sign without a number", "s:-", turn, "  ^"},
		{"turn 0", "s:0..5", "turns are counted from 1", "  ^"},
		{"turn 0 at the end", "s:1..0", "turns are counted from 1", "     ^"},
		{"a range backwards", "s:10..5", "the range ends before it begins", "  ^"},
		{"a range from the end backwards", "s:-3..-5", "the range ends before it begins", "  ^"},
		{"another separator", "s:1..=5", turn, "     ^"},
		{"a third point", "s:1...5", turn, "     ^"},
		{"a turn that no number can count", "s:99999999999999999999", turn, "  ^"},
		{"a second colon", "s:1..2:3", "a second colon: there is one range", "      ^"},
		{"wide text before the place", "s:äöü..", turn, "  ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compaction.ParseInline(tt.spec, compaction.Count(1), compaction.Count(3))
			want := "usage: " + tt.why + "\n    " + tt.spec + "\n    " + tt.caret + "\nWrite POLICIES[:RANGE], such as s, r+t, t=omit:2..10 or s:..-3"
			if got := outcome(compaction.Range{}, err); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAnInlineRangeWithoutTurnsIsShownWithThePlace(t *testing.T) {
	for _, tt := range []struct{ name, spec, why, caret string }{
		{"behind the end", "r+s:9..", "no turn is in this range: the conversation has 5 turns", "    ^"},
		{"before the beginning", "s:-5", "no turn is in this range: the conversation has 5 turns", "  ^"},
		{"backwards in a conversation this short", "s:4..-3", "the range ends before it begins: it would be from turn 4 to turn 2", "  ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := "usage: " + tt.why + "\n    " + tt.spec + "\n    " + tt.caret + "\nWrite POLICIES[:RANGE], such as s, r+t, t=omit:2..10 or s:..-3"
			if got := outcome(inline(t, tt.spec).Range(compaction.NewSnapshot(conversation(5, 1), start))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAnyInlineTextIsReadOrShown(t *testing.T) {
	piece := rapid.SampledFrom([]string{"r", "s", "t", "=", "+", ":", "..", "-", "0", "7", "12", "omit", "x", " ", "é", "\x00", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		spec := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		r, err := compaction.ParseInline(spec, compaction.Count(1), compaction.Count(3))
		if err == nil {
			if err := r.Check(); err != nil {
				t.Fatalf("%q is read as a rule that does nothing", spec)
			}
			return
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 4 || strings.Trim(lines[2], " ") != "^" || len([]rune(lines[2])) > len([]rune(lines[1]))+1 {
			t.Fatalf("%q is shown as\n%s", spec, err)
		}
	})
}
