package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// join makes a history of its own: what is appended to one never shows in another.
func join(h []entry, more ...entry) []entry { return append(slices.Clone(h), more...) }

// planOnly leaves the user's words out of the capsule, so that only the plan is news.
func (w *world) planOnly() {
	w.cfg.Preserve.UserWords = false
	w.restart()
}

// compact has codex compact a history and returns what the client begins its
// next history with.
func (w *world) compact(r request, h []entry, opaque bool) (back entry) {
	w.t.Helper()
	ask := user(codexMarker)
	if opaque {
		ask = entry{Trigger: true}
	}
	a := w.begin(r, join(h, ask)...)
	if !a.Boundary {
		w.t.Fatalf("no boundary\n%s", w.log)
	}
	if opaque {
		item := entry{Item: "blob"}
		a.Commit(context.Background(), holdfast.TextDigest(item.Item), false)
		done(a, item)
		return item
	}
	text := "forgot all\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	return user(codexSummary + text)
}

// boundary asks for a plain compaction, gives it up, and returns its block.
func (w *world) boundary(r request, h ...entry) string {
	w.t.Helper()
	a := w.begin(r, h...)
	defer done(a)
	if !a.Boundary {
		w.t.Errorf("no boundary\n%s", w.log)
	}
	return a.Block
}

// planIn reads the numbered steps of a block, as "status:text ...".
func planIn(block string) string {
	var out []string
	for line := range strings.Lines(block) {
		var n int
		var status, text string
		if _, err := fmt.Sscanf(line, "%d. [%s %s", &n, &status, &text); err == nil {
			out = append(out, strings.TrimSuffix(status, "]")+":"+text)
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, " ")
}

func TestAForkRightBehindACompactionHasThePlanOfItsParent(t *testing.T) {
	named, unnamed := request{session: "s2", fork: "s1"}, request{session: "s2"}
	for _, tt := range []struct {
		name   string
		fork   request
		opaque bool
		keeps  bool // the agent keeps a text of the model before the summary
		empty  bool // forks are to start empty
		want   string
	}{
		{"by the block in the summary", unnamed, false, false, false, "in_progress:a pending:b"},
		{"by its parent's name, with the block in the summary", named, false, false, false, "in_progress:a pending:b"},
		{"by its parent's name, with an opaque summary", named, true, false, false, "in_progress:a pending:b"},
		{"by what was kept before an opaque summary", unnamed, true, true, false, "in_progress:a pending:b"},
		{"none where forks start empty, with the block in the summary", unnamed, false, false, true, "none"},
		{"none where forks start empty, with an opaque summary", named, true, false, true, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.CopyOnFork = !tt.empty
			w.planOnly()
			h := w.planned(s1)
			h = w.turn(s1, join(h, user("go on")), long("going on"))
			start := []entry{user("build it")}
			if tt.keeps {
				start = append(start, long("working"))
			}
			start = append(start, w.compact(s1, h, tt.opaque))

			f := w.begin(tt.fork, join(start, user("in the fork"))...)
			switch insert := tt.opaque && !tt.empty; {
			case insert != (f.Insert != nil):
				t.Fatalf("insertion %+v, want one: %v\n%s", f.Insert, insert, w.log)
			case insert && (f.Insert.At != len(start)-1 || planIn(f.Insert.Text) != tt.want):
				t.Errorf("the fork gets %+v", f.Insert)
			}
			done(f, long("forked"))

			parents := call("p1", "update_plan", steps("completed:a", "completed:b", "pending:c"))
			parent := w.turn(s1, join(start, user("in the parent")), parents)
			parent = w.turn(s1, join(parent, result("p1", ok)), long("added c"))
			fork := join(start, user("in the fork"), long("forked"))
			if got := planIn(w.boundary(tt.fork, join(fork, user(codexMarker))...)); got != tt.want {
				t.Errorf("the fork's own boundary carries %q, want %q\n%s", got, tt.want, w.log)
			}

			forks := call("f1", "update_plan", steps("completed:a", "in_progress:b"))
			fork = w.turn(tt.fork, join(fork, user("finish a")), forks)
			w.turn(tt.fork, join(fork, result("f1", ok)), long("finished"))
			if got := planIn(w.boundary(s1, join(parent, user(codexMarker))...)); got != "completed:a completed:b pending:c" {
				t.Errorf("behind the fork's change the parent's boundary carries %q", got)
			}
			w.expect(tt.fork, "completed:a in_progress:b")
			w.expect(s1, "completed:a completed:b pending:c")
		})
	}
}

