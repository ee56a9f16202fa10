package continuity_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
)

// said folds messages of the user.
func said(texts ...string) holdfast.Capsule {
	var c holdfast.Capsule
	for i, t := range texts {
		c = continuity.Fold(c, []continuity.Call{call(fmt.Sprint("u", i), agents.UserSaid, continuity.Words(t), "ok")}, continuity.All)
	}
	return c
}

func TestWords(t *testing.T) {
	log := strings.Repeat("2026-01-02T03:04:05Z INFO [main] x=1 y=2 z={a:1,b:[2,3]} 0x7fff\n", 40)
	code := "```go\n" + strings.Repeat("\tx := foo(bar[i], 3)\n", 20) + "```"
	for _, tt := range []struct{ name, in, want string }{
		{"a short message stays as it is", "  Use port 48213, not 8080.\n", "Use port 48213, not 8080."},
		{"a long message in sentences stays whole", strings.Repeat("Please keep the old importer until March. ", 20), strings.TrimSpace(strings.Repeat("Please keep the old importer until March. ", 20))},
		{"a pasted log becomes a stub, the sentences around it stay", "The limit is 17 MB, see the log:\n" + log + "Do not raise it.", "The limit is 17 MB, see the log:\n[40 pasted lines left out]\nDo not raise it."},
		{"fenced code becomes a stub", "Why does this fail?\n" + code + "\n" + strings.Repeat("It must not use cgo at all, please. ", 10), "Why does this fail?\n[20 pasted lines left out]\n" + strings.TrimSpace(strings.Repeat("It must not use cgo at all, please. ", 10))},
		{"code in a line is no fence", "```npm test``` fails with it.\n" + strings.Repeat("Please keep the old importer until March.\n", 5) + strings.Repeat("It must not use cgo at all, please. ", 12), "```npm test``` fails with it.\n" + strings.Repeat("Please keep the old importer until March.\n", 5) + strings.TrimSpace(strings.Repeat("It must not use cgo at all, please. ", 12))},
		{"a blob in one line becomes a stub", "Decode this:\n" + strings.Repeat("QUJDREVG", 200) + "\nand say what it is.", "Decode this:\n[a pasted line of 1600 characters left out]\nand say what it is."},
		{"nothing is nothing", " \n\t", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := continuity.Words(tt.in)
			if got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
			if again := continuity.Words(got); again != got {
				t.Errorf("again it becomes\n%q", again)
			}
		})
	}
}

func TestAValueBesideMuchPastedTextSurvives(t *testing.T) {
	paste := strings.Repeat("func f(a int) { return a*2 + b[c] } // xx\n", 4000)
	for _, message := range []string{"The API key limit is 48213.\n" + paste, paste + "The API key limit is 48213.", paste + "The API key limit is 48213.\n" + paste} {
		c := said("Please build it.", message, "go on", "and now the tests")
		text := render(t, c, 2500)
		if !strings.Contains(text, "48213") {
			t.Errorf("the value is lost:\n%s", text)
		}
		if len(text) > 4000 {
			t.Errorf("the block has %d bytes", len(text))
		}
	}
}

func TestWordsInTheBlock(t *testing.T) {
	t.Run("oldest first, headed as words", func(t *testing.T) {
		text := render(t, said("Build the importer.", "Use sqlite.", "Port 48213, please."), 2500)
		want := "## Words of the user, oldest first (as typed; later words override earlier ones; nothing here is to be done again)\n" +
			"- Build the importer.\n- Use sqlite.\n- Port 48213, please.\n"
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s", text)
		}
	})
	t.Run("the first, the newest and those with something specific come first when there is little room", func(t *testing.T) {
		var texts []string
		texts = append(texts, "Build the importer for the nightly run.")
		for i := range 40 {
			texts = append(texts, fmt.Sprintf("go on with the work as before my friend %s", strings.Repeat("x", i+1)))
		}
		texts = append(texts, "Never touch internal/legacy.", "the newest words")
		c := said(texts...)
		b, _ := continuity.Render(c, continuity.All, continuity.Budget{Tokens: 2500, Words: 90}, continuity.EstimateTokens)
		for _, want := range []string{"- Build the importer for the nightly run.", "- Never touch internal/legacy.", "- the newest words", "messages of the user. The user can see them"} {
			if !strings.Contains(b.Text, want) {
				t.Errorf("%q is missing in\n%s", want, b.Text)
			}
		}
	})
	t.Run("what was pasted in long lines goes before what was said with a value", func(t *testing.T) {
		record := `{"type":"message","id":%d,"usage":{"input":12,"output":7},"content":[{"type":"text","text":"ok"}],"stop":"end_turn","cost":{"input":0.1,"output":0.2},"model":"m-%d","time":"2026-03-01T00:00:00Z","path":"/srv/x"}`
		texts := []string{"Build the importer for the nightly run."}
		for i := range 12 {
			texts = append(texts, fmt.Sprintf("The worker %d gets port %d.", i, 4000+i))
		}
		for i := range 12 {
			texts = append(texts, "look at this\n"+fmt.Sprintf(record, i, i))
		}
		texts = append(texts, "the newest words")
		b, _ := continuity.Render(said(texts...), continuity.All, continuity.Budget{Tokens: 2500, Words: 300}, continuity.EstimateTokens)
		for i := range 12 {
			if want := fmt.Sprintf("- The worker %d gets port %d.\n", i, 4000+i); !strings.Contains(b.Text, want) {
				t.Errorf("%q is missing in\n%s", want, b.Text)
			}
		}
	})
	t.Run("a long line with a value that a person typed stays", func(t *testing.T) {
		typed := "For the importer we take the batch size of 48213 rows, because the database of the customer locks the whole table for longer than their nightly window when more of them come in at once, and they do not want to change that."
		texts := []string{"Build it.", typed}
		for range 30 {
			texts = append(texts, "go on as before "+strings.Repeat("x", len(texts)))
		}
		b, _ := continuity.Render(said(append(texts, "the newest words")...), continuity.All, continuity.Budget{Tokens: 2500, Words: 300}, continuity.EstimateTokens)
		if !strings.Contains(b.Text, typed) {
			t.Errorf("got\n%s", b.Text)
		}
	})
	t.Run("an agent that keeps the user's messages gets none, and no block for words alone", func(t *testing.T) {
		if b, ok := continuity.Render(said("Use sqlite."), continuity.All, continuity.Budget{Tokens: 2500}, continuity.EstimateTokens); ok {
			t.Errorf("rendered %q", b.Text)
		}
	})
	t.Run("words go before the plan when all does not fit", func(t *testing.T) {
		c := said("Use sqlite and port 48213.", strings.Repeat("please keep the module path as it is ", 20))
		c = continuity.Fold(c, []continuity.Call{call("p", "update_plan", `{"plan":[{"step":"wire it into the router","status":"pending"}]}`, updated)}, continuity.All)
		b, _ := continuity.Render(c, continuity.All, continuity.Budget{Tokens: 190, Words: 1000}, continuity.EstimateTokens)
		if !strings.Contains(b.Text, "1. [pending] wire it into the router\n") || continuity.EstimateTokens(b.Text) > 190 {
			t.Errorf("%d tokens:\n%s", continuity.EstimateTokens(b.Text), b.Text)
		}
	})
}

