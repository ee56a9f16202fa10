package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/extraction"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

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

func TestAModelIsMeasuredAsExtractorAfterItWasAgreedTo(t *testing.T) {
	var plants []survival.Plant
	for _, m := range eval.Manners() {
		plants = append(plants, survival.Generate(0, m, 8).Plants...)
	}
	oracle := survival.Extractors()[0]
	q := newAsking(t, holdfast.Chat, oracle.New(rand.New(rand.NewPCG(1, 1)), plants))
	q.config = []string{"models.m.price={input=1,output=2}"}

	out, errs, status := q.run("eval", "extraction", "--seeds", "1", "--route", "here:m", "--json")
	if status != 2 || !strings.Contains(errs, "Add --yes") || len(q.up.Requests()) != 0 {
		t.Fatalf("status %d, %d calls, %s%s", status, len(q.up.Requests()), errs, out)
	}

	out, errs, _ = q.run("eval", "extraction", "--seeds", "1", "--route", "here:m", "--json", "--yes")
	if !strings.Contains(errs, "of m at here, with about ") {
		t.Errorf("what it takes is not said: %s", errs)
	}
	var report extraction.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	m := report.Model
	if m == nil || m.Calls != len(q.up.Requests()) || m.Calls != report.Totals[0].Calls || m.Failed != 0 || len(m.Discarded) != 0 || m.Input == 0 || m.Cost == nil {
		t.Fatalf("got %+v for %d calls", m, len(q.up.Requests()))
	}
	recorded := 0
	for _, a := range q.attempts() {
		if a.Role == holdfast.ExtractorRole && a.Model == "m" && a.Outcome == holdfast.OutcomeOK {
			recorded++
		}
	}
	if recorded != m.Calls {
		t.Errorf("%d of %d calls are recorded", recorded, m.Calls)
	}
	// The oracle states what was planted, and no yes to a plan. What it states in two
	// words is replaced by the user's own, so that all of it is believed.
	for _, k := range m.Kinds {
		if k.Precision.Share < 1 && k.Precision.Of > 0 {
			t.Errorf("%s: precision %+v", k.Kind, k.Precision)
		}
		if k.Kind == "value" && (k.Recall.Share < 1 || k.Recall.Of == 0) {
			t.Errorf("values: recall %+v", k.Recall)
		}
	}
}

func TestAMeasuredModelIsHeldToTheBudget(t *testing.T) {
	q := newAsking(t, holdfast.Chat, statingScript)
	q.config = []string{`budget=[{name="all",per="day",hard=1}]`}
	_, errs, status := q.run("eval", "extraction", "--seeds", "1", "--route", "here:m", "--json", "--yes")
	if status != holdfast.ErrBudget.ExitStatus() || !strings.Contains(errs, "budget") || len(q.up.Requests()) != 0 {
		t.Errorf("status %d, %d calls, %s", status, len(q.up.Requests()), errs)
	}
}

func TestGeneratedSessionsAndAnswersThatCannotBeReadAreCounted(t *testing.T) {
	q := newAsking(t, holdfast.Chat, func(n int, _ eval.Request) eval.Reply {
		if n%2 == 0 {
			return eval.Reply{Text: "I cannot help with that."}
		}
		return eval.Reply{Text: `{"schema_version":1,"base_revision":0,"constraints":[{"statement":"Never","quote":"Nobody ever typed this sentence."}]}`}
	})
	file := filepath.Join(q.dir, "session.jsonl")
	if err := os.WriteFile(file, []byte(`{"kind":"conversation","version":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, _, _ := q.run("eval", "extraction", file, "--seeds", "1", "--route", "here:m", "--yes")
	if strings.Contains(text, "not sent: ") {
		t.Errorf("a generated turn that holds something is not sent:\n%s", text)
	}
	for _, want := range []string{
		"No FILE with labels was given: only generated sessions are measured.", "1 file without labels left out.", "held  generated sessions", "with output of tools",
		"m at here: ", "0 without an answer", "no price known", "of which provisional: 100.0 %", "answers discarded: prose, ", "items dropped or doubted: not_said, ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

func TestARouteNamesAnUpstreamAndAModel(t *testing.T) {
	q := newAsking(t, holdfast.Chat, nil)
	for route, want := range map[string]string{"m": "write UPSTREAM:MODEL", "here:": "write UPSTREAM:MODEL", "there:m": "there is no upstream there"} {
		_, errs, status := q.run("eval", "extraction", "--route", route)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", route, status, errs)
		}
	}
}
