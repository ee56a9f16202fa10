package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// recordedRow tells that what was measured is the whole product: that requests
// were linked, plans harvested and batches stored.
type recordedRow struct {
	Harvested int `json:"harvested"` // plan changes
	Unlinked  int `json:"unlinked"`  // requests
	Lost      int `json:"lost"`      // batches that were dropped or refused
	Calls     int `json:"calls"`     // of the extractor, that ended well
	// Reasons counts the unlinked requests by what the metrics call outcome.
	Reasons map[string]int `json:"unlinked_reasons,omitempty"`
}

// recorded reads the metrics of the Holdfast with the feature on.
func (f *fleet) recorded(ctx context.Context) (r recordedRow, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.targets[on].base+"/metrics", nil)
	if err != nil {
		return r, err
	}
	resp, err := f.crew(1)[0].transport.RoundTrip(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return r, err
	}
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("/metrics answered with status %d", resp.StatusCode)
	}
	return readRecorded(string(text))
}

// readRecorded adds up the series of the counters that matter.
func readRecorded(text string) (r recordedRow, err error) {
	sums := map[string]*int{
		"holdfast_harvest_facts_total": &r.Harvested, "holdfast_unlinked_total": &r.Unlinked,
		"holdfast_extraction_jobs_total": &r.Calls, "holdfast_store_errors_total": &r.Lost, "holdfast_records_dropped_total": &r.Lost,
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "holdfast_extraction_jobs_total") && !strings.Contains(line, `outcome="ok"`) {
			continue
		}
		end := strings.IndexAny(line, "{ ")
		if end < 0 || sums[line[:end]] == nil {
			continue
		}
		value := strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return r, fmt.Errorf("metric line %q: %w", line, err)
		}
		*sums[line[:end]] += int(n)
		if sums[line[:end]] == &r.Unlinked {
			_, rest, _ := strings.Cut(line, `outcome="`)
			reason, _, _ := strings.Cut(rest, `"`)
			if r.Reasons == nil {
				r.Reasons = map[string]int{}
			}
			r.Reasons[reason] += int(n)
		}
	}
	return r, nil
}
