package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

func TestAPlanCallOfAnAnswerCountsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.turn(s1, []entry{user("build it")}, call("c1", "update_plan", steps("pending:a")))
	w.expect(s1, "pending:a")
}

func TestAnAnswerThatBreaksOffDoesNotCount(t *testing.T) {
	w := newWorld(t)
	a := w.begin(s1, user("build it"))
	a.Done(holdfast.Answer{Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "update_plan", Arguments: []byte(steps("pending:a"))}}})
	w.expect(s1, "none")
}

func TestACallToAToolThatWasNotOfferedDoesNotCountUntilItsResultDoes(t *testing.T) {
	w := newWorld(t)
	h := w.turn(s1, []entry{user("build it")}, call("c1", "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`))
	w.expect(s1, "none")
	w.turn(s1, append(h, result("c1", "Todos have been modified successfully.")), long("go"))
	w.expect(s1, "pending:a")
}

func TestAnErrorResultWithdrawsTheCall(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	h = w.turn(s1, append(h, user("next")), call("c2", "update_plan", steps("completed:a", "pending:b")))
	w.turn(s1, append(h, result("c2", "unsupported call: update_plan")), long("hm"))
	w.expect(s1, "in_progress:a pending:b")
}

func TestARepeatedAnswerWithdrawsTheFirst(t *testing.T) {
	w := newWorld(t)
	h := append(w.planned(s1), user("next"))
	w.turn(s1, h, call("c2", "update_plan", steps("pending:wrong")))
	again := w.turn(s1, h, call("c3", "update_plan", steps("completed:a", "in_progress:b")))
	w.turn(s1, append(again, result("c3", ok)), long("go"))
	w.expect(s1, "completed:a in_progress:b")
}

func TestALateAnswerToAnOldRequestChangesNothing(t *testing.T) {
	w := newWorld(t)
	h := append(w.planned(s1), user("next"))
	slow := w.begin(s1, h...)
	h2 := w.turn(s1, h, call("c3", "update_plan", steps("completed:a", "in_progress:b")))
	w.turn(s1, append(h2, result("c3", ok)), long("go"))
	done(slow, call("c2", "update_plan", steps("pending:wrong")))
	w.expect(s1, "completed:a in_progress:b")
}

func TestOrderIsThePlaceInTheHistoryNotTheTimeOfCompletion(t *testing.T) {
	w := newWorld(t)
	// Two calls in one answer, seen only in a later history, results swapped.
	w.turn(s1, []entry{
		user("x"), call("c1", "update_plan", steps("pending:old")), call("c2", "update_plan", steps("pending:new")),
		result("c2", ok), result("c1", ok),
	}, long("go"))
	w.expect(s1, "pending:new")
}

func TestTwoRequestsFromOnePointAreOneBranchUntilTheyDiffer(t *testing.T) {
	w := newWorld(t)
	h := append(w.planned(s1), user("next"))
	a1, a2 := w.begin(s1, h...), w.begin(s1, h...)
	done(a1, call("x1", "update_plan", steps("completed:a", "pending:left")))
	done(a2, call("x2", "update_plan", steps("completed:a", "pending:right")))
	w.turn(s1, append(append([]entry(nil), h...), call("x1", "update_plan", steps("completed:a", "pending:left")), result("x1", ok)), long("l"))
	w.turn(s1, append(append([]entry(nil), h...), call("x2", "update_plan", steps("completed:a", "pending:right")), result("x2", ok)), long("r"))
	w.expect(s1, "completed:a pending:left", "completed:a pending:right")
}

func TestARewindIsAForkWithTheCapsuleAsItWasThere(t *testing.T) {
	w := newWorld(t)
	h1 := w.planned(s1)
	h2 := w.turn(s1, append(h1, user("go on")), call("c2", "update_plan", steps("completed:a", "completed:b")))
	w.turn(s1, append(h2, result("c2", ok)), long("all done"))
	w.turn(s1, append(h1, user("no, do it otherwise")), long("fine"))
	w.expect(s1, "completed:a completed:b", "in_progress:a pending:b")
}

func TestAForkInWhichTheModelSaysTheSameAgainStaysAFork(t *testing.T) {
	w := newWorld(t)
	h1 := w.planned(s1)
	look, see := long("I look at it first"), long("It is as I thought")
	left := w.turn(s1, append(h1, user("go on")), look, see, call("c2", "update_plan", steps("completed:a", "pending:left")))
	w.turn(s1, append(left, result("c2", ok)), long("all done"))
	right := w.turn(s1, append(h1, user("no, do it otherwise")), look, see, call("c3", "update_plan", steps("completed:a", "pending:right")))
	w.turn(s1, append(right, result("c3", ok)), long("done otherwise"))
	w.expect(s1, "completed:a pending:left", "completed:a pending:right")
}

func TestAForkRightBehindAnAnswerHasWhatTheAnswerSaid(t *testing.T) {
	w := newWorld(t)
	c := call("c1", "update_plan", steps("pending:a"))
	h := []entry{user("build it"), long("let me plan"), c, result("c1", ok)}
	w.turn(s1, h[:1], long("let me plan"), c)
	w.turn(s1, append(h, user("go on")), long("yes"))
	w.restart()
	w.turn(s1, append(h, user("no, otherwise")), long("fine"))
	w.expect(s1, "pending:a", "pending:a")
}

func TestAnAnswerThatIsConfirmedMakesNoFurtherRevisions(t *testing.T) {
	w := newWorld(t)
	w.cfg.Preserve.UserWords = false
	w.restart()
	c1, c2 := call("c1", "update_plan", steps("completed:a", "pending:b")), call("c2", "update_plan", steps("completed:a", "in_progress:b"))
	w.turn(s1, []entry{user("go")}, c1, c2)
	w.turn(s1, []entry{user("go"), c1, c2, result("c1", ok), result("c2", ok)}, long("yes"))
	w.restart()
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(st.Branches[0].Revisions); n != 1 {
		t.Errorf("%d revisions for one change", n)
	}
}

func TestWithForkEmptyAForkStartsWithoutThePlan(t *testing.T) {
	w := newWorld(t)
	w.cfg.CopyOnFork = false
	w.restart()
	h1 := w.planned(s1)
	w.turn(s1, append(h1, user("go on")), long("done"))
	w.turn(s1, append(h1, user("no, otherwise")), long("fine"))
	w.expect(s1, "in_progress:a pending:b", "none")
}

func TestAHistoryThatCarriesNothingKnownIsAReset(t *testing.T) {
	w := newWorld(t)
	w.planned(s1)
	w.turn(s1, []entry{user("something else entirely")}, long("sure"))
	w.expect(s1, "in_progress:a pending:b", "none")
}

func TestARequestOfAnEarlierStateChangesNothing(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	w.turn(s1, append(h, user("next")), long("yes"))
	w.turn(s1, h[:1], call("zz", "update_plan", steps("pending:wrong")))
	w.expect(s1, "in_progress:a pending:b")
}

func TestInsertedSyntheticTextsDoNotMakeAFork(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	h = append(h, user("<system-reminder>\nx\n</system-reminder>"), user("Continue from where you left off."), answer("No response requested."), user("next"))
	h = w.turn(s1, h, long("yes"))
	w.turn(s1, append(h, user("more")), long("ok"))
	w.expect(s1, "in_progress:a pending:b")
}

func TestAnUnknownSessionWithKnownAnchorsIsAFork(t *testing.T) {
	w := newWorld(t)
	h1 := w.planned(s1)
	s2 := request{session: "s2"}
	h2 := w.turn(s2, append(h1, user("in the fork")), call("f1", "update_plan", steps("completed:a", "in_progress:b")))
	w.turn(s2, append(h2, result("f1", ok)), long("go"))
	w.expect(s2, "completed:a in_progress:b")
	w.expect(s1, "in_progress:a pending:b")
}

func TestTwoSessionsThatBeginAlikeDoNotMix(t *testing.T) {
	w := newWorld(t)
	w.planned(s1)
	s2 := request{session: "s2"}
	w.turn(s2, []entry{user("build it")}, long("hello"))
	w.expect(s2, "none")
}

func TestAForkThatNamesItsOriginFindsItAfterACompaction(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, append(h, user(codexMarker))...)
	a.Commit(context.Background(), holdfast.TextDigest("sum"), false)
	done(a)
	w.turn(s1, []entry{user("build it"), user(codexSummary + "sum"), user("next")}, long("yes"))
	fork := request{session: "s2", fork: "s1"}
	w.turn(fork, []entry{user("build it"), user(codexSummary + "sum"), user("next"), long("yes"), user("in the fork")}, long("ok"))
	w.expect(fork, "in_progress:a pending:b")
}

func TestASubagentHasAPlanOfItsOwn(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	sub := request{session: "s1", thread: "agent-7"}
	w.turn(sub, []entry{user("sub task")}, call("u1", "update_plan", steps("pending:sub")))
	w.turn(s1, append(h, user("next")), long("yes"))
	w.expect(s1, "in_progress:a pending:b", "pending:sub")
}

func TestPlainCompactionCarriesTheBlockAndTheNextHistoryOpensAnEpoch(t *testing.T) {
	w := newWorld(t)
	w.cfg.Preserve.UserWords = false // each turn would be news
	w.restart()
	h := w.planned(s1)
	first := ""
	for n := range 3 {
		a := w.begin(s1, append(h, user(codexMarker))...)
		if !a.Boundary || !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
			t.Fatalf("compaction %d: boundary %v, block\n%s", n, a.Boundary, a.Block)
		}
		if first == "" {
			first = a.Block
		} else if a.Block != first {
			t.Errorf("compaction %d: the block changed without news:\n%s", n, a.Block)
		}
		summary := fmt.Sprintf("forgot all %d\n\n%s", n, a.Block)
		a.Commit(context.Background(), holdfast.TextDigest(summary), true)
		done(a, answer(summary))
		h = []entry{user("build it"), user(codexSummary + summary), user(fmt.Sprint("next ", n))}
		b := w.begin(s1, h...)
		if b.Insert != nil {
			t.Errorf("compaction %d: the block stands in the summary and was added again", n)
		}
		done(b, long("yes"))
		h = append(h, long("yes"))
		if n == 1 {
			w.restart()
		}
	}
	w.expect(s1, "in_progress:a pending:b")
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	if b := st.Branches[0]; b.Epoch != 3 || len(b.Epochs) != 4 || len(b.Boundaries) != 3 {
		t.Errorf("epoch %d, %d epochs, %d boundaries; want 3, 4, 3", b.Epoch, len(b.Epochs), len(b.Boundaries))
	}
}

