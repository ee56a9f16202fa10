package main

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

func TestWhatWasTakenBackMustHaveBeenThereAndBeGone(t *testing.T) {
	turn := func(text string) eval.Request {
		return eval.Request{Kind: eval.Turn, Body: []byte(`{"messages":[{"role":"user","content":"` + text + `"}]}`)}
	}
	block := func(text string) string { return holdfast.BlockOpen + ">" + text + holdfast.BlockClose }
	compaction := eval.Request{Kind: eval.PlainCompaction}
	told, clean := turn("use sqlite and a new format"), turn("go on")
	both, one := []string{"sqlite", "new format"}, []string{"sqlite"}
	tests := []struct {
		name     string
		taken    [][]string
		requests []eval.Request
		want     string
	}{
		{"gone", [][]string{both}, []eval.Request{told, clean, compaction, clean}, ""},
		{"gone, and said anew later", [][]string{both, both}, []eval.Request{told, compaction, clean, told, clean, compaction, clean}, ""},
		{
			"one of them was never said",
			[][]string{both},
			[]eval.Request{turn("use sqlite"), compaction, clean},
			`no turn before compaction 1 holds "new format": the case proves nothing`,
		},
		{
			"not all were said again",
			[][]string{both, one},
			[]eval.Request{told, compaction, clean, turn("use sqlite"), compaction, clean},
			"",
		},
		{
			"nothing was said again",
			[][]string{both, one},
			[]eval.Request{told, compaction, clean, compaction, clean},
			`no turn before compaction 2 holds "sqlite": the case proves nothing`,
		},
		{
			"it stands in the first turn",
			[][]string{one},
			[]eval.Request{told, compaction, turn("sqlite it is")},
			`a turn behind compaction 1 holds "sqlite", which was taken back`,
		},
		{
			"it stands in a later block",
			[][]string{both},
			[]eval.Request{told, compaction, clean, turn(block("a new format"))},
			`a turn behind compaction 1 holds "new format", which was taken back`,
		},
		{"a compaction that is asked for twice is one", [][]string{both}, []eval.Request{told, compaction, compaction, clean}, ""},
		{"no compaction", [][]string{one}, []eval.Request{told, clean}, "the upstream saw 0 compactions, 1 were expected"},
		{"a compaction more", [][]string{one}, []eval.Request{told, compaction, clean, compaction, clean}, "the upstream saw 2 compactions, 1 were expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := takenBack(tt.requests, tt.taken); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTheReaderStatesEachChoiceWhereItStands(t *testing.T) {
	const one, other = `{"statement":"Never write to the table audit_log","quote":"Never write to the table audit_log, because the auditors read it."}`,
		`{"statement":"Always copy the table audit_shadow first","quote":"Always copy the table audit_shadow first, because the graders compare it."}`
	for text, want := range map[string]string{
		"base_revision is 3. nothing":      `"base_revision":3,"constraints":[]`,
		firstPrompt:                        `"base_revision":0,"constraints":[` + one + `]`,
		firstPrompt + "\n\n" + takenPrompt: `"base_revision":0,"constraints":[` + one + `,` + other + `]`,
	} {
		if got := stating([]byte(text)); got != `{"schema_version":1,`+want+`}` {
			t.Errorf("of %q it states\n%s", text, got)
		}
	}
}

func TestThePlaceToGoBackToIsTheNewestMessage(t *testing.T) {
	const record = `{"type":"user","uuid":"u1"}
{"type":"assistant","uuid":"a1"}
{"type":"attachment","uuid":"x1"}
{"type":"last-prompt"}
not JSON
`
	if got := newestEntry([]byte(record)); got != "a1" {
		t.Errorf("got %q", got)
	}
	if got := newestEntry([]byte(`{"type":"attachment","uuid":"x1"}`)); got != "" {
		t.Errorf("got %q of a record without messages", got)
	}
}
