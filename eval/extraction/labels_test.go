package extraction_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/eval/extraction"
)

type place struct {
	source string
	turn   int
}

func turnsOf(labels []extraction.Label) map[place][]extraction.Label {
	turns := map[place][]extraction.Label{}
	for _, l := range labels {
		turns[place{l.Source, l.Turn}] = append(turns[place{l.Source, l.Turn}], l)
	}
	return turns
}

func TestLabelsAreWellFormed(t *testing.T) {
	for name, labels := range map[string][]extraction.Label{
		"labels": extraction.Labels(), "first": extraction.FirstPass(), "second": extraction.SecondPass(),
	} {
		for _, l := range labels {
			holds := slices.Contains(extraction.Kinds(), l.Kind)
			switch {
			case !holds && l.Kind != extraction.None:
				t.Errorf("%s: a kind %q", name, l.Kind)
			case holds && (l.Span[0] < 0 || l.Span[1] <= l.Span[0]), !holds && l.Span != extraction.Span{}:
				t.Errorf("%s: turn %d is %s with the span %v", name, l.Turn, l.Kind, l.Span)
			case len(l.Source) != 64 || l.Turn < 1:
				t.Errorf("%s: the source %q, turn %d", name, l.Source, l.Turn)
			case l.Split != extraction.SplitOf(l.Source, l.Turn):
				t.Errorf("%s: turn %d of %s is in the part %q", name, l.Turn, l.Source, l.Split)
			}
		}
		for at, of := range turnsOf(labels) {
			if len(of) > 1 && slices.ContainsFunc(of, func(l extraction.Label) bool { return l.Kind == extraction.None }) {
				t.Errorf("%s: %v holds something and nothing", name, at)
			}
		}
	}
}

func TestLabelsHoldNothingButPlacesAndKinds(t *testing.T) {
	for _, name := range []string{"labels", "first", "second"} {
		data, err := os.ReadFile("testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			var l extraction.Label
			if err := d.Decode(&l); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if strings.Trim(l.Source, "0123456789abcdef") != "" {
				t.Errorf("%s: the source %q is no digest", name, l.Source)
			}
		}
	}
}

func TestThereAreThreeHundredTurnsOrMoreAndFortyPercentAreHeld(t *testing.T) {
	turns, held := turnsOf(extraction.Labels()), 0
	for _, of := range turns {
		if of[0].Split == extraction.Held {
			held++
		}
	}
	if share := float64(held) / float64(len(turns)); len(turns) < 300 || share < 0.35 || share > 0.45 {
		t.Errorf("%d turns, of which %.0f %% are held", len(turns), share*100)
	}
}

func TestWhatTheReadingsDifferInWasReadAgain(t *testing.T) {
	first, second := turnsOf(extraction.FirstPass()), turnsOf(extraction.SecondPass())
	for at, of := range turnsOf(extraction.Labels()) {
		one, two := first[at], second[at]
		if one == nil || two == nil {
			t.Errorf("%v was not read twice", at)
			continue
		}
		same := one[0].Kind == two[0].Kind
		switch {
		case same && of[0].Kind != one[0].Kind:
			t.Errorf("%v is %s, and both readings say %s", at, of[0].Kind, one[0].Kind)
		case same == of[0].Reconsidered:
			t.Errorf("%v is %s and %s by the readings, and reconsidered is %v", at, one[0].Kind, two[0].Kind, of[0].Reconsidered)
		case of[0].Kind != one[0].Kind && of[0].Kind != two[0].Kind:
			t.Errorf("%v is %s, which no reading says", at, of[0].Kind)
		}
	}
}

func TestAgreementIsCountedBeyondChance(t *testing.T) {
	// 20 of 50 hold something by both, 15 by none; 5 only by the first reading, 10
	// only by the second. By chance (25*30 + 25*20) / 50^2 = 1/2 would agree, and 0.7 do.
	var first, second []extraction.Label
	for i := range 50 {
		kinds := [2]extraction.Kind{extraction.None, extraction.None}
		if i < 25 {
			kinds[0] = extraction.Decision
		}
		if i < 20 || i >= 40 {
			kinds[1] = extraction.Decision
		}
		first = append(first, extraction.Label{Turn: i, Kind: kinds[0]})
		second = append(second, extraction.Label{Turn: i, Kind: kinds[1]})
	}
	got := extraction.Compare(first, second)
	if got.Turns != 50 || math.Abs(got.Holding-0.7) > 1e-9 || math.Abs(got.HoldingKappa-0.4) > 1e-9 || math.Abs(got.KindKappa-0.4) > 1e-9 {
		t.Errorf("got %+v", got)
	}
	if got := extraction.Compare(first[:25], first[:25]); got.Holding != 1 || got.HoldingKappa != 1 {
		t.Errorf("the same reading twice agrees to %+v", got)
	}
}
