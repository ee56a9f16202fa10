package continuity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// decided is a delta with one decision that the user typed in a turn.
func decided(subject, statement string, turn int) continuity.Delta {
	return decidedBy(holdfast.ByUser, subject, statement, turn)
}

func decidedBy(a holdfast.Authority, subject, statement string, turn int) continuity.Delta {
	return continuity.Delta{Decisions: []holdfast.Decision{{
		Subject: subject, Statement: statement, Status: holdfast.FactActive, Evidence: by(a, turn, "use "+statement),
	}}}
}

func provisional(d continuity.Delta) continuity.Delta {
	d.Decisions[0].Status = holdfast.FactProvisional
	return d
}

// closed is a delta that takes a fact out of force by words of a turn.
func closed(id string, turn int) continuity.Delta {
	return continuity.Delta{Closed: []continuity.Closing{{ID: id, Evidence: by(holdfast.ByUser, turn, "no longer")}}}
}

func constraint(text string, turn int) continuity.Delta {
	return continuity.Delta{Constraints: []holdfast.Constraint{{Statement: text, Status: holdfast.FactActive, Evidence: by(holdfast.ByUser, turn, text)}}}
}

func rejected(text string, turn int) continuity.Delta {
	return continuity.Delta{RejectedAlternatives: []holdfast.Alternative{{Statement: text, Status: holdfast.FactRejected, Evidence: by(holdfast.ByUser, turn, "not "+text)}}}
}

func asked(text string, turn int) continuity.Delta {
	return continuity.Delta{OpenQuestions: []holdfast.Question{{Kind: holdfast.OpenQuestion, Statement: text, Status: holdfast.FactOpen, Evidence: by(holdfast.ByUser, turn, text)}}}
}

func fact(text string, turn int) continuity.Delta {
	return continuity.Delta{Facts: []holdfast.Fact{{Kind: holdfast.ValueFact, Statement: text, Status: holdfast.FactActive, Evidence: by(holdfast.ByUser, turn, text)}}}
}

