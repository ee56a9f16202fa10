package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
)

var bare = request{bare: true, protocol: holdfast.Chat}

// sessions lists what the sessions of the store hold, the last used first.
func (w *world) sessions() (out []string) {
	w.t.Helper()
	w.restart()
	list, err := w.st.Sessions(context.Background(), holdfast.Local)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		out = append(out, strings.Join(w.held(s.ID), " & "))
	}
	return out
}

const (
	piCompact  = "<conversation>\n%s</conversation>\n\nThe messages above are a conversation to summarize."
	piBack     = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	qwenPrompt = "First, reason in your scratchpad. Then, generate the <state_snapshot>."
	qwenSetup  = "This is the Qwen Code. We are setting up the context for our chat."
	gotIt      = "Got it. Thanks for the additional context!"
)

// quoted writes a history as pi does.
func quoted(h []entry) string {
	var b strings.Builder
	for _, e := range h {
		switch {
		case e.User != "":
			fmt.Fprintf(&b, "[User]: %s\n\n", e.User)
		case e.Answer != "":
			fmt.Fprintf(&b, "[Assistant]: %s\n\n", e.Answer)
		case e.Tool != "":
			fmt.Fprintf(&b, "[Assistant tool calls]: %s(%s)\n\n", e.Tool, e.Args)
		default:
			fmt.Fprintf(&b, "[Tool result]: %s\n\n", e.Result)
		}
	}
	return fmt.Sprintf(piCompact, b.String())
}

func TestAnAgentWithoutIdsIsLinkedByWhatWasRelayed(t *testing.T) {
	w := newWorld(t)
	h := w.planned(bare)
	for i := range 4 {
		h = w.turn(bare, append(h, user(fmt.Sprint("next ", i))), long(fmt.Sprint("yes ", i)))
	}
	if got := w.sessions(); len(got) != 1 || got[0] != "in_progress:a pending:b" {
		t.Errorf("sessions hold %q", got)
	}
}

func TestAnAgentWithoutIdsIsLinkedAcrossARestart(t *testing.T) {
	w := newWorld(t)
	h := w.planned(bare)
	h = w.turn(bare, append(h, user("next")), long("yes"))
	w.restart()
	w.turn(bare, append(h, user("after the restart")), call("c9", "update_plan", steps("completed:a", "in_progress:b")))
	if got := w.sessions(); len(got) != 1 || got[0] != "completed:a in_progress:b" {
		t.Errorf("sessions hold %q", got)
	}
}

func TestTwoAgentsWithoutIdsThatBeginAlikeDoNotMix(t *testing.T) {
	w := newWorld(t)
	w.turn(bare, []entry{user("build it")}, call("x1", "update_plan", steps("pending:left")))
	w.turn(bare, []entry{user("build it")}, call("y1", "update_plan", steps("pending:right")))
	w.turn(bare, []entry{user("build it"), call("x1", "update_plan", steps("pending:left")), result("x1", ok)}, long("l"))
	w.turn(bare, []entry{user("build it"), call("y1", "update_plan", steps("pending:right")), result("y1", ok)}, long("r"))
	got := w.sessions()
	if len(got) != 2 || got[0] != "pending:right" || got[1] != "pending:left" {
		t.Errorf("sessions hold %q", got)
	}
}

func TestARequestThatNothingCouldFindAgainLeavesNoSession(t *testing.T) {
	w := newWorld(t)
	w.turn(bare, []entry{user("hi")}, answer("Hello!"))
	if got := w.sessions(); len(got) != 0 {
		t.Errorf("sessions hold %q", got)
	}
}

