package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// newRecordedWorld is a world whose branches are recorded.
func newRecordedWorld(t *testing.T) *world {
	w := newWorld(t)
	w.cfg.Transcripts = true
	w.planOnly()
	return w
}

// recorded reads all conversations, oldest first, one event in a line.
func (w *world) recorded() (out []string) {
	w.t.Helper()
	w.restart() // what counts is what is written when a process has ended
	list, err := w.st.List(context.Background(), holdfast.Local, true)
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b store.Conversation) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range list {
		out = append(out, w.stream(c.ID))
	}
	return out
}

func (w *world) stream(id holdfast.ConversationID) string {
	w.t.Helper()
	var b strings.Builder
	for row, err := range w.st.Events(context.Background(), holdfast.Local, id, store.EventRange{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		e, err := conversation.ParseLine(row.Line)
		if err != nil {
			w.t.Fatalf("%s: %v", row.Line, err)
		}
		if e.ID != row.ID || conversation.KindOf(e.Event) != row.Kind {
			w.t.Errorf("the row says %s %s, its line is %s", row.Kind, row.ID, row.Line)
		}
		b.WriteString(shown(e.Event) + "\n")
	}
	return b.String()
}

// shown is an event in one short line.
func shown(e holdfast.Event) string {
	parts := func(list []holdfast.Part) string {
		var texts []string
		for _, p := range list {
			if m, ok := p.(holdfast.Media); ok {
				texts = append(texts, "<"+m.Type+">")
			} else {
				texts = append(texts, string(p.(holdfast.Text)))
			}
		}
		return strings.Join(texts, " + ")
	}
	switch e := e.(type) {
	case holdfast.UserMessage:
		if e.Synthetic {
			return "synthetic " + parts(e.Parts)
		}
		return "user " + parts(e.Parts)
	case holdfast.AssistantMessage:
		return "assistant " + strings.ReplaceAll(e.Text, strings.Repeat(" and so on", 10), "...")
	case holdfast.Reasoning:
		return "reasoning " + e.Text
	case holdfast.ToolCall:
		return fmt.Sprintf("call %s %s %s", e.ID, e.Name, e.Arguments)
	case holdfast.ToolResult:
		return fmt.Sprintf("result %s %s", e.CallID, parts(e.Parts))
	case holdfast.Overlay:
		return fmt.Sprintf("compaction %d..%d %s %s %q", e.FromTurn, e.ToTurn, e.Source, e.Summary.Origin, strings.SplitN(e.Summary.Text, "\n", 2)[0])
	case holdfast.Continuity:
		return "continuity " + brief(e.Capsule)
	}
	return conversation.KindOf(e)
}

func (w *world) expectRecorded(want ...string) {
	w.t.Helper()
	got := w.recorded()
	for i := range max(len(got), len(want)) {
		var g, x string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			x = strings.TrimPrefix(strings.ReplaceAll(want[i], "\t", ""), "\n")
		}
		if g != x {
			w.t.Errorf("conversation %d holds\n%swant\n%s\nlog:\n%s", i, g, x, w.log)
		}
	}
}

func bash(id, command string) entry { return call(id, "Bash", fmt.Sprintf(`{"command":%q}`, command)) }

func TestASessionIsRecordedOnceAndInOrder(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(s1, []entry{user("<environment_context>cwd</environment_context>"), user("build it")}, long("looking"), bash("c1", "ls"), bash("c2", "pwd"))
	h = w.turn(s1, join(h, result("c1", "a b"), result("c2", "/src")), answer("Done."))
	h = w.turn(s1, join(h, user("go on")), bash("c3", "make"))
	w.turn(s1, join(h, result("c3", "ok")), answer("Done."))
	w.expectRecorded(`
		turn
		synthetic <environment_context>cwd</environment_context>
		user build it
		assistant looking...
		call c1 Bash {"command":"ls"}
		call c2 Bash {"command":"pwd"}
		result c1 a b
		result c2 /src
		assistant Done.
		turn
		user go on
		call c3 Bash {"command":"make"}
		result c3 ok
		assistant Done.
	`)
}

