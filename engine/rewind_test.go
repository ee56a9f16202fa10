package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
)

// rounds adds a round for each of the names, whose plan has that step under way.
func (w *world) rounds(r request, h []entry, names ...string) []entry {
	w.t.Helper()
	for _, n := range names {
		h = w.turn(r, join(h, user("do "+n)), call("c"+n, "update_plan", steps("completed:a", "completed:b", "in_progress:"+n)))
		h = w.turn(r, join(h, result("c"+n, ok)), long("did "+n))
	}
	return h
}

func TestACompactionOfARewoundHistoryCarriesNothingOfWhatWasTakenBack(t *testing.T) {
	const planned = "in_progress:a pending:b"
	for _, tt := range []struct {
		name string
		r    request
		asks entry
		more []entry // behind the place that the person went back to
		last int     // rounds that are taken back
		want string
	}{
		{"at once", claude, user(claudeMarker), nil, 3, planned},
		{"at once, in codex", s1, user(codexMarker), nil, 3, planned},
		{"with a new prompt", claude, user(claudeMarker), []entry{user("another way")}, 3, planned},
		{"with a new prompt in the place of the newest one", claude, user(claudeMarker), []entry{user("another way")}, 1, planned},
		{"an agent that keeps its newest rounds verbatim goes on", bare, user(qwenPrompt), nil, 3, "completed:a completed:b in_progress:z"},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by another process %v", tt.name, restarted), func(t *testing.T) {
				w := newWorld(t)
				early := w.planned(tt.r)
				names := []string{"x", "y", "z"}
				w.rounds(tt.r, early, names[3-tt.last:]...)
				if restarted {
					w.restart()
				}
				block := w.boundary(tt.r, join(join(early, tt.more...), tt.asks)...)
				if got := planIn(block); got != tt.want || strings.Contains(block, "do z") != (tt.want != planned) {
					t.Errorf("it carries %q\n%s\n%s", got, block, w.log)
				}
			})
		}
	}
}

func TestARoundThatWasBrokenOffIsNoWayBack(t *testing.T) {
	w := newWorld(t)
	h := w.rounds(claude, w.planned(claude), "x")
	w.begin(claude, join(h, user("broken off"))...).Done(holdfast.Answer{})
	w.boundary(claude, join(h, user(claudeMarker))...)
	w.restart()
	w.boundary(claude, join(h, user(claudeMarker))...)
	w.expect(claude, "completed:a completed:b in_progress:x")
}

func TestACompactionOfAHistoryFromBeforeACompactionCarriesNothingOfWhatCameBehind(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	old := w.planned(claude)
	h := w.rounds(claude, old, "x")
	a := w.begin(claude, join(h, user(claudeMarker))...)
	text := "sum\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.rounds(claude, []entry{user(claudeBack + text)}, "y")
	a = w.begin(claude, join(old, user(claudeMarker))...)
	if got := planIn(a.Block); got != "in_progress:a pending:b" {
		t.Errorf("it carries %q\n%s", got, w.log)
	}
	text = "sum of another way\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.turn(claude, []entry{user(claudeBack + text), user("another way")}, call("c9", "update_plan", steps("completed:a", "in_progress:b")))
	w.expect(claude, "completed:a completed:b in_progress:y", "completed:a in_progress:b")
}

func TestACompactionThatTheAgentDiscardsOpensNoEpochBehindARewind(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		w := newWorld(t)
		w.planOnly()
		compact := func(h []entry, text string) string {
			a := w.begin(claude, join(h, user(claudeMarker))...)
			text += "\n\n" + a.Block
			a.Commit(context.Background(), holdfast.TextDigest(text), true)
			done(a, answer(text))
			return text
		}
		text := compact(w.planned(claude), "sum")
		early := w.turn(claude, []entry{user(claudeBack + text), user("next")}, long("first"))
		h := w.rounds(claude, early, "x")
		compact(h, "discarded")
		if goesOn {
			w.turn(claude, join(h, user("and more")), long("more"))
			w.restart() // what another process finds
		}
		r := w.turn(claude, join(early, user("another way")), long("another"))
		if got := planIn(w.boundary(claude, join(r, user(claudeMarker))...)); got != "in_progress:a pending:b" {
			t.Errorf("goes on %v: it carries %q\n%s", goesOn, got, w.log)
		}
	}
}

