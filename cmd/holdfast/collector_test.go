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

func TestMemoryIsGivenBackOnceABurstIsOver(t *testing.T) {
	const mb = 1 << 20
	var b burst
	look := func(name string, allocated, has uint64, want bool, left uint64) {
		t.Helper()
		if got := b.over(heap{allocated, has}); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if want {
			b.given(heap{allocated, left})
		}
	}
	look("it has just begun", 60*mb, 60*mb, false, 0)
	look("nothing passes: what the start took goes", 60*mb, 60*mb, true, 50*mb)
	look("little more than what is left", 60*mb, 51*mb, false, 0)
	look("a burst", 900*mb, 260*mb, false, 0)
	look("it goes on", 1300*mb, 270*mb, false, 0)
	look("it is over", 1300*mb+9, 270*mb, true, 220*mb)
	for range again {
		look("that was given back", 1300*mb+9, 220*mb, false, 0)
	}
	look("sessions may have left memory", 1300*mb+9, 220*mb, true, 50*mb)
	for range again {
		look("that was given back as well", 1300*mb+9, 50*mb, false, 0)
	}
	look("and others", 1300*mb+9, 50*mb, true, 49*mb)
	for range 3 * again {
		look("and nothing comes any more", 1300*mb+9, 49*mb, false, 0)
	}
}
