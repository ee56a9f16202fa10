package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// TestAModelIsNamedWithItsUpstream has two upstreams that take any model, so that a
// name alone goes to the first one.
func TestAModelIsNamedWithItsUpstream(t *testing.T) {
	script := func(_ int, r eval.Request) eval.Reply {
		if bytes.Contains(r.Body, []byte("You summarize a part")) {
			return eval.Reply{Text: "S."}
		}
		return eval.Reply{Text: "Fine. " + strings.Repeat("It goes on. ", 50)}
	}
	q := newAsking(t, holdfast.Chat, script)
	local := eval.NewUpstream(eval.Config{Seed: "local", Turn: script, Summary: script, Side: script})
	server := httptest.NewServer(local)
	t.Cleanup(server.Close)
	up := fmt.Sprintf(`upstream=[{name="here",protocol="chat",base_url="%s"},{name="local",protocol="chat",base_url="%s/v1"}]`, q.url, server.URL)

	cases := []struct {
		name   string
		config []string
		args   []string
		asked  string // "here" or "local"
		models []string
	}{
		{"the prefix is an upstream", nil, []string{"q", "-m", "local:mock-1", "x"}, "local", []string{"mock-1"}},
		{"the conversation goes on there", nil, []string{"q", "-c", "x"}, "local", []string{"mock-1"}},
		{"by the configuration", []string{`query.model="local:qwen3:8b"`}, []string{"q", "x"}, "local", []string{"qwen3:8b"}},
		{"the prefix is no upstream", nil, []string{"q", "-m", "qwen3:8b", "x"}, "here", []string{"qwen3:8b"}},
		{"the prefix is all there is", nil, []string{"q", "-m", "local:", "x"}, "here", []string{"local:"}},
		{"the configuration knows the whole name", []string{`models."local:mock-1".context_window=9000`}, []string{"q", "-m", "local:mock-1", "x"}, "here", []string{"local:mock-1"}},
		{"the model of titles", []string{"query.titles=true", `query.title_model="local:small"`, `query.model="local:big"`}, []string{"q", "x"}, "local", []string{"big", "small"}},
		{
			"the model of summaries",
			[]string{`conversation.compaction.rules=[{keep_first=0,keep_last=0,summary={model="local:small"}}]`},
			[]string{"q", "-c", "-m", "local:big", "--compact", "y"},
			"local",
			[]string{"big", "small"},
		},
	}
	for _, c := range cases {
		before, elsewhere := len(questions(local)), len(questions(q.up))
		q.config = append([]string{up}, c.config...)
		q.ok(c.args...)
		fresh, other := questions(local)[before:], questions(q.up)[elsewhere:]
		if c.asked == "here" {
			fresh, other = other, fresh
		}
		if len(other) > 0 || len(fresh) != len(c.models) {
			t.Errorf("%s: %d requests to the upstream, want %d, and %d to the other", c.name, len(fresh), len(c.models), len(other))
		}
		for _, model := range c.models {
			found := false
			for _, r := range fresh {
				found = found || strings.Contains(r, fmt.Sprintf(`"model":%q`, model))
			}
			if !found {
				t.Errorf("%s: nothing was asked of %s", c.name, model)
			}
		}
	}
	if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "local:big") {
		t.Errorf("the conversation:\n%s", shown)
	}
}

// questions are the bodies that ask a model, without those that ask what it can take.
func questions(up *eval.Upstream) (list []string) {
	for _, r := range up.Requests() {
		if bytes.Contains(r.Body, []byte(`"messages"`)) {
			list = append(list, string(r.Body))
		}
	}
	return list
}