func TestACompactionInWordsIsLinkedByWhatItQuotes(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted: ", restarted), func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(bare)
			h = w.turn(bare, append(h, user("more")), long("more of it"))
			w.turn(request{bare: true, protocol: holdfast.Chat}, []entry{user("another session")}, long("indeed"))
			for n := range 3 {
				if restarted {
					w.restart()
				}
				a := w.begin(bare, user(quoted(h)))
				if !a.Boundary || !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
					t.Fatalf("compaction %d: boundary %v, block\n%s\n%s", n, a.Boundary, a.Block, w.log)
				}
				summary := fmt.Sprintf("forgot %d\n\n%s", n, a.Block)
				a.Commit(context.Background(), holdfast.TextDigest(summary), true)
				done(a, answer(summary))
				if restarted {
					w.restart()
				}
				h = []entry{user(piBack + summary + "\n</summary>"), user(fmt.Sprint("next ", n))}
				b := w.begin(bare, h...)
				if b.Insert != nil {
					t.Fatalf("compaction %d: the block was added twice", n)
				}
				done(b, long(fmt.Sprint("yes ", n)))
				h = append(h, long(fmt.Sprint("yes ", n)))
			}
		})
	}
}

func TestAnAgentThatLeavesItsIdOutOfACompactionIsLinkedByWhatItQuotes(t *testing.T) {
	w := newWorld(t)
	named := request{session: "pi-1", protocol: holdfast.Chat}
	h := w.planned(named)
	a := w.begin(bare, user(quoted(h)))
	if !strings.Contains(a.Block, "1. [in_progress] a") {
		t.Fatalf("block\n%s\n%s", a.Block, w.log)
	}
	a.Commit(context.Background(), holdfast.TextDigest("s"), true)
	done(a, answer("s"))
	b := w.begin(named, user(piBack+"forgot"+a.Block), user("next"))
	if b.Insert != nil {
		t.Error("the block was added twice")
	}
	done(b, long("yes"))
}

func TestABareSummaryIsKnownByTheTextBehindIt(t *testing.T) {
	w := newWorld(t)
	setup := []entry{user(qwenSetup), answer("Got it. Thanks for the context!")}
	h := w.planned(bare)
	h = append(append([]entry(nil), setup...), h...)
	for n := range 3 {
		a := w.begin(bare, append(h, user(qwenPrompt))...)
		if !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
			t.Fatalf("compaction %d: block\n%s\n%s", n, a.Block, w.log)
		}
		if strings.Contains(a.Block, "forgot") || strings.Contains(a.Block, "setting up") {
			t.Fatalf("compaction %d: a summary or the setup is taken for the user's words:\n%s", n, a.Block)
		}
		summary := fmt.Sprintf("<state_snapshot>forgot %d</state_snapshot>\n\n%s", n, a.Block)
		a.Commit(context.Background(), holdfast.TextDigest(summary), true)
		done(a, answer(summary))
		h = append(append([]entry(nil), setup...), user(summary), answer(gotIt), user(fmt.Sprint("next ", n)))
		b := w.begin(bare, h...)
		if b.Insert != nil {
			t.Fatalf("compaction %d: the block was added twice", n)
		}
		done(b, long(fmt.Sprint("yes ", n)))
		h = append(h, long(fmt.Sprint("yes ", n)))
	}
	if got := w.sessions(); len(got) != 1 {
		t.Errorf("%d sessions: %q", len(got), got)
	}
}

func TestWhenTwoSessionsQuoteAlikeNothingIsDelivered(t *testing.T) {
	w := newWorld(t)
	for _, side := range []string{"l", "r"} {
		c := call(side, "update_plan", steps("pending:"+side))
		h := w.turn(bare, []entry{user("build it")}, c)
		w.turn(bare, append(h, result(side, ok)), answer("ok"))
	}
	a := w.begin(bare, user(fmt.Sprintf(piCompact, "[User]: build it\n\n")))
	defer done(a)
	if a.Block != "" {
		t.Errorf("an ambiguous request got\n%s", a.Block)
	}
}

