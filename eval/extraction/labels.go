package extraction

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the labels
	"encoding/json"
	"fmt"
	"strconv"
)

// Kind is what a turn holds.
type Kind string

// The kinds. A message holds something when a continuation that lost it would redo,
// reopen or break something.
const (
	Decision   Kind = "decision"   // a choice of how something is to be
	Constraint Kind = "constraint" // what the work must keep to from here on
	Correction Kind = "correction" // a change of course
	Acceptance Kind = "acceptance" // a yes to what waited for one
	Rejection  Kind = "rejection"  // a no to it, or to what was tried
	Preference Kind = "preference" // how the person likes it
	Value      Kind = "value"      // what has to be known to the letter, or as a fact
	Question   Kind = "question"   // what is open
	None       Kind = "none"       // nothing
)

// Kinds lists the kinds that hold something, in their fixed order.
func Kinds() []Kind {
	return []Kind{Decision, Constraint, Correction, Acceptance, Rejection, Preference, Value, Question}
}

// Split is the part of the labels that a turn belongs to.
type Split string

// The parts.
const (
	Tune Split = "tune" // rules may be changed by what it shows
	Held Split = "held" // it is only measured
)

// tuneShare is the share of the tune part in 256ths: 60 %.
const tuneShare = 154

// SplitOf is the part of a turn, by a hash of its source and number.
func SplitOf(source string, turn int) Split {
	if sha256.Sum256([]byte(source + " " + strconv.Itoa(turn)))[0] < tuneShare {
		return Tune
	}
	return Held
}

// Span is a range of bytes, from and to, of the text of a turn in normal form: with
// single spaces, as continuity.Normal gives it.
type Span [2]int

// Label says what one turn holds. A turn that holds several things has as many
// labels; one that holds nothing has one label of the kind None, without a span.
type Label struct {
	// Source is the SHA-256 of the file in hex, or the name of a generated session.
	Source string `json:"source"`
	// Turn counts the messages that the person typed, from 1, through all
	// conversations of the file.
	Turn  int   `json:"turn"`
	Span  Span  `json:"span,omitzero"`
	Kind  Kind  `json:"kind"`
	Split Split `json:"split"`
	// Reconsidered: the two readings differed, and the turn was read once more.
	Reconsidered bool `json:"reconsidered,omitempty"`
}

var (
	//go:embed testdata/labels.jsonl
	labels []byte
	//go:embed testdata/first.jsonl
	firstPass []byte
	//go:embed testdata/second.jsonl
	secondPass []byte
)

// Labels are the labels of real sessions, by source and turn.
func Labels() []Label { return read(labels) }

// FirstPass and SecondPass are the two readings that Labels come from.
func FirstPass() []Label { return read(firstPass) }

// SecondPass is the other reading.
func SecondPass() []Label { return read(secondPass) }

func read(lines []byte) (list []Label) {
	for line := range bytes.Lines(lines) {
		var l Label
		if err := json.Unmarshal(line, &l); err != nil {
			panic(fmt.Sprintf("the labels are part of the program and do not read: %v", err))
		}
		list = append(list, l)
	}
	return list
}

// Agreement is how far two readings of the same turns agree.
type Agreement struct {
	Turns int `json:"turns"`
	// Holding is the share of turns on which both say the same of whether they hold
	// anything, HoldingKappa Cohen's kappa of it; Kind and KindKappa are of the first
	// kind of each turn.
	Holding      float64 `json:"holding"`
	HoldingKappa float64 `json:"holding_kappa"`
	Kind         float64 `json:"kind"`
	KindKappa    float64 `json:"kind_kappa"`
	// Reconsidered is the number of turns that were read a third time.
	Reconsidered int `json:"reconsidered"`
}

// Compare holds two readings against each other. A turn that only one of them has is
// left out.
func Compare(first, second []Label) Agreement {
	a, b := firstKinds(first), firstKinds(second)
	var holds, kinds [][2]string
	for turn, x := range a {
		if y, ok := b[turn]; ok {
			holds = append(holds, [2]string{strconv.FormatBool(x != None), strconv.FormatBool(y != None)})
			kinds = append(kinds, [2]string{string(x), string(y)})
		}
	}
	out := Agreement{Turns: len(kinds)}
	out.Holding, out.HoldingKappa = kappa(holds)
	out.Kind, out.KindKappa = kappa(kinds)
	return out
}

// turnKey names a turn.
type turnKey struct {
	source string
	turn   int
}

// firstKinds are the kinds of the turns, of each that of its first label.
func firstKinds(list []Label) map[turnKey]Kind {
	kinds := map[turnKey]Kind{}
	for _, l := range list {
		k := turnKey{l.Source, l.Turn}
		if _, known := kinds[k]; !known {
			kinds[k] = l.Kind
		}
	}
	return kinds
}

// kappa is the raw agreement of pairs, and Cohen's kappa: the agreement beyond that
// of two readers who draw from their own frequencies, as a share of what is possible.
// It is 1 where nothing else is possible.
func kappa(pairs [][2]string) (raw, kappa float64) {
	if len(pairs) == 0 {
		return 0, 0
	}
	n := float64(len(pairs))
	first, second := map[string]float64{}, map[string]float64{}
	for _, p := range pairs {
		first[p[0]]++
		second[p[1]]++
		if p[0] == p[1] {
			raw++
		}
	}
	raw /= n
	chance := 0.0
	for what, times := range first {
		chance += times / n * second[what] / n
	}
	if chance == 1 {
		return raw, 1
	}
	return raw, (raw - chance) / (1 - chance)
}
