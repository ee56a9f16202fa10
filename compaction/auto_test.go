package compaction_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

func enabled() compaction.AutoConfig {
	c := compaction.DefaultAuto()
	c.Enabled = true
	return c
}

// decided is a decision as text.
func decided(d compaction.Decision) string {
	if d.Fire == nil {
		return string(d.Reason)
	}
	return fmt.Sprintf("%s %d-%d", d.Fire.Overlay.Source, d.Fire.Overlay.FromTurn, d.Fire.Overlay.ToTurn)
}

// A turn of conversation carries 20 characters beside the three times size. A
// stripped one carries 39: "{}" and "[compacted] grep: success" stand for what
// went.
func TestTheTriggerDecides(t *testing.T) {
	summary := enabled()
	summary.Rule = compaction.Rule{KeepFirst: compaction.Count(1), KeepLast: compaction.Count(3), Summary: &compaction.SummaryRequest{}}
	early := summary
	early.TriggerRatio = 0.1
	off := compaction.DefaultAuto()
	for _, tt := range []struct {
		name   string
		stream stream
		config compaction.AutoConfig
		window int64
		want   string
	}{
		{"disabled", conversation(20, 400), off, 1000, "disabled"},
		{"window unknown", conversation(20, 400), enabled(), 0, "window_unknown"},
		// 13 turns of 1220 characters are 3965 tokens.
		{"the estimate equal to the threshold", conversation(13, 400), withRatio(0.5), 7930, "below_threshold"},
		{"the estimate one above the threshold", conversation(13, 400), withRatio(0.5), 7929, "auto 1-9"},
		{"one token less of the window makes the threshold lower", conversation(13, 400), withRatio(0.5), 7928, "auto 1-9"},
		{"a ratio that has no exact product", conversation(6, 6), withRatio(0.57), 100, "below_threshold"},
		{"5 turns are not more than 5", conversation(5, 400), enabled(), 1000, "too_few_turns"},
		{"6 turns are", conversation(6, 400), enabled(), 1000, "auto 1-2"},
		{"last index 12", conversation(13, 400), enabled(), 1000, "auto 1-9"},
		{"then last index 20", conversation(21, 400).with(auto(1, 9)), enabled(), 1000, "auto 10-17"},
		{"at the next boundary one turn more", conversation(22, 400).with(auto(1, 9), auto(10, 17)), enabled(), 1000, "auto 18-18"},
		{"without a turn more there is nothing", conversation(21, 400).with(auto(1, 9), auto(10, 17)), enabled(), 1000, "empty_range"},
		{"raw above but projected below", conversation(13, 400).with(mechanical(0, 12)), enabled(), 1000, "below_threshold"},
		{"a band that frees nothing", conversation(13, 0), enabled(), 80, "little_gain"},
		{"what a summary frees is not known before", conversation(6, 0), early, 290, "auto 1-2"},
		{"a manual summary in between", conversation(21, 400).with(auto(1, 9), generated(10, 12)), enabled(), 1000, "auto 13-17"},
		{"a hand-made reasoning strip to the end does not starve it", conversation(13, 400).with(holdfast.Overlay{FromTurn: 0, ToTurn: 12, StripReasoning: true}), enabled(), 1000, "auto 1-9"},
		{"nor does a strip of one half", conversation(13, 400).with(holdfast.Overlay{FromTurn: 0, ToTurn: 12, StripReasoning: true, Tools: &holdfast.ToolPolicy{Request: true}}), enabled(), 1000, "auto 1-9"},
		{"a hand-made strip that is as strong counts", conversation(13, 400).with(mechanical(0, 5)), enabled(), 1000, "auto 6-9"},
		{"one that leaves nothing of the tools is stronger", conversation(13, 400).with(holdfast.Overlay{FromTurn: 0, ToTurn: 5, StripReasoning: true, Tools: &holdfast.ToolPolicy{Omit: true}}), enabled(), 1000, "auto 6-9"},
		{"for a summary only a summary counts", conversation(13, 400).with(mechanical(0, 5), generated(0, 2)), summary, 1000, "auto 3-9"},
		{"an overlay of an agent counts", conversation(13, 400).with(agents(0, 4)), enabled(), 1000, "auto 5-9"},
		{"reset, then the next boundary", revoked(conversation(21, 400).with(auto(1, 9), auto(10, 17))), enabled(), 1000, "auto 1-17"},
		{"an overlay by events counts for the turns that end in it", conversation(13, 400).with(holdfast.Overlay{FromEvent: 1, ToEvent: 37, StripReasoning: true, Tools: both}), enabled(), 1000, "auto 6-9"},
		{"one that is weaker than the rule does not", conversation(13, 400).with(holdfast.Overlay{FromEvent: 1, ToEvent: 37, StripReasoning: true}), enabled(), 1000, "auto 1-9"},
		{"the model was switched to a smaller window", conversation(13, 400), enabled(), 4000, "auto 1-9"},
		{"before it was", conversation(13, 400), enabled(), 8000, "below_threshold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compaction.Decide(tt.stream, tt.config, compaction.Boundary{Window: tt.window, Now: start}, compaction.Estimator{})
			if got := decided(d); got != tt.want {
				t.Errorf("got %s, want %s (estimate %d, threshold %d)", got, tt.want, d.Estimate, d.Threshold)
			}
		})
	}
}