// A client that no row knows asks for a summary in its own words and begins its
// next history with what it got.
func TestAnUnknownClientGetsTheBlockWhenARelayedSummaryOpensAShorterHistory(t *testing.T) {
	for name, r := range map[string]request{"without an id": bare, "with an id": {session: "x-1", protocol: holdfast.Chat}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(r)
			summary := long("They worked on the router and then")
			w.turn(r, append(h, user("Please write down where we are, I will start afresh.")), summary)
			history := []entry{user(summary.Answer), user("go on")}
			var block string
			for i := range 3 {
				b := w.begin(r, history...)
				if b.Insert == nil || b.Insert.At != 0 || !strings.Contains(b.Insert.Text, "1. [in_progress] a\n2. [pending] b\n") {
					t.Fatalf("request %d: insertion %+v\n%s", i, b.Insert, w.log)
				}
				if block != "" && b.Insert.Text != block {
					t.Fatalf("request %d: the block changed", i)
				}
				block = b.Insert.Text
				if strings.Contains(block, "They worked") {
					t.Fatalf("the summary is taken for the user's words:\n%s", block)
				}
				done(b, long(fmt.Sprint("yes ", i)))
				history = append(history, long(fmt.Sprint("yes ", i)), user(fmt.Sprint("more ", i)))
			}
		})
	}
}

// gemini-cli names no session, and its calls have ids that it does not keep: what
// they say, and where they stand, is all there is.
func TestCallsWithoutIdsAreKnownByTheirPlace(t *testing.T) {
	w := newWorld(t)
	plan := func(words ...string) entry { return call("update_plan#"+words[0], "update_plan", steps(words...)) }
	run := call("Bash#1", "Bash", `{"command":"echo checked"}`)
	ran := result("Bash#", "checked")
	h := w.turn(bare, []entry{user("build it")}, plan("in_progress:a", "pending:b"))
	h = w.turn(bare, append(h, result("update_plan#", ok)), run)
	w.restart()
	h = w.turn(bare, append(h, ran), run)
	h = w.turn(bare, append(h, ran), answer("Done."))
	w.turn(bare, append(h, user("go on")), plan("completed:a", "in_progress:b"))
	if n := strings.Count(w.log.String(), "how=new"); n != 1 {
		t.Errorf("%d sessions were begun\n%s", n, w.log)
	}
	if got := w.sessions(); len(got) != 1 || got[0] != "completed:a in_progress:b" {
		t.Errorf("sessions hold %q\n%s", got, w.log)
	}
}

// Where two sessions go the same way, they are one until they part.
func TestSessionsWithoutAnyIdPartWhereTheirHistoriesDo(t *testing.T) {
	w := newWorld(t)
	plan := func(word string) entry { return call("update_plan#"+word, "update_plan", steps("pending:"+word)) }
	begin := []entry{user("build it"), plan("first"), result("update_plan#", ok)}
	w.turn(bare, begin[:1], begin[1])
	w.turn(bare, begin, plan("left"))
	left := append(append([]entry(nil), begin...), plan("left"), result("update_plan#", ok))
	w.turn(bare, left, answer("Done."))
	w.turn(bare, begin[:1], begin[1])
	w.turn(bare, begin, plan("right"))
	right := append(append([]entry(nil), begin...), plan("right"), result("update_plan#", ok))
	w.turn(bare, right, answer("Done."))
	if got := w.sessions(); len(got) != 1 || got[0] != "pending:left & pending:right" {
		t.Errorf("sessions hold %q\n%s", got, w.log)
	}
}

// The same words and calls behind two summaries are two sessions: that of the one
// which nobody saw compacted has nothing of the other.
func TestTheSameCallsBehindTwoSummariesAreNotOneSession(t *testing.T) {
	w := newWorld(t)
	run := call("Bash#1", "Bash", `{"command":"echo checked"}`)
	h := w.planned(bare)
	a := w.begin(bare, append(h, user(qwenPrompt))...)
	a.Commit(context.Background(), holdfast.TextDigest("the first"), false)
	done(a, answer("the first"))
	w.turn(bare, []entry{user("the first"), answer(gotIt), user("go on")}, run)
	b := w.begin(bare, user("the other"), answer(gotIt), user("go on"), run, result("Bash#", "checked"))
	if b.Insert != nil {
		t.Errorf("a session that was not seen before got\n%s", b.Insert.Text)
	}
	done(b, answer("Done."))
}