func TestTwoOpaqueCompactionsOnTwoWaysAreToldApart(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(s1)
	compact := func(h []entry, item string) {
		a := w.begin(s1, join(h, entry{Trigger: true})...)
		a.Commit(context.Background(), holdfast.TextDigest(item), false)
		done(a, entry{Item: item})
	}
	compact(w.turn(s1, join(h, user("one way")), long("one")), "one")
	y := w.turn(s1, join(h, user("another way")), call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	compact(w.turn(s1, join(y, result("c2", ok)), long("another")), "another")
	for item, want := range map[string]string{"another": "completed:a in_progress:b", "one": "in_progress:a pending:b"} {
		b := w.begin(s1, user("build it"), entry{Item: item}, user("go on"))
		if b.Insert == nil || planIn(b.Insert.Text) != want {
			t.Errorf("behind %s stands %+v, want %s\n%s", item, b.Insert, want, w.log)
		}
		done(b, long("yes"))
	}
}

func TestACompactionThatIsAskedForAgainAndBreaksOffLeavesTheFirst(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(bare)
	a := w.begin(bare, join(h, user(qwenPrompt))...)
	text := "sum\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.begin(bare, join(h, user(qwenPrompt))...).Done(holdfast.Answer{})
	w.restart()
	b := w.begin(bare, user(text), answer(gotIt), user("go on"))
	from, _, _ := a.Place()
	if to, _, _ := b.Place(); from != to {
		t.Errorf("the next epoch is of another session\n%s", w.log)
	}
	done(b, long("yes"))
}

func TestASummaryUpToAPlaceLeavesWhatCameBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		early := w.planned(claude)
		h := w.rounds(claude, early, "x", "y", "z")
		time.Sleep(time.Second) // it is written
		st, err := w.st.Session(t.Context(), holdfast.Local, "claude-code", claude.session)
		if err != nil {
			t.Fatal(err)
		}
		edit := continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: "never touch the billing table"}
		if _, err := engine.Edit(t.Context(), w.st, holdfast.Local, st.ID, st.Branches[0].ID, edit, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // it is taken up
		a := w.begin(claude, join(early, user(claudeMarker))...)
		text := "sum\n\n" + a.Block
		a.Commit(context.Background(), holdfast.TextDigest(text), true)
		done(a, answer(text))
		behind := join([]entry{user(claudeBack + text)}, h[len(early):]...)
		n := w.turn(claude, join(behind, user("go on")), long("yes"))
		block := w.boundary(claude, join(n, user(claudeMarker))...)
		if !strings.Contains(block, "never touch the billing table") || planIn(block) != "completed:a completed:b in_progress:z" {
			t.Errorf("the next compaction carries\n%s\n%s", block, w.log)
		}
	})
}

func TestADiscardedCompactionThatIsNotWrittenYetIsNoOtherProcess(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, join(h, user(codexMarker))...)
	a.Commit(context.Background(), holdfast.TextDigest("sum"), false)
	done(a, answer("sum"))
	flying := w.begin(s1, join(h, user("go on without it"))...)
	done(w.begin(request{session: s1.session, thread: "t2"}, user("a subagent's task")), long("found"))
	done(flying, call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	w.expect(s1, "completed:a in_progress:b", "none")
}