func withRatio(ratio float64) compaction.AutoConfig {
	c := enabled()
	c.TriggerRatio = ratio
	return c
}

func auto(from, to int) holdfast.Overlay {
	o := mechanical(from, to)
	o.Source = holdfast.AutoOverlay
	return o
}

func agents(from, to int) holdfast.Overlay {
	o := generated(from, to)
	o.Source = holdfast.AgentOverlay
	return o
}

// revoked is a stream with all of its overlays taken back.
func revoked(s stream) stream {
	var ids []holdfast.EventID
	for _, e := range s {
		if _, ok := e.Event.(holdfast.Overlay); ok {
			ids = append(ids, e.ID)
		}
	}
	s.add(start, holdfast.Revocation{Overlays: ids})
	return s
}

func TestAFiringTellsItsFigures(t *testing.T) {
	// 13 turns of 1220 characters; of nine of them 39 are left.
	d := compaction.Decide(conversation(13, 400), enabled(), compaction.Boundary{Window: 4000, Now: start}, compaction.Estimator{})
	if d.Fire == nil {
		t.Fatal(d.Reason)
	}
	before, after := 13*1220/4, (4*1220+9*39+3)/4
	if d.Estimate != before || d.After != after || d.Threshold != 3000 || d.Fire.Before != before || d.Fire.After != after || d.Notice {
		t.Errorf("got %+v with step %+v, want %d to %d above 3000", d, *d.Fire, before, after)
	}
}

func TestASummaryOfTheTriggerIsStillToBeMade(t *testing.T) {
	c := enabled()
	c.Rule.Summary = &compaction.SummaryRequest{Context: "goals"}
	d := compaction.Decide(conversation(13, 400), c, compaction.Boundary{Window: 4000, Now: start}, compaction.Estimator{})
	if d.Fire == nil || d.Fire.Request == nil || d.Fire.Request.Context != "goals" || d.Fire.Overlay.Summary.Origin != holdfast.GeneratedSummary {
		t.Errorf("got %+v", d.Fire)
	}
}

func TestASmallGainFiresNothing(t *testing.T) {
	// 13 turns of 80 characters are 260 tokens. Of nine of them 39 characters are
	// left, 369 go: 92 tokens, or 0.354 of the window.
	for _, tt := range []struct {
		name    string
		minGain float64
		want    string
	}{
		{"more than the least gain", 0.35, "auto 1-9"},
		{"less than the least gain", 0.36, "little_gain"},
		{"any gain where none is asked for", 0, "auto 1-9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := enabled()
			c.MinGain = tt.minGain
			d := compaction.Decide(conversation(13, 20), c, compaction.Boundary{Window: 260, Now: start}, compaction.Estimator{})
			if got := decided(d); got != tt.want {
				t.Errorf("got %s, want %s (of %d)", got, tt.want, d.Estimate)
			}
		})
	}
}

