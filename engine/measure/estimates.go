package measure

import (
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// The goals of estimates.
const (
	// seen is how many answers have to be there before an estimate has to be near.
	seen = 5
	// near is how far it may be off then, as a share of what was reported.
	near = 0.10
	// least and most are how far it may be off before, as parts of what was reported.
	least, most = 0.7, 1.5
	// nearly is the share of all estimates that has to meet this: a session that was
	// damaged or cleared on its way to the disk has others.
	nearly = 0.95
)

// mostCalls bounds how many calls of one conversation are estimated: each takes
// time linear in what came before.
const mostCalls = 400

// Estimates is how good estimates of one conversation are.
type Estimates struct {
	// Calls counts those with a report; Checked those that were estimated: at most
	// 400 of a conversation, the first and then every so many.
	Calls   int `json:"calls"`
	Checked int `json:"checked"`
	// ratios are estimate by report, with what was known: early from the first
	// answer on, late from the fifth on. blind are the very first estimates.
	blind, early, late []float64
}

// Estimate goes through a conversation. est is not calibrated; window is as in
// Calibrated.
func Estimate(entries []holdfast.Entry, est compaction.Estimator, window func(model string) int64) Estimates {
	var e Estimates
	var calls []int
	for i, entry := range entries {
		if u, ok := entry.Event.(holdfast.Usage); ok && u.Purpose == holdfast.ForTurn && u.Window() > u.Output {
			calls = append(calls, i)
		}
	}
	e.Calls = len(calls)
	every := 1 + len(calls)/mostCalls
	for n, i := range calls {
		if n > 2*seen && n%every != 0 {
			continue
		}
		u := entries[i].Event.(holdfast.Usage)
		sent := compaction.Sent(entries, i)
		ratio := float64(est.Calibrated(sent, window).Tokens(sent)) / float64(u.Window()-u.Output)
		e.Checked++
		switch {
		case n == 0:
			e.blind = append(e.blind, ratio)
		case n < seen:
			e.early = append(e.early, ratio)
		default:
			e.late = append(e.late, ratio)
		}
	}
	return e
}

// Accuracy is how far estimates are off.
type Accuracy struct {
	Estimates int `json:"estimates"`
	// Ratio is the median of estimate by report, Lowest and Highest the ends.
	Ratio   float64 `json:"ratio_median"`
	Lowest  float64 `json:"ratio_lowest"`
	Highest float64 `json:"ratio_highest"`
	// Error is by how much estimates are off, as a share of what was reported: the
	// median, and what 95 of 100 are not above.
	Error   float64 `json:"error_median"`
	Error95 float64 `json:"error_p95"`
	// Within is the share that meets the goal.
	Within float64 `json:"within"`
	Passed bool    `json:"passed"`
}

// Late is how good estimates are from the fifth answer on: near is within 10 %,
// for at least 95 of 100.
func Late(all ...Estimates) Accuracy {
	var ratios []float64
	for _, e := range all {
		ratios = append(ratios, e.late...)
	}
	return accuracy(ratios, func(r float64) bool { return math.Abs(r-1) <= near })
}

// Early is how good they are from the first answer on to the fifth: within x0.7 to
// x1.5, for at least 95 of 100.
func Early(all ...Estimates) Accuracy {
	var ratios []float64
	for _, e := range all {
		ratios = append(ratios, e.early...)
	}
	return accuracy(ratios, func(r float64) bool { return least <= r && r <= most })
}

// Blind is how good they are before anything is known of the provider's counting.
// There is no goal: what an agent sends beside the conversation is not in its file.
func Blind(all ...Estimates) Accuracy {
	var ratios []float64
	for _, e := range all {
		ratios = append(ratios, e.blind...)
	}
	return accuracy(ratios, func(float64) bool { return true })
}

func accuracy(ratios []float64, ok func(float64) bool) Accuracy {
	a := Accuracy{Estimates: len(ratios)}
	if len(ratios) == 0 {
		return a
	}
	var off []float64
	within := 0
	for _, r := range ratios {
		off = append(off, math.Abs(r-1))
		if ok(r) {
			within++
		}
	}
	slices.Sort(ratios)
	slices.Sort(off)
	a.Ratio, a.Lowest, a.Highest = median(ratios), ratios[0], ratios[len(ratios)-1]
	a.Error, a.Error95 = median(off), off[(len(off)*95+99)/100-1]
	a.Within = float64(within) / float64(len(ratios))
	a.Passed = a.Within >= nearly
	return a
}
