package redact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A mark is opening, kind, closing.
const (
	opening = "[redacted:"
	closing = "]"
)

// Pattern is a user's own sort of secret.
type Pattern struct {
	// Kind names the secret in marks and findings: lower case letters, digits
	// and hyphens, 40 bytes at most.
	Kind string
	// Literal is a text that every such secret, or what leads to it, contains
	// as written. The expression runs only over text that holds it. Empty: it
	// runs over every text, at some tens of megabytes per second.
	Literal string
	// Regexp is the expression in RE2 syntax. The secret is its first group
	// where it has one, else the whole match.
	Regexp string
}

// Finding is a secret in a text.
type Finding struct {
	Kind string
	// Start and End are byte offsets into the text that was given, End
	// exclusive.
	Start, End int
}

// Redactor finds secrets. It is made by New, holds no state between calls and
// is safe for concurrent use.
type Redactor struct {
	words words
	rules []rule
	own   []own
}

// own is a compiled Pattern.
type own struct {
	kind, literal string
	re            *regexp.Regexp
}

var kindForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// New makes a Redactor of the built-in patterns and the user's extra ones. An
// error names the pattern that is wrong and what to change.
func New(extra []Pattern) (*Redactor, error) {
	r := &Redactor{rules: builtin()}
	for i, p := range extra {
		if !kindForm.MatchString(p.Kind) {
			return nil, fmt.Errorf("redaction pattern %d has the kind %q: use 1 to 40 lower case letters, digits and hyphens", i+1, p.Kind)
		}
		re, err := regexp.Compile(p.Regexp)
		if err != nil {
			return nil, fmt.Errorf("redaction pattern %d (%s) is no regular expression in RE2 syntax: %w", i+1, p.Kind, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("redaction pattern %d (%s) matches the empty text: make a part of it required", i+1, p.Kind)
		}
		r.own = append(r.own, own{p.Kind, p.Literal, re})
	}
	r.words = newWords(r.rules)
	return r, nil
}

// Text returns s with a mark in place of each secret, and the secrets in the
// order of their place; they do not overlap. Without any it returns s itself
// and nil.
func (r *Redactor) Text(s string) (out string, found []Finding) {
	all := r.builtin(s)
	for i, p := range r.own {
		if strings.Contains(s, p.literal) {
			all = p.appendTo(all, s, len(r.rules)+i)
		}
	}
	if len(all) == 0 {
		return s, nil
	}
	found = settle(all, s)
	if len(found) == 0 {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s) + 32*len(found))
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.Start])
		b.WriteString(opening)
		b.WriteString(f.Kind)
		b.WriteString(closing)
		at = f.End
	}
	b.WriteString(s[at:])
	return b.String(), found
}

// ranked is a finding with the number of what found it.
type ranked struct {
	Finding
	rank int
}

// builtin finds what the rules know, in any order.
func (r *Redactor) builtin(s string) (found []ranked) {
	inside := 0 // no literal counts before this offset: it is in a mark
	state := uint32(0)
	for i := 0; i < len(s); i++ {
		state = r.words.next[state+uint32(r.words.class[s[i]])]
		if state < r.words.accepting {
			continue
		}
		for _, hit := range r.words.hits(state) {
			at := i + 1 - len(hit.literal)
			if hit.rule == mark {
				inside = max(inside, markEnd(s, at))
				continue
			}
			rule := &r.rules[hit.rule]
			if at < inside || !rule.anyCase && s[at:i+1] != hit.literal {
				continue
			}
			if n := len(found) - 1; n >= 0 && !rule.anyCase && !r.rules[found[n].rank].anyCase && found[n].Start < at && at < found[n].End {
				continue // a prefix inside of a token, which has been taken whole
			}
			if start, end, ok := rule.find(s, at); ok {
				found = append(found, ranked{Finding{rule.kind, start, end}, hit.rule})
			}
		}
	}
	return found
}

// markEnd returns where the mark that opens at offset at ends; at itself when
// it is none.
func markEnd(s string, at int) int {
	from := at + len(opening)
	window := s[from:min(from+41, len(s))]
	if n := strings.Index(window, closing); n > 0 && kindForm.MatchString(window[:n]) {
		return from + n + len(closing)
	}
	return at
}

// appendTo appends what the pattern finds in s.
func (p *own) appendTo(found []ranked, s string, rank int) []ranked {
	for _, m := range p.re.FindAllStringSubmatchIndex(s, -1) {
		start, end := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			start, end = m[2], m[3]
		}
		found = append(found, ranked{Finding{p.kind, start, end}, rank})
	}
	return found
}

// settle orders findings by place and makes one of those that overlap, with the
// kind of the first; of those at one place the longest is first, then the one
// of the lowest rank. What is in a mark already is taken out.
func settle(all []ranked, s string) []Finding {
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.rank, b.rank))
	})
	merged := []Finding{all[0].Finding}
	for _, f := range all[1:] {
		if last := &merged[len(merged)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
		} else {
			merged = append(merged, f.Finding)
		}
	}
	if !strings.Contains(s, opening) {
		return merged
	}
	var out []Finding
	at, from, to := 0, 0, 0 // the mark [from, to) is the first that ends behind at
	for _, f := range merged {
		for at = f.Start; at < f.End; at = to {
			for to <= at && from < len(s) {
				from, to = nextMark(s, to)
			}
			if end := min(from, f.End); at < end {
				out = append(out, Finding{f.Kind, at, end})
			}
			if from >= f.End {
				break
			}
		}
	}
	return out
}

// nextMark finds the first mark at or behind offset at; without one both ends
// are those of s.
func nextMark(s string, at int) (from, to int) {
	for at < len(s) {
		n := strings.Index(s[at:], opening)
		if n < 0 {
			break
		}
		from = at + n
		if to = markEnd(s, from); to > from {
			return from, to
		}
		at = from + len(opening)
	}
	return len(s), len(s)
}
