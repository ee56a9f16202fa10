package extraction_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/store"
)

func TestAMarkIsKnownInItsTimeByItsStore(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st := store.NewMemory()
	mark := func(st *store.Memory) *extraction.Mark {
		m, err := extraction.NewMark(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	own, other, foreign := mark(st), mark(st), mark(store.NewMemory())
	value := own.Make(now)
	for _, tt := range []struct {
		name, value string
		by          *extraction.Mark
		at          time.Time
		want        bool
	}{
		{"at once", value, own, now, true},
		{"by another process on the store", value, other, now.Add(50 * time.Second), true},
		{"by a clock that is behind", value, own, now.Add(-50 * time.Second), true},
		{"too late", value, own, now.Add(2 * time.Minute), false},
		{"by another store", value, foreign, now, false},
		{"with another time", strings.Replace(value, "1", "2", 1), own, now, false},
		{"invented", "1772366400.x", own, now, false},
		{"nothing", "", own, now, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.by.Knows(tt.value, tt.at); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
