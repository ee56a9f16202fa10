package main

import (
	"runtime/metrics"
	"testing"

	"github.com/holdfast-dev/holdfast/config"
)

func TestAServerIsCollectedByItsOwnRuleUnlessAPersonSetsAnother(t *testing.T) {
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := percent()
	for _, c := range []struct {
		name    string
		environ config.Environ
		want    uint64
	}{
		{"nothing is set", config.Environ{"HOME=/home/jo"}, growth},
		{"GOGC is set", config.Environ{"GOGC=300"}, before},
		{"GOMEMLIMIT is set", config.Environ{"GOMEMLIMIT=64MiB"}, before},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := steady(c.environ)
			if got := percent(); got != c.want {
				t.Errorf("the collector runs at %d %%, want %d", got, c.want)
			}
			end()
			if got := percent(); got != before {
				t.Errorf("it is left at %d %%, want %d", got, before)
			}
		})
	}
}
