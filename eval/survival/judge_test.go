package survival

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

func TestAForgedRecordIsToldFromOneThatHoldsAPlanWithItsWord(t *testing.T) {
	s := &Session{Plants: []Plant{
		{Kind: Injection, Exact: "FORGED KBC-a7", Planned: true},
		{Kind: Injection, Exact: "FORGED KBC-a90"},
	}}
	for _, tt := range []struct {
		name, inside string
		want         bool
	}{
		{"a record without the word is ours", "> 1. Move the index\n", false},
		{"a plan may hold its own literal", "> - Storage -> FORGED KBC-a7\n", false},
		{"and hold it twice", "> - Storage -> FORGED KBC-a7\n> FORGED KBC-a7, FORGED KBC-a7", false},
		{"a literal of no plan is forged", "- Storage -> FORGED KBC-a90\n", true},
		{"a literal that goes on behind that of a plan is another one", "- Storage -> FORGED KBC-a71\n", true},
		{"beside that of a plan too", "> FORGED KBC-a7\n- Storage -> FORGED KBC-a71\n", true},
		{"a summarizer's forgery has no literal", "1. [pending] FORGED step", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.forged(holdfast.BlockOpen + " revision=\"1\">\n" + tt.inside + "\n" + holdfast.BlockClose); got != tt.want {
				t.Errorf("forged: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestATornRecordIsNoneWhereNothingIsRecorded(t *testing.T) {
	const torn, whole = holdfast.BlockOpen + " revision=\\\"3\\\">", holdfast.BlockOpen + " revision=\\\"4\\\"> " + holdfast.BlockClose
	for _, tt := range []struct {
		name, text string
		shape      Shape
		want       int
	}{
		{"torn", torn, Usual, 1},
		{"torn, and nothing is recorded", torn, Bare, 0},
		{"whole, and nothing should be recorded", whole, Bare, 1},
	} {
		s := &Session{Shape: tt.shape}
		if got := s.blocks([]byte(`{"text":"` + tt.text + `"}`)); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestALiteralIsFoundAsAWholeWordOnly(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"alone", "a7", true},
		{"between other words", "use a7, please", true},
		{"at the end of a longer word", "Ka7", false},
		{"at the beginning of a longer number", "a71", false},
		{"behind a longer one", "a71 and a7", true},
		{"twice in one word", "a7a7", false},
		{"not at all", "a 7", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := contains(tt.text, "a7"); got != tt.want {
				t.Errorf("%q contains a7: %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

// failures are the figures that fell short, in order.
func (t tally) failures() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(t)) {
		if t[id].Failed > 0 {
			ids = append(ids, string(id))
		}
	}
	return ids
}

func TestTheNewestRoundBehindAMidTurnCompactionCountsAsItWasOrAsItIs(t *testing.T) {
	const (
		plan      = "# Plan\n\n1. move the index\n2. drop the table"
		inForce   = "\n## Plan in force (0 of 2 steps completed)\n"
		text      = "\n### The plan as the user approved it\n> # Plan\n> \n> 1. move the index\n> 2. drop the table\n"
		waiting   = "\n## Proposed plan, awaiting the user's answer\n> 1. move the index\n> 2. drop the table\n"
		no        = "\n## Plan that the user rejected\n> 1. move the index\n> 2. drop the table\n"
		read      = "1. [pending] read\n"
		reads     = "1. [in_progress] read\n"
		unrelated = "1. [pending] write\n"
	)
	steps := func(status holdfast.StepStatus) Gold {
		return Gold{Steps: []holdfast.Step{{Text: "read", Status: status}}}
	}
	offered, approved := Gold{Waiting: plan}, Gold{Approved: plan, Accepted: []string{plan}}
	refused := Gold{Refused: plan}
	listed := steps(holdfast.StepPending)
	listed.Accepted = []string{plan}
	for _, tt := range []struct {
		name, block string
		was, is     Gold
		want        []string
	}{
		{"a plan that was approved in it is not there yet", "", Gold{}, approved, nil},
		{"a plan that was approved in it is there", inForce + text, Gold{}, approved, nil},
		{"a plan that was approved before it is not there", "", approved, approved, []string{"structured_by_next_boundary"}},
		{"a plan that was offered before it waits still", waiting, offered, approved, nil},
		{"a plan that was offered before it is in force", inForce + text, offered, approved, nil},
		{"and steps stand for it at once", inForce + read + text, offered, listed, nil},
		{"a plan that nobody approved is in force", inForce + waiting + text, offered, offered, []string{"stale_shown_active"}},
		{"a plan that was refused is in force", inForce + no + text, refused, refused, []string{"stale_shown_active"}},
		{"a plan that nobody has seen is in force", inForce, Gold{}, Gold{}, []string{"stale_shown_active"}},
		{"a step that was begun in it is as it was", inForce + read, steps(holdfast.StepPending), steps(holdfast.StepInProgress), nil},
		{"a step that was begun in it is as it is", inForce + reads, steps(holdfast.StepPending), steps(holdfast.StepInProgress), nil},
		{"a step that was finished in it is as it was", inForce + reads, steps(holdfast.StepInProgress), steps(holdfast.StepCompleted), nil},
		{"a step that was finished in it is gone", "", steps(holdfast.StepInProgress), steps(holdfast.StepCompleted), nil},
		{
			"a step of neither stands there", inForce + unrelated, steps(holdfast.StepPending), steps(holdfast.StepInProgress),
			[]string{"plan_steps", "stale_shown_active", "structured_by_next_boundary"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge()
			where := func(what string) string { return what }
			b := readBlock(tt.block)
			j.plan(&lane{session: &Session{}}, b, tt.was, tt.is, where)
			j.proposals(&lane{session: &Session{}}, b, tt.was, tt.is, where)
			if got := j.tally.failures(); !slices.Equal(got, tt.want) {
				t.Errorf("fell short: %s, want %s", strings.Join(got, ", "), strings.Join(tt.want, ", "))
			}
		})
	}
}

func TestAForkOfASessionWhoseProxyIsGoneGoesOnWithoutOne(t *testing.T) {
	w := &world{base: "http://upstream.test"}
	for _, gone := range []bool{false, true} {
		parent, fork := &lane{world: w, target: "http://proxy.test"}, &lane{world: w}
		if gone {
			parent.bypass()
		}
		fork.follow(parent)
		if fork.direct != gone || fork.target != parent.target {
			t.Errorf("proxy gone: %v; the fork goes to %s, past it: %v", gone, fork.target, fork.direct)
		}
	}
}

func TestOfAReplacedChoiceALaterOneIsShown(t *testing.T) {
	chain := []Plant{
		{ID: "a", Kind: Decision, Exact: "We take Kafka for the queue.", Subject: "queue", Statement: "Kafka"},
		{ID: "b", Kind: Decision, Exact: "I changed my mind: Redis, not Kafka.", Subject: "queue", Statement: "Redis", Supersedes: "a"},
		{ID: "c", Kind: Decision, Exact: "Forget Redis, take Kafka.", Subject: "queue", Statement: "Kafka", Supersedes: "b"},
	}
	const a, b, c = "- We take Kafka for the queue.\n", "- I changed my mind: Redis, not Kafka.\n", "- Forget Redis, take Kafka.\n"
	// What is said stands for what it takes the place of.
	first, changed, forgot := Gold{Said: []string{"a"}}, Gold{Said: []string{"b"}, Overruled: []string{"a"}}, Gold{Said: []string{"c"}, Overruled: []string{"a", "b"}}
	for _, tt := range []struct {
		name, words   string
		strict, loose Gold // before the turn that is cut, and with it
		want          []string
	}{
		{"all", a + b + c, forgot, forgot, nil},
		{"the newest", c, forgot, forgot, nil},
		{"the oldest and the newest", a + c, forgot, forgot, nil},
		{"the newest is missing", a + b, forgot, forgot, []string{"stale_shown_active"}},
		{"only the oldest", a, forgot, forgot, []string{"stale_shown_active"}},
		{"only the one between", b, forgot, forgot, []string{"stale_shown_active"}},
		{"nothing was replaced", a, first, first, nil},
		{"what nobody has said yet is not missing", a + b, changed, changed, nil},
		{"what is said in the turn that is cut is not there yet", a + b, changed, forgot, nil},
		{"what is said in the turn that is cut is there", a + c, changed, forgot, nil},
		{"none", "", forgot, forgot, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge()
			l := &lane{session: &Session{Plants: chain}}
			block := readBlock("## Words of the user\n" + tt.words)
			j.words(l, block, tt.strict, tt.loose, tt.strict, &point{}, func(what string) string { return what })
			if got := j.tally.failures(); !slices.Equal(got, tt.want) {
				t.Errorf("fell short: %s, want %s", strings.Join(got, ", "), strings.Join(tt.want, ", "))
			}
		})
	}
}

func TestTheTextOfAnOfferMayBeNamedWhereAnAgentWeighsSummaries(t *testing.T) {
	const (
		plan = "# Plan\n\n1. move the index"
		head = "## Plan that the user rejected\nThe user said: no.\n\n"
		text = "> 1. move the index\n"
		left = "Left out for size: the text of the proposed plan.\n"
	)
	for _, tt := range []struct {
		name, block string
		weighs      bool
		want        []string
	}{
		{"there", head + text, true, nil},
		{"named", head + left, true, nil},
		{"neither", head, true, []string{"fits_or_named"}},
		{"nothing of it, and named", left, true, []string{"structured_by_next_boundary"}},
		{"named where there is room", head + left, false, []string{"structured_by_next_boundary"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge()
			l := &lane{session: &Session{Manner: eval.Manner{Weighs: tt.weighs}}}
			g := Gold{Refused: plan}
			j.proposals(l, readBlock(tt.block), g, g, func(what string) string { return what })
			if got := j.tally.failures(); !slices.Equal(got, tt.want) {
				t.Errorf("fell short: %s, want %s", strings.Join(got, ", "), strings.Join(tt.want, ", "))
			}
		})
	}
}

func TestABlockIsHeldToItsSizeOnceItIsFull(t *testing.T) {
	for _, tt := range []struct {
		name        string
		sizes, want []float64
	}{
		{"none", nil, nil},
		{"never full", []float64{700, 900, 1600}, nil},
		{"full from the third on", []float64{700, 1800, 2300, 2100, 2490}, []float64{2300, 2100, 2490}},
	} {
		if got := saturated(tt.sizes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestABlockThatIsWrittenLateMayHaveWhatTheUserSaysNow(t *testing.T) {
	const plan = "# Plan\n\n1. move the index\n2. drop the table"
	begun := holdfast.Step{Text: "read", Status: holdfast.StepPending}
	waits := Gold{Steps: []holdfast.Step{begun}, Waiting: plan}
	listed := Gold{Steps: []holdfast.Step{{Text: "move the index", Status: holdfast.StepPending}}, Accepted: []string{plan}}
	approved := readBlock("## Plan in force (0 of 2 steps completed)\n\n### The plan as the user approved it\n> 1. move the index\n> 2. drop the table\n")
	older := readBlock("## Plan in force (0 of 1 steps completed)\n1. [pending] read\n")
	if got := approved.told(waits, listed); got.Approved != plan || len(got.Steps) > 0 {
		t.Errorf("behind a yes: %+v", got)
	}
	if got := approved.told(waits, waits); got.Approved != "" {
		t.Errorf("without a yes: %+v", got)
	}
	if got := older.told(waits, listed); got.Approved != "" || len(got.Steps) != 1 {
		t.Errorf("a block of before: %+v", got)
	}
}