// inWords are the forms in which agents quote a history in a compaction prompt,
// and give the summary back.
var inWords = []struct {
	name string
	r    request
	// frame takes the pieces; model and call are how those of the model begin.
	frame, model, call string
	back               func(summary string) []entry
}{
	{
		"opencode", open1, openCompact, "[Assistant]: ", "[Assistant tool call]: ",
		func(summary string) []entry { return []entry{user("What did we do so far?"), answer(summary)} },
	},
	{
		"pi", bare, piCompact, "[Assistant]: ", "[Assistant tool calls]: ",
		func(summary string) []entry { return []entry{user(piBack + summary + "\n</summary>")} },
	},
	{
		"cline", bare, "Summarize this session for continuation.\n\nConversation:\n%s", "[Bot]: ", "[Bot tool call]: ",
		func(summary string) []entry { return []entry{user("Context summary:\n\n" + summary)} },
	},
}

// open1 is a session of opencode.
var open1 = request{session: "s1", agent: agents.OpenCode}

const openCompact = "Here is the conversation so far:\n\n<conversation>\n%s</conversation>\n\n" +
	"Create a new anchored summary from the conversation history in the <conversation> tags above"

func TestACompactionInWordsIsThatOfTheBranchThatItQuotes(t *testing.T) {
	apart := map[string]func(branch, epoch int) (user, model entry){
		"by what the user said": func(branch, epoch int) (entry, entry) {
			return user(fmt.Sprintf("take way %d, part %d", branch, epoch)), answer("Done.")
		},
		"by what the model said": func(branch, epoch int) (entry, entry) {
			return user("go on"), long(fmt.Sprintf("way %d it is, part %d", branch, epoch))
		},
	}
	for _, form := range inWords {
		quote := func(h []entry) entry {
			var b strings.Builder
			for _, e := range h {
				switch {
				case e.User != "":
					fmt.Fprintf(&b, "[User]: %s\n\n", e.User)
				case e.Answer != "":
					fmt.Fprintf(&b, "%s%s\n\n", form.model, e.Answer)
				case e.Tool != "":
					fmt.Fprintf(&b, "%s%s(%s)\n", form.call, e.Tool, e.Args)
				default:
					fmt.Fprintf(&b, "[Tool result]: %s\n\n", e.Result)
				}
			}
			return user(fmt.Sprintf(form.frame, b.String()))
		}
		for name, own := range apart {
			for order := range 4 {
				usedLast, first := order%2, order/2
				t.Run(fmt.Sprintf("%s, %s, branch %d used last, branch %d compacted first", form.name, name, usedLast, first), func(t *testing.T) {
					w := newWorld(t)
					w.planOnly()
					shared := w.planned(form.r)
					h, summaries := [2][]entry{shared, shared}, [2]int{}
					for epoch := range 2 {
						plan := func(branch int) string { return fmt.Sprintf("in_progress:way-%d-%d", branch, epoch) }
						for i := range h {
							said, model := own(i, epoch)
							h[i] = w.turn(form.r, join(h[i], said), model)
							id := fmt.Sprintf("c-%d-%d", i, epoch)
							h[i] = w.turn(form.r, join(h[i], user("plan it")), call(id, "update_plan", steps(plan(i))))
							h[i] = w.turn(form.r, join(h[i], result(id, ok)), answer("Planned."))
						}
						h[usedLast] = w.turn(form.r, join(h[usedLast], user("and then")), answer("Yes."))
						for _, i := range []int{first, 1 - first} {
							a := w.begin(form.r, quote(h[i][summaries[i]:]))
							if got := planIn(a.Block); !a.Boundary || got != plan(i) {
								t.Fatalf("epoch %d: boundary %v carries %q, want %q\n%s", epoch, a.Boundary, got, plan(i), w.log)
							}
							summary := fmt.Sprintf("forgot %d of %d\n\n%s", epoch, i, a.Block)
							a.Commit(context.Background(), holdfast.TextDigest(summary), true)
							done(a, answer(summary))
							h[i] = form.back(summary)
							summaries[i] = len(h[i])
						}
					}
				})
			}
		}
	}
}