// A session may be seen for the first time when it is compacted, and have nothing
// behind that by which it could be found but its summary.
func TestASessionThatBeginsWithACompactionIsFoundByItsSummary(t *testing.T) {
	w := newWorld(t)
	plan := call("update_plan#1", "update_plan", steps("in_progress:a", "pending:b"))
	a := w.begin(bare, user("build it"), plan, result("update_plan#", ok), answer("Done."), user(qwenPrompt))
	if !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
		t.Fatalf("block\n%s\n%s", a.Block, w.log)
	}
	summary := "forgot\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(summary), true)
	done(a, answer(summary))
	h := []entry{user(summary), answer(gotIt), user("go on")}
	h = w.turn(bare, h, answer("Yes."))
	h = w.turn(bare, append(h, user("and on")), answer("Yes."))
	w.turn(bare, append(h, user("and on")), answer("Yes."))
	if got := w.sessions(); len(got) != 1 || got[0] != "in_progress:a pending:b" {
		t.Errorf("sessions hold %q\n%s", got, w.log)
	}
	w.turn(bare, append(h, user("after a restart")), answer("Yes."))
	if got := w.sessions(); len(got) != 1 {
		t.Errorf("sessions hold %q\n%s", got, w.log)
	}
}

// counting counts the elements that it decodes.
type counting struct {
	codec
	n *int
}

func (c counting) Decode(raw []byte, wanted func(string) bool) ([]holdfast.Event, error) {
	*c.n++
	return c.codec.Decode(raw, wanted)
}

// What is remembered of an element goes by a hash of it, for which another
// element can be made: so no principal reads what another one has put there.
func TestElementsAreRememberedPerPrincipal(t *testing.T) {
	w := newWorld(t)
	decoded := func(p holdfast.Principal) (n int) {
		body := []byte(`[{"user":"one"},{"answer":"two"},{"user":"three"}]`)
		req := holdfast.Request{Protocol: holdfast.Chat, Messages: []holdfast.Span{{Start: 1, End: 15}, {Start: 16, End: 32}, {Start: 33, End: 49}}}
		w.e.Begin(context.Background(), counting{n: &n}, engine.Inbound{
			Caller: holdfast.Caller{Principal: p}, Path: "/v1/x", Body: body, Request: req, Header: func(string) string { return "" },
		}).Done(holdfast.Answer{})
		return n
	}
	// The last element is decoded once more, to see what the request is.
	for _, step := range []struct {
		principal holdfast.Principal
		want      int
	}{{"one", 4}, {"one", 1}, {"two", 4}, {"two", 1}, {"one", 1}} {
		if got := decoded(step.principal); got != step.want {
			t.Errorf("principal %s: %d elements were decoded, want %d", step.principal, got, step.want)
		}
	}
}

// A model says the same before it acts in many sessions. What the person asked for
// before that tells them apart.
func TestTheSameTextAndCallBehindOtherWordsAreNotOneSession(t *testing.T) {
	w := newWorld(t)
	says := long("I will begin by listing the files of the directory")
	run := call("Bash#1", "Bash", `{"command":"ls"}`)
	plan := call("update_plan#left", "update_plan", steps("pending:left"))
	h := w.turn(bare, []entry{user("build it")}, says, run)
	h = w.turn(bare, append(h, result("Bash#", "a")), plan)
	w.turn(bare, append(h, result("update_plan#", ok)), answer("Done."))
	h = w.turn(bare, []entry{user("tear it down")}, says, run)
	h = w.turn(bare, append(h, result("Bash#", "a")), answer("Done."))
	a := w.begin(bare, append(h, user(qwenPrompt))...)
	defer done(a)
	if strings.Contains(a.Block, "build it") || !strings.Contains(a.Block, "tear it down") {
		t.Errorf("the second session gets\n%s\n%s", a.Block, w.log)
	}
}

