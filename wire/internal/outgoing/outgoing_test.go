package outgoing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/calltest"
)

func user(s string) holdfast.UserMessage {
	return holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(s)}}
}

func spoken(s string) holdfast.AssistantMessage { return holdfast.AssistantMessage{Text: s} }

func call(id string) holdfast.ToolCall { return holdfast.ToolCall{ID: id, Name: "tool-" + id} }

func result(id, text string) holdfast.ToolResult {
	return holdfast.ToolResult{CallID: id, Parts: []holdfast.Part{holdfast.Text(text)}}
}

func answered(id, text string) Result {
	return Result{ToolResult: result(id, text), Name: "tool-" + id}
}

func TestMessages(t *testing.T) {
	own, foreign := holdfast.Reasoning{Text: "own"}, holdfast.Reasoning{Text: "foreign"}
	for _, tt := range []struct {
		name string
		in   []holdfast.Event
		want []Message
	}{
		{"nothing", nil, nil},
		{
			"neighbours of one side are one message, and what goes to no model is passed over",
			[]holdfast.Event{user("a"), holdfast.TurnStart{}, holdfast.Settings{}, user("b"), spoken("c"), holdfast.Usage{}, spoken("d")},
			[]Message{
				{Parts: []holdfast.Part{holdfast.Text("a"), holdfast.Text("b")}},
				{Model: true, Events: []holdfast.Event{spoken("c"), spoken("d")}},
			},
		},
		{
			"what says nothing is left out, also when nothing else is in the message",
			[]holdfast.Event{user("a"), spoken(" \n"), foreign, user(""), spoken(""), user("b")},
			[]Message{{Parts: []holdfast.Part{holdfast.Text("a"), holdfast.Text("b")}}},
		},
		{
			"reasoning that the protocol made stays in its place",
			[]holdfast.Event{user("a"), foreign, own, spoken("b")},
			[]Message{{Parts: []holdfast.Part{holdfast.Text("a")}}, {Model: true, Events: []holdfast.Event{own, spoken("b")}}},
		},
		{
			"reasoning that nothing follows is left out",
			[]holdfast.Event{user("a"), own, user("b"), spoken("c"), own, call("x"), own, result("x", "X"), own},
			[]Message{
				{Parts: []holdfast.Part{holdfast.Text("a"), holdfast.Text("b")}},
				{Model: true, Events: []holdfast.Event{spoken("c"), own, call("x")}},
				{Results: []Result{answered("x", "X")}},
			},
		},
		{
			"parallel calls are one message, their results another, and the user's next words follow in it",
			[]holdfast.Event{call("a"), call("b"), result("b", "B"), result("a", "A"), user("c")},
			[]Message{
				{Model: true, Events: []holdfast.Event{call("a"), call("b")}},
				{Results: []Result{answered("a", "A"), answered("b", "B")}, Parts: []holdfast.Part{holdfast.Text("c")}},
			},
		},
		{
			"calls one after another stay so",
			[]holdfast.Event{call("a"), result("a", "A"), call("b"), result("b", "B")},
			[]Message{
				{Model: true, Events: []holdfast.Event{call("a")}},
				{Results: []Result{answered("a", "A")}},
				{Model: true, Events: []holdfast.Event{call("b")}},
				{Results: []Result{answered("b", "B")}},
			},
		},
		{
			"a result that came late is put behind its call",
			[]holdfast.Event{call("a"), call("b"), result("a", "A"), spoken("c"), user("d"), result("b", "B")},
			[]Message{
				{Model: true, Events: []holdfast.Event{call("a"), call("b")}},
				{Results: []Result{answered("a", "A"), answered("b", "B")}},
				{Model: true, Events: []holdfast.Event{spoken("c")}},
				{Parts: []holdfast.Part{holdfast.Text("d")}},
			},
		},
		{
			"words between a call and its result come behind the result",
			[]holdfast.Event{call("a"), user("stop"), result("a", "A")},
			[]Message{
				{Model: true, Events: []holdfast.Event{call("a")}},
				{Results: []Result{answered("a", "A")}, Parts: []holdfast.Part{holdfast.Text("stop")}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Messages(tt.in, func(r holdfast.Reasoning) bool { return r.Text == "own" }, false)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestReasoningAloneGoesToWhoTakesIt(t *testing.T) {
	own := holdfast.Reasoning{Text: "own"}
	got, err := Messages([]holdfast.Event{user("a"), own, user("b"), own}, func(holdfast.Reasoning) bool { return true }, true)
	want := []Message{
		{Parts: []holdfast.Part{holdfast.Text("a")}},
		{Model: true, Events: []holdfast.Event{own}},
		{Parts: []holdfast.Part{holdfast.Text("b")}},
		{Model: true, Events: []holdfast.Event{own}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestIDs(t *testing.T) {
	long := strings.Repeat("x", 65)
	got, err := Messages([]holdfast.Event{
		call("a"), call("a"), result("a", "first"), result("a", "second"),
		call("bash#00"), result("bash#00", "third"), call(long), result(long, "fourth"), call(""), result("", "fifth"),
	}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{} // id that goes out -> content of the result
	var calls []string
	for _, m := range got {
		for _, e := range m.Events {
			calls = append(calls, e.(holdfast.ToolCall).ID)
		}
		for _, r := range m.Results {
			seen[r.CallID] = Words(r.Parts)
		}
	}
	if calls[0] != "a" || len(seen) != 5 {
		t.Errorf("calls %q, results %v: the first id stays, the others are unique", calls, seen)
	}
	for i, want := range []string{"first", "second", "third", "fourth", "fifth"} {
		if seen[calls[i]] != want || !plain(calls[i]) {
			t.Errorf("call %d has the id %q and the result %q, want %q", i, calls[i], seen[calls[i]], want)
		}
	}
}

func TestWhatIsNoViewIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []holdfast.Event
		want string
	}{
		{"a result alone", []holdfast.Event{result("a", "A")}, "A model call holds a tool result without its call, so that no provider would take it. This is a defect of Holdfast: please report it."},
		{"a second result", []holdfast.Event{call("a"), result("a", "A"), result("a", "A")}, "A model call holds a tool result without its call, so that no provider would take it. This is a defect of Holdfast: please report it."},
		{"a call alone", []holdfast.Event{call("a"), user("b")}, "A model call holds a tool call without its result, so that no provider would take it. This is a defect of Holdfast: please report it."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Messages(tt.in, nil, false)
			if err == nil || err.Error() != tt.want || holdfast.CodeOf(err) != holdfast.ErrInternal {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Sides take turns, results stand behind the message of their calls, and nothing
// that was said is lost.
func TestLawsOfMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := calltest.Views(t)
		messages, err := Messages(events, func(holdfast.Reasoning) bool { return true }, rapid.Bool().Draw(t, "alone"))
		if err != nil {
			t.Fatal(err)
		}
		var calls, texts int
		for _, e := range events {
			switch e := e.(type) {
			case holdfast.ToolCall:
				calls++
			case holdfast.UserMessage:
				texts += len(said(e.Parts))
			}
		}
		ids := map[string]bool{}
		for i, m := range messages {
			if i > 0 && m.Model == messages[i-1].Model {
				t.Fatalf("message %d is of the same side as the one before", i)
			}
			if len(m.Events)+len(m.Results)+len(m.Parts) == 0 {
				t.Fatalf("message %d is empty", i)
			}
			texts -= len(m.Parts)
			var own []string
			for _, e := range m.Events {
				if c, ok := e.(holdfast.ToolCall); ok {
					calls--
					own = append(own, c.ID)
					if ids[c.ID] || !plain(c.ID) {
						t.Fatalf("the id %q is no id for all providers, or stands twice", c.ID)
					}
					ids[c.ID] = true
				}
			}
			var next []string
			if i+1 < len(messages) {
				for _, r := range messages[i+1].Results {
					next = append(next, r.CallID)
				}
			}
			if m.Model && !cmp.Equal(own, next) {
				t.Fatalf("behind the calls %q stand the results %q", own, next)
			}
		}
		if calls != 0 || texts != 0 {
			t.Fatalf("%d calls and %d parts of the user were lost", calls, texts)
		}
	})
}

func TestObject(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"an object, as it is", " {\"b\":1.0,\n \"a\":{}}", " {\"b\":1.0,\n \"a\":{}}"},
		{"no arguments", "", "{}"},
		{"a text", `"rm"`, `{"input":"rm"}`},
		{"a list", `[1, 2]`, `{"input":[1, 2]}`},
		{"no JSON", `{"a":`, `{"input":"{\"a\":"}`},
		{"more than an object", `{} {}`, `{"input":"{} {}"}`},
		{"no UTF-8", "{\"a\":\"\xff\"}", `{"input":"{\"a\":\"` + "\ufffd" + `\"}"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Object([]byte(tt.in))); got != tt.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWords(t *testing.T) {
	got := Words([]holdfast.Part{
		holdfast.Text("a"),
		holdfast.Media{Type: "image", MIME: "image/png", Data: "aQ=="},
		holdfast.Media{Type: "file", Name: "b.zip"},
		holdfast.Text("c"),
	})
	if want := "a\n[image (image/png) left out: it cannot be sent here]\n[file b.zip left out: it cannot be sent here]\nc"; got != want {
		t.Errorf("got %q", got)
	}
}