func TestACompactionThatBreaksOffBehindItsEpochTakesNothingBack(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(bare)
	first, second := w.begin(bare, join(h, user(qwenPrompt))...), w.begin(bare, join(h, user(qwenPrompt))...)
	text := "sum\n\n" + second.Block
	second.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(second, answer(text))
	b := w.begin(bare, user(text), answer(gotIt), user("go on"))
	done(b, answer("yes"))
	first.Done(holdfast.Answer{})
	w.restart()
	c := w.begin(bare, user(text), answer(gotIt), user("go on"), answer("yes"), user("more"))
	from, _, _ := b.Place()
	if to, _, _ := c.Place(); from != to {
		t.Errorf("the next process finds another session\n%s", w.log)
	}
	done(c, answer("yes"))
}

func TestARewindThatIsCompactedAtOnceShowsInWhatStandsBehindTheSummary(t *testing.T) {
	const planned, changed = "in_progress:a pending:b", "completed:a completed:b in_progress:x"
	for _, form := range inWords {
		for _, tt := range []struct {
			name string
			kept func(before, h []entry) []entry // verbatim
			want string                          // what the summary's own block gives way to
		}{
			{"up to a newest round of words", func(_, h []entry) []entry { return h[:len(h)-2] }, changed},
			{"up to the place that the person went back to", func(before, _ []entry) []entry { return before }, planned},
			{"up to the newest round", func(_, h []entry) []entry { return h }, ""},
			{"up to what the user said last", func(_, h []entry) []entry { return h[:len(h)-1] }, ""},
			{"nothing", func([]entry, []entry) []entry { return nil }, ""},
			{"a round that nobody knows", func(before, _ []entry) []entry {
				return join(before, user("in another process"), call("c7", "Bash", "{}"), result("c7", "done"), answer("It was."))
			}, ""},
		} {
			for _, restarted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, by another process %v", form.name, tt.name, restarted), func(t *testing.T) {
					w := newWorld(t)
					early := w.planned(form.r)
					before := w.turn(form.r, join(early, user("next")), call("c8", "Bash", "{}"))
					before = w.turn(form.r, join(before, result("c8", "done")), answer("Done."))
					h := w.turn(form.r, join(w.rounds(form.r, before, "x"), user("never touch it")), answer("Good."))
					if restarted {
						w.restart()
					}
					a := w.begin(form.r, user(fmt.Sprintf(form.frame, "[User]: build it\n\n"+form.model+early[len(early)-1].Answer+"\n\n")))
					if got := planIn(a.Block); got != changed {
						t.Fatalf("the summary carries %q, want %q\n%s", got, changed, w.log)
					}
					text := "sum\n\n" + a.Block
					a.Commit(context.Background(), holdfast.TextDigest(text), true)
					done(a, answer(text))
					n := join(form.back(text), tt.kept(before[len(early):], h[len(early):])...)
					n = join(n, user("go on"))
					for i := range 2 {
						if i == 1 {
							w.restart() // what another process finds
						}
						a = w.begin(form.r, n...)
						got, at := "", -1
						if a.Insert != nil {
							got, at = planIn(a.Insert.Text), a.Insert.At
							if strings.Contains(a.Insert.Text, "never touch it") || strings.Contains(a.Insert.Text, "do x") != (got == changed) {
								t.Errorf("what was taken back stands in\n%s", a.Insert.Text)
							}
						}
						if got != tt.want || got != "" && at != len(form.back(text))-1 {
							t.Errorf("turn %d has %q in element %d, want %q\n%s", i, got, at, tt.want, w.log)
						}
						done(a, long(fmt.Sprint("yes ", i)))
						n = join(n, long(fmt.Sprint("yes ", i)), user("and on"))
					}
				})
			}
		}
	}
}

