package compaction_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// keep is a rule of two keep values, "" for none.
func keep(t testing.TB, first, last string) compaction.Rule {
	t.Helper()
	r := compaction.Rule{Reasoning: true}
	var err error
	if first != "" {
		if r.KeepFirst, err = compaction.ParseKeepFirst(first); err != nil {
			t.Fatal(err)
		}
	}
	if last != "" {
		if r.KeepLast, err = compaction.ParseKeepLast(last); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestARuleResolvesToARange(t *testing.T) {
	for _, tt := range []struct {
		name        string
		turns       int
		first, last string
		overlays    []holdfast.Overlay
		want        string
	}{
		{"nothing kept is everything", 3, "", "", nil, "0-2"},
		{"counts of nought keep nothing", 3, "0", "0", nil, "0-2"},
		{"keeping one first leaves the rest", 4, "1", "", nil, "1-3"},
		{"keeping one last leaves the rest", 4, "", "1", nil, "0-2"},
		{"the built-in counts", 13, "1", "3", nil, "1-9"},
		{"keeping more first than there is leaves nothing", 4, "5", "", nil, "empty"},
		{"keeping more last than there is leaves nothing", 4, "", "5", nil, "empty"},
		{"keeping exactly all leaves nothing", 4, "1", "3", nil, "empty"},
		{"a stream without turns has no range", 0, "", "", nil, "empty"},
		{"a position names the first turn of the range", 6, "@3", "", nil, "2-5"},
		{"a position names the last turn of the range", 6, "", "@3", nil, "0-2"},
		{"a position behind the end ends with the last turn", 6, "", "@9", nil, "0-5"},
		{"a position behind the end begins nowhere", 6, "@9", "", nil, "empty"},
		{"a position from the end names the first turn", 6, "-2", "", nil, "3-5"},
		{"a position from the end keeps as many as it says", 6, "", "-2", nil, "0-3"},
		{"without an overlay last-compaction is the beginning", 4, "last-compaction", "", nil, "0-3"},
		{"last-compaction is behind the overlay", 4, "last-compaction", "", []holdfast.Overlay{mechanical(0, 1)}, "2-3"},
		{"last-compaction behind the end leaves nothing", 4, "last-compaction", "", []holdfast.Overlay{mechanical(0, 3)}, "empty"},
		{"last-compaction takes the furthest, not the newest", 6, "last-compaction", "", []holdfast.Overlay{mechanical(0, 3), generated(0, 1)}, "4-5"},
		{"a weak overlay counts for last-compaction", 4, "last-compaction", "", []holdfast.Overlay{{FromTurn: 0, ToTurn: 1, StripReasoning: true}}, "2-3"},
		{"an overlay that goes behind the end counts up to it", 4, "last-compaction", "", []holdfast.Overlay{mechanical(0, 99)}, "empty"},
		// A turn has six events.
		{"an overlay by events counts for the turns that end in it", 4, "last-compaction", "", []holdfast.Overlay{{FromEvent: 1, ToEvent: 12, StripReasoning: true}}, "2-3"},
		{"a turn that goes on behind it does not count", 4, "last-compaction", "", []holdfast.Overlay{{FromEvent: 1, ToEvent: 11, StripReasoning: true}}, "1-3"},
		{"nor does one of which it holds neither end", 4, "last-compaction", "", []holdfast.Overlay{{FromEvent: 2, ToEvent: 4, StripReasoning: true}}, "0-3"},
		{"an overlay behind the end does not count", 4, "last-compaction", "", []holdfast.Overlay{mechanical(7, 9)}, "0-3"},
		// Turns begin at 0:00, 1:00 and so on, and are over at half past; it is 5:45.
		{"a duration keeps the turns that began within it of the first", 6, "2h", "", nil, "3-5"},
		{"a duration just short of a turn's beginning does not keep it", 6, "119m", "", nil, "2-5"},
		{"a duration keeps the turns in which something happened since", 6, "", "2h", nil, "0-3"},
		{"a turn that was running then is kept", 6, "", "90m", nil, "0-3"},
		{"a turn that was over then is not", 6, "", "75m", nil, "0-4"},
		{"a duration longer than the conversation keeps all", 6, "", "7d", nil, "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(tt.turns, 1).with(tt.overlays...)
			got := outcome(keep(t, tt.first, tt.last).Range(compaction.NewSnapshot(s, after(tt.turns))))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestALaterCompactionDoesNotMakeATurnYounger(t *testing.T) {
	s := conversation(3, 1)
	s.add(start.Add(100*time.Hour), mechanical(0, 0), holdfast.Usage{Purpose: holdfast.ForSummary})
	got := outcome(keep(t, "", "5h").Range(compaction.NewSnapshot(s, start.Add(100*time.Hour))))
	if want := "0-2"; got != want {
		t.Errorf("got %s, want %s: nothing was said for days", got, want)
	}
}

func TestRevokedOverlaysCountForNothing(t *testing.T) {
	s := conversation(4, 1).with(mechanical(0, 1), mechanical(2, 2))
	s.add(start, holdfast.Revocation{Overlays: []holdfast.EventID{s[len(s)-1].ID}})
	got := outcome(keep(t, "last-compaction", "").Range(compaction.NewSnapshot(s, start)))
	if want := "2-3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// flags sets flags, written as on a command line, over the built-in rule, which
// keeps the first turn and the last three.
func flags(t testing.TB, line string) (compaction.Rule, error) {
	t.Helper()
	var s compaction.Selection
	for flag := range strings.FieldsSeq(line) {
		name, value, ok := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if !ok {
			t.Fatalf("%q has no value", flag)
		}
		if err := s.Set(name, value); err != nil {
			return compaction.Rule{}, err
		}
	}
	return s.Over(compaction.Default()), nil
}

func TestFlagsNameARange(t *testing.T) {
	const forms = `Give a turn such as 4 or -3 (the turn with three behind it), or a duration such as 5h or 2d`
	for _, tt := range []struct {
		name  string
		turns int
		line  string
		want  string
	}{
		{"no flag leaves the rule's range", 8, "", "1-4"},
		{"from and to are inclusive and counted from 1", 8, "--from=1 --to=5", "0-4"},
		{"from alone leaves the rule's end", 8, "--from=4", "3-4"},
		{"to alone leaves the rule's beginning", 8, "--to=7", "1-6"},
		{"to -1 keeps one", 8, "--from=1 --to=-1", "0-6"},
		{"to -3 keeps three", 8, "--from=1 --to=-3", "0-4"},
		{"to -0 is the last turn", 8, "--from=1 --to=-0", "0-7"},
		{"from -2 has two behind it", 8, "--from=-2 --to=-0", "5-7"},
		{"from further back than the beginning is the beginning", 3, "--from=-9 --to=-0", "0-2"},
		{"to behind the end is the end", 3, "--from=1 --to=9", "0-2"},
		{"to further back than the beginning is nothing", 3, "--from=1 --to=-3", "usage: --from 1 --to -3: no turn is in this range: the conversation has 3 turns"},
		{"@N is a position too", 8, "--from=@2 --to=@3", "1-2"},
		{"from last-compaction", 8, "--from=last-compaction --to=-0", "0-7"},
		{"from a time on", 6, "--from=3h --to=-0", "3-5"},
		{"from the very time on at which a turn began", 6, "--from=2h45m --to=-0", "3-5"},
		{"up to a time", 6, "--from=1 --to=3h", "0-2"},
		{"the first three", 8, "--first=3", "0-2"},
		{"the last three", 8, "--last=3", "5-7"},
		{"more first than there are is all", 3, "--first=9", "0-2"},
		{"more last than there are is all", 3, "--last=9", "0-2"},
		{"one turn", 8, "--turn=3", "2-2"},
		{"a range of turns", 8, "--turn=1..5", "0-4"},
		{"a range to the end", 12, "--turn=10..", "9-11"},
		{"a range from the beginning", 12, "--turn=..10", "0-9"},
		{"a turn from the end", 8, "--turn=-1", "6-6"},
		{"keep flags replace the rule's", 8, "--keep-first=0 --keep-last=1", "0-6"},
		{"a keep flag that leaves nothing is no error", 8, "--keep-last=9", "empty"},
		{"a rule that leaves nothing is no error", 4, "", "empty"},

		{"first 0 is a count, and names nothing", 8, "--first=0", "usage: --first 0: no turn is in this range: the conversation has 8 turns"},
		{"last 0 is a count, and names nothing", 8, "--last=0", "usage: --last 0: no turn is in this range: the conversation has 8 turns"},
		{"position 0", 8, "--from=0", `usage: --from: "0" is no turn: they are counted from 1. ` + forms + "; or last-compaction"},
		{"position 0 at the end", 8, "--to=0", `usage: --to: "0" is no turn: they are counted from 1. ` + forms},
		{"to last-compaction", 8, "--to=last-compaction", `usage: --to: "last-compaction" can only begin a range. ` + forms},
		{"what is no bound", 8, "--to=soon", `usage: --to: "soon" is no bound. ` + forms},
		{"an empty bound", 8, "--to=", `usage: --to: "" is no bound. ` + forms},
		{"a number with a sign", 8, "--to=+5", `usage: --to: "+5" is no bound. ` + forms},
		{"a duration before the beginning of time", 8, "--to=-5h", `usage: --to: "-5h" is no bound. ` + forms},
		{"more days than there are", 8, "--to=999999999d", `usage: --to: "999999999d" is no bound. ` + forms},
		{"no keep value", 8, "--keep-last=few", `usage: --keep-last: "few" is no bound. Give a count of turns such as 3, a duration such as 5h or 2d, or a position such as @4 or -3 (the turn with three behind it)`},
		{"keep position 0", 8, "--keep-first=@0", `usage: --keep-first: "@0" is no turn: they are counted from 1. Give a count of turns such as 3, a duration such as 5h or 2d, or a position such as @4 or -3 (the turn with three behind it); or last-compaction`},
		{"no count", 8, "--first=-1", `usage: --first: "-1" is no count of turns. Give a number such as 3`},
		{"turn 0", 8, "--turn=0", `usage: --turn: "0": turns are counted from 1. Give N, A..B, A.. or ..B`},
		{"turns from 0", 8, "--turn=0..5", `usage: --turn: "0..5": turns are counted from 1. Give N, A..B, A.. or ..B`},
		{"turns to 0", 8, "--turn=1..0", `usage: --turn: "1..0": turns are counted from 1. Give N, A..B, A.. or ..B`},
		{"turns backwards", 8, "--turn=5..1", `usage: --turn: "5..1": the range ends before it begins. Give N, A..B, A.. or ..B`},
		{"turns from the end backwards", 8, "--turn=-1..-3", `usage: --turn: "-1..-3": the range ends before it begins. Give N, A..B, A.. or ..B`},
		{"another separator", 8, "--turn=1..=5", `usage: --turn: "1..=5": here a turn is expected, such as 4 or -3 (the turn with three behind it). Give N, A..B, A.. or ..B`},
		{"no turn", 8, "--turn=", `usage: --turn: "": here a turn is expected, such as 4 or -3 (the turn with three behind it). Give N, A..B, A.. or ..B`},
		{"a turn beyond the end", 5, "--turn=6", "usage: --turn 6: turn 6 is beyond the end: the conversation has 5 turns"},
		{"turns beyond the end", 5, "--turn=2..9", "usage: --turn 2..9: turn 9 is beyond the end: the conversation has 5 turns"},
		{"a turn before the beginning", 5, "--turn=-5", "usage: --turn -5: turn -5 is beyond the end: the conversation has 5 turns"},
		{"a turn of no conversation", 0, "--turn=1", "usage: --turn 1: turn 1 is beyond the end: the conversation has no turns yet"},
		{"from beyond the end", 5, "--from=6 --to=9", "usage: --from 6 --to 9: no turn is in this range: the conversation has 5 turns"},
		{"from behind to", 5, "--from=2 --to=1", "usage: --from 2 --to 1: the range ends before it begins: it would be from turn 2 to turn 1"},
		{"from behind what the rule keeps", 5, "--from=4", "usage: --from 4: the range ends before it begins: it would be from turn 4 to turn 2"},
		{"two beginnings", 8, "--from=2 --keep-first=1", "usage: --from and --keep-first both say where the range begins. Give one of them"},
		{"two ends", 8, "--to=5 --last=2", "usage: --to and --last both say where the range ends. Give one of them"},
		{"one flag twice", 8, "--from=2 --from=3", "usage: --from and --from both say where the range begins. Give one of them"},
		{"first and last", 8, "--first=2 --last=2", "usage: --first and --last both say where the range begins. Give one of them"},
		{"turn and keep", 8, "--turn=2.. --keep-last=1", "usage: --turn and --keep-last both say where the range ends. Give one of them"},
		{"a flag that is none of these", 8, "--size=3", "internal: --size says nothing of a range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule, err := flags(t, tt.line)
			got := outcome(compaction.Range{}, err)
			if err == nil {
				got = outcome(rule.Range(compaction.NewSnapshot(conversation(tt.turns, 1), after(tt.turns))))
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestABoundIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,3}`),
			rapid.StringMatching(`@[1-9][0-9]{0,3}`),
			rapid.StringMatching(`-[0-9]{1,3}`),
			rapid.StringMatching(`[1-9][0-9]{0,3}(s|m|h|d)`),
			rapid.Just("last-compaction"),
		).Draw(t, "bound")
		b, err := compaction.ParseKeepFirst(written)
		if err != nil {
			t.Fatal(err)
		}
		again, err := compaction.ParseKeepFirst(b.String())
		if err != nil || again != b {
			t.Fatalf("%q is written %q, which is read as %v, %v", written, b, again, err)
		}
	})
}