// A session that goes the way of an older one, which has gone on behind its compaction,
// has nothing of what came there.
func TestACompactionThatGoesTheWayOfAnOlderSessionHasNothingNewer(t *testing.T) {
	w := newWorld(t)
	run := call("Bash#1", "Bash", `{"command":"make"}`)
	plan := func(word string) entry { return call("update_plan#"+word, "update_plan", steps("pending:"+word)) }
	begins := func() []entry {
		h := w.turn(bare, []entry{user("run the checks")}, plan("both"))
		h = w.turn(bare, append(h, result("update_plan#", ok)), run)
		return w.turn(bare, append(h, result("Bash#", "fine")), answer("Done."))
	}
	compacted := func(h []entry, words string) (block string, next []entry) {
		a := w.begin(bare, append(h, user(qwenPrompt))...)
		summary := words + "\n\n" + a.Block
		a.Commit(context.Background(), holdfast.TextDigest(summary), true)
		done(a, answer(summary))
		return a.Block, []entry{user(summary), answer(gotIt), user("go on")}
	}
	_, first := compacted(begins(), "first")
	first = w.turn(bare, first, plan("left"))
	first = w.turn(bare, append(first, result("update_plan#", ok)), answer("Yes."))
	block, second := compacted(begins(), "second")
	if strings.Contains(block, "left") || !strings.Contains(block, "[pending] both") {
		t.Errorf("the second session gets\n%s", block)
	}
	second = w.turn(bare, second, plan("right"))
	w.turn(bare, append(second, result("update_plan#", ok)), answer("Yes."))
	w.turn(bare, append(first, user("and on")), answer("Yes."))
	if got := w.sessions(); len(got) != 1 || got[0] != "pending:left & pending:right" {
		t.Errorf("sessions hold %q\n%s", got, w.log)
	}
}

// Of a text that two sessions have, the store names the one used last alone. What only
// one of them has decides, also in a process that knows neither.
func TestTextsOfTwoSessionsDoNotMixThemAcrossARestart(t *testing.T) {
	w := newWorld(t)
	says, more := long("I will begin by listing the files of the directory"), long("I will read them one by one")
	h := w.turn(bare, []entry{user("tear it down")}, says)
	h = w.turn(bare, append(h, user("so")), more)
	h = w.turn(bare, append(h, user("go on")), call("Bash#1", "Bash", `{"command":"rm"}`))
	h = w.turn(bare, append(h, result("Bash#", "gone")), answer("Well."))
	first := w.turn(bare, []entry{user("build it")}, says, call("x1", "update_plan", steps("pending:left")))
	first = w.turn(bare, append(first, result("x1", ok), user("so")), more)
	w.turn(bare, append(first, user("go on")), answer("Done."))
	w.restart()
	a := w.begin(bare, append(h, user(qwenPrompt))...)
	defer done(a)
	if strings.Contains(a.Block, "build it") || !strings.Contains(a.Block, "tear it down") {
		t.Errorf("the second session gets\n%s\n%s", a.Block, w.log)
	}
}

// What the person said is a sign of a history in words alone: anyone says "go on".
func TestACompactionIsNotTakenForASessionInWhichTheSameWasSaid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt func(h []entry) []entry
	}{
		{"a history as it is", func(h []entry) []entry { return append(h, user(qwenPrompt)) }},
		{"a history in words", func(h []entry) []entry { return []entry{user(quoted(h))} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(bare)
			h = w.turn(bare, append(h, user("go on")), answer("Yes."))
			w.restart()
			w.turn(bare, []entry{user("tear it down"), answer("Yes."), user("go on")}, call("y1", "update_plan", steps("pending:right")))
			a := w.begin(bare, tt.prompt(h)...)
			defer done(a)
			if strings.Contains(a.Block, "right") || strings.Contains(a.Block, "tear it down") || !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
				t.Errorf("it gets\n%s\n%s", a.Block, w.log)
			}
		})
	}
}