func TestARewindThatIsCompactedUnseenShowsInWhatStandsBehindTheSummary(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds int // that stand behind the summary
		want   string
	}{
		{"up to the place that the person went back to", 1, "completed:a completed:b in_progress:x"},
		{"all of them", 3, "completed:a completed:b in_progress:z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			early := w.planned(open1)
			h := w.rounds(open1, early, "x", "y", "z")
			const round = 4 // a prompt, a call, its result and a text
			kept := h[len(early) : len(early)+round*tt.rounds]
			a := w.begin(open1, join(join([]entry{user("What did we do so far?"), answer("sum")}, kept...), user("go on"))...)
			if a.Insert == nil || planIn(a.Insert.Text) != tt.want {
				t.Errorf("the epoch begins with %+v, want %q\n%s", a.Insert, tt.want, w.log)
			}
			done(a, answer("yes"))
		})
	}
}

func TestWhatWasStillToBeReadUpToTheRewindIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		o.set(func(context.Context) error { time.Sleep(time.Second); return nil })
		early := w.turn(open1, []entry{user("Use rule 1.")}, call("c1", "Bash", "{}"))
		early = w.turn(open1, join(early, result("c1", "done")), answer("Done."))
		w.rounds(open1, join(early, user("Use rule 2."), answer("So.")), "x", "y")
		time.Sleep(5 * time.Second) // both are read by now, the first one behind the place
		a := w.begin(open1, user(fmt.Sprintf(openCompact, "[User]: Use rule 1.\n\n")))
		text := "sum\n\n" + a.Final(t.Context())
		a.Commit(t.Context(), holdfast.TextDigest(text), true)
		done(a, answer(text))
		a = w.begin(open1, user("What did we do so far?"), answer(text), early[1], early[2], early[3], user("go on"))
		if a.Insert == nil || !strings.Contains(a.Insert.Text, "Use rule 1.") || strings.Contains(a.Insert.Text, "Use rule 2.") {
			t.Errorf("the epoch has %+v in the place of\n%s\n%s", a.Insert, text, w.log)
		}
		done(a, answer("yes"))
	})
}

func TestOnlyANewestRoundThatWasBrokenOffMayBeMissing(t *testing.T) {
	const words = "never touch the billing table"
	said, another := user(words), user("another way")
	talk := []entry{said, answer("Good.")}
	work := []entry{said, call("c8", "Bash", "{}"), result("c8", "done"), answer("Good.")}
	for _, tt := range []struct {
		name  string
		round []entry
		whole bool    // its last answer
		asked []entry // behind what stood before it, in the request for a summary
		want  bool    // it is part of what is summed up
	}{
		{"words, taken back", talk, true, nil, false},
		{"words, broken off", talk, false, nil, true},
		{"words, broken off, with another prompt in their place", talk, false, []entry{another}, false},
		{"words, of which the answer is left out", talk, true, talk[:1], true},
		{"words", talk, true, talk, true},
		{"a call, taken back", work, true, nil, false},
		{"a call, broken off behind it and taken back", work, false, nil, false},
		{"a call that is left out", work, true, work[:1], true},
		{"a call", work, true, work, true},
	} {
		for _, form := range []struct {
			name string
			r    request
			asks entry
		}{{"claude-code", claude, user(claudeMarker)}, {"codex", s1, user(codexMarker)}} {
			t.Run(form.name+", "+tt.name, func(t *testing.T) {
				w := newWorld(t)
				early := w.planned(form.r)
				last := len(tt.round) - 1
				if last > 1 {
					w.turn(form.r, join(early, tt.round[0]), tt.round[1])
				}
				a := w.begin(form.r, join(early, tt.round[:last]...)...)
				if tt.whole {
					done(a, tt.round[last])
				} else {
					a.Done(holdfast.Answer{})
				}
				c := w.begin(form.r, join(join(early, tt.asked...), form.asks)...)
				_, was, _ := a.Place()
				if _, is, _ := c.Place(); (was == is) != tt.want {
					t.Errorf("it is on the same branch: %v, want %v\n%s", was == is, tt.want, w.log)
				}
				if form.r == claude && strings.Contains(c.Block, words) != tt.want {
					t.Errorf("the summary carries\n%s", c.Block)
				}
			})
		}
	}
}