func TestWhatIsAskedAgainIsNotRecordedAgain(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(s1, []entry{user("build it")}, long("looking"), bash("c1", "ls"))
	next := join(h, result("c1", "a b"))
	w.begin(s1, next...).Done(holdfast.Answer{}) // broke off
	w.restart()
	w.turn(s1, next, answer("First."))
	h = w.turn(s1, next, answer("Second."))
	h = w.turn(s1, join(h, user("go on")), answer("Yes."))
	w.restart()
	w.turn(s1, join(h, user("go on")), answer("Yes."))
	w.expectRecorded(`
		turn
		user build it
		assistant looking...
		call c1 Bash {"command":"ls"}
		result c1 a b
		assistant First.
		assistant Second.
		turn
		user go on
		assistant Yes.
		turn
		user go on
		assistant Yes.
	`)
}

func TestACompactionIsAnOverlayOverTheTurnsThatItTells(t *testing.T) {
	for _, tt := range []struct {
		name    string
		opaque  bool
		summary string
	}{
		{"a plain summary", false, `"` + codexSummary + `forgot all"`},
		{"an opaque one", true, `"[The summary is the provider's own, in a form that only the provider can read.]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newRecordedWorld(t)
			h := w.planned(s1)
			h = w.turn(s1, join(h, user("go on")), long("going on"))
			h = []entry{user("build it"), user("go on"), w.compact(s1, h, tt.opaque)} // codex keeps what the user said
			h = w.turn(s1, join(h, user("and now")), call("c2", "update_plan", steps("completed:a", "pending:b")))
			w.restart()
			w.turn(s1, join(h, result("c2", ok)), answer("Done."))
			w.expectRecorded(`
				turn
				user build it
				call c1 update_plan {"plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"pending"}]}
				result c1 Plan updated
				assistant working...
				continuity in_progress:a pending:b
				turn
				user go on
				assistant going on...
				compaction 0..1 agent generated ` + tt.summary + `
				turn
				user and now
				call c2 update_plan {"plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"}]}
				result c2 Plan updated
				assistant Done.
				continuity completed:a pending:b
			`)
		})
	}
}

func TestWhatFollowsACompactionInTheMiddleOfATurnBeginsATurn(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(s1, []entry{user("build it")}, long("looking"), bash("c1", "ls"))
	back := w.compact(s1, join(h, result("c1", "a b")), false) // the result is in no other request
	h = w.turn(s1, []entry{user("build it"), back}, bash("c2", "make"))
	w.turn(s1, join(h, result("c2", "ok")), answer("Done."))
	w.expectRecorded(`
		turn
		user build it
		assistant looking...
		call c1 Bash {"command":"ls"}
		result c1 a b
		compaction 0..0 agent generated "` + codexSummary + `forgot all"
		turn
		call c2 Bash {"command":"make"}
		result c2 ok
		assistant Done.
	`)
}

func TestWhatTheAgentKeepsBehindASummaryIsRecordedOnce(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			w := newRecordedWorld(t)
			r := request{session: "s1", protocol: holdfast.Anthropic}
			h := w.turn(r, []entry{user("build it")}, bash("c1", "ls"))
			h = w.turn(r, join(h, result("c1", "a b")), answer("Done."))
			h = w.turn(r, join(h, user("go on")), answer("Ready."))
			h = w.turn(r, join(h, user("go on")), bash("c2", "make"))
			if restarted {
				w.restart()
			}
			// Kept: the last two turns, with the result that no request carried before.
			start := append([]entry{user(claudeBack + "forgot")}, h[4:]...)
			h = w.turn(r, join(start, result("c2", "ok")), answer("Done."))
			if restarted {
				w.restart()
			}
			w.turn(r, join(h, user("go on")), answer("Done."))
			w.expectRecorded(`
				turn
				user build it
				call c1 Bash {"command":"ls"}
				result c1 a b
				assistant Done.
				turn
				user go on
				assistant Ready.
				turn
				user go on
				call c2 Bash {"command":"make"}
				result c2 ok
				compaction 0..0 agent generated "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation."
				assistant Done.
				turn
				user go on
				assistant Done.
			`)
		})
	}
}

func TestAForkIsAConversationThatBeginsWithACopy(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(s1, []entry{user("build it")}, bash("c1", "ls"))
	h = w.turn(s1, join(h, result("c1", "a b")), long("done with it"))
	w.turn(s1, join(h, user("this way")), answer("This way."))
	w.turn(s1, join(h, user("that way")), answer("That way."))
	w.turn(request{session: "s2", fork: "s1"}, join(h, user("a third way")), answer("A third way."))
	start := "turn\nuser build it\ncall c1 Bash {\"command\":\"ls\"}\nresult c1 a b\nassistant done with it...\n"
	w.expectRecorded(
		start+"turn\nuser this way\nassistant This way.\n",
		start+"turn\nuser that way\nassistant That way.\n",
		start+"turn\nuser a third way\nassistant A third way.\n",
	)
	list, err := w.st.List(context.Background(), holdfast.Local, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range list { // the newest first
		want := store.Conversation{Title: "build it", Origin: store.RecordedConversation, Agent: "codex", Head: 8, Turns: 2}
		if i < 2 {
			want.Parent, want.ParentSeq = list[i+1].ID, 5
		}
		got := store.Conversation{Title: c.Title, Origin: c.Origin, Agent: c.Agent, Parent: c.Parent, ParentSeq: c.ParentSeq, Head: c.Head, Turns: c.Turns}
		if got != want || c.Branch == "" {
			t.Errorf("conversation %d is %+v of branch %q, want %+v", i, got, c.Branch, want)
		}
	}
}

func TestAForkBehindACompactionHasWhatCameBeforeIt(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.planned(s1)
	start := []entry{user("build it"), w.compact(s1, h, false)}
	w.turn(request{session: "s2", fork: "s1"}, join(start, user("in the fork")), answer("Forked."))
	w.turn(s1, join(start, user("in the parent")), answer("Not forked."))
	before := "turn\nuser build it\ncall c1 update_plan " + steps("in_progress:a", "pending:b") + "\nresult c1 Plan updated\nassistant working...\n" +
		"continuity in_progress:a pending:b\ncompaction 0..0 agent generated \"" + codexSummary + "forgot all\"\n"
	w.expectRecorded(
		before+"turn\nuser in the parent\nassistant Not forked.\n",
		before+"turn\nuser in the fork\nassistant Forked.\n",
	)
}

func TestNoSecretIsRecorded(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(s1, []entry{user("the password is hunter2")}, long("hunter2 it is"), bash("c1", "login hunter2"))
	h = w.turn(s1, join(h, result("c1", "hunter2 accepted")), call("c2", "update_plan", steps("pending:use hunter2")))
	h = w.turn(s1, join(h, result("c2", ok)), long("planned"))
	w.turn(s1, []entry{user("the password is hunter2"), w.compact(s1, h, false)}, answer("hunter2"))
	got := strings.Join(w.recorded(), "")
	if n := strings.Count(got, "[redacted:test]"); strings.Contains(got, "hunter2") || n < 6 {
		t.Errorf("%d marks in\n%s", n, got)
	}
	list, _ := w.st.List(context.Background(), holdfast.Local, true)
	if list[0].Title != "the password is [redacted:test]" {
		t.Errorf("the title is %q", list[0].Title)
	}
}

func TestASessionWithoutAnIDIsRecordedFromItsFirstRequest(t *testing.T) {
	w := newRecordedWorld(t)
	h := w.turn(bare, []entry{user("build it")}, long("looking"), bash("c1", "ls"))
	w.turn(bare, join(h, result("c1", "a b")), answer("Done."))
	w.turn(bare, []entry{user("something else")}, answer("No."))
	w.expectRecorded("turn\nuser build it\nassistant looking...\ncall c1 Bash {\"command\":\"ls\"}\nresult c1 a b\nassistant Done.\n")
}

func TestASessionThatWasCompactedBeforeItWasSeenBeginsWithTheSummary(t *testing.T) {
	w := newRecordedWorld(t)
	w.turn(s1, []entry{user("build it"), user(codexSummary + "all of it"), user("go on")}, answer("Yes."))
	w.expectRecorded("turn\nsynthetic " + codexSummary + "all of it\nuser go on\nassistant Yes.\n")
}

func TestRecordingThatIsSwitchedOnLaterTakesWhatTheHistoryHas(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.turn(s1, []entry{user("build it")}, long("looking"), bash("c1", "ls"))
	w.cfg.Transcripts = true
	w.restart()
	w.turn(s1, join(h, result("c1", "a b")), answer("Done."))
	w.expectRecorded("turn\nuser build it\nassistant looking...\ncall c1 Bash {\"command\":\"ls\"}\nresult c1 a b\nassistant Done.\n")
}

// TestRecordingsExpireWhenAServerStarts keeps the session, and what nobody
// recorded.
func TestRecordingsExpireWhenAServerStarts(t *testing.T) {
	for _, test := range []struct {
		name        string
		ttl         time.Duration
		transcripts bool
		want        []holdfast.ConversationID
	}{
		{"by their own time", time.Hour, true, []holdfast.ConversationID{"own", "young"}},
		{"also where nothing is recorded any more", time.Hour, false, []holdfast.ConversationID{"own", "young"}},
		{"never where no time is set", 0, true, []holdfast.ConversationID{"old", "own", "young"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				now := time.Now()
				b := store.Batch{
					Session:  store.Session{ID: "s", Principal: holdfast.Local, Key: "k", CreatedAt: now, UsedAt: now},
					Branches: []store.Branch{{ID: "b", Session: "s", CreatedAt: now, UsedAt: now}},
				}
				if err := w.st.Apply(t.Context(), []store.Batch{b})[0]; err != nil {
					t.Fatal(err)
				}
				for id, age := range map[holdfast.ConversationID]time.Duration{"old": time.Hour + time.Second, "own": time.Hour + time.Second, "young": time.Hour} {
					c := store.Conversation{ID: id, Principal: holdfast.Local, Origin: store.RecordedConversation, CreatedAt: now.Add(-age)}
					switch id {
					case "old":
						c.Branch = "b"
					case "own":
						c.Origin = store.OwnConversation
					}
					if err := w.st.Create(t.Context(), c, nil); err != nil {
						t.Fatal(err)
					}
				}
				w.stop()
				w.cfg.Transcripts, w.cfg.TranscriptTTL = test.transcripts, test.ttl
				w.start()
				synctest.Wait()
				list, err := w.st.List(t.Context(), holdfast.Local, true)
				if err != nil {
					t.Fatal(err)
				}
				var ids []holdfast.ConversationID
				for _, c := range list {
					ids = append(ids, c.ID)
				}
				slices.Sort(ids)
				if !slices.Equal(ids, test.want) {
					t.Errorf("left are %q, want %q", ids, test.want)
				}
				if _, err := w.st.Load(t.Context(), holdfast.Local, "s"); err != nil {
					t.Errorf("the session: %v", err)
				}
				if said := strings.Contains(w.log.String(), `msg="recordings expired" count=1`); said != (test.ttl > 0) {
					t.Errorf("the log:\n%s", w.log.String())
				}
			})
		})
	}
}

// Where a person went back and had that compacted, what was taken back is in the
// conversation of the branch that was left alone.
func TestAForkThatACompactionBeginsIsRecordedWithoutWhatWasTakenBack(t *testing.T) {
	const beginning = `
		turn
		user build it
		call c1 update_plan {"plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"pending"}]}
		result c1 Plan updated
		assistant working...
		continuity in_progress:a pending:b
		`
	for _, tt := range []struct {
		name    string
		r       request
		compact func(w *world, before []entry) []entry
		want    string
	}{
		{
			"the request for the summary tells", claude, func(w *world, before []entry) []entry {
				a := w.begin(claude, join(before, user(claudeMarker))...)
				a.Commit(context.Background(), holdfast.TextDigest("sum"), true)
				done(a, answer("sum"))
				return []entry{user(claudeBack + "sum")}
			},
			`compaction 0..1 agent generated "` + strings.TrimSpace(claudeBack) + `"
		turn
		user go on
		assistant yes...
		`,
		},
		{
			"what stands behind the summary tells", open1, func(w *world, before []entry) []entry {
				a := w.begin(open1, user(fmt.Sprintf(openCompact, "[User]: build it\n\n")))
				text := "sum\n\n" + a.Block
				a.Commit(context.Background(), holdfast.TextDigest(text), true)
				done(a, answer(text))
				return join([]entry{user("What did we do so far?"), answer(text)}, before[3:]...)
			},
			`compaction 0..0 agent generated "sum"
		turn
		user go on
		assistant yes...
		`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newRecordedWorld(t)
			before := w.turn(tt.r, join(w.planned(tt.r), user("next")), call("c8", "Bash", "{}"))
			before = w.turn(tt.r, join(before, result("c8", "done")), answer("Done."))
			w.rounds(tt.r, before, "x", "y")
			w.turn(tt.r, join(tt.compact(w, before), user("go on")), long("yes"))
			got := w.recorded()
			want := beginning + `turn
		user next
		call c8 Bash {}
		result c8 done
		assistant Done.
		` + tt.want
			if want = strings.TrimPrefix(strings.ReplaceAll(want, "\t", ""), "\n"); len(got) != 2 || got[1] != want {
				t.Errorf("it holds\n%q, want\n%s\n%s", got[1:], want, w.log)
			}
		})
	}
}
