package main

import (
	"slices"
	"time"
)

// median is the middle value, or the mean of the middle two; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// quantile is the smallest of the sorted values that at least the part p of
// them does not exceed, in nanoseconds; 0 of none.
func quantile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(p * float64(len(sorted)))
	if float64(i) == p*float64(len(sorted)) && i > 0 {
		i--
	}
	return float64(sorted[min(i, len(sorted)-1)])
}

// each applies f to each of the tallies.
func each(rounds []tally, f func(tally) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, t := range rounds {
		values[i] = f(t)
	}
	return values
}

// medianRatio is the median of the rounds' ratios: what a round shares, such as
// a busy neighbour, cancels out.
func medianRatio(rounds, base []tally, f func(tally) float64) float64 {
	ratios := make([]float64, 0, len(rounds))
	for i, t := range rounds {
		if b := f(base[i]); b > 0 {
			ratios = append(ratios, f(t)/b)
		}
	}
	return median(ratios)
}