func TestAnOpaqueCompactionIsFollowedByAStickyBlockOfTheSameBytes(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, append(h, entry{Trigger: true})...)
	if !a.Boundary || a.Block != "" {
		t.Fatalf("boundary %v, block %q; an opaque summary cannot be patched", a.Boundary, a.Block)
	}
	a.Commit(context.Background(), holdfast.Digest{}, false)
	done(a, entry{Item: "blob1"})
	h = []entry{user("build it"), {Item: "blob1"}, user("next")}
	b := w.begin(s1, h...)
	if b.Insert == nil || b.Insert.At != 1 || !strings.Contains(b.Insert.Text, "1. [in_progress] a\n2. [pending] b\n") {
		t.Fatalf("insertion %+v", b.Insert)
	}
	block := b.Insert.Text
	done(b, call("c5", "update_plan", steps("completed:a", "in_progress:b")))
	h = append(h, call("c5", "update_plan", steps("completed:a", "in_progress:b")), result("c5", ok))
	w.restart()
	for range 2 {
		b = w.begin(s1, h...)
		if b.Insert == nil || b.Insert.Text != block || b.Insert.At != 1 {
			t.Fatalf("later in the epoch: insertion %+v", b.Insert)
		}
		done(b, long("go"))
		h = append(h, long("go"), user("more"))
	}
	// The next boundary has the news.
	a = w.begin(s1, append(h, entry{Trigger: true})...)
	a.Commit(context.Background(), holdfast.Digest{}, false)
	done(a, entry{Item: "blob2"})
	b = w.begin(s1, user("build it"), user("next"), entry{Item: "blob2"})
	if b.Insert == nil || b.Insert.At != 2 || !strings.Contains(b.Insert.Text, "1. [completed] a\n2. [in_progress] b\n") {
		t.Fatalf("after the second compaction: %+v", b.Insert)
	}
	done(b)
}

