package provider

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

const refused = `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" +
	` block. The block is bound to a different conversation. Remove the block."}}`

func thinks(n string) holdfast.Reasoning {
	return holdfast.Reasoning{Text: n, Opaque: []byte(`{"type":"thinking","thinking":"` + n + `","signature":"c2ln"}`)}
}

// A compaction stands before reasoning that is kept, or the tools are others today: then
// Anthropic refuses the conversation as long as that reasoning is in it.
func TestReasoningThatIsNotTakenBackIsLeftOut(t *testing.T) {
	s := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.protocol == holdfast.Anthropic })]
	srv := serve(t, answer(400, refused), streamOf(99, s.ok), streamOf(99, s.ok), answer(400, refused), answer(400, refused))
	c := s.client(t, srv, Config{})
	call := holdfast.Call{Model: "m", CacheKey: "c1", Events: append(ask("look"), thinks("one"), holdfast.AssistantMessage{Text: "Yes."}, ask("on")[0])}
	if _, err := c.Call(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	// What the model thinks from now on it thinks behind what stands there.
	call.Events = append(call.Events, thinks("two"), holdfast.AssistantMessage{Text: "Done."}, ask("and on")[0])
	if _, err := c.Call(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	// Another conversation has its own, and where it is not that, the error is told.
	call.CacheKey, call.Events = "c2", append(ask("look"), thinks("one"), holdfast.AssistantMessage{Text: "Yes."}, ask("on")[0])
	if _, err := c.Call(t.Context(), call, nil); holdfast.CodeOf(err) != holdfast.ErrUsage || !strings.Contains(err.Error(), "does not take the reasoning back") {
		t.Errorf("got %v", err)
	}
	var got []string
	for _, r := range srv.requests() {
		var body struct{ Messages json.RawMessage }
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			t.Fatal(err)
		}
		held := ""
		for _, n := range []string{"one", "two"} {
			if strings.Contains(string(body.Messages), `"thinking":"`+n+`"`) {
				held += n + " "
			}
		}
		got = append(got, strings.TrimSpace(held))
	}
	if want := []string{"one", "", "two", "one", ""}; !slices.Equal(got, want) {
		t.Errorf("sent was the reasoning %q, want %q", got, want)
	}
}

// What is sent of a conversation becomes shorter when it is compacted. What the model
// thinks behind that was never refused.
func TestReasoningBehindACompactionOfTheConversationIsSent(t *testing.T) {
	s := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.protocol == holdfast.Anthropic })]
	srv := serve(t, answer(400, refused), streamOf(99, s.ok), streamOf(99, s.ok), streamOf(99, s.ok))
	c := s.client(t, srv, Config{})
	call := holdfast.Call{Model: "m", CacheKey: "c1", Events: append(ask("look"), thinks("one"), holdfast.AssistantMessage{Text: "Yes."}, ask("on")[0], holdfast.AssistantMessage{Text: "Yes."}, ask("on and on")[0])}
	if _, err := c.Call(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	// The conversation is compacted: what is sent is shorter now.
	call.Events = ask("a summary")
	if _, err := c.Call(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	call.Events = append(call.Events, thinks("two"), holdfast.AssistantMessage{Text: "Done."}, ask("go on")[0])
	if _, err := c.Call(t.Context(), call, nil); err != nil {
		t.Fatal(err)
	}
	r := srv.requests()
	if !strings.Contains(r[len(r)-1].Body, `"thinking":"two"`) {
		t.Errorf("sent was\n%s", r[len(r)-1].Body)
	}
}
