package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// priced is a server whose provider tells a million tokens for each call, a dollar
// each at most, and whose budgets are those of text.
func priced(t *testing.T, text string) *keyed {
	t.Helper()
	k := newKeyed(t)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1000000,"output_tokens":0}}`)
	}))
	t.Cleanup(up.Close)
	config := "[[upstream]]\nname = \"claude\"\nprotocol = \"anthropic\"\nbase_url = \"" + up.URL + "\"\n[models.m]\nprice = {input = 1, output = 1}\n" + text
	if err := os.WriteFile(k.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// states are the amounts that are spent, in dollars, and the states of all budgets.
func (k *keyed) states() (spent []int64, states []string) {
	k.t.Helper()
	var rows []budgetJSON
	if err := json.Unmarshal([]byte(k.command("--config", k.config, "budget", "--json")), &rows); err != nil {
		k.t.Fatal(err)
	}
	for _, r := range rows {
		spent, states = append(spent, r.Spent/1_000_000), append(states, r.State)
	}
	return spent, states
}

// settled waits until a sum is written.
func (k *keyed) settled(want ...int64) {
	k.t.Helper()
	end := time.Now().Add(10 * time.Second)
	for {
		got, _ := k.states()
		if equal := len(got) == len(want); equal {
			for i := range got {
				equal = equal && got[i] == want[i]
			}
			if equal {
				return
			}
		}
		if time.Now().After(end) {
			k.t.Fatalf("spent %v, want %v", got, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestServeRefusesWhatABudgetHasNoMoneyFor(t *testing.T) {
	k := priced(t, "[[budget]]\nname = \"nights\"\nlabel = \"nightly*\"\nper = \"day\"\nhard = 2\n[[budget]]\nname = \"all\"\nper = \"month\"\nsoft = 3\nhard = 10\n")
	nightly, laptop := k.command("key", "create", "me", "--label", "nightly runs"), k.command("key", "create", "me", "--label", "laptop")
	k.serve()
	stopped := sync.OnceValue(k.server.stop)
	defer func() { stopped() }()
	for n := range int64(2) {
		if status, got := k.call("/v1/messages", nightly); status != 200 {
			t.Fatalf("call %d: %d %s", n+1, status, got)
		}
		k.settled(n+1, n+1)
	}
	refused := func(when string) {
		t.Helper()
		status, got := k.call("/v1/messages", nightly)
		if status != 402 || !strings.Contains(got, `"type":"billing_error"`) || !strings.Contains(got, "the budget nights of $2.00 a day is spent. It begins anew at ") {
			t.Errorf("%s: %d %s", when, status, got)
		}
	}
	refused("when it is spent")
	if status, got := k.call("/v1/messages", laptop); status != 200 {
		t.Errorf("the other key: %d %s", status, got)
	}
	k.settled(2, 3)
	if _, states := k.states(); strings.Join(states, " ") != "spent warning" {
		t.Errorf("states %v", states)
	}
	if !strings.Contains(k.log.String(), "a budget is above its soft limit") {
		t.Error("no warning is logged")
	}
	// A new process knows what the old one spent.
	if status := stopped(); status != 0 {
		t.Fatalf("status %d", status)
	}
	k.serve()
	stopped = sync.OnceValue(k.server.stop)
	refused("after a restart")
	if status, got := k.call("/v1/messages", laptop); status != 200 {
		t.Errorf("the other key after a restart: %d %s", status, got)
	}
}

func TestAQueryWithoutMoneyIsNotAsked(t *testing.T) {
	q := newAsking(t, holdfast.Anthropic, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Yes."} })
	q.config = []string{`models.m.price={input=1000000,output=1000000}`, `budget=[{name="mine",per="month",soft=0.01,hard=0.02}]`}
	_, errs, status := q.run("q", "one")
	if status != 0 || !strings.Contains(errs, "holdfast: the budget mine is above its soft limit of $0.01 a month: $") {
		t.Fatalf("status %d, told %q", status, errs)
	}
	n := len(q.bodies())
	_, errs, status = q.run("q", "-c", "two")
	if status != 77 || !strings.Contains(errs, "the budget mine of $0.02 a month is spent. It begins anew at 2026-04-01T00:00:00Z") {
		t.Errorf("status %d, told %q", status, errs)
	}
	if got := len(q.bodies()); got != n {
		t.Errorf("%d calls were made", got-n)
	}
	// What was asked stands, for another day.
	if shown := q.ok("c", "print", "last"); !strings.Contains(shown, "two") {
		t.Errorf("the question is gone:\n%s", shown)
	}
}
