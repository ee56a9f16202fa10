package proxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
)

// told scans a body, and says of which elements the end was known.
func told(t testing.TB, h *histories, p holdfast.Principal, body string) (req holdfast.Request, sums []uint64, known []int) {
	t.Helper()
	scan, i := h.rescan(p, []byte(body)), 0
	req, err := anthropic.Codec{}.Rescan([]byte(body), func(at int) int {
		end := scan.known(at)
		if end > 0 {
			known = append(known, i)
		}
		i++
		return end
	})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return req, scan.sums(req.Messages), known
}

func TestWhatAHistoryRepeatsIsKnown(t *testing.T) {
	const me, you = holdfast.Principal("me"), holdfast.Principal("you")
	const before = `{"messages":[{"a":1},{"b":2}, "c" ,{"d":4},5]}`
	for _, tt := range []struct {
		name  string
		asks  holdfast.Principal
		body  string
		known []int
	}{
		{"all that can be told by itself, save the first", me, before, []int{1, 3}},
		{"what stands before and behind may be another", me, ` {"model":"m","messages":[{"a":1},{"b":2}, "c" ,{"d":4},5,{"e":6}],"stream":true}`, []int{1, 3}},
		{"the space between may grow behind the second", me, `{"messages":[{"a":1},{"b":2} ,"c",  {"d":4},5]}`, []int{1, 3}},
		{"one that has other bytes is none", me, `{"messages":[{"a":1},{"b":3}, "c" ,{"d":4},5]}`, []int{3}},
		{"one that goes on is none", me, `{"messages":[{"a":1},{"b":2}, "c" ,{"d":4,"e":5},5]}`, []int{1}},
		{"behind one that is missing all have another place", me, `{"messages":[{"a":1}, "c" ,{"d":4},5]}`, nil},
		{"another beginning is another history", me, `{"messages":[{"a":0},{"b":2}, "c" ,{"d":4},5]}`, nil},
		{"nothing of another principal is known", you, before, nil},
		{"a shorter history ends earlier", me, `{"messages":[{"a":1},{"b":2}]}`, []int{1}},
		{"a history of one element", me, `{"messages":[{"a":1}]}`, nil},
		{"a history without any", me, `{"messages":[]}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistories()
			told(t, h, me, before)
			if _, _, known := told(t, h, tt.asks, tt.body); !slices.Equal(known, tt.known) {
				t.Errorf("known were %v, want %v", known, tt.known)
			}
		})
	}
}

func TestARescanFindsWhatAScanFinds(t *testing.T) {
	element := rapid.SampledFrom([]string{`{}`, `{"a":"x\\\"y"}`, `{"a":[{"b":"]}"}]}`, `{"a":1}`, `{"a":12}`, `"{}"`, `1`, `12`, `[]`, `{"a" : 1}`})
	comma := rapid.SampledFrom([]string{",", " ,", ",\n"})
	lists := map[holdfast.Protocol]string{holdfast.Anthropic: "messages", holdfast.Chat: "messages", holdfast.Responses: "input", holdfast.Gemini: "contents"}
	rapid.Check(t, func(t *rapid.T) {
		protocol := rapid.SampledFrom([]holdfast.Protocol{holdfast.Anthropic, holdfast.Chat, holdfast.Responses, holdfast.Gemini}).Draw(t, "protocol")
		codec, h := formats[protocol].reader, newHistories()
		elements := rapid.SliceOfN(element, 0, 6).Draw(t, "elements")
		for range 4 {
			switch at := rapid.IntRange(0, len(elements)).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				elements = slices.Insert(elements, at, element.Draw(t, "element"))
			case 1:
				elements = slices.Delete(elements, at, min(at+1, len(elements)))
			default:
				elements = append(elements, element.Draw(t, "element"))
			}
			body := `{"` + lists[protocol] + `":[` + strings.Join(elements, comma.Draw(t, "comma")) + `]}`
			want, err := codec.Rescan([]byte(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			scan := h.rescan(holdfast.Local, []byte(body))
			got, err := codec.Rescan([]byte(body), scan.known)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%s: %v\n%s", body, err, diff)
			}
			for i, sum := range scan.sums(got.Messages) {
				if sum != engine.SumOf([]byte(elements[i])) {
					t.Fatalf("%s: element %d has another sum", body, i)
				}
			}
		}
	})
}

func TestHistoriesAreForgottenWhenTheyAreTooMany(t *testing.T) {
	h := newHistories()
	small, large := opening{sum: 1}, opening{sum: 2}
	h.put(small, make([]sighted, 2))
	h.put(large, make([]sighted, maxKnown-2))
	if len(h.of(small)) != 2 || len(h.of(large)) != maxKnown-2 {
		t.Fatal("what fits was forgotten")
	}
	h.put(small, make([]sighted, 3))
	if len(h.of(small)) != 3 || h.of(large) != nil || h.held != 3 {
		t.Errorf("%d, %d and %d elements are held", len(h.of(small)), len(h.of(large)), h.held)
	}
}
