package eval_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/eval"
)

// forking answers every first request of a prompt with a command; the branch of
// a request decides, so that forks can be used in any order.
func forking(m eval.Manner) eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		if bytes.Count(r.Body, []byte("result of c1")) < bytes.Count(r.Body, []byte("Prompt of the")) {
			return eval.Reply{Calls: []eval.Call{{ID: "c1", Name: m.Work}}}
		}
		return eval.Reply{Text: "Settled."}
	}
}

func TestAForkSharesNothing(t *testing.T) {
	each(t, func(t *testing.T, m eval.Manner) {
		world := eval.World{Output: func(c eval.Call) string { return "result of " + c.ID }}
		next := func(forks bool) eval.Request {
			agent, up := start(t, m, world, forking(m))
			prompt(t, agent, "Prompt of the parent.", "More.") // so that the history has room behind it
			var group sync.WaitGroup
			errs := make([]error, 2)
			for i := range errs {
				if !forks {
					continue
				}
				fork := agent.Fork(fmt.Sprint(i))
				group.Go(func() {
					errs[i] = fork.Prompt(t.Context(), fmt.Sprintf("Prompt of the fork %d.", i))
					if errs[i] == nil {
						errs[i] = fork.Compact(t.Context())
					}
				})
			}
			group.Wait()
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
			prompt(t, agent, "Last words.")
			for _, r := range up.Requests() {
				for i := range errs {
					own, other := fmt.Appendf(nil, "fork %d", i), fmt.Appendf(nil, "fork %d", 1-i)
					if bytes.Contains(r.Body, own) && (bytes.Contains(r.Body, other) || r.Kind == eval.Turn && !bytes.Contains(r.Body, []byte("of the parent"))) {
						t.Errorf("a request of fork %d holds the other, or not the history before both", i)
					}
				}
			}
			i := slices.IndexFunc(up.Requests(), func(r eval.Request) bool { return bytes.Contains(r.Body, []byte("Last words.")) })
			return up.Requests()[i]
		}
		alone, beside := next(false), next(true)
		if !bytes.Equal(alone.Body, beside.Body) {
			t.Error("the parent's next body is another one when there are forks")
		}
		for name, values := range alone.Header {
			if !slices.Equal(values, beside.Header[name]) {
				t.Errorf("the parent's header %s is another one when there are forks", name)
			}
		}
	})
}

func TestForksBehindACompactionShareNoMessage(t *testing.T) {
	each(t, func(t *testing.T, m eval.Manner) {
		agent, up := start(t, m, eval.World{}, nil)
		prompt(t, agent, strings.Repeat("A long prompt. ", 50))
		if err := agent.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, right := agent.Fork("left"), agent.Fork("right")
		prompt(t, left, "To the left.")
		prompt(t, right, "To the right.")
		prompt(t, left, "Further.")
		requests := up.Requests()
		last := requests[len(requests)-1].Body
		if missing, ok := inOrder(last, []string{"To the left.", "Further."}); !ok || bytes.Contains(last, []byte("To the right.")) {
			t.Errorf("a fork lost its words or has those of another; missing: %q", missing)
		}
	})
}

func TestAForkHasTheIdsThatTheAgentGivesIt(t *testing.T) {
	names := map[string][]string{ // headers that are new in a fork
		"claude-code": {"X-Claude-Code-Session-Id"},
		"codex":       {"Session-Id", "Thread-Id", "X-Client-Request-Id", "X-Codex-Window-Id", "X-Codex-Turn-Metadata"},
		"opencode":    {"X-Session-Id", "X-Session-Affinity"},
	}
	each(t, func(t *testing.T, m eval.Manner) {
		agent, up := start(t, m, eval.World{}, nil)
		prompt(t, agent, "First.")
		prompt(t, agent.Fork("one"), "Second.")
		prompt(t, agent.Fork("two"), "Second.")
		parent, one, two := up.Requests()[0].Header, up.Requests()[1].Header, up.Requests()[2].Header
		agent0, _, _ := strings.Cut(m.Name, " ")
		changed := []string{"Content-Length"}
		for name := range one {
			if one.Get(name) != parent.Get(name) && one.Get(name) != two.Get(name) {
				changed = append(changed, name)
			}
		}
		want := append([]string{"Content-Length"}, names[agent0]...)
		slices.Sort(changed)
		slices.Sort(want)
		if !slices.Equal(changed, want) {
			t.Errorf("the fork has its own %v, want %v", changed, want)
		}
		from := `"history_initialization":"cold_fork","forked_from_thread_id":"` + parent.Get("Thread-Id") + `"`
		if agent0 == "codex" && !strings.Contains(one.Get("X-Codex-Turn-Metadata"), from) {
			t.Error("the metadata does not name the parent")
		}
	})
}