func TestAFailedSummaryWaitsForGrowth(t *testing.T) {
	c := enabled()
	c.Rule = compaction.Rule{KeepFirst: compaction.Count(1), KeepLast: compaction.Count(3), Summary: &compaction.SummaryRequest{}}
	const window = 4000 // five hundredths are 200 tokens, 800 characters
	paid := holdfast.Usage{Purpose: holdfast.ForSummary, Input: 10}
	grown := func(s stream, characters int) stream {
		s.add(start, holdfast.UserMessage{Parts: text(strings.Repeat("x", characters))})
		return s
	}
	with := func(s stream, e holdfast.Event) stream {
		s.add(start, e)
		return s
	}
	failed := func() stream { return with(conversation(13, 400), paid) }
	head := int64(len(conversation(13, 400)))
	mechanicalRule := enabled()
	for _, tt := range []struct {
		name   string
		stream stream
		config compaction.AutoConfig
		failed int64
		want   string
	}{
		{"nothing failed", conversation(13, 400), c, 0, "auto 1-9"},
		{"the caller knows of a failure", conversation(13, 400), c, head, "growth_wait"},
		{"grown by less", grown(conversation(13, 400), 796), c, head, "growth_wait"},
		{"grown enough", grown(conversation(13, 400), 800), c, head, "auto 1-9"},
		{"the stream tells of a failure", failed(), c, 0, "growth_wait"},
		{"grown by less since", grown(failed(), 796), c, 0, "growth_wait"},
		{"grown enough since", grown(failed(), 800), c, 0, "auto 1-9"},
		{"the later failure counts", grown(failed(), 800), c, head + 2, "growth_wait"},
		{"a call that became a summary did not fail", with(failed(), generated(0, 0)), c, 0, "auto 1-9"},
		{"a summary by hand does not make it forget what the caller knows", with(failed(), generated(0, 0)), c, head + 2, "growth_wait"},
		{"a mechanical compaction is no summary", with(failed(), mechanical(0, 0)), c, 0, "growth_wait"},
		{"a rule without a summary does not wait", failed(), mechanicalRule, head, "auto 1-9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compaction.Decide(tt.stream, tt.config, compaction.Boundary{Window: window, Failed: tt.failed, Now: start}, compaction.Estimator{})
			if got := decided(d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheThirdFiringInVainIsToldOnce(t *testing.T) {
	c := enabled()
	notices := func(between func(*stream, int)) string {
		s, said := conversation(5, 400), ""
		for i := range 6 {
			s.turn(5+i, 400)
			between(&s, i)
			// The tail alone, and the first turn, are above this threshold.
			d := compaction.Decide(s, c, compaction.Boundary{Window: 1000, Now: start}, compaction.Estimator{})
			if d.Fire == nil {
				return string(d.Reason)
			}
			s.add(start, d.Fire.Overlay)
			said += map[bool]string{false: ".", true: "!"}[d.Notice]
		}
		return said
	}
	for _, tt := range []struct {
		name    string
		between func(*stream, int)
		want    string
	}{
		{"the third one is told, the trigger goes on", func(*stream, int) {}, "..!..."},
		{"a compaction by hand begins a new row", func(s *stream, i int) {
			if i == 2 {
				s.add(start, holdfast.Overlay{FromTurn: 0, ToTurn: 0, StripReasoning: true, Source: holdfast.ManualOverlay})
			}
		}, "....!."},
		{"taking a compaction back begins a new row", func(s *stream, i int) {
			if i == 2 {
				*s = revoked(*s)
			}
		}, "....!."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := notices(tt.between); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheThirdFiringIsNotToldWhereItHelps(t *testing.T) {
	s := conversation(4, 400)
	s.turn(4, 40000) // the third band takes it in
	for i := range 3 {
		s.turn(5+i, 400)
		d := compaction.Decide(s, enabled(), compaction.Boundary{Window: 4000, Now: start}, compaction.Estimator{})
		if d.Fire == nil || d.Notice || (int64(d.After) > d.Threshold) != (i < 2) {
			t.Errorf("firing %d: got %+v", i+1, d)
		}
		s.add(start, d.Fire.Overlay)
	}
}

func TestAFiringThatHelpedIsNoneInVain(t *testing.T) {
	// The first band takes a large turn in and helps. A second one stays among the
	// last three for three boundaries more.
	s, said := conversation(1, 400), ""
	for i, size := range []int{4000, 400, 400, 400, 400, 4000, 400, 400} {
		s.turn(1+i, size)
		d := compaction.Decide(s, enabled(), compaction.Boundary{Window: 4000, Now: start}, compaction.Estimator{})
		if d.Fire == nil {
			continue
		}
		s.add(start, d.Fire.Overlay)
		above := int64(d.After) > d.Threshold
		said += map[bool]string{false: "helps ", true: "vain "}[above] + map[bool]string{true: "notice "}[d.Notice]
	}
	if want := "helps vain vain vain notice "; said != want {
		t.Errorf("got %s, want %s", said, want)
	}
}

func TestBandsFirstTurnsAndTailAreAllTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, last := rapid.IntRange(0, 4).Draw(t, "keep first"), rapid.IntRange(0, 5).Draw(t, "keep last")
		c := enabled()
		c.MinTurns = rapid.IntRange(0, 6).Draw(t, "min turns")
		c.MinGain = rapid.SampledFrom([]float64{0, 0.02, 0.2}).Draw(t, "min gain")
		c.Rule.KeepFirst, c.Rule.KeepLast = compaction.Count(first), compaction.Count(last)
		if rapid.Bool().Draw(t, "summary") {
			c.Rule.Summary = &compaction.SummaryRequest{}
		}
		window := rapid.Int64Range(50, 3000).Draw(t, "window")
		var s stream
		next := first // the first turn that no band has taken yet
		for turn := range rapid.IntRange(0, 25).Draw(t, "turns") {
			s.turn(turn, rapid.IntRange(0, 800).Draw(t, "size"))
			d := compaction.Decide(s, c, compaction.Boundary{Window: window, Now: start}, compaction.Estimator{})
			if d.Fire == nil {
				continue
			}
			o := d.Fire.Overlay
			if o.FromTurn != next || o.ToTurn < o.FromTurn || o.ToTurn != turn-last {
				t.Fatalf("at turn %d the band is %d..%d; it has to be from %d to %d", turn, o.FromTurn, o.ToTurn, next, turn-last)
			}
			next = o.ToTurn + 1
			if o.Summary != nil {
				o.Summary.Text = "S"
			}
			s.add(start, o)
			if again := compaction.Decide(s, c, compaction.Boundary{Window: window, Now: start}, compaction.Estimator{}); again.Fire != nil {
				t.Fatalf("it fires twice at turn %d", turn)
			}
		}
	})
}

func TestCompactedAt8AndAt12NoTurnIsLost(t *testing.T) {
	s := conversation(8, 400)
	var bands []string
	for turn := 8; turn <= 12; turn++ {
		if turn == 8 || turn == 12 {
			d := compaction.Decide(s, enabled(), compaction.Boundary{Window: 1000, Now: start}, compaction.Estimator{})
			bands = append(bands, decided(d))
			s.add(start, d.Fire.Overlay)
		}
		s.turn(turn, 400)
	}
	if got, want := strings.Join(bands, ", "), "auto 1-4, auto 5-8"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheTriggersConfigurationIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*compaction.AutoConfig)
		want   string
	}{
		{"the defaults", func(*compaction.AutoConfig) {}, ""},
		{"ratio 0", func(c *compaction.AutoConfig) { c.TriggerRatio = 0 }, "trigger_ratio = 0 is no share of a window. Give a number above 0 and at most 1, such as 0.75"},
		{"ratio NaN", func(c *compaction.AutoConfig) { c.TriggerRatio = math.NaN() }, "trigger_ratio = NaN is no share of a window. Give a number above 0 and at most 1, such as 0.75"},
		{"ratio 1.5", func(c *compaction.AutoConfig) { c.TriggerRatio = 1.5 }, "trigger_ratio = 1.5 is no share of a window. Give a number above 0 and at most 1, such as 0.75"},
		{"ratio 1", func(c *compaction.AutoConfig) { c.TriggerRatio = 1 }, ""},
		{"gain 0", func(c *compaction.AutoConfig) { c.MinGain = 0 }, ""},
		{"gain below 0", func(c *compaction.AutoConfig) { c.MinGain = -0.1 }, "min_gain = -0.1 is no share of a window. Give a number from 0 to 1, such as 0.02"},
		{"turns below 0", func(c *compaction.AutoConfig) { c.MinTurns = -1 }, "min_turns = -1 is no count of turns. Give a number from 0 on"},
		{"a rule without a policy", func(c *compaction.AutoConfig) { c.Rule = compaction.Rule{} }, "a compaction rule without a policy does nothing. Give it reasoning, tool_calls or summary, or remove it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compaction.DefaultAuto()
			tt.change(&c)
			err := c.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want || holdfast.CodeOf(err) != holdfast.ErrConfig) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	s := conversation(100_000/6, 20)
	for i := 0; i < 16000; i += 20 {
		s = s.with(auto(i, i+19))
	}
	for b.Loop() {
		d := compaction.Decide(s, enabled(), compaction.Boundary{Window: 1000, Now: start}, compaction.Estimator{})
		if d.Fire == nil {
			b.Fatal(d.Reason)
		}
	}
}