// lines writes the facts of a capsule, one a line: "id status subject=statement".
func lines(c holdfast.Capsule) string {
	var b strings.Builder
	for _, x := range c.Decisions {
		fmt.Fprintf(&b, "%s %s %s=%s", x.ID, x.Status, x.Subject, x.Statement)
		if len(x.Supersedes) > 0 {
			fmt.Fprintf(&b, " for %s", strings.Join(x.Supersedes, ","))
		}
		b.WriteString("\n")
	}
	for _, x := range c.Constraints {
		fmt.Fprintf(&b, "%s %s %s\n", x.ID, x.Status, x.Statement)
	}
	for _, x := range c.RejectedAlternatives {
		fmt.Fprintf(&b, "%s %s %s\n", x.ID, x.Status, x.Statement)
	}
	for _, x := range c.OpenQuestions {
		fmt.Fprintf(&b, "%s %s %s\n", x.ID, x.Status, x.Statement)
	}
	for _, x := range c.Facts {
		fmt.Fprintf(&b, "%s %s %s\n", x.ID, x.Status, x.Statement)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		deltas []continuity.Delta
		want   string
		rev    int // the revision afterwards
	}{
		{"a decision is numbered", []continuity.Delta{decided("db", "SQLite", 1)}, "d1 active db=SQLite", 1},
		{"the same again is no revision", []continuity.Delta{decided("db", "SQLite", 1), decided("db", "SQLite", 1)}, "d1 active db=SQLite", 1},
		{"the same said again later is no revision either", []continuity.Delta{decided("db", "SQLite", 1), decided("DB", " sqlite.", 4)}, "d1 active db=SQLite", 1},
		{"a later choice supersedes", []continuity.Delta{decided("db", "Redis", 1), decided("db", "Postgres", 2)}, "d1 superseded db=Redis\nd2 active db=Postgres for d1", 2},
		{"an earlier choice that comes late does not", []continuity.Delta{decided("db", "Postgres", 2), decided("db", "Redis", 1)}, "d1 active db=Postgres\nd2 superseded db=Redis", 2},
		{"of unknown turns the later merged one wins", []continuity.Delta{decided("db", "Redis", 0), decided("db", "Postgres", 0)}, "d1 superseded db=Redis\nd2 active db=Postgres for d1", 2},
		{"two of one turn: the later one of the list", []continuity.Delta{{Decisions: append(decided("db", "Redis", 3).Decisions, decided("db", "Postgres", 3).Decisions...)}}, "d1 superseded db=Redis\nd2 active db=Postgres for d1", 1},
		{
			"back to what was chosen before is a new decision",
			[]continuity.Delta{decided("db", "Redis", 1), decided("db", "Postgres", 2), decided("db", "Redis", 3)},
			"d1 superseded db=Redis\nd2 superseded db=Postgres for d1\nd3 active db=Redis for d2", 3,
		},
		{
			"the words of a superseded choice read again change nothing",
			[]continuity.Delta{decided("db", "Redis", 1), decided("db", "Postgres", 2), decided("db", "Redis", 1)},
			"d1 superseded db=Redis\nd2 active db=Postgres for d1", 2,
		},
		{
			"subjects are compared without case and marks",
			[]continuity.Delta{decided("storage.engine", "Redis", 1), decided("Storage Engine", "Postgres", 2)},
			"d1 superseded storage.engine=Redis\nd2 active Storage Engine=Postgres for d1", 2,
		},
		{"an acceptance counts like a word", []continuity.Delta{decided("db", "Redis", 1), decidedBy(holdfast.ByAcceptance, "db", "Postgres", 2)}, "d1 superseded db=Redis\nd2 active db=Postgres for d1", 2},
		{"the agent never overrides", []continuity.Delta{decided("db", "Redis", 1), decidedBy(holdfast.ByAgent, "db", "Postgres", 2)}, "d1 active db=Redis\nd2 provisional db=Postgres", 2},
		{"an inference never overrides", []continuity.Delta{decided("db", "Redis", 1), decidedBy(holdfast.ByInferred, "db", "Postgres", 2)}, "d1 active db=Redis\nd2 provisional db=Postgres", 2},
		{"the user overrides the agent, whenever it was said", []continuity.Delta{decidedBy(holdfast.ByAgent, "db", "Postgres", 2), decided("db", "Redis", 1)}, "d1 superseded db=Postgres\nd2 active db=Redis for d1", 2},
		{"what is provisional supersedes nothing", []continuity.Delta{decided("db", "Redis", 1), provisional(decided("db", "Postgres", 2))}, "d1 active db=Redis\nd2 provisional db=Postgres", 2},
		{"what is provisional gives way", []continuity.Delta{provisional(decided("db", "Redis", 1)), decided("db", "Postgres", 2)}, "d1 superseded db=Redis\nd2 active db=Postgres for d1", 2},
		{"what is provisional and then said is active", []continuity.Delta{provisional(decided("db", "Redis", 1)), decided("db", "Redis", 2)}, "d1 superseded db=Redis\nd2 active db=Redis for d1", 2},
		{
			"a decision may name others that it supersedes",
			[]continuity.Delta{decided("cache", "Redis", 1), {Decisions: []holdfast.Decision{{Subject: "stores", Statement: "no cache", Supersedes: []string{"d1", "d9"}, Status: holdfast.FactActive, Evidence: by(holdfast.ByUser, 2, "q")}}}},
			"d1 superseded cache=Redis\nd2 active stores=no cache for d1", 2,
		},
		{"a decision that is taken back", []continuity.Delta{decided("db", "Redis", 1), closed("d1", 2)}, "d1 rejected db=Redis", 2},
		{"words older than a decision do not take it back", []continuity.Delta{decided("db", "Redis", 3), closed("d1", 2)}, "d1 active db=Redis", 1},
		{"the words of a decision that was taken back change nothing", []continuity.Delta{decided("db", "Redis", 1), closed("d1", 2), decided("db", "Redis", 1)}, "d1 rejected db=Redis", 2},
		{"a constraint is lifted", []continuity.Delta{constraint("no cgo", 1), closed("c1", 2)}, "c1 lifted no cgo", 2},
		{"a lifted constraint that is said anew holds again", []continuity.Delta{constraint("no cgo", 1), closed("c1", 2), constraint("no cgo", 3)}, "c1 lifted no cgo\nc2 active no cgo", 3},
		{"a lifted constraint stays lifted when its old words are read again", []continuity.Delta{constraint("no cgo", 1), closed("c1", 2), constraint("no cgo", 1)}, "c1 lifted no cgo", 2},
		{"a question is answered", []continuity.Delta{asked("Who owns it?", 1), closed("q1", 2)}, "q1 answered Who owns it?", 2},
		{"a value that changed is superseded", []continuity.Delta{fact("port 1", 1), {Closed: closed("f1", 2).Closed, Facts: fact("port 2", 2).Facts}}, "f1 superseded port 1\nf2 active port 2", 2},
		{"an alternative is reversed", []continuity.Delta{rejected("Redis", 1), closed("r1", 2)}, "r1 reversed Redis", 2},
		{"choosing what was rejected before reverses it", []continuity.Delta{rejected("Redis", 1), decided("db", "redis", 2)}, "d1 active db=redis\nr1 reversed Redis", 2},
		{"rejecting what was decided before ends the decision", []continuity.Delta{decided("db", "Redis", 1), rejected("Redis", 2)}, "d1 rejected db=Redis\nr1 rejected Redis", 2},
		{"an old rejection that comes late does not", []continuity.Delta{decided("db", "Redis", 2), rejected("Redis", 1)}, "d1 active db=Redis\nr1 reversed Redis", 2},
		{"an old decision that comes late does not undo a rejection", []continuity.Delta{rejected("Redis", 2), decided("db", "Redis", 1)}, "d1 rejected db=Redis\nr1 rejected Redis", 2},
		{"an unknown id closes nothing", []continuity.Delta{fact("port 1", 1), closed("f7", 2)}, "f1 active port 1", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Seal(holdfast.Capsule{Branch: "b"})
			for _, d := range tt.deltas {
				c = continuity.Merge(c, d)
			}
			if diff := cmp.Diff(tt.want, lines(c)); diff != "" {
				t.Error(diff)
			}
			if c.Revision != tt.rev {
				t.Errorf("revision %d, want %d", c.Revision, tt.rev)
			}
		})
	}
}

