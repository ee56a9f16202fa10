package compaction

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Selection is what the flags of a command say of a range. The zero value says
// nothing.
//
//	--keep-first B, --keep-last B   what stays outside, in place of the rule's
//	--from B, --to B                the first and the last turn
//	--first N, --last N             the first and the last N turns
//	--turn N | A..B | A.. | ..B     these turns, which have to exist
//
// Each end of the range can be said once.
type Selection struct {
	begin, end     *Bound // nil: as the rule says
	beginBy, endBy string // the flags that said so
	// typed are the flags that name a range, as they were typed.
	typed []string
}

// Set takes one flag, its name without dashes. The error has the code usage.
func (s *Selection) Set(flag, text string) error {
	var begin, end *Bound
	var err error
	switch flag {
	case "keep-first":
		begin, err = pointer(ParseKeepFirst(text))
	case "from":
		begin, err = pointer(parseBound(text, byPosition, byAge, true))
	case "keep-last":
		end, err = pointer(ParseKeepLast(text))
	case "to":
		end, err = pointer(parseBound(text, byPosition, byAge, false))
	case "first", "last":
		begin, end, err = parseCount(text, flag == "last")
	case "turn":
		var wrong *misread
		if begin, end, wrong = parseTurns(text); wrong != nil {
			err = holdfast.Errorf(holdfast.ErrUsage, "%q: %s. Give N, A..B, A.. or ..B", text, wrong.why)
		}
		begin, end = exactly(begin), exactly(end)
	default:
		return holdfast.Errorf(holdfast.ErrInternal, "--%s says nothing of a range", flag)
	}
	if err != nil {
		return holdfast.Errorf(holdfast.CodeOf(err), "--%s: %w", flag, err)
	}
	if !strings.HasPrefix(flag, "keep-") {
		s.typed = append(s.typed, "--"+flag+" "+text)
	}
	if err := claim(&s.begin, &s.beginBy, begin, flag, "begins"); err != nil {
		return err
	}
	return claim(&s.end, &s.endBy, end, flag, "ends")
}

// parseCount reads a count of turns, the first ones or the last ones, and says
// where they begin and end.
func parseCount(text string, last bool) (begin, end *Bound, err error) {
	n, ok := parseNumber(text)
	switch {
	case !ok:
		return nil, nil, holdfast.Errorf(holdfast.ErrUsage, "%q is no count of turns. Give a number such as 3", text)
	case last:
		return &Bound{kind: byBehind, n: n - 1}, &Bound{}, nil
	}
	return &Bound{}, &Bound{kind: byPosition, n: n}, nil
}

func pointer(b Bound, err error) (*Bound, error) { return &b, err }

// exactly is a bound that has to exist; one that is not said is the end of the
// stream.
func exactly(b *Bound) *Bound {
	if b == nil {
		return &Bound{}
	}
	return &Bound{kind: b.kind, n: b.n, strict: true}
}

// claim sets an end of the range that no other flag has set.
func claim(to **Bound, by *string, b *Bound, flag, does string) error {
	if b == nil {
		return nil
	}
	if *to != nil {
		return holdfast.Errorf(holdfast.ErrUsage, "--%s and --%s both say where the range %s. Give one of them", *by, flag, does)
	}
	*to, *by = b, flag
	return nil
}

// Over is the rule with those ends of its range that were selected.
func (s Selection) Over(r Rule) Rule {
	if s.begin != nil {
		r.KeepFirst = *s.begin
	}
	if s.end != nil {
		r.KeepLast = *s.end
	}
	if len(s.typed) > 0 {
		typed := slices.Sorted(slices.Values(s.typed))
		r.named = named{text: strings.Join(typed, " ")}
	}
	return r
}