// asking is the codec of a client that offers opencode's question tool.
type asking struct{ codec }

func (asking) Tools([]byte) []holdfast.Tool { return []holdfast.Tool{{Name: "question"}} }

// asked is a session whose newest answer asks with these arguments.
func (w *world) asked(args string) {
	w.t.Helper()
	raw, err := json.Marshal(user("set it up"))
	if err != nil {
		w.t.Fatal(err)
	}
	done(w.e.Begin(context.Background(), asking{}, engine.Inbound{
		Caller: holdfast.Caller{Principal: holdfast.Local}, Path: "/v1/x", Body: raw,
		Header: func(n string) string {
			return map[string]string{"User-Agent": "opencode/1.18.33", "X-Session-Id": open1.session}[n]
		},
		Request: holdfast.Request{
			Protocol: holdfast.Responses, ToolCount: 1, Tools: holdfast.Span{End: 1},
			Messages: []holdfast.Span{{End: len(raw)}},
		},
	}), call("q1", "question", args))
}

func TestAnAnswerInTheLastRoundBeforeACompactionInWordsIsInItsBlock(t *testing.T) {
	const (
		db      = `{"questions":[{"question":"Which db?","options":[{"label":"sqlite"},{"label":"postgres"}]}]}`
		other   = `{"questions":[{"question":"Which db?","options":[{"label":"mysql"}]}]}`
		both    = `{"questions":[{"question":"Which db?"},{"question":"Which systems?","multiple":true}]}`
		asks    = "[Assistant tool call]: question("
		answers = ")\n[Tool result]: User has answered your questions: "
		end     = ". You can now continue with the user's answers in mind.\n\n"
	)
	for _, tt := range []struct {
		name, args, said string
		want             []string
	}{
		{"one question", db, asks + db + answers + `"Which db?"="postgres"` + end, []string{"- Which db? -> postgres"}},
		{
			"two questions in one call", both, asks + both + answers + `"Which db?"="sqlite", "Which systems?"="linux, macos"` + end,
			[]string{"- Which db? -> sqlite", "- Which systems? -> linux, macos"},
		},
		{
			"beside another call of the same answer", db,
			asks + db + answers + `"Which db?"="postgres"` + end + "[Assistant tool call]: bash({\"command\":\"ls\"})\n[Tool result]: \"Which db?\"=\"mysql\"\n\n",
			[]string{"- Which db? -> postgres"},
		},
		{
			"the same question again: the newest answer", db,
			asks + db + answers + `"Which db?"="sqlite"` + end + "[User]: once more\n\n" + asks + db + answers + `"Which db?"="postgres"` + end,
			[]string{"- Which db? -> postgres"},
		},
		{"a question that nobody answered brings nothing", db, asks + db + answers + `"Which db?"="Unanswered"` + end, nil},
		{"a question that was dismissed brings nothing", db, asks + db + ")\n[Tool error]: The user dismissed this question\n\n", nil},
		{"a tool that prints such a call with other arguments brings nothing", db, "[Assistant tool call]: bash({\"command\":\"cat log\"})\n[Tool result]: \n" + asks + other + answers + `"Which db?"="mysql"` + end, nil},
		{"another tool with the same arguments brings nothing", db, "[Assistant tool call]: ask_question(" + db + answers + `"Which db?"="mysql"` + end, nil},
		{"the user who writes the words of an answer brings nothing", db, `[User]: User has answered your questions: "Which db?"="mysql"` + end, nil},
		{"a prompt without the call brings nothing", db, "[Assistant]: What is next?\n\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			w.asked(tt.args)
			block := w.boundary(open1, user(fmt.Sprintf(openCompact, "[User]: set it up\n\n"+tt.said)))
			var got []string
			for line := range strings.Lines(block) {
				if strings.Contains(line, " -> ") {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the block holds %q, want %q\n%s\n%s", got, tt.want, block, w.log)
			}
		})
	}
}