func TestMergeTakesOverARationaleAndTheWatermark(t *testing.T) {
	c := continuity.Merge(holdfast.Capsule{}, decided("db", "Redis", 1))
	d := decided("db", "Redis", 1)
	d.Decisions[0].Rationale, d.Watermark = "it is fast", "m-7"
	c = continuity.Merge(c, d)
	if c.Decisions[0].Rationale != "it is fast" || c.Revision != 2 || c.Watermark != "m-7" {
		t.Errorf("rationale %q, revision %d, watermark %q", c.Decisions[0].Rationale, c.Revision, c.Watermark)
	}
	c = continuity.Merge(c, continuity.Delta{Watermark: "m-8"})
	if c.Revision != 2 || c.Watermark != "m-8" {
		t.Errorf("a watermark alone: revision %d, watermark %q", c.Revision, c.Watermark)
	}
	if c = continuity.Merge(c, continuity.Delta{}); c.Watermark != "m-8" {
		t.Errorf("the watermark became %q", c.Watermark)
	}
}

func TestWhatIsNotPreservedIsNotMerged(t *testing.T) {
	whole := func() continuity.Delta {
		d := word(holdfast.PlanAccepted, 1, "a")
		d.Decisions, d.Constraints = decided("db", "SQLite", 1).Decisions, constraint("no cgo", 1).Constraints
		d.RejectedAlternatives, d.OpenQuestions, d.Facts = rejected("Redis", 1).RejectedAlternatives, asked("Who?", 1).OpenQuestions, fact("port 1", 1).Facts
		d.Decisions[0].Rationale, d.RejectedAlternatives[0].Reason = "small", "slow"
		d.Closed = closed("d9", 1).Closed
		return d
	}
	if diff := cmp.Diff(whole(), continuity.All.Of(whole())); diff != "" {
		t.Errorf("all of it is not all of it:\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		off  func(*continuity.Preserve)
		gone func(*continuity.Delta)
	}{
		{"the plan", func(k *continuity.Preserve) { k.Plan = false }, func(d *continuity.Delta) { d.Plan = nil }},
		{"decisions", func(k *continuity.Preserve) { k.UserDecisions = false }, func(d *continuity.Delta) { d.Decisions = nil }},
		{"constraints", func(k *continuity.Preserve) { k.Constraints = false }, func(d *continuity.Delta) { d.Constraints = nil }},
		{"alternatives", func(k *continuity.Preserve) { k.RejectedAlternatives = false }, func(d *continuity.Delta) { d.RejectedAlternatives = nil }},
		{"questions", func(k *continuity.Preserve) { k.OpenQuestions = false }, func(d *continuity.Delta) { d.OpenQuestions = nil }},
		{"facts", func(k *continuity.Preserve) { k.Facts = false }, func(d *continuity.Delta) { d.Facts = nil }},
		{"reasons", func(k *continuity.Preserve) { k.Rationale = false }, func(d *continuity.Delta) {
			d.Decisions[0].Rationale, d.RejectedAlternatives[0].Reason = "", ""
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keep, given, want := continuity.All, whole(), whole()
			tt.off(&keep)
			tt.gone(&want)
			if diff := cmp.Diff(want, keep.Of(given)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(whole(), given); diff != "" {
				t.Errorf("the delta itself was changed:\n%s", diff)
			}
		})
	}
}

// planned writes plan and proposal: "accepted conversation: a, b -c | proposed: d".
func planned(c holdfast.Capsule) string {
	texts := func(steps []holdfast.Step) string {
		var all []string
		for _, s := range steps {
			all = append(all, s.Text)
		}
		return strings.Join(all, ", ")
	}
	out := "none"
	if p := c.Plan; p != nil {
		out = fmt.Sprintf("%s %s: %s", p.Status, p.Source, texts(p.Steps))
		if p.Text != "" {
			out += fmt.Sprintf(" text %q", p.Text)
		}
		for _, r := range p.Removed {
			out += " -" + r
		}
	}
	if p := c.Proposal; p != nil {
		out += fmt.Sprintf(" | %s: %s%s", p.Status, p.Text, texts(p.Steps))
		if p.Reason != "" {
			out += " because " + p.Reason
		}
	}
	return out
}

func word(v holdfast.PlanStatus, turn int, steps ...string) continuity.Delta {
	w := &continuity.PlanWord{Verdict: v, Evidence: by(holdfast.ByAcceptance, turn, fmt.Sprint("words of turn ", turn))}
	for _, s := range steps {
		if name, out := strings.CutPrefix(s, "-"); out {
			w.Removed = append(w.Removed, name)
		} else {
			w.Steps = append(w.Steps, s)
		}
	}
	return continuity.Delta{Plan: w}
}

func TestMergeOfPlans(t *testing.T) {
	const proposed, accepted, refused = holdfast.PlanProposed, holdfast.PlanAccepted, holdfast.PlanRejected
	list := continuity.Fold(holdfast.Capsule{}, []continuity.Call{call("1", "update_plan", `{"plan":[{"step":"x","status":"pending"}]}`, updated)}, continuity.All)
	shown := continuity.Fold(holdfast.Capsule{}, []continuity.Call{call("1", "ExitPlanMode", `{"plan":"- a\n- b"}`, "")}, continuity.All)
	for _, tt := range []struct {
		name   string
		start  holdfast.Capsule
		deltas []continuity.Delta
		want   string
	}{
		{"a proposal waits", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a", "b")}, "none | proposed: a, b"},
		{"an accepted proposal is the plan", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a", "b"), word(accepted, 2, "a", "b")}, "accepted conversation: a, b"},
		{"a part of it is accepted, the rest named", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a", "b", "c"), word(accepted, 2, "a", "b", "-c")}, "accepted conversation: a, b -c"},
		{"a proposal never displaces the plan in force", holdfast.Capsule{}, []continuity.Delta{word(accepted, 1, "a"), word(proposed, 2, "b")}, "accepted conversation: a | proposed: b"},
		{"the approval of one revision says nothing of the next", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a"), word(accepted, 2, "a"), word(proposed, 2, "a", "b"), word(accepted, 2, "a", "b")}, "accepted conversation: a | proposed: a, b"},
		{"an approval of an earlier turn leaves a later proposal", holdfast.Capsule{}, []continuity.Delta{word(proposed, 5, "b"), word(accepted, 2, "a")}, "accepted conversation: a | proposed: b"},
		{"what was accepted is not proposed again", holdfast.Capsule{}, []continuity.Delta{word(accepted, 2, "a", "-b"), word(proposed, 3, "a", "b")}, "accepted conversation: a -b"},
		{"a rejection marks the proposal", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a"), word(refused, 2, "a")}, "none | rejected: a because words of turn 2"},
		{"what was rejected is not proposed again", holdfast.Capsule{}, []continuity.Delta{word(refused, 2, "a"), word(proposed, 1, "a")}, "none | rejected: a because words of turn 2"},
		{"a rejection without steps is of the proposal in prose", holdfast.Capsule{}, []continuity.Delta{word(proposed, 1, "a"), word(refused, 2)}, "none | rejected: a because words of turn 2"},
		{"a rejection of an earlier turn leaves a later proposal", holdfast.Capsule{}, []continuity.Delta{word(proposed, 3, "b"), word(refused, 2, "a")}, "none | proposed: b"},
		{"the agent's list keeps its steps", list, []continuity.Delta{word(accepted, 1, "a", "b")}, `accepted structured_tool: x text "1. a\n2. b"`},
		{"a plan of plan mode that is accepted in words", shown, []continuity.Delta{word(accepted, 1, "a", "b")}, "accepted conversation: a, b"},
		{"an empty verdict changes nothing", list, []continuity.Delta{word(accepted, 1)}, "accepted structured_tool: x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Seal(tt.start)
			for _, d := range tt.deltas {
				c = continuity.Merge(c, d)
			}
			if got := planned(c); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			again := continuity.Merge(c, tt.deltas[len(tt.deltas)-1])
			if again.Revision != c.Revision {
				t.Errorf("the last delta again made a revision: %s", planned(again))
			}
		})
	}
	t.Run("the agent's list comes after the approval: its text stays", func(t *testing.T) {
		c := continuity.Merge(holdfast.Capsule{}, word(accepted, 1, "a", "b"))
		c = continuity.Fold(c, []continuity.Call{call("1", "update_plan", `{"plan":[{"step":"x","status":"pending"}]}`, updated)}, continuity.All)
		if got, want := planned(c), `accepted structured_tool: x text "1. a\n2. b"`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if c.Plan.Evidence.Quote != "words of turn 1" {
			t.Errorf("evidence %+v", c.Plan.Evidence)
		}
	})
}

func TestRebase(t *testing.T) {
	start := continuity.Merge(holdfast.Capsule{}, decided("db", "MySQL", 1))
	start = continuity.Merge(start, constraint("no cgo", 1))
	remove := func(c holdfast.Capsule, id string) holdfast.Capsule {
		next, err := continuity.Apply(c, continuity.Edit{Op: continuity.EditRemove, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	reword := func(c holdfast.Capsule, id, text string) holdfast.Capsule {
		next, err := continuity.Apply(c, continuity.Edit{Op: continuity.EditChange, ID: id, Statement: text})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	for _, tt := range []struct {
		name  string
		newer holdfast.Capsule
		late  continuity.Delta
		want  continuity.Outcome
		lines string
	}{
		{"another subject does not collide", continuity.Merge(start, decided("cache", "none", 3)), decided("db", "Redis", 2), continuity.Merged, "d1 superseded db=MySQL\nd2 active cache=none\nd3 active db=Redis for d1\nc1 active no cgo"},
		{"an older word on a subject that was decided since", continuity.Merge(start, decided("db", "Postgres", 3)), decided("db", "Redis", 2), continuity.Stale, "d1 superseded db=MySQL\nd2 active db=Postgres for d1\nc1 active no cgo"},
		{"a newer word on it", continuity.Merge(start, decided("db", "Postgres", 3)), decided("db", "Redis", 4), continuity.Merged, "d1 superseded db=MySQL\nd2 superseded db=Postgres for d1\nd3 active db=Redis for d2\nc1 active no cgo"},
		{"a word of unknown time on it", continuity.Merge(start, decided("db", "Postgres", 0)), decided("db", "Redis", 4), continuity.Stale, "d1 superseded db=MySQL\nd2 active db=Postgres for d1\nc1 active no cgo"},
		{"the same word on it", continuity.Merge(start, decided("db", "Redis", 2)), decided("db", "Redis", 2), continuity.Merged, "d1 superseded db=MySQL\nd2 active db=Redis for d1\nc1 active no cgo"},
		{"what the person erased since", remove(start, "c1"), constraint("no cgo", 1), continuity.Stale, "d1 active db=MySQL"},
		{"closing what the person reworded since", reword(start, "c1", "no cgo, no asm"), closed("c1", 2), continuity.Stale, "d1 active db=MySQL\nc1 active no cgo, no asm"},
		{"closing what stands as it was", continuity.Merge(start, fact("port 1", 2)), closed("c1", 2), continuity.Merged, "d1 active db=MySQL\nc1 lifted no cgo\nf1 active port 1"},
		{"choosing what was rejected since", continuity.Merge(start, rejected("Redis", 3)), decided("cache", "Redis", 2), continuity.Stale, "d1 active db=MySQL\nc1 active no cgo\nr1 rejected Redis"},
		{"rejecting what was chosen since", continuity.Merge(start, decided("cache", "Redis", 3)), rejected("Redis", 2), continuity.Stale, "d1 active db=MySQL\nd2 active cache=Redis\nc1 active no cgo"},
		{"a plan where another was accepted since", continuity.Merge(start, word(holdfast.PlanAccepted, 3, "a")), word(holdfast.PlanAccepted, 2, "b"), continuity.Stale, "d1 active db=MySQL\nc1 active no cgo"},
		{"a plan where only the agent's list moved on", continuity.Fold(start, []continuity.Call{call("1", "update_plan", `{"plan":[{"step":"x","status":"pending"}]}`, updated)}, continuity.All), word(holdfast.PlanAccepted, 2, "b"), continuity.Merged, "d1 active db=MySQL\nc1 active no cgo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, outcome := continuity.Rebase(start, tt.newer, tt.late)
			if outcome != tt.want {
				t.Errorf("outcome %s, want %s", outcome, tt.want)
			}
			if diff := cmp.Diff(tt.lines, lines(got)); diff != "" {
				t.Error(diff)
			}
			if outcome == continuity.Stale && got.Digest != continuity.Seal(tt.newer).Digest {
				t.Error("a stale delta changed something")
			}
		})
	}
}

func TestRebaseLeavesOutWhatThePersonErased(t *testing.T) {
	for _, tt := range []struct {
		id    string
		delta continuity.Delta
	}{
		{"d1", decided("db", "Redis", 1)},
		{"c1", constraint("no cgo", 1)},
		{"r1", rejected("Kafka", 1)},
		{"q1", asked("Who?", 1)},
		{"f1", fact("port 1", 1)},
	} {
		t.Run(tt.id, func(t *testing.T) {
			base := continuity.Merge(holdfast.Capsule{}, tt.delta)
			newer, err := continuity.Apply(base, continuity.Edit{Op: continuity.EditRemove, ID: tt.id})
			if err != nil {
				t.Fatal(err)
			}
			if got, outcome := continuity.Rebase(base, newer, tt.delta); outcome != continuity.Stale || lines(got) != "" {
				t.Errorf("%s: %s", outcome, lines(got))
			}
		})
	}
}

// delta draws a delta.
func delta(t *rapid.T, label string) continuity.Delta {
	var d continuity.Delta
	status := func() holdfast.FactStatus {
		return rapid.SampledFrom([]holdfast.FactStatus{holdfast.FactActive, holdfast.FactActive, holdfast.FactProvisional}).Draw(t, label+" status")
	}
	evidence := func() holdfast.Evidence {
		turn := rapid.IntRange(1, 9).Draw(t, label+" turn")
		a := rapid.SampledFrom([]holdfast.Authority{holdfast.ByUser, holdfast.ByAcceptance, holdfast.ByAgent, holdfast.ByInferred}).Draw(t, label+" by")
		return by(a, turn, fmt.Sprint("words ", turn))
	}
	statement := func() string {
		return rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, label+" statement")
	}
	for range rapid.IntRange(0, 3).Draw(t, label+" decisions") {
		d.Decisions = append(d.Decisions, holdfast.Decision{
			Subject: rapid.SampledFrom([]string{"s", "S ", "t.u", "t u"}).Draw(t, label+" subject"), Statement: statement(), Status: status(), Evidence: evidence(),
			Supersedes: rapid.SliceOfN(rapid.SampledFrom([]string{"d1", "d2", "d3"}), 0, 2).Draw(t, label+" supersedes"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, label+" others") {
		d.Constraints = append(d.Constraints, holdfast.Constraint{Statement: statement(), Status: status(), Evidence: evidence()})
		a := holdfast.Alternative{Statement: statement(), Status: status(), Evidence: evidence()}
		if a.Status == holdfast.FactActive {
			a.Status = holdfast.FactRejected
		}
		d.RejectedAlternatives = append(d.RejectedAlternatives, a)
		d.Facts = append(d.Facts, holdfast.Fact{Statement: statement(), Status: status(), Evidence: evidence()})
	}
	for range rapid.IntRange(0, 2).Draw(t, label+" closings") {
		d.Closed = append(d.Closed, continuity.Closing{ID: rapid.SampledFrom([]string{"d1", "d2", "c1", "r1", "f1"}).Draw(t, label+" id"), Evidence: evidence()})
	}
	if rapid.Bool().Draw(t, label+" planned") {
		d.Plan = &continuity.PlanWord{
			Verdict:  rapid.SampledFrom([]holdfast.PlanStatus{holdfast.PlanProposed, holdfast.PlanAccepted, holdfast.PlanRejected}).Draw(t, label+" verdict"),
			Steps:    rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, func(s string) string { return s }).Draw(t, label+" steps"),
			Evidence: evidence(),
		}
	}
	return d
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := continuity.Seal(holdfast.Capsule{Branch: "b"})
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			d := delta(t, fmt.Sprint(i))
			// A validated delta names only what the capsule before holds.
			has := func(id string) bool { return strings.Contains("\n"+lines(c), "\n"+id+" ") }
			d.Closed = slices.DeleteFunc(d.Closed, func(x continuity.Closing) bool { return !has(x.ID) })
			for i := range d.Decisions {
				d.Decisions[i].Supersedes = slices.DeleteFunc(d.Decisions[i].Supersedes, func(id string) bool { return !has(id) })
			}
			before := lines(c) + planned(c)
			next := continuity.Merge(c, d)
			if same := next.Digest == c.Digest; same != (next.Revision == c.Revision) || next.Revision > c.Revision+1 {
				t.Fatalf("revision %d to %d, same content: %t", c.Revision, next.Revision, same)
			}
			if lines(c)+planned(c) != before {
				t.Fatal("the capsule before was changed")
			}
			if twice := continuity.Merge(c, d); twice.Digest != next.Digest {
				t.Fatal("not deterministic")
			}
			if again := continuity.Merge(next, d); again.Digest != next.Digest {
				t.Fatalf("the same delta again changed\n%s %s\nto\n%s %s", lines(next), planned(next), lines(again), planned(again))
			}
			active := map[string]int{}
			for _, x := range next.Decisions {
				if x.Status == holdfast.FactActive {
					active[strings.NewReplacer(".", " ").Replace(strings.TrimSpace(strings.ToLower(x.Subject)))]++
				}
			}
			for s, n := range active {
				if n > 1 {
					t.Fatalf("%d active decisions of %q:\n%s", n, s, lines(next))
				}
			}
			for _, x := range next.Decisions {
				for _, id := range x.Supersedes {
					i := slices.IndexFunc(next.Decisions, func(d holdfast.Decision) bool { return d.ID == id })
					if i >= 0 && next.Decisions[i].Status == holdfast.FactActive {
						t.Fatalf("%s is superseded and active:\n%s", id, lines(next))
					}
				}
			}
			c = next
		}
	})
}

// What the user said in different turns gives the same facts in force, in
// whatever order it was read.
func TestMergeDoesNotDependOnTheOrder(t *testing.T) {
	inForce := func(c holdfast.Capsule) map[string]string {
		active := map[string]string{}
		for _, x := range c.Decisions {
			if x.Status == holdfast.FactActive {
				active[x.Subject] = x.Statement
			}
		}
		for _, x := range c.Constraints {
			active["constraint "+x.Statement] = string(x.Status)
		}
		return active
	}
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.Permutation([]int{1, 2, 3, 4, 5, 6}).Draw(t, "turns")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "order")
		var said []continuity.Delta
		for i, turn := range turns {
			d := decided(rapid.SampledFrom([]string{"s", "t"}).Draw(t, "subject"), fmt.Sprint("choice ", i), turn)
			d.Constraints = constraint(fmt.Sprint("rule ", i%3), turn).Constraints
			said = append(said, d)
		}
		var one, other holdfast.Capsule
		for i := range said {
			one, other = continuity.Merge(one, said[i]), continuity.Merge(other, said[order[i]])
		}
		if diff := cmp.Diff(inForce(one), inForce(other)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMergeKeepsTheBounds(t *testing.T) {
	c := holdfast.Capsule{}
	for i := range 300 {
		d := decided(fmt.Sprint("s", i), "old", i+1)
		d.Facts = fact(strings.Repeat("x", 500)+fmt.Sprint(i), i+1).Facts
		if i == 150 {
			d.Facts[0].Status = holdfast.FactProvisional
		}
		c = continuity.Merge(c, d)
	}
	size := 0
	for _, x := range c.Facts {
		size += len(x.Statement) + len(x.Evidence.Quote)
		if x.Status == holdfast.FactProvisional {
			t.Error("what is provisional outlived what is in force")
		}
	}
	if size > 60_000 || len(c.Decisions) > 200 {
		t.Errorf("%d bytes of facts, %d decisions", size, len(c.Decisions))
	}
	if got := c.Decisions[len(c.Decisions)-1].Subject; got != "s299" {
		t.Errorf("the newest decision is of %s", got)
	}
}
