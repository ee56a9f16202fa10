package provider

import (
	"fmt"
	"slices"
	"strings"
)

// suggest says which names are meant, or where they stand.
func suggest(name string, names []string) string {
	if near := nearest(name, names, 3); len(near) > 0 {
		return fmt.Sprintf("Did you mean %s? `holdfast models` lists all.", strings.Join(near, ", "))
	}
	return "`holdfast models` lists those that are."
}

// nearest are up to most of the names, the nearest first, that are like name:
// at most half of it would have to change.
func nearest(name string, names []string, most int) []string {
	type near struct {
		name string
		far  int
	}
	var list []near
	for _, n := range names {
		if far := distance(strings.ToLower(name), strings.ToLower(n)); far <= max(len(name), len(n))/2 {
			list = append(list, near{n, far})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return strings.Compare(a.name, b.name)
	})
	out := make([]string, 0, most)
	for _, n := range list {
		if len(out) < most && !slices.Contains(out, n.name) {
			out = append(out, n.name)
		}
	}
	return out
}

// distance is how many bytes of a must be put in, taken out or changed to get b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