func TestAnAnswerThatIsSaidAgainIsNoWayBack(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		w := newWorld(t)
		h := w.turn(claude, []entry{user("plan it")}, long("the same"))
		h = w.turn(claude, join(h, user("take rule 1")), long("the same"))
		if restarted {
			w.restart()
		}
		a := w.begin(claude, join(h, user(claudeMarker))...)
		text := "sum\n\n" + a.Block
		a.Commit(context.Background(), holdfast.TextDigest(text), true)
		done(a, answer(text))
		b := w.begin(claude, user(claudeBack+text), h[len(h)-1], user("go on"))
		_, from, _ := a.Place()
		if _, to, _ := b.Place(); from != to {
			t.Errorf("by another process %v: it goes on in another branch\n%s", restarted, w.log)
		}
		done(b, long("yes"))
	}
}

func TestWhatWasTakenBackBeforeACompactionDoesNotComeBackWithTheNextOne(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("by another process %v", restarted), func(t *testing.T) {
			w := newWorld(t)
			early := w.planned(open1)
			before := w.turn(open1, join(early, user("next")), call("c8", "Bash", "{}"))
			before = w.turn(open1, join(before, result("c8", "done")), answer("Done."))
			w.rounds(open1, before, "x", "y")
			a := w.begin(open1, user(fmt.Sprintf(openCompact, "[User]: build it\n\n")))
			text := "sum\n\n" + a.Block
			a.Commit(context.Background(), holdfast.TextDigest(text), true)
			done(a, answer(text))
			n := join([]entry{user("What did we do so far?"), answer(text)}, before[len(early):]...)
			n = w.turn(open1, join(n, user("go on")), call("c20", "update_plan", steps("completed:a", "in_progress:b")))
			w.turn(open1, join(n, result("c20", ok)), long("yes"))
			if restarted {
				w.restart()
			}
			a = w.begin(open1, user("What did we do so far?"), answer("made unseen"), user("and on"))
			if a.Insert == nil || planIn(a.Insert.Text) != "completed:a in_progress:b" || strings.Contains(a.Insert.Text, "do x") {
				t.Errorf("the next epoch has %+v\n%s", a.Insert, w.log)
			}
			done(a, answer("yes"))
		})
	}
}

func TestASummaryShowsNoPlanToWhoWentBackToWhereThereWasNone(t *testing.T) {
	for _, form := range inWords {
		for _, copies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, forks begin with a copy: %v", form.name, copies), func(t *testing.T) {
				w := newWorld(t)
				w.cfg.CopyOnFork = copies
				w.planOnly()
				early := w.turn(form.r, []entry{user("hello")}, call("c0", "Bash", "{}"))
				early = w.turn(form.r, join(early, result("c0", "done")), long("first"))
				w.rounds(form.r, early, "x", "y")
				a := w.begin(form.r, user(fmt.Sprintf(form.frame, "[User]: hello\n\n"+form.model+early[len(early)-1].Answer+"\n\n")))
				text := "sum\n\n" + a.Block
				if planIn(text) == "" {
					t.Fatalf("the summary has no plan\n%s", text)
				}
				a.Commit(context.Background(), holdfast.TextDigest(text), true)
				done(a, answer(text))
				n := join(join(form.back(text), early[1:]...), user("go on"))
				first := engine.Insertion{}
				for i := range 2 {
					if i == 1 {
						w.restart() // what another process finds
					}
					a = w.begin(form.r, n...)
					if a.Insert == nil || a.Insert.At != len(form.back(text))-1 || strings.Contains(a.Insert.Text, "##") {
						t.Fatalf("turn %d has %+v\n%s", i, a.Insert, w.log)
					}
					if i == 0 {
						first = *a.Insert
					} else if *a.Insert != first {
						t.Errorf("it became %+v, from %+v", *a.Insert, first)
					}
					done(a, long("yes"))
					n = join(n, long("yes"), user("and on"))
				}
			})
		}
	}
}