// A summary may be summarised at once. It is that of the branch which it was made for,
// whichever was used since.
func TestASummaryThatIsCompactedAtOnceStaysWithItsBranch(t *testing.T) {
	w := newWorld(t)
	plan := func(word string) entry { return call("update_plan#"+word, "update_plan", steps("pending:"+word)) }
	begin := []entry{user("build it"), plan("first"), result("update_plan#", ok)}
	w.turn(bare, begin[:1], begin[1])
	var ways [2][]entry
	for i, word := range []string{"left", "right"} {
		ways[i] = append(w.turn(bare, begin, plan(word)), result("update_plan#", ok))
		ways[i] = w.turn(bare, ways[i], answer("Done."))
	}
	h := ways[0]
	for n := range 2 {
		a := w.begin(bare, append(h, user(qwenPrompt))...)
		if strings.Contains(a.Block, "right") || !strings.Contains(a.Block, "[pending] left") {
			t.Errorf("compaction %d gets\n%s\n%s", n, a.Block, w.log)
		}
		summary := fmt.Sprintf("summary %d\n\n%s", n, a.Block)
		a.Commit(context.Background(), holdfast.TextDigest(summary), true)
		done(a, answer(summary))
		h = []entry{user(summary), answer(gotIt)}
		ways[1] = w.turn(bare, append(ways[1], user("go on")), answer("Yes."))
	}
}

func TestAnAnswerThatTheConversationWentOnFromIsNoSummary(t *testing.T) {
	for _, r := range []request{bare, s1} {
		w := newWorld(t)
		plan := long("1. write the reader 2. port the mapping 3. add tests")
		h := w.turn(r, []entry{user("plan the importer, team Heron")}, plan)
		w.turn(r, join(h, user("go")), long("fine"))
		a := w.begin(r, user(plan.Answer), user("do that"))
		if a.Insert != nil {
			t.Errorf("what begins with an older answer gets the block of its conversation:\n%s\n%s", a.Insert.Text, w.log)
		}
		done(a, long("yes"))
	}
}

func TestCallIdsThatRecurInEveryConversationMixNone(t *testing.T) {
	ids := []string{"functions.bash:0", "functions.update_plan:1"}
	for _, restarted := range []bool{false, true} {
		w := newWorld(t)
		begin := func(first, plan string) []entry {
			h := w.turn(bare, []entry{user(first)}, call(ids[0], "Bash", "{}"))
			h = w.turn(bare, join(h, result(ids[0], "x")), call(ids[1], "update_plan", steps("in_progress:"+plan)))
			return w.turn(bare, join(h, result(ids[1], ok)), answer("Done."))
		}
		a, b := begin("build A for team Heron", "a"), begin("fix B", "b")
		if restarted {
			w.restart()
		}
		w.turn(bare, join(a, user("go on with A")), answer("Sure."))
		b = w.turn(bare, join(b, user("go on with B")), answer("Sure."))
		block := w.boundary(bare, join(b, user(qwenPrompt))...)
		if strings.Contains(block, "Heron") || planIn(block) != "in_progress:b" {
			t.Errorf("restarted %v: B's compaction carries %q\n%s", restarted, planIn(block), block)
		}
		if got := w.sessions(); len(got) != 2 || got[0] != "in_progress:b" || got[1] != "in_progress:a" {
			t.Errorf("restarted %v: sessions hold %q", restarted, got)
		}
	}
}

func TestCallIdsThatRecurInEveryAnswerAreCallsOfTheirOwn(t *testing.T) {
	for _, r := range []request{s1, bare} {
		w := newWorld(t)
		w.planOnly()
		h := w.turn(r, []entry{user("build it")}, call("call_0", "update_plan", steps("in_progress:a")))
		h = w.turn(r, join(h, result("call_0", ok)), call("call_0", "Bash", "{}"))
		h = w.turn(r, join(h, result("call_0", "a listing")), call("call_0", "update_plan", steps("completed:a", "pending:b")))
		h = w.turn(r, join(h, result("call_0", ok)), long("yes"))
		marker := codexMarker
		if r.bare {
			marker = qwenPrompt
		}
		if got := planIn(w.boundary(r, join(h, user(marker))...)); got != "completed:a pending:b" {
			t.Errorf("it carries %q\n%s", got, w.log)
		}
	}
}
