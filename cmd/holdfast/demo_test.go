package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// transparent starts a proxy that carries nothing over.
func transparent(_ context.Context, upstreams map[holdfast.Protocol]string) (string, func(), error) {
	target, err := url.Parse(upstreams[holdfast.Anthropic])
	if err != nil {
		return "", nil, err
	}
	return listen(readFirst(httputil.NewSingleHostReverseProxy(target)))
}

func TestTheDemonstrationFailsWhenTheProxyCarriesNothing(t *testing.T) {
	cmd := demoCommand(transparent)
	cmd.Flags().Bool("json", false, "")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"--json"})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	if holdfast.CodeOf(err) != holdfast.ErrFailed {
		t.Fatalf("got error %v, want code %s", err, holdfast.ErrFailed)
	}
	var report demoReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if want := 3 * len(eval.Scenarios()); len(report.Rows) != want || report.Passed {
		t.Fatalf("got %d rows, passed %v; want %d rows and a failure", len(report.Rows), report.Passed, want)
	}
	for _, r := range report.Rows {
		if !r.Lost || r.Survived {
			t.Errorf("%s, compaction %d: lost %v, survived %v; want a lost plan on both sides", r.Agent, r.Compaction, r.Lost, r.Survived)
		}
	}
}

func TestTheDemonstrationSaysWhyTheProxyDidNotStart(t *testing.T) {
	start := func(context.Context, map[holdfast.Protocol]string) (string, func(), error) {
		return "", nil, holdfast.Errorf(holdfast.ErrConflict, "the port is taken")
	}
	_, err := runDemo(t.Context(), start, eval.Scenarios()[:1], func(string) {})
	if want := "run claude-code 2.1.197 through Holdfast: the port is taken"; err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("got %v with code %s, want %s", err, holdfast.CodeOf(err), want)
	}
}

func TestTheTableShowsBothSidesAndMarksWhatIsWrong(t *testing.T) {
	kept := eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1}
	lost := eval.Judgement{Open: 3}
	report := demoReport{Rows: []demoRow{
		{Agent: "agent one", Compaction: 1, Without: lost, With: kept, Lost: true, Survived: true},
		{Agent: "agent one", Compaction: 2, Without: lost, With: eval.Judgement{Open: 3, Known: 2, Ordered: 1}, Lost: true},
		{Agent: "agent two", Compaction: 1, Without: kept, With: kept, Survived: true},
		{Agent: "no plan", Compaction: 1, Without: eval.Judgement{Words: 2}, With: eval.Judgement{Words: 2, WordsKnown: 2}, Lost: true, Survived: true},
		{Agent: "both", Compaction: 1, Without: eval.Judgement{Open: 1, Words: 2}, With: eval.Judgement{Open: 1, Known: 1, Words: 2, WordsKnown: 1}, Lost: true},
	}}
	var out bytes.Buffer
	if err := printDemo(&out, report, false); err != nil {
		t.Fatal(err)
	}
	const want = `What the model still knew of the open steps of its plan, and of the values that the user named,
after a summarizer that forgets everything.

agent      compaction  without Holdfast                         with Holdfast
agent one  1           none of 3 steps                          3 of 3 steps, 3 in order, 3 with status
agent one  2           none of 3 steps                          2 of 3 steps, 1 in order, 0 with status  NOT KEPT
agent two  1           3 of 3 steps, 3 in order, 3 with status  3 of 3 steps, 3 in order, 3 with status  NOT LOST WITHOUT
no plan    1           none of 2 values                         2 of 2 values
both       1           none of 1 step, none of 2 values         1 of 1 step, 0 in order, 0 with status, 1 of 2 values  NOT KEPT

Not as it should be: see the marked rows.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	report.Passed = true
	out.Reset()
	if err := printDemo(&out, report, false); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\n\nEvery open step and value survived every compaction with Holdfast, and none without it.\n") {
		t.Errorf("a passed demonstration ends with\n%s", out.String())
	}
}

func TestTheDemonstrationNeedsTheProxyOnlyOnLoopback(t *testing.T) {
	base, stop, err := listen(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("it listens on %s", base)
	}
	stop()
	if _, err := http.Get(base); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a stopped server still answers: %v", err)
	}
}
