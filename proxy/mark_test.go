package proxy_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/proxy"
)

// TestACallOfOurExtractorPasses: where its route leads back here it is not read, not
// recorded twice and not counted against a budget, and its mark goes no further; a
// mark that a client invents does nothing.
func TestACallOfOurExtractorPasses(t *testing.T) {
	w := wires[0]
	for _, tt := range []struct {
		name, mark string
		status     int
		records    int
	}{
		{"with a mark of ours", "good", http.StatusOK, 0},
		{"with an invented mark", "bad", http.StatusPaymentRequired, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen atomic.Value
			s := newStage(t, setting{admission: &spent{}, extraction: func(mark string) bool { return mark == "good" }}, func(rw http.ResponseWriter, r *http.Request) {
				seen.Store(r.Header.Get(proxy.MarkHeader))
				w.send(rw, r, "whole", nil)
			})
			got := s.post(w.path, http.Header{proxy.MarkHeader: {tt.mark}}, w.body)
			if got.status != tt.status {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if mark := seen.Load(); mark != nil && mark != "" {
				t.Errorf("the upstream saw the mark %v", mark)
			}
			s.recorded(tt.records)
		})
	}
}
