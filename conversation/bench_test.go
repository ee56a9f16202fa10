package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/conversation"
)

// BenchmarkProject projects streams of two lengths: the time of one event shows
// that it is linear.
func BenchmarkProject(b *testing.B) {
	for _, events := range []int{10_000, 100_000} {
		const perTurn = 6
		var lines []string
		for i := range events / perTurn {
			lines = append(lines, turn(i))
			if i%100 == 99 { // a compaction of each hundred turns, by turns of one kind
				policy := []string{reasoning, both, omit, summary("S")}[i/100%4]
				lines = append(lines, overlay(i-99, i-3, policy))
			}
		}
		in := stream(b, strings.Join(lines, "\n"))
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			for b.Loop() {
				conversation.Project(in, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in)), "ns/event")
		})
	}
}