// another is a second process over the world's store.
func (w *world) another() *world {
	o := *w
	o.start()
	w.t.Cleanup(o.stop)
	return &o
}

// overtaken has this process hold a session as it is stored, with a first step
// under way, and another process complete that step and go on from there.
func (w *world) overtaken(r request, goOn func(o *world, h []entry)) {
	w.t.Helper()
	h := w.planned(r)
	h = w.turn(r, join(h, user("go on")), long("going on"))
	w.restart()
	done(w.begin(r, h[:len(h)-1]...), h[len(h)-1]) // a retry: read, and nothing to write
	o := w.another()
	h = o.turn(r, join(h, user("more")), call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	h = o.turn(r, join(h, result("c2", ok)), long("did a"))
	goOn(o, h)
	o.stop() // all is written
}

func TestAProcessThatWasOvertakenDeliversTheNewestState(t *testing.T) {
	const newest = "completed:a in_progress:b"
	for _, opaque := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			// Of the next epoch the other process sees the first turns, then this
			// one sees some; then comes the next compaction.
			there, here int
		}{
			{"at the next compaction", 2, 0},
			{"at a compaction that opens the next epoch", 0, 0},
			{"at the first request of the next epoch", 0, 1},
			{"at the second request of the next epoch", 1, 1},
		} {
			t.Run(fmt.Sprintf("%s, opaque %v", tt.name, opaque), func(t *testing.T) {
				w := newWorld(t)
				w.planOnly()
				var h []entry
				w.overtaken(s1, func(o *world, old []entry) {
					h = []entry{user("build it"), o.compact(s1, old, opaque)}
				})
				block := ""
				turn := func(p *world, i int) {
					h = append(h, user(fmt.Sprint("next ", i)))
					a := p.begin(s1, h...)
					if opaque != (a.Insert != nil) || opaque && (planIn(a.Insert.Text) != newest || block != "" && a.Insert.Text != block) {
						t.Fatalf("turn %d of the next epoch: insertion %+v\n%s", i, a.Insert, w.log)
					}
					if opaque {
						block = a.Insert.Text
					}
					done(a, long(fmt.Sprint("yes ", i)))
					h = append(h, long(fmt.Sprint("yes ", i)))
				}
				o := w.another()
				for i := range tt.there {
					turn(o, i)
				}
				o.stop()
				for i := range tt.here {
					turn(w, tt.there+i)
				}
				if got := planIn(w.boundary(s1, join(h, user(codexMarker))...)); got != newest {
					t.Errorf("the boundary carries %q\n%s", got, w.log)
				}
				w.expect(s1, newest)
			})
		}
	}
}

func TestAProcessThatMissedATurnDeliversTheNewestStateAtACompactionInWords(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	w.overtaken(open1, func(*world, []entry) {})
	prompt := user(fmt.Sprintf(openCompact, "[User]: more\n\n[Assistant]: did a\n\n"))
	if got := planIn(w.boundary(open1, prompt)); got != "completed:a in_progress:b" {
		t.Errorf("the boundary carries %q\n%s", got, w.log)
	}
}

