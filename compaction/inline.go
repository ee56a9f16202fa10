package compaction

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// named is how the user named a range: flags, or a part of a SPEC.
type named struct {
	text string
	// inline: text is a SPEC, and the range begins at this byte of it.
	inline bool
	at     int
}

func (n named) refuse(format string, args ...any) error {
	if n.inline {
		return pointed(n.text, n.at, fmt.Sprintf(format, args...))
	}
	return holdfast.Errorf(holdfast.ErrUsage, "%s: %s", n.text, fmt.Sprintf(format, args...))
}

// pointed is an error that shows a SPEC and the place in it.
func pointed(spec string, at int, why string) error {
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError // keeps the place of what is behind it
		}
		return r
	}, spec)
	return holdfast.Errorf(holdfast.ErrUsage, "%s\n    %s\n    %s^\n%s", why, shown, strings.Repeat(" ", utf8.RuneCountInString(spec[:at])),
		"Write POLICIES[:RANGE], such as s, r+t, t=omit:2..10 or s:..-3")
}

// ParseInline reads the inline form of a rule:
//
//	SPEC     = POLICIES [":" RANGE]
//	POLICIES = POLICY {"+" POLICY}
//	POLICY   = "r" | "reasoning" | "s" | "summary" | "summarize" | ("t" | "tools") ["=" MODE]
//	MODE     = "strip" | "strip-requests" | "strip-responses" | "omit"   (short: s, sreq, sres, o)
//	RANGE    = [BOUND] ".." [BOUND] | BOUND
//	BOUND    = N (a turn, from 1) | "-" N (the turn with N turns behind it)
//
// A range of N alone is N.., one of -N alone is ..-N; without a range the
// configured keep values say it. Each policy stands once. The error has the code
// usage, shows the SPEC and points at the place.
func ParseInline(spec string, keepFirst, keepLast Bound) (Rule, error) {
	r := Rule{KeepFirst: keepFirst, KeepLast: keepLast}
	policies, turns, ranged := strings.Cut(spec, ":")
	at := 0
	for policy := range strings.SplitSeq(policies, "+") {
		if wrong := r.add(policy); wrong != nil {
			return Rule{}, pointed(spec, at+wrong.at, wrong.why)
		}
		at += len(policy) + len("+")
	}
	if !ranged {
		return r, nil
	}
	at = len(policies) + len(":")
	if second := strings.Index(turns, ":"); second >= 0 {
		return Rule{}, pointed(spec, at+second, "a second colon: there is one range")
	}
	from, to, wrong := parseTurns(turns)
	if wrong != nil {
		return Rule{}, pointed(spec, at+wrong.at, wrong.why)
	}
	if !strings.Contains(turns, "..") {
		if from.kind == byBehind {
			from = nil
		} else {
			to = nil
		}
	}
	r.KeepFirst, r.KeepLast, r.named = Bound{}, Bound{}, named{text: spec, inline: true, at: at}
	if from != nil {
		r.KeepFirst = *from
	}
	if to != nil {
		r.KeepLast = *to
	}
	return r, nil
}

// add takes one policy.
func (r *Rule) add(policy string) *misread {
	name, mode, valued := strings.Cut(policy, "=")
	twice := &misread{0, name + " stands here a second time"}
	switch name {
	case "r", "reasoning":
		if r.Reasoning {
			return twice
		}
		r.Reasoning = true
	case "s", "summary", "summarize":
		if r.Summary != nil {
			return twice
		}
		r.Summary = &SummaryRequest{}
	case "t", "tools":
		if r.Tools != nil {
			return twice
		}
		if !valued {
			mode = "strip"
		}
		tools, err := ParseTools(mode)
		if err != nil {
			return &misread{len(name) + len("="), "here a mode is expected: strip (s), strip-requests (sreq), strip-responses (sres) or omit (o)"}
		}
		r.Tools, valued = &tools, false
	default:
		return &misread{0, "here a policy is expected: r (reasoning), t (tools) or s (summary)"}
	}
	if valued {
		return &misread{len(name), name + " takes no value"}
	}
	return nil
}
