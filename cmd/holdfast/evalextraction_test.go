package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/eval/extraction"
)

func TestExtractionIsMeasuredOnGeneratedSessionsWithoutLabelledFiles(t *testing.T) {
	text, _, _ := measured(t, "eval", "extraction", "DIR/session.jsonl", "--seeds", "1")
	for _, want := range []string{"No FILE with labels was given: only generated sessions are measured.", "1 file without labels left out.", "held  generated sessions", "with output of tools"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not sent: ") {
		t.Errorf("a generated turn that holds something is not sent:\n%s", text)
	}
}

func TestExtractionOnFilesThatNobodyLabelledMeasuresNothing(t *testing.T) {
	text, errs, status := measured(t, "eval", "extraction", "DIR/session.jsonl", "--seeds", "0", "--json")
	var report extraction.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	if status != 1 || report.Passed || report.Unknown != 1 || len(report.Gate) != 0 || !strings.Contains(errs, "nothing to go by") {
		t.Errorf("status %d, %s, %+v", status, errs, report)
	}
}

func TestExtractionRefusesSeedsThatMeasureNothing(t *testing.T) {
	for _, args := range [][]string{{"--seeds", "0"}, {"--seeds", "101"}, {"--seeds=-1"}} {
		_, errs, status := measured(t, append([]string{"eval", "extraction"}, args...)...)
		if status != 2 || !strings.Contains(errs, "write 1 to 100") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