func TestAProcessThatWasOvertakenBehindAnEqualSummaryMakesNoFork(t *testing.T) {
	for name, news := range map[string][]string{
		"with news":    {"completed:a", "in_progress:b"},
		"without news": {"in_progress:a", "pending:b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			compact := func(p *world, h []entry) {
				a := p.begin(s1, join(h, user(codexMarker))...)
				a.Commit(context.Background(), holdfast.TextDigest("the same"), false) // the agent drops the block
				done(a, answer("the same"))
			}
			compact(w, w.planned(s1))
			kept := []entry{user("build it"), user(codexSummary + "the same"), user("next"), long("kept")}
			h := w.turn(s1, kept[:3], kept[3])
			h = w.turn(s1, join(h, user("on")), long("yes"))
			w.restart()
			done(w.begin(s1, h[:len(h)-1]...), h[len(h)-1])

			o := w.another()
			h = o.turn(s1, join(h, user("more")), call("c2", "update_plan", steps(news...)))
			h = o.turn(s1, join(h, result("c2", ok)), long("did it"))
			compact(o, h)
			o.stop()

			want := strings.Join(news, " ")
			a := w.begin(s1, join(kept, user("go on"))...)
			if a.Insert == nil || planIn(a.Insert.Text) != want {
				t.Errorf("insertion %+v, want %q\n%s", a.Insert, want, w.log)
			}
			done(a, long("yes"))
			w.expect(s1, want)
		})
	}
}

// unreadable is a store whose sessions cannot be read while it is broken: at
// once, or, when it hangs, not before the caller gives up.
type unreadable struct {
	*store.Memory
	broken atomic.Bool
	hangs  bool
}

func (u *unreadable) Session(ctx context.Context, p holdfast.Principal, agent, key string) (store.SessionState, error) {
	if err := u.out(ctx); err != nil {
		return store.SessionState{}, err
	}
	return u.Memory.Session(ctx, p, agent, key)
}

func (u *unreadable) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]store.Head, error) {
	if err := u.out(ctx); err != nil {
		return nil, err
	}
	return u.Memory.Heads(ctx, p, agent, key)
}

// out is why nothing can be read.
func (u *unreadable) out(ctx context.Context) error {
	if !u.broken.Load() {
		return nil
	}
	if u.hangs {
		<-ctx.Done()
	}
	return holdfast.Errorf(holdfast.ErrUnavailable, "the store is out of reach")
}

