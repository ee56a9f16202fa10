package compaction

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Bound is one end of the range that a rule acts on. The zero value keeps no turn
// at that end.
type Bound struct {
	kind boundKind
	n    int
	d    time.Duration
	// strict: the position has to exist. Else the range ends where the stream does.
	strict bool
}

type boundKind int

const (
	byCount      boundKind = iota // n turns stay outside
	bySpan                        // the first or last d of the stream stays outside
	byAge                         // the range ends at d before now
	byPosition                    // the range ends with turn n, counted from 1
	byBehind                      // the range ends with the turn that has n behind it
	byCompaction                  // the range begins behind the furthest compacted turn
)

// Count is the bound that keeps n turns, n >= 0.
func Count(n int) Bound { return Bound{n: n} }

// String is the bound as ParseKeepFirst and ParseKeepLast read it.
func (b Bound) String() string {
	switch b.kind {
	case bySpan, byAge:
		return b.d.String()
	case byPosition:
		return "@" + strconv.Itoa(b.n)
	case byBehind:
		return "-" + strconv.Itoa(b.n)
	case byCompaction:
		return lastCompaction
	}
	return strconv.Itoa(b.n)
}

const lastCompaction = "last-compaction"

const (
	keepForms = "a count of turns such as 3, a duration such as 5h or 2d, or a position such as @4 or -3 (the turn with three behind it)"
	endForms  = "a turn such as 4 or -3 (the turn with three behind it), or a duration such as 5h or 2d"
	orLast    = "; or " + lastCompaction
)

// ParseKeepFirst reads a value of keep_first or --keep-first. A count and a
// duration say what stays before the range. A position or last-compaction names
// the first turn of the range. The error has the code usage.
func ParseKeepFirst(text string) (Bound, error) { return parseBound(text, byCount, bySpan, true) }

// ParseKeepLast reads a value of keep_last or --keep-last. A count and a duration
// say what stays behind the range, a position names its last turn. The error has
// the code usage.
func ParseKeepLast(text string) (Bound, error) { return parseBound(text, byCount, bySpan, false) }

// parseBound reads a bound. A plain number and a duration are of the given kinds.
// begins is true for the bound that a range begins with.
func parseBound(text string, number, duration boundKind, begins bool) (Bound, error) {
	allowed := keepForms
	if number == byPosition {
		allowed = endForms
	}
	if begins {
		allowed += orLast
	}
	refuse := func(why string) (Bound, error) {
		return Bound{}, holdfast.Errorf(holdfast.ErrUsage, "%q %s. Give %s", text, why, allowed)
	}
	if text == lastCompaction {
		if !begins {
			return refuse("can only begin a range")
		}
		return Bound{kind: byCompaction}, nil
	}
	kind, digits := number, text
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		kind, digits = byPosition, rest
	} else if rest, ok := strings.CutPrefix(text, "-"); ok {
		kind, digits = byBehind, rest
	}
	if n, ok := parseNumber(digits); ok {
		if kind == byPosition && n == 0 {
			return refuse("is no turn: they are counted from 1")
		}
		return Bound{kind: kind, n: n}, nil
	}
	if d, ok := parseDuration(text); ok {
		return Bound{kind: duration, d: d}, nil
	}
	return refuse("is no bound")
}

// parseNumber reads digits and nothing else.
func parseNumber(text string) (int, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// parseDuration reads a duration of Go, or a number of days.
func parseDuration(text string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if digits, ok := strings.CutSuffix(text, "d"); ok {
		n, ok := parseNumber(digits)
		return time.Duration(n) * day, ok && n <= int(maxDuration/day)
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

const maxDuration = time.Duration(1<<63 - 1)

// misread is what is wrong with a text, and at which byte of it.
type misread struct {
	at  int
	why string
}

// parseTurns reads A..B, A.., ..B, .. or one turn. An end that is not said is
// nil; of one turn both ends are the same.
func parseTurns(text string) (from, to *Bound, wrong *misread) {
	before, after, open := strings.Cut(text, "..")
	if !open {
		from, wrong = parseTurn(text, 0)
		return from, from, wrong
	}
	if before != "" {
		if from, wrong = parseTurn(before, 0); wrong != nil {
			return nil, nil, wrong
		}
	}
	if after != "" {
		if to, wrong = parseTurn(after, len(before)+len("..")); wrong != nil {
			return nil, nil, wrong
		}
	}
	if from != nil && to != nil && from.kind == to.kind {
		last, first := to.n, from.n
		if from.kind == byBehind {
			last, first = first, last
		}
		if last < first {
			return nil, nil, &misread{0, "the range ends before it begins"}
		}
	}
	return from, to, nil
}

// parseTurn reads N or -N, which stands at a byte of a longer text.
func parseTurn(text string, at int) (*Bound, *misread) {
	kind, digits := byPosition, text
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		kind, digits = byBehind, rest
	}
	n, ok := parseNumber(digits)
	switch {
	case !ok:
		return nil, &misread{at, "here a turn is expected, such as 4 or -3 (the turn with three behind it)"}
	case kind == byPosition && n == 0:
		return nil, &misread{at, "turns are counted from 1"}
	}
	return &Bound{kind: kind, n: n}, nil
}