func TestASubagentCarriesTheMarksOfItsAgent(t *testing.T) {
	each(t, func(t *testing.T, m eval.Manner) {
		agent, up := start(t, m, eval.World{}, nil)
		prompt(t, agent, "Words of the parent.")
		sub := agent.Subagent("one")
		if got := sub != nil; got != m.Subagents {
			t.Fatalf("there is a subagent: %v, want %v", got, m.Subagents)
		}
		if sub == nil {
			return
		}
		prompt(t, sub, "Words to the subagent.")
		prompt(t, agent.Subagent("two"), "Words to the subagent.")
		prompt(t, agent, "More words of the parent.")
		parent, one, two, again := up.Requests()[0], up.Requests()[1], up.Requests()[2], up.Requests()[3]
		if bytes.Contains(one.Body, []byte("of the parent")) || bytes.Contains(again.Body, []byte("to the subagent")) {
			t.Error("one holds the history of the other")
		}
		was, is := parent.Header, one.Header
		switch name, _, _ := strings.Cut(m.Name, " "); name {
		case "claude-code":
			if is.Get("X-Claude-Code-Session-Id") != was.Get("X-Claude-Code-Session-Id") {
				t.Error("its session is not that of the parent")
			}
			const id = "X-Claude-Code-Agent-Id"
			if was.Get(id) != "" || is.Get(id) == "" || two.Header.Get(id) == is.Get(id) {
				t.Errorf("agent ids: parent %q, subagents %q and %q", was.Get(id), is.Get(id), two.Header.Get(id))
			}
			if !bytes.Contains(one.Body, []byte("cc_is_subagent=true;")) {
				t.Error("its first system text does not say what it is")
			}
		case "codex":
			thread := was.Get("Thread-Id")
			if is.Get("Session-Id") != thread || is.Get("X-Codex-Parent-Thread-Id") != thread || is.Get("X-Openai-Subagent") != "collab_spawn" {
				t.Errorf("got the marks %v", is)
			}
			if is.Get("Thread-Id") == thread || is.Get("Thread-Id") == two.Header.Get("Thread-Id") {
				t.Error("its thread is not its own")
			}
			meta := `"parent_thread_id":"` + thread + `","parent_turn_id":"`
			if !strings.Contains(is.Get("X-Codex-Turn-Metadata"), meta) || !strings.Contains(is.Get("X-Codex-Turn-Metadata"), `"subagent_kind":"thread_spawn","thread_source":"subagent"`) {
				t.Errorf("got the metadata %s", is.Get("X-Codex-Turn-Metadata"))
			}
			if !bytes.Contains(one.Body, []byte(`"prompt_cache_key":"`+thread+`"`)) {
				t.Error("its cache key is not that of the parent")
			}
		case "opencode":
			if is.Get("X-Parent-Session-Id") != was.Get("X-Session-Id") || was.Get("X-Parent-Session-Id") != "" {
				t.Error("it does not name its parent, or the parent names one")
			}
			if is.Get("X-Session-Id") == was.Get("X-Session-Id") || is.Get("X-Session-Id") == two.Header.Get("X-Session-Id") {
				t.Error("its session is not its own")
			}
		}
	})
}