func TestTheLastRoundThatAnAgentKeepsBackCounts(t *testing.T) {
	// claude-code leaves its last round out of the compaction request and keeps
	// it verbatim behind the summary.
	w := newWorld(t)
	r := request{session: "s1", protocol: holdfast.Anthropic}
	create := call("t1", "TaskCreate", `{"subject":"a"}`)
	h := w.turn(r, []entry{user("build it")}, create)
	h = append(h, result("t1", "Task #1 created successfully: a"))
	update := call("t2", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`)
	w.turn(r, h, update)
	a := w.begin(r, append(h, user(claudeMarker))...)
	if !strings.Contains(a.Block, "1. [in_progress] a\n") {
		t.Fatalf("block\n%s", a.Block)
	}
	a.Commit(context.Background(), holdfast.TextDigest("x"), true)
	done(a, answer("x"))
	h = []entry{user(claudeBack + "forgot\n\n" + a.Block), update, result("t2", "Updated task #1 status")}
	b := w.begin(r, h...)
	if b.Insert != nil {
		t.Error("the block was added twice")
	}
	done(b, long("go"))
	w.expect(r, "in_progress:a")
}

func TestACompactionThatWasNotSeenStillOpensAnEpochWithASwornBlock(t *testing.T) {
	w := newWorld(t)
	w.planned(s1)
	b := w.begin(s1, user("build it"), user(codexSummary+"made while the proxy was off"), user("next"))
	if b.Insert == nil || b.Insert.At != 1 || !strings.Contains(b.Insert.Text, "2. [pending] b") {
		t.Fatalf("insertion %+v\n%s", b.Insert, w.log)
	}
	done(b)
}

func TestTheSameSummaryAgainIsStillTheNextEpoch(t *testing.T) {
	w := newWorld(t)
	r := request{session: "s1", protocol: holdfast.Anthropic}
	todo := func(id, a, b string) entry {
		return call(id, "TodoWrite", `{"todos":[{"content":"a","status":"`+a+`"},{"content":"b","status":"`+b+`"}]}`)
	}
	h := []entry{user("build it"), todo("t0", "in_progress", "pending"), result("t0", "ok")}
	for n, want := range []string{"1. [in_progress] a\n2. [pending] b\n", "1. [completed] a\n2. [in_progress] b\n", "1. [pending] a\n2. [in_progress] b\n"} {
		w.turn(r, h, long(fmt.Sprint("kept ", n)))
		a := w.begin(r, append(h, user(claudeMarker))...)
		if !strings.Contains(a.Block, want) {
			t.Fatalf("compaction %d: the block misses %q:\n%s\n%s", n, want, a.Block, w.log)
		}
		a.Commit(context.Background(), holdfast.TextDigest("same"), false) // the agent drops the block
		done(a, answer("same"))
		h = []entry{user(claudeBack + "same"), long(fmt.Sprint("kept ", n)), user(fmt.Sprint("next ", n))}
		b := w.begin(r, h...)
		if b.Insert == nil || !strings.Contains(b.Insert.Text, want) {
			t.Fatalf("compaction %d: insertion %+v\n%s", n, b.Insert, w.log)
		}
		states := [][2]string{{"completed", "in_progress"}, {"pending", "in_progress"}, {"pending", "completed"}}[n]
		c := todo(fmt.Sprint("t", n+1), states[0], states[1])
		done(b, c)
		h = append(h, c, result(fmt.Sprint("t", n+1), "ok"))
	}
}

func TestACompactionInWordsAfterARewindIsThatOfTheBranchUsedLast(t *testing.T) {
	w := newWorld(t)
	h1 := w.planned(open1)
	c := call("c2", "update_plan", steps("completed:a", "completed:b"))
	w.turn(open1, append(append(h1, user("go on")), c, result("c2", ok)), long("all done"))
	w.turn(open1, append(h1, user("no, otherwise")), long("fine"))
	a := w.begin(open1, user("Here is the conversation so far:\n\n<conversation>\n[User]: shortened\n</conversation>\n\nCreate a new anchored summary from the conversation history in the <conversation> tags above"))
	if !strings.Contains(a.Block, "1. [in_progress] a\n2. [pending] b\n") {
		t.Errorf("the block is\n%s\n%s", a.Block, w.log)
	}
	done(a)
}

func TestAFailedCompactionDeliversNothingAndStartsNoEpoch(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, append(h, user(codexMarker))...)
	a.Done(holdfast.Answer{})
	w.turn(s1, append(h, user("go on")), long("yes"))
	w.restart()
	st, _ := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	b := st.Branches[0]
	if len(st.Branches) != 1 || b.Epoch != 0 || len(b.Boundaries) != 1 || b.Boundaries[0].Status != store.BoundaryFailed {
		t.Errorf("%d branches, epoch %d, boundaries %+v", len(st.Branches), b.Epoch, b.Boundaries)
	}
}

func TestARepeatedCompactionRequestIsOneBoundary(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	for range 3 {
		a := w.begin(s1, append(h, user(codexMarker))...)
		a.Commit(context.Background(), holdfast.TextDigest("x"), true)
		done(a, answer("x"))
	}
	w.restart()
	st, _ := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if n := len(st.Branches[0].Boundaries); n != 1 {
		t.Errorf("%d boundaries", n)
	}
}

func TestAPromptLikeACompactionOutsideItsPlaceIsNone(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	for name, last := range map[string][]entry{
		"earlier in the history":   {user(codexMarker), long("no"), user("go on")},
		"quoted in a question":     {user("what does this mean: " + codexMarker)},
		"in a fence":               {user("```\n" + codexMarker + "\n```")},
		"in a result":              {call("b1", "Bash", `{}`), result("b1", codexMarker)},
		"as claude-code writes it": {user(claudeMarker)},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.begin(request{session: "near-" + name}, append(h, last...)...)
			defer done(a)
			if a.Boundary {
				t.Error("taken for a compaction request")
			}
		})
	}
}

func TestTheUsersWordsAreCarriedRedactedAndSyntheticOnesAreNot(t *testing.T) {
	w := newWorld(t)
	r := request{session: "s1", protocol: holdfast.Anthropic}
	h := w.turn(r, []entry{user("<system-reminder>\nbe terse\n</system-reminder>"), user("Use port 48213. My password is hunter2.")}, long("fine"))
	h = w.turn(r, append(h, user("<command-name>/cost</command-name>"), user("never touch internal/legacy")), long("yes"))
	if n := w.count("holdfast_redactions_total"); n != 1 {
		t.Errorf("%v secrets were counted, want the one", n)
	}
	for n := range 16 {
		a := w.begin(r, append(h, user(claudeMarker))...)
		want := "- Use port 48213. My password is [redacted:test].\n- never touch internal/legacy\n"
		if !strings.Contains(a.Block, want) {
			t.Fatalf("compaction %d: the block misses\n%s\nit is\n%s", n, want, a.Block)
		}
		for _, bad := range []string{"hunter2", "terse", "/cost", "CRITICAL", "being continued"} {
			if strings.Contains(a.Block, bad) {
				t.Fatalf("compaction %d: %q stands in\n%s", n, bad, a.Block)
			}
		}
		summary := fmt.Sprintf("forgot %d\n\n%s", n, a.Block)
		a.Commit(context.Background(), holdfast.TextDigest(summary), true)
		done(a, answer(summary))
		h = w.turn(r, []entry{user(claudeBack + summary), user("go on")}, long("ok"))
	}
}

func TestAnAgentThatKeepsTheUsersMessagesGetsNoSecondCopy(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, append(h, user("Use port 48213."), long("ok"), user(codexMarker))...)
	if strings.Contains(a.Block, "48213") || !strings.Contains(a.Block, "1. [in_progress] a") {
		t.Errorf("the block is\n%s", a.Block)
	}
	done(a)
}

func TestAnErasedSessionIsForgottenWithItsBlock(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, append(h, entry{Trigger: true})...)
	a.Commit(context.Background(), holdfast.Digest{}, false)
	done(a, entry{Item: "blob1"})
	h = []entry{user("build it"), {Item: "blob1"}, user("next")}
	b := w.begin(s1, h...)
	if b.Insert == nil {
		t.Fatal("no block before the removal")
	}
	done(b, long("x"))
	w.restart()
	st, _ := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err := w.st.Remove(context.Background(), holdfast.Local, st.ID); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(3 * time.Second)
	for {
		b = w.begin(s1, append(h, long("x"), user("y"))...)
		done(b)
		if b.Insert == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the block of an erased session is still delivered after three seconds")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAPrincipalNeverSeesAnothersSession(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	w.restart()
	var body []byte
	req := holdfast.Request{Protocol: holdfast.Responses, ToolCount: 1}
	for _, e := range append(h, entry{Trigger: true}) {
		raw, _ := json.Marshal(e)
		req.Messages = append(req.Messages, holdfast.Span{Start: len(body), End: len(body) + len(raw)})
		body = append(body, raw...)
	}
	for _, session := range []string{"s1", "s9"} {
		a := w.e.Begin(context.Background(), codec{}, engine.Inbound{
			Caller: holdfast.Caller{Principal: "other"}, Path: "/v1/responses", Body: body, Request: req,
			Header: func(n string) string {
				return map[string]string{"Session-Id": session, "Thread-Id": session}[n]
			},
		})
		a.Commit(context.Background(), holdfast.Digest{}, false)
		a.Done(holdfast.Answer{})
	}
	hits, err := w.st.Sessions(context.Background(), "other")
	if err != nil || len(hits) != 2 {
		t.Fatalf("%v %v", hits, err)
	}
	own, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range hits {
		st, _ := w.st.Load(context.Background(), "other", hit.ID)
		for _, b := range st.Branches {
			if b.Parent == own.Branches[0].ID {
				t.Errorf("session %s was forked from another principal's branch", hit.Key)
			}
		}
	}
}

func TestNothingOfAConversationIsLogged(t *testing.T) {
	w := newWorld(t)
	secret := "canary-7f3a"
	h := w.turn(s1, []entry{user("my " + secret)}, call("c1", "update_plan", steps("pending:"+secret)))
	h = append(h, result("c1", ok+" "+secret))
	a := w.begin(s1, append(h, user(codexMarker))...)
	a.Commit(context.Background(), holdfast.TextDigest("x"), true)
	done(a, answer(secret))
	w.turn(s1, []entry{user("my " + secret), user(codexSummary + secret + a.Block)}, long("yes"))
	w.stop()
	if !strings.Contains(w.log.String(), "phase=committed") {
		t.Errorf("the compaction is not in the log:\n%s", w.log)
	}
	if strings.Contains(w.log.String(), secret) {
		t.Errorf("the log holds text of the conversation:\n%s", w.log)
	}
}
