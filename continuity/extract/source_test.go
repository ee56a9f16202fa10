package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

func user(parts ...holdfast.Part) holdfast.Event { return holdfast.UserMessage{Parts: parts} }

func entries(events ...holdfast.Event) (all []holdfast.Entry) {
	for i, e := range events {
		all = append(all, holdfast.Entry{Seq: int64(i + 1), ID: holdfast.EventID(fmt.Sprint("e", i+1)), Event: e})
	}
	return all
}

func TestMessagesAreWhatPersonAndModelSaid(t *testing.T) {
	block := holdfast.BlockOpen + " revision=\"3\">\nrecord\n" + holdfast.BlockClose
	got := extract.Messages(entries(
		holdfast.TurnStart{},
		holdfast.SystemMessage{},
		user(holdfast.Text("<system-reminder>be quick</system-reminder>"), holdfast.Text("Use sqlite."), holdfast.Media{Type: "image", Data: "AAAA"}, holdfast.Text("And port 1.")),
		holdfast.Reasoning{Text: "SECRET THOUGHT"},
		holdfast.AssistantMessage{Text: "I propose this."},
		holdfast.ToolCall{ID: "c1", Name: "bash", Arguments: []byte(`{"command":"CALL"}`)},
		holdfast.ToolResult{CallID: "c1", Text: "TOOL OUTPUT", Parts: []holdfast.Part{holdfast.Text("TOOL OUTPUT")}},
		user(holdfast.Text("This session is being continued from a previous conversation that ran out of context. Summary: he likes it.")),
		holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("go on by itself")}, Synthetic: true},
		user(holdfast.Text(block)),
		user(holdfast.Media{Type: "image", Data: "AAAA"}),
		holdfast.AssistantMessage{Text: "No response requested."},
		holdfast.AssistantMessage{Text: "Before. " + block + " Behind."},
		user(holdfast.Text("Thanks."+block)),
		holdfast.Continuity{}, holdfast.Overlay{}, holdfast.Unknown{Type: "x"},
	), 4)
	want := []extract.Message{
		{ID: "e3", Turn: 5, Role: extract.User, Text: "Use sqlite.\nAnd port 1."},
		{ID: "e5", Turn: 5, Role: extract.Assistant, Text: "I propose this."},
		{ID: "e13", Turn: 5, Role: extract.Assistant, Text: "Before.  Behind."},
		{ID: "e14", Turn: 6, Role: extract.User, Text: "Thanks."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// same and upper are redactions of tests.
func same(s string) string { return s }

func source(tokens int) extract.Source {
	return extract.Source{Tokens: tokens, Estimate: continuity.EstimateTokens, Redact: same}
}

// history is messages "u: ..." and "a: ..." with the ids m1, m2 and so on.
func history(lines ...string) []extract.Message { return talk(holdfast.Capsule{}, lines...).Messages }

func ids(b extract.Batch) string {
	var all []string
	for _, m := range b.Messages {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

func TestSource(t *testing.T) {
	const plan = "a: I propose: 1. edit the reader. 2. edit the writer."
	for _, tt := range []struct {
		name      string
		watermark string
		lines     []string
		want      string // ids
		eligible  bool
		moves     string
	}{
		{"every message of the person; the model's only where it is answered", "", []string{"u: Use sqlite, never redis.", "a: I ran the tests and all of them are green now, so the work goes on.", "u: " + strings.Repeat("Now write down what was done in the file. ", 5)}, "m1 m3", true, "m3"},
		{"what a short answer answers", "", []string{"u: Show the file.", "a: Shall I delete it?", "u: ok"}, "m1 m2 m3", true, "m3"},
		{"the plan, though more was said behind it", "", []string{"u: Show the file.", plan, "a: That is all for now.", "u: Go on."}, "m1 m2 m4", true, "m4"},
		{"a plan that nobody answered yet", "", []string{"u: Show the file.", plan, "a: That is all for now."}, "m1 m2", true, "m3"},
		{"a thought that nobody answered", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue."}, "m1", false, "m2"},
		{"a plan before a thought", "", []string{"u: Show the file.", plan, "a: I would begin with the reader."}, "m1 m2", true, "m3"},
		{"the newest plan alone", "", []string{"u: Show the file.", plan, "a: Or rather, I propose: 1. edit it all. 2. run it."}, "m1 m3", true, "m3"},
		{"only what is behind the watermark", "m2", []string{"u: Use sqlite, never redis.", "a: Done.", "u: Use port 17."}, "m2 m3", true, "m3"},
		{"a plan from before the watermark that is answered behind it", "m2", []string{"u: Plan it.", plan, "u: Go on."}, "m2 m3", true, "m3"},
		{"an unknown watermark covers nothing", "gone", []string{"u: Use sqlite, never redis."}, "m1", true, "m1"},
		{"nothing but chatter needs no call, and the watermark moves", "", []string{"u: Go on.", "a: Done.", "u: Show me main.go again."}, "m1 m2 m3", false, "m3"},
		{"a yes to what was offered", "", []string{"u: Show the file.", "a: I could delete it.", "u: Fine by me."}, "m1 m2 m3", true, "m3"},
		{"a yes to what was asked", "", []string{"u: Show the file.", "a: Delete it?", "u: Fine by me."}, "m1 m2 m3", true, "m3"},
		{"a yes to what was thought aloud", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue.", "u: Yes."}, "m1 m2 m3", true, "m3"},
		{"a question with a word of a yes in it behind what was thought aloud", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue.", "u: What is left to do?"}, "m1 m2 m3", false, "m3"},
		{"a yes behind a question of the person's own", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue.", "u: Why not? Do it."}, "m1 m2 m3", true, "m3"},
		{"going on behind what was thought aloud", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue.", "u: Looks good, continue."}, "m1 m2 m3", false, "m3"},
		{"going on behind a question", "", []string{"u: Show the file.", "a: I would add a wizard to the queue. Shall I?", "u: Yes, continue."}, "m1 m2 m3", true, "m3"},
		{"an order behind what was thought aloud", "", []string{"u: Show the file.", "a: One idea would be a wizard for the queue.", "u: Run the tests again."}, "m1 m2 m3", false, "m3"},
		{"a yes to going on", "", []string{"u: Show the file.", "a: The tests of it pass. I will go on with the next part.", "u: Fine by me."}, "m1 m2 m3", false, "m3"},
		{"a yes behind what was told of the work", "", []string{"u: Show the file.", "a: Let me look at the tests of it first, I'll run them.", "a: All of the tests are green and the file is there.", "u: Fine by me."}, "m1 m3 m4", false, "m4"},
		{"a yes behind a question before the last words", "", []string{"u: Show the file.", "a: Shall I delete it?", "a: All of the tests are green and the file is there.", "u: Fine by me."}, "m1 m2 m4", true, "m4"},
		{"a yes to a choice for the next part", "", []string{"u: Show the file.", "a: The tests of it pass. I will use Redis for the next part.", "u: Fine by me."}, "m1 m2 m3", true, "m3"},
		{"a yes in a language whose offers are not known", "", []string{"u: Show the file.", "a: Poistan sen nyt kokonaan pois.", "u: Ok."}, "m1 m2 m3", true, "m3"},
		{"a yes to a report is no acceptance", "", []string{"u: Show the file.", "a: All of the tests are green and the file is there.", "u: Fine by me."}, "m1 m2 m3", false, "m3"},
		{"a yes with more than that is read", "", []string{"u: Show the file.", "a: All of the tests are green and the file is there.", "u: Fine, but keep the old one."}, "m1 m2 m3", true, "m3"},
		{"the model alone needs no call", "m1", []string{"u: Go on.", "a: Done.", "a: Done too."}, "", false, "m3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, ok := source(12000).Next(holdfast.Capsule{Watermark: tt.watermark}, history(tt.lines...))
			if !ok || b.More {
				t.Fatalf("ok %t, more %t", ok, b.More)
			}
			if ids(b) != tt.want || b.Eligible != tt.eligible || b.Watermark != tt.moves {
				t.Errorf("messages %q, eligible %t, watermark %s", ids(b), b.Eligible, b.Watermark)
			}
		})
	}
	t.Run("nothing new is nothing", func(t *testing.T) {
		if b, ok := source(12000).Next(holdfast.Capsule{Watermark: "m1"}, history("u: Use sqlite.")); ok {
			t.Errorf("a batch of %q", ids(b))
		}
		if _, ok := source(12000).Next(holdfast.Capsule{}, nil); ok {
			t.Error("a batch of nothing")
		}
	})
}

// What many short messages hold must have room in one answer; those that hold nothing
// take none.
func TestABatchHasAtMostSixteenMessagesThatMayHoldSomething(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("u: Use port %d.", i), "u: Go on.")
	}
	for most, want := range map[int]string{0: "m32", 1: "m2", 3: "m6", 16: "m32", 17: "m32"} {
		s := source(12000)
		s.Most = most
		b, ok := s.Next(holdfast.Capsule{}, history(lines...))
		if !ok || !b.More || b.Watermark != want || most > 0 && b.Holding != min(most, 16) {
			t.Errorf("at most %d: ok %t, more %t, %d hold something, up to %s, want %s", most, ok, b.More, b.Holding, b.Watermark, want)
		}
	}
}

func TestABatchIsDueByWhatItsCallIsSent(t *testing.T) {
	for _, lines := range [][]string{{"u: Use sqlite, never redis."}, {"u: Use " + strings.Repeat("port 17 and port 18. ", 300), "a: I propose: 1. edit the reader. 2. edit the writer.", "u: Yes."}} {
		c := holdfast.Capsule{Constraints: []holdfast.Constraint{{ID: "c1", Statement: strings.Repeat("no cgo ", 100), Status: holdfast.FactActive}}}
		b, ok := source(12000).Next(c, history(lines...))
		if !ok {
			t.Fatal("no batch")
		}
		p := b.Prompt("0123456789abcdef")
		if sent := continuity.EstimateTokens(p.System) + continuity.EstimateTokens(p.Data); b.Tokens*10 < sent*9 || b.Tokens*10 > sent*11 {
			t.Errorf("a call of %d tokens counts as %d", sent, b.Tokens)
		}
		if b.Due(b.Tokens*20-1, 0.05) || !b.Due(b.Tokens*20, 0.05) {
			t.Errorf("a batch of %d tokens is not due at 20 times as much", b.Tokens)
		}
		if !b.Due(0, 1) {
			t.Error("with a ratio of 1 a batch waits")
		}
		if b.More = true; !b.Due(0, 0.05) {
			t.Error("a full batch waits for more")
		}
	}
}

func TestSourceGoesInBatches(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("u: Use port %d for it. %s", i, strings.Repeat("It is a long story. ", 30)))
	}
	c, all := holdfast.Capsule{}, history(lines...)
	var seen []string
	for n := 0; ; n++ {
		b, ok := source(2000).Next(c, all)
		if !ok {
			break
		}
		size := continuity.EstimateTokens(b.Record)
		for _, m := range b.Messages {
			size += continuity.EstimateTokens(m.Text)
			seen = append(seen, m.ID)
		}
		if size > 2000 || len(b.Messages) == 0 || n > 40 {
			t.Fatalf("batch %d has %d tokens, %d messages", n, size, len(b.Messages))
		}
		if b.More != (b.Watermark != "m40") {
			t.Errorf("more %t at %s", b.More, b.Watermark)
		}
		c.Watermark = b.Watermark
	}
	for i := range 40 {
		if seen[i] != fmt.Sprint("m", i+1) {
			t.Fatalf("message %d is %s", i+1, seen[i])
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d messages were sent", len(seen))
	}
}

func TestSourceShortensAndRedacts(t *testing.T) {
	secret := "sk-" + strings.Repeat("q", 40)
	s := source(12000)
	s.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[redacted:key]") }
	log := strings.Repeat("2026-01-02T03:04:05Z INFO [main] x=1 y=2 z={a:1,b:[2,3]} 0x7fff\n", 400)
	code := "```go\n" + strings.Repeat("\tx := foo(bar[i], 3)\n", 200) + "```"
	c := continuity.Merge(holdfast.Capsule{}, continuity.Delta{Constraints: []holdfast.Constraint{{Statement: "key " + secret, Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByEdit}}}})
	b, _ := s.Next(c, history("a: I would take "+secret+".", "u: The key is "+secret+".\n"+log+"Never print it.\n"+code+"\nUse port 17."))
	p := b.Prompt("MARK")
	if strings.Contains(p.Data, "sk-q") || strings.Contains(p.Data, "INFO") || strings.Contains(p.Data, "foo(bar") {
		t.Errorf("a secret, a log or code was sent:\n%s", p.Data)
	}
	for _, want := range []string{"The key is [redacted:key].\n[400 pasted lines left out]\nNever print it.\n[200 pasted lines left out]\nUse port 17.", "I would take [redacted:key].", "key [redacted:key]"} {
		if !strings.Contains(p.Data, want) {
			t.Errorf("%q is missing in\n%s", want, p.Data)
		}
	}
	t.Run("the model's steps stay, its code goes, and a long text is cut behind a line", func(t *testing.T) {
		var plan strings.Builder
		for i := range 12 {
			fmt.Fprintf(&plan, "%d. {internal/a_b/c_%d.go} => x[%d]\n", i+1, i, i)
		}
		b, _ := source(12000).Next(holdfast.Capsule{}, history("a: "+plan.String()+code+"\nTell me.", "u: Yes."))
		want := extract.Message{ID: "m1", Role: extract.Assistant, Text: plan.String() + "[200 lines of code left out]\nTell me."}
		if diff := cmp.Diff(want, b.Messages[0]); diff != "" {
			t.Error(diff)
		}
		b, _ = source(12000).Next(holdfast.Capsule{}, history("a: "+strings.Repeat("1. a step of many words\n", 600), "u: Yes."))
		if m := b.Messages[0]; !m.Cut || !strings.HasSuffix(m.Text, "\n1. a step of many words") || len(m.Text) > 12<<10 {
			t.Errorf("cut %t, %d bytes", m.Cut, len(m.Text))
		}
	})
	t.Run("a message that is too long for any batch keeps head and tail", func(t *testing.T) {
		b, _ := source(1000).Next(holdfast.Capsule{}, history("u: First, use sqlite. "+strings.Repeat("It is a long story. ", 3000)+"Last, use port 17."))
		text := b.Messages[0].Text
		if !strings.HasPrefix(text, "First, use sqlite.") || !strings.HasSuffix(text, "Last, use port 17.") || !b.Messages[0].Cut || continuity.EstimateTokens(text) > 1000 {
			t.Errorf("%d tokens: %s", continuity.EstimateTokens(text), text)
		}
	})
}

func TestTheRecordIsWhatIsInForce(t *testing.T) {
	c := continuity.Merge(holdfast.Capsule{}, continuity.Delta{
		Decisions: []holdfast.Decision{
			{Subject: "db", Statement: "Redis", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 1, Quote: "QUOTE"}},
			{Subject: "db", Statement: "SQLite", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 2, Quote: "QUOTE"}},
		},
		Facts: []holdfast.Fact{{Kind: holdfast.ValueFact, Statement: "port 1", Status: holdfast.FactProvisional}},
	})
	c.UserWords = []holdfast.UserWord{{Turn: 1, Text: "WORDS"}}
	b, _ := source(12000).Next(c, history("u: Use port 2."))
	want := `{"schema_version":1,"revision":1,"branch":"","digest":"","decisions":[{"id":"d2","subject":"db","statement":"SQLite","status":"active","evidence":{"by":"user","turn":2}}]}`
	if diff := cmp.Diff(want, b.Record); diff != "" {
		t.Error(diff)
	}
	t.Run("what has no room goes, oldest first", func(t *testing.T) {
		c := holdfast.Capsule{Revision: 3}
		for i := range 200 {
			c.Constraints = append(c.Constraints, holdfast.Constraint{ID: fmt.Sprint("c", i), Statement: strings.Repeat("rule ", 10), Status: holdfast.FactActive})
		}
		b, _ := source(2000).Next(c, history("u: Use port 2."))
		if n := continuity.EstimateTokens(b.Record); n > 1000 || !strings.Contains(b.Record, `"c199"`) || strings.Contains(b.Record, `"c0"`) || !strings.Contains(b.Record, `"revision":3`) {
			t.Errorf("%d tokens: %s", n, b.Record)
		}
	})
	t.Run("a plan that is too long for any room", func(t *testing.T) {
		b, _ := source(2000).Next(holdfast.Capsule{Revision: 3, Plan: &holdfast.Plan{Text: strings.Repeat("plan ", 5000)}}, history("u: Use port 2."))
		if b.Record != `{"schema_version":1,"revision":3,"branch":"","digest":""}` {
			t.Errorf("record %.200s", b.Record)
		}
	})
}

// Batches cover the history without a gap: each message of the person is sent once,
// in order, and every batch moves the watermark.
func TestSourceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 16).Draw(t, "n") {
			who := rapid.SampledFrom([]string{"u: ", "u: ", "a: ", "a: I propose: 1. x. 2. y. "}).Draw(t, "who")
			lines = append(lines, who+strings.Repeat(rapid.SampledFrom([]string{"go on ", "use port 7. ", "näytä se "}).Draw(t, "text"), rapid.SampledFrom([]int{1, 2, 5, 200}).Draw(t, "times")))
		}
		all := history(lines...)
		c := holdfast.Capsule{}
		var sent []string
		for n := 0; ; n++ {
			b, ok := source(rapid.IntRange(0, 4000).Draw(t, "tokens")).Next(c, all)
			if !ok {
				break
			}
			if b.Watermark == c.Watermark || n > len(all) {
				t.Fatal("the watermark does not move")
			}
			for _, m := range b.Messages {
				if m.Role == extract.User {
					sent = append(sent, m.ID)
				}
			}
			if !slices.IsSortedFunc(b.Messages, func(x, y extract.Message) int { return len(x.ID) - len(y.ID) }) {
				t.Fatal("the order is not that of the history")
			}
			c.Watermark = b.Watermark
		}
		var want []string
		for _, m := range all {
			if m.Role == extract.User {
				want = append(want, m.ID)
			}
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A pasted log is looked at as far as it is sent, and cut, not word by word: all of
// what is unread is looked at again before each call of the model.
func TestAPastedLogIsNotLookedThroughWordByWord(t *testing.T) {
	text := "Use tabs.\n" + strings.Repeat("2026-11-30 10:00:00 the server returned 200 for a request of the handler\n", 20_000)
	messages := []extract.Message{{ID: "1", Turn: 1, Role: extract.User, Text: text}}
	s := extract.Source{Tokens: 12_000, Estimate: continuity.EstimateTokens, Redact: func(text string) string { return text }}
	cut := testing.AllocsPerRun(1, func() { continuity.Shorten(text, 12<<10) })
	if n := testing.AllocsPerRun(1, func() { s.Next(holdfast.Capsule{}, messages) }); n > 3*cut {
		t.Errorf("a batch takes %.0f allocations, and to cut the text %.0f", n, cut)
	}
	b, ok := s.Next(holdfast.Capsule{}, messages)
	if !ok || !b.Eligible || b.Tokens > 5000 {
		t.Errorf("eligible: %v, %d tokens", b.Eligible, b.Tokens)
	}
}

func TestABatchThatTakesMoreIsNotFullWithIt(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		s := extract.Source{Tokens: 16000, Most: rapid.IntRange(0, 6).Draw(t, "most"), Estimate: continuity.EstimateTokens, Redact: func(s string) string { return s }}
		var all []extract.Message
		for i := range rapid.IntRange(1, 14).Draw(t, "messages") {
			m := extract.Message{ID: fmt.Sprint(i), Turn: i + 1, Role: extract.Assistant, Text: rapid.SampledFrom([]string{"Shall I use sqlite?", "1. Read it\n2. Write it", "Готово."}).Draw(t, "said")}
			if rapid.Bool().Draw(t, "typed") {
				m.Role, m.Text = extract.User, rapid.SampledFrom([]string{"Yes, do that.", "Never push to main.", "Порт 48213, и никогда не 80."}).Draw(t, "typed words")
			}
			m.Text = strings.Repeat(m.Text+" ", rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "times"))
			all = append(all, m)
		}
		k := rapid.IntRange(1, len(all)).Draw(t, "first")
		b, ok := s.Next(holdfast.Capsule{}, all[:k])
		if !ok || b.More || !s.Takes(b, all[k:]) {
			return
		}
		taken++
		if whole, _ := s.Next(holdfast.Capsule{}, all); whole.More {
			t.Fatalf("a batch of %d tokens, %d holding, took %d messages and is full", b.Tokens, b.Holding, len(all)-k)
		}
	})
	if taken == 0 {
		t.Error("no batch takes more")
	}
}
