package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// TestAnAttachedFileIsNobodysWords: whatever its name is, and beside words as alone.
func TestAnAttachedFileIsNobodysWords(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		said       []holdfast.Part
		sent       []string
		words      []holdfast.UserWord
	}{
		{"beside words", "policy.md", []holdfast.Part{holdfast.Text("Tabs look nicer.")}, []string{"Tabs look nicer."}, []holdfast.UserWord{{Turn: 1, Text: "Tabs look nicer."}}},
		{"with a name of two lines", "po\nli\ncy.md", []holdfast.Part{holdfast.Text("Tabs look nicer.")}, []string{"Tabs look nicer."}, []holdfast.UserWord{{Turn: 1, Text: "Tabs look nicer."}}},
		{"alone", "policy.md", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, says("Yes."))
			o := w.read()
			file := query.Attached(tt.file, "Use spaces.")
			m := holdfast.UserMessage{Parts: append([]holdfast.Part{file}, tt.said...)}
			if _, err := query.NewLoop(w.s, w.model, w.tools, w.screen, w.cfg).Turn(t.Context(), &w.l, m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.sent, o.calls()); diff != "" {
				t.Errorf("the extractor was sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.words, w.capsule().UserWords); diff != "" {
				t.Errorf("the user's words (-want +got):\n%s", diff)
			}
			if sent := fmt.Sprint(w.model.calls[0].Events); !strings.Contains(sent, "Use spaces.") {
				t.Errorf("the model was sent %s", sent)
			}
		})
	}
}
