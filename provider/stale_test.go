package provider

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// A compaction stands before reasoning that is kept, or the tools are others today: then
// Anthropic refuses the conversation as long as that reasoning is in it.
func TestReasoningThatIsNotTakenBackIsLeftOut(t *testing.T) {
	const refused = `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" +
		` block. The block is bound to a different conversation. Remove the block."}}`
	i := slices.IndexFunc(speakers, func(s speaker) bool { return s.protocol == holdfast.Anthropic })
	s := speakers[i]
	thinks := func(n string) holdfast.Reasoning {
		return holdfast.Reasoning{Text: n, Opaque: []byte(`{"type":"thinking","thinking":"` + n + `","signature":"c2ln"}`)}
	}
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