func TestAProcessThatCannotAskTheStoreGoesOnWithWhatItKnows(t *testing.T) {
	const known = "in_progress:a pending:b"
	for _, hangs := range []bool{false, true} {
		for name, ask := range map[string]func(w *world, back entry) string{
			"the next compaction": func(w *world, back entry) string {
				return planIn(w.boundary(s1, user("build it"), back, user("next"), user(codexMarker)))
			},
			"the first request of the next epoch": func(w *world, back entry) string {
				a := w.begin(s1, user("build it"), back, user("next"))
				defer done(a)
				if !a.Linked() || a.Insert == nil {
					return "nothing"
				}
				return planIn(a.Insert.Text)
			},
		} {
			t.Run(fmt.Sprintf("%s, hangs %v", name, hangs), func(t *testing.T) {
				w := newWorld(t)
				w.planOnly()
				h := w.planned(s1)
				w.stop()
				u := &unreadable{Memory: w.st, hangs: hangs}
				w.e = engine.New(u, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
				done(w.begin(s1, h[:len(h)-1]...), h[len(h)-1])
				o := w.another()
				h = o.turn(s1, join(h, user("more")), call("c2", "update_plan", steps("completed:a", "in_progress:b")))
				back := o.compact(s1, join(h, result("c2", ok)), true)
				o.stop()
				u.broken.Store(true)
				start := time.Now()
				if got := ask(w, back); got != known {
					t.Errorf("the request carries %q, want %q\n%s", got, known, w.log)
				}
				if d := time.Since(start); d > engine.LoadTimeout+time.Second {
					t.Errorf("the request waited for %v", d)
				}
			})
		}
	}
}

func TestTheSameFirstRequestWithoutAnIdTwiceAtOnceIsOneSession(t *testing.T) {
	const plan = "in_progress:a pending:b"
	broken := func(a *engine.Attempt) { a.Done(holdfast.Answer{}) }
	says := func(text string) func(*engine.Attempt) {
		return func(a *engine.Attempt) { done(a, long(text)) }
	}
	for _, tt := range []struct {
		name   string
		ends   [2]func(*engine.Attempt)
		second int // which of the two ends last
		goesOn string
	}{
		{"both are answered alike", [2]func(*engine.Attempt){says("hello"), says("hello")}, 1, "hello"},
		{"both are answered alike, the later one first", [2]func(*engine.Attempt){says("hello"), says("hello")}, 0, "hello"},
		{"the answers differ and the first is kept", [2]func(*engine.Attempt){says("hello"), says("good day")}, 1, "hello"},
		{"the answers differ and the second is kept", [2]func(*engine.Attempt){says("hello"), says("good day")}, 1, "good day"},
		{"the first breaks off", [2]func(*engine.Attempt){broken, says("hello")}, 1, "hello"},
		{"the second breaks off", [2]func(*engine.Attempt){says("hello"), broken}, 1, "hello"},
		{"the first breaks off when the second was answered", [2]func(*engine.Attempt){broken, says("hello")}, 0, "hello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			both := [2]*engine.Attempt{w.begin(bare, user("build it")), w.begin(bare, user("build it"))}
			for _, i := range []int{1 - tt.second, tt.second} {
				tt.ends[i](both[i])
			}
			h := []entry{user("build it"), long(tt.goesOn)}
			h = w.turn(bare, join(h, user("plan it")), call("c1", "update_plan", steps("in_progress:a", "pending:b")))
			h = w.turn(bare, join(h, result("c1", ok)), answer("Planned."))
			if got := planIn(w.boundary(bare, user(quoted(h)))); got != plan {
				t.Errorf("a compaction in words carries %q\n%s", got, w.log)
			}
			if got := w.sessions(); !slices.Equal(got, []string{plan}) {
				t.Errorf("sessions hold %q, want the one", got)
			}
		})
	}
}

func TestFirstRequestsWithoutAnIdStayTwoSessions(t *testing.T) {
	for name, begin := range map[string]func(w *world) [2][]entry{
		"the same words, one after the other": func(w *world) (h [2][]entry) {
			h[0] = w.turn(bare, []entry{user("build it")}, long("hello"))
			h[1] = w.turn(bare, []entry{user("build it")}, long("good day"))
			return h
		},
		"other words, at once": func(w *world) [2][]entry {
			a, b := w.begin(bare, user("build it")), w.begin(bare, user("test it"))
			done(a, long("hello"))
			done(b, long("good day"))
			return [2][]entry{{user("build it"), long("hello")}, {user("test it"), long("good day")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			for i, h := range begin(w) {
				id := fmt.Sprint("c", i)
				h = w.turn(bare, join(h, user("plan it")), call(id, "update_plan", steps(fmt.Sprint("pending:", i))))
				w.turn(bare, join(h, result(id, ok)), answer("Planned."))
			}
			if got := w.sessions(); !slices.Equal(got, []string{"pending:1", "pending:0"}) {
				t.Errorf("sessions hold %q", got)
			}
		})
	}
}

// A history that is summed up does not have what an answer brings meanwhile: a client
// that was killed may never have got it.
func TestAnAnswerThatEndsBesideACompactionIsNotInItsBlock(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	h = append(h, user("next"))
	turn := w.begin(s1, h...)
	a := w.begin(s1, append(h, user(codexMarker))...)
	done(turn, call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	if block := a.Final(context.Background()); !strings.Contains(block, "1. [in_progress] a\n2. [pending] b\n") {
		t.Errorf("the block\n%s", block)
	}
	done(a)
}