// The first message goes in ahead of newer ones: not without those that turn from it.
func TestNoChoiceIsShownWithoutTheLaterWordsThatTurnFromIt(t *testing.T) {
	const (
		task   = "Build the importer for the nightly run."
		choice = "For the queue of the importer we use a cron job, because the event listener was slow."
		wahl   = "Für die Warteschlange 4 nehmen wir einen Cronjob, weil der Listener langsam war."
		limit  = "Never put more than 500 rows into one batch of the importer."
		short  = "Use sqlite."
	)
	for _, tt := range []struct {
		name, choice, later string
		room                int
		want                bool
	}{
		{"what turns from it is left out", choice, "I changed my mind about the queue of the importer: a timer, not a cron job.", 320, false},
		{"in German too", wahl, "Bei der Warteschlange 4 habe ich es mir anders überlegt: ein Timer, kein Cronjob.", 320, false},
		{"a choice of one word", short, "No, forget sqlite, take what the others have.", 320, false},
		{"what turns from it has room", choice, "I changed my mind about the queue of the importer: a timer, not a cron job.", 2000, true},
		{"nothing turns from it", choice, "The queue of the importer is at port 4711 with the cron job.", 320, true},
		{"what is left out turns from something else", limit, "Forget the long names for the helper of the importer.", 320, true},
		{"what is left out asks", choice, "Why do we not use the timer for the queue of the importer, but a cron job?", 320, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := []string{task + " " + tt.choice, tt.later}
			for i := range 40 {
				texts = append(texts, fmt.Sprintf("The worker %d gets port %d.", i, 4000+i))
			}
			b, _ := continuity.Render(said(texts...), continuity.All, continuity.Budget{Tokens: 2500, Words: tt.room}, continuity.EstimateTokens)
			if got := strings.Contains(b.Text, tt.choice); got != tt.want || !strings.Contains(b.Text, task) {
				t.Errorf("shown: %v\n%s", got, b.Text)
			}
			if got := strings.Contains(b.Text, tt.later); got != (tt.room == 2000) {
				t.Errorf("what is later is shown: %v", got)
			}
		})
	}
}

func TestWordsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9 ./]{0,400}`), 1, 80).Draw(t, "texts")
		c := said(texts...)
		total, turn := 0, 0
		for _, w := range c.UserWords {
			total += len(w.Text)
			if w.Turn <= turn {
				t.Fatal("turns do not grow")
			}
			turn = w.Turn
		}
		if total > 16<<10 {
			t.Fatalf("%d bytes of words", total)
		}
		if n := len(c.UserWords); n > 0 {
			again := continuity.Fold(c, []continuity.Call{call("again", agents.UserSaid, c.UserWords[n-1].Text, "ok")}, continuity.All)
			if again.Digest != c.Digest {
				t.Fatal("the same words again changed the capsule")
			}
		}
	})
}

func TestManyMessagesAreLookedAtOnceEach(t *testing.T) {
	calls := make([]continuity.Call, 3000)
	for i := range calls {
		text := fmt.Sprintf("Look at internal/queue/file%d.go, and keep port %d.", i, i)
		calls[i] = call(fmt.Sprint("u", i), agents.UserSaid, text, "ok")
	}
	few := testing.AllocsPerRun(1, func() { continuity.Fold(holdfast.Capsule{}, calls[:1000], continuity.All) })
	all := testing.AllocsPerRun(1, func() { continuity.Fold(holdfast.Capsule{}, calls, continuity.All) })
	// Once the messages fill their room, each further one pushes one out.
	if each := (all - few) / 2000; each > 20 {
		t.Errorf("a further message takes %.0f allocations: all that is kept is looked at anew for it", each)
	}
}
