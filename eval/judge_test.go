package eval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// block writes a plan in the form that the product gives it.
func block(plan []holdfast.Step) string {
	var b strings.Builder
	b.WriteString(holdfast.BlockOpen + " revision=\"1\">\nA record.\n\n")
	for i, s := range plan {
		fmt.Fprintf(&b, "%d. [%s] %s\n", i+1, s.Status, s.Text)
	}
	b.WriteString("end\n" + holdfast.BlockClose)
	return b.String()
}

var plan = []holdfast.Step{
	{Text: "Read the old code", Status: holdfast.StepCompleted},
	{Text: "Write the parser", Status: holdfast.StepInProgress},
	{Text: "Test the parser", Status: holdfast.StepPending},
	{Text: "Delete the old code", Status: holdfast.StepPending},
}

// reorder is the plan with its steps at the given places.
func reorder(places ...int) []holdfast.Step {
	var out []holdfast.Step
	for _, i := range places {
		out = append(out, plan[i])
	}
	return out
}

// restate is the plan with another status for one step.
func restate(step int, status holdfast.StepStatus) []holdfast.Step {
	out := reorder(0, 1, 2, 3)
	out[step].Status = status
	return out
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestJudgeSaysWhatIsThereOfAPlan(t *testing.T) {
	claude := func(parts ...string) string {
		var texts []string
		for _, p := range parts {
			texts = append(texts, `{"type":"text","text":`+quote(p)+`}`)
		}
		return `{"model":"m","messages":[{"role":"user","content":[` + strings.Join(texts, ",") + `]}]}`
	}
	whole := block(plan)
	first := eval.Place{Message: 0, Role: "user", Part: 0, Alone: true, AtEnd: true}
	tests := []struct {
		name     string
		body     string
		want     eval.Judgement // Block is compared by survived alone
		survived bool
	}{
		{
			"the whole plan in one part of its own", claude(whole),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: first},
			true,
		},
		{
			"completed steps may be left out", claude(block(reorder(1, 2, 3))),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: first},
			true,
		},
		{
			"the block at the end of a summary", claude("hello", "Summary: nothing.\n\n"+whole+"\n"),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: eval.Place{Role: "user", Part: 1, AtEnd: true}},
			true,
		},
		{
			"the block in the middle of a text", claude(whole + "\nContinue."),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: eval.Place{Role: "user"}},
			true,
		},
		{
			"two steps in the wrong order", claude(block(reorder(0, 2, 1, 3))),
			eval.Judgement{Open: 3, Known: 3, Ordered: 2, Right: 3, Copies: 1, Place: first},
			false,
		},
		{
			"the plan backwards", claude(block(reorder(3, 2, 1))),
			eval.Judgement{Open: 3, Known: 3, Ordered: 1, Right: 3, Copies: 1, Place: first},
			false,
		},
		{
			"a step is missing", claude(block(reorder(0, 1, 3))),
			eval.Judgement{Open: 3, Known: 2, Ordered: 2, Right: 2, Copies: 1, Place: first},
			false,
		},
		{
			"a step has an older status", claude(block(restate(1, holdfast.StepPending))),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 2, Copies: 1, Place: first},
			false,
		},
		{
			"a completed step came back", claude(block(restate(0, holdfast.StepPending))),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Closed: 1, Copies: 1, Place: first},
			false,
		},
		{
			"two copies in two parts", claude(whole, whole),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 2, Place: first},
			false,
		},
		{
			"two copies in one part", claude(whole + "\n" + whole),
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 2, Place: eval.Place{Role: "user"}},
			false,
		},
		{
			"a copy in the system text counts", `{"system":[{"type":"text","text":` + quote(whole) + `}],"messages":[{"role":"user","content":` + quote(whole) + `}]}`,
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 2, Place: first},
			false,
		},
		{
			"a block without its end", claude(strings.TrimSuffix(whole, holdfast.BlockClose)),
			eval.Judgement{Open: 3, Known: 3, Copies: 1},
			false,
		},
		{
			"steps outside of a block are known and no more", claude("Next: Test the parser, then Delete the old code."),
			eval.Judgement{Open: 3, Known: 2},
			false,
		},
		{"nothing is there", claude("Go on."), eval.Judgement{Open: 3}, false},
		{
			"an item of its own in a Responses input", `{"input":[{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"message","role":"user","content":[{"type":"input_text","text":` + quote(whole) + `}]}]}`,
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: eval.Place{Message: 1, Role: "user", Alone: true, AtEnd: true}},
			true,
		},
		{
			"a Responses input that is one string", `{"input":` + quote(whole) + `}`,
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: first},
			true,
		},
		{
			"the block in a message of Chat Completions", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":` + quote("Summary.\n"+whole) + `}]}`,
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: eval.Place{Message: 2, Role: "assistant", AtEnd: true}},
			true,
		},
		{
			"the block in a part of a Gemini content", `{"contents":[{"parts":[{"text":"context"},{"text":` + quote(whole) + `}],"role":"user"}]}`,
			eval.Judgement{Open: 3, Known: 3, Ordered: 3, Right: 3, Copies: 1, Place: eval.Place{Role: "user", Part: 1, Alone: true, AtEnd: true}},
			true,
		},
		{
			"steps in the arguments of a Gemini call", `{"contents":[{"parts":[{"functionCall":{"name":"n","args":{"a":"Write the parser"}}}],"role":"model"}]}`,
			eval.Judgement{Open: 3, Known: 1},
			false,
		},
		{
			"steps in the arguments of a call", `{"input":[{"type":"function_call","arguments":"{\"step\":\"Write the parser\"}"}]}`,
			eval.Judgement{Open: 3, Known: 1},
			false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := eval.Judge([]byte(tt.body), plan)
			if err != nil {
				t.Fatal(err)
			}
			if got.Survived() != tt.survived {
				t.Errorf("survived is %v, want %v", got.Survived(), tt.survived)
			}
			got.Block = ""
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestJudgeRefusesWhatIsNoObject(t *testing.T) {
	for _, body := range []string{"", "[]", "{", `"text"`} {
		if _, err := eval.Judge([]byte(body), plan); err == nil {
			t.Errorf("body %q: no error", body)
		}
	}
}

func TestWordsOfTheUserCountWhereverTheyStand(t *testing.T) {
	pi := scenario(t, "pi 0.74.2, chat") // it has no plan
	turn := func(text string) eval.Request {
		return eval.Request{Kind: eval.Turn, Body: []byte(`{"messages":[{"role":"user","content":` + quote(text) + `}]}`)}
	}
	compaction := eval.Request{Kind: eval.PlainCompaction}
	const both = "port 48213, release/4.17-import"
	tests := []struct {
		name           string
		first, second  string // the turns behind the second compaction
		known          int    // in the first of them
		survived, lost bool
	}{
		{"both in the block", block(nil) + both, block(nil) + both, 2, true, false},
		{"one is missing", block(nil) + "port 48213", block(nil) + both, 1, false, false},
		{"both are missing from the second turn", block(nil) + both, block(nil), 2, false, false},
		{"both without a block", both, both, 2, false, false},
		{"a block without them", block(nil), block(nil), 0, false, false},
		{"nothing", "Go on.", both, 0, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			epochs, err := pi.Judge([]eval.Request{compaction, turn(both), compaction, turn(tt.first), turn(tt.second), compaction})
			if err != nil {
				t.Fatal(err)
			}
			e := epochs[1]
			if f := e.First(); f.Words != 2 || f.WordsKnown != tt.known {
				t.Errorf("%d of %d words, want %d of 2", f.WordsKnown, f.Words, tt.known)
			}
			if e.Survived() != tt.survived || e.Lost() != tt.lost {
				t.Errorf("survived %v, lost %v; want %v, %v", e.Survived(), e.Lost(), tt.survived, tt.lost)
			}
		})
	}
}

func scenario(t *testing.T, name string) eval.Scenario {
	t.Helper()
	for _, s := range eval.Scenarios() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scenario %q", name)
	return eval.Scenario{}
}
