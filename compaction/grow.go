package compaction

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// grow widens the range of a new summary over the summaries that it meets, so
// that every turn is told by one. authored is true for a new one that the user
// wrote.
//
// A summary that the user wrote is neither widened nor replaced by one of a
// model: that is an error with the code conflict, which names the range that
// would be needed. The user may replace their own by one whose given range holds
// all of it; one that sticks out is refused in the same way.
func grow(given Range, authored bool, existing []placed) (Range, error) {
	summaries := slices.DeleteFunc(slices.Clone(existing), func(o placed) bool { return o.Summary == nil })
	slices.SortStableFunc(summaries, func(a, b placed) int { return cmp.Compare(a.FromTurn, b.FromTurn) })
	grown := given
	var users []placed // summaries of the user that stand in the way
	for len(summaries) > 0 {
		// A group of summaries that overlap has no gap: what meets it has to take
		// in the whole of it, and then meets no other group.
		group, n := rangeOf(summaries[0].Overlay), 1
		for n < len(summaries) && summaries[n].FromTurn <= group.To {
			group = group.union(rangeOf(summaries[n].Overlay))
			n++
		}
		if group.meets(given) {
			grown = grown.union(group)
			for _, o := range summaries[:n] {
				if o.Summary.Origin == holdfast.AuthoredSummary && (!authored || !given.contains(rangeOf(o.Overlay))) {
					users = append(users, o)
				}
			}
		}
		summaries = summaries[n:]
	}
	if len(users) == 0 {
		return grown, nil
	}
	first := users[0]
	if authored {
		return nothing, holdfast.Errorf(holdfast.ErrConflict,
			"a summary of %s meets %s, and would be needed for %s. Write it for those, or choose turns that do not meet",
			given, first.told(), grown)
	}
	return nothing, holdfast.Errorf(holdfast.ErrConflict,
		"a summary of %s meets %s, which a generated one never replaces: it would be needed for %s. Choose turns that do not meet, write that summary yourself (--summary-file)%s",
		given, first.told(), grown, first.revoking())
}

// told names a summary of the user.
func (o placed) told() string {
	return fmt.Sprintf("the summary that you wrote of %s", rangeOf(o.Overlay))
}

// revoking says how to take an overlay back; one of the same run is not there yet.
func (o placed) revoking() string {
	if o.number == 0 {
		return ""
	}
	return fmt.Sprintf(", or take yours back (--reset=%d)", o.number)
}

func (r Range) contains(o Range) bool { return r.From <= o.From && o.To <= r.To }

func (r Range) meets(o Range) bool { return r.From <= o.To && o.From <= r.To }

func (r Range) union(o Range) Range { return Range{min(r.From, o.From), max(r.To, o.To)} }

func rangeOf(o holdfast.Overlay) Range { return Range{o.FromTurn, o.ToTurn} }
