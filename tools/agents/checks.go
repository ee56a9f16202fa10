package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// survivedIn is nil when the plan is in every turn behind every compaction.
func survivedIn(requests []eval.Request, plans [][]holdfast.Step) error {
	epochs, err := eval.JudgeEpochs(requests, plans)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if e.Survived() {
			continue
		}
		for i, j := range e.Requests {
			if !j.Survived() {
				return fmt.Errorf("turn %d after compaction %d: %d of %d open steps in order, %d with their status, %d finished ones came back, %d copies",
					i+1, e.Compaction, j.Ordered, j.Open, j.Right, j.Closed, j.Copies)
			}
		}
		return fmt.Errorf("after compaction %d: %d turns, and the block is not the same in all", e.Compaction, len(e.Requests))
	}
	return nil
}

// holds is nil when no more thinking stands behind something else than it was made
// behind than without Holdfast: a resumed claude-code tells the model other things of its
// surroundings than before.
func holds(without, with int) error {
	if with > without {
		return fmt.Errorf("%d pieces of thinking stand behind something else than they were made behind, %d without Holdfast", with, without)
	}
	return nil
}

// lostIn is nil when the first turn behind every compaction holds nothing of
// the plan.
func lostIn(requests []eval.Request, plans [][]holdfast.Step) error {
	epochs, err := eval.JudgeEpochs(requests, plans)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if !e.Lost() {
			return fmt.Errorf("after compaction %d the first of %d turns holds %d open steps: the case proves nothing", e.Compaction, len(e.Requests), e.First().Known)
		}
	}
	return nil
}

// survived is nil when what the case must keep is in every turn behind every
// compaction.
func (c agentCase) survived(requests []eval.Request) error {
	if len(c.values) > 0 {
		return valuesIn(requests, c.values, len(c.plans))
	}
	return survivedIn(requests, c.plans)
}

// lost is nil when the first turn behind every compaction holds nothing of it.
func (c agentCase) lost(requests []eval.Request) error {
	plans := c.plans
	if len(c.values) > 0 {
		plans = slices.Repeat([][]holdfast.Step{asSteps(c.values)}, len(c.plans))
	}
	return lostIn(requests, plans)
}

// asSteps lets the judge look for values anywhere in a request.
func asSteps(values []string) []holdfast.Step {
	out := make([]holdfast.Step, len(values))
	for i, v := range values {
		out[i] = holdfast.Step{Text: v, Status: pending}
	}
	return out
}

// valuesIn is nil when every turn behind every compaction holds one block, the
// same in all turns up to the next, and each value stands in it.
func valuesIn(requests []eval.Request, values []string, compactions int) error {
	epochs, err := eval.JudgeEpochs(requests, make([][]holdfast.Step, compactions))
	if err != nil {
		return err
	}
	for _, e := range epochs {
		for i, j := range e.Requests {
			for _, v := range values {
				if j.Copies != 1 || !strings.Contains(j.Block, v) {
					return fmt.Errorf("turn %d after compaction %d: %d blocks, the first without %q", i+1, e.Compaction, j.Copies, v)
				}
			}
		}
		if !e.Survived() {
			return fmt.Errorf("after compaction %d: %d turns, and the block is not the same in all", e.Compaction, len(e.Requests))
		}
	}
	return nil
}

// choiceIn is nil when every turn behind every compaction has the person's choice
// among the constraints of its one block, and not only as words.
func choiceIn(requests []eval.Request, compactions int) error {
	epochs, err := eval.JudgeEpochs(requests, make([][]holdfast.Step, compactions))
	if err != nil {
		return err
	}
	for _, e := range epochs {
		for i, j := range e.Requests {
			_, section, _ := strings.Cut(j.Block, "## Constraints")
			section, _, _ = strings.Cut(section, "## ")
			if j.Copies != 1 || !strings.Contains(section, chosen) {
				return fmt.Errorf("turn %d after compaction %d: %d blocks, the first without the constraint %q", i+1, e.Compaction, j.Copies, chosen)
			}
		}
	}
	return nil
}

func counted(got, want int) error {
	if got != want {
		return fmt.Errorf("holdfast_compactions_total shows %d committed, the agent compacted %d times", got, want)
	}
	return nil
}

// head is what the agent sent up to its first compaction, headArrived what
// arrived.
func head(sent []recorded) []recorded {
	i := slices.IndexFunc(sent, func(r recorded) bool { return r.kind().IsCompaction() })
	if i < 0 {
		return sent
	}
	return sent[:i]
}

func headArrived(arrived []eval.Request) []eval.Request {
	i := slices.IndexFunc(arrived, func(r eval.Request) bool { return r.Kind.IsCompaction() })
	if i < 0 {
		return arrived
	}
	return arrived[:i]
}

// sameBytes is nil when the posted requests are equal, one for one: method,
// path, query, headers and body. Other methods ask for no answer of a model and
// may be answered by Holdfast itself; those that arrive must have been sent.
// Requests in flight together may arrive in another order.
func sameBytes(sent []recorded, arrived []eval.Request) error {
	left := slices.Clone(sent)
	posts := 0
	for n, a := range arrived {
		i := slices.IndexFunc(left, func(s recorded) bool { return equal(s, a) })
		if i < 0 {
			return fmt.Errorf("request %d at the upstream, %s %s, is not what the agent sent%s", n+1, a.Method, a.URI, nearest(left, a))
		}
		left = slices.Delete(left, i, i+1)
		if a.Method == http.MethodPost {
			posts++
		}
	}
	for _, s := range left {
		if s.Method == http.MethodPost {
			return fmt.Errorf("the agent sent %s %s with %d bytes, and it did not arrive", s.Method, s.URI, len(s.Body))
		}
	}
	if posts == 0 {
		return errors.New("no request arrived")
	}
	return nil
}

// onlyInserted is nil when each posted request arrived as it was sent, but for
// one insertion: a block in a turn, where it may take the place of an older one,
// anything in a request for a summary. The headers of an altered request may differ
// in length and coding.
func onlyInserted(sent []recorded, arrived []eval.Request) error {
	left := slices.Clone(sent)
	for n, a := range arrived {
		i := slices.IndexFunc(left, func(s recorded) bool {
			text, ok := inserted(s.Body, a.Body)
			if !ok && a.Kind == eval.Turn {
				text, ok = "", replaced(s.Body, a.Body)
			}
			if !ok || s.Method != a.Method || s.URI != a.URI {
				return false
			}
			return text == "" || a.Kind.IsCompaction() || a.Kind == eval.Turn && strings.Count(text, holdfast.BlockOpen) == 1
		})
		if i < 0 {
			return fmt.Errorf("request %d at the upstream, a %s, is more than what the agent sent and one block%s", n+1, a.Kind, nearest(left, a))
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

// inserted is the text that was put into a body to make another of it; ok is
// false when more than one insertion is between them.
func inserted(from, to []byte) (text string, ok bool) {
	more := len(to) - len(from)
	if more < 0 {
		return "", false
	}
	at := 0
	for at < len(from) && from[at] == to[at] {
		at++
	}
	return string(to[at : at+more]), bytes.Equal(from[at:], to[at+more:])
}

// replaced reports whether two bodies with one block each differ in that alone.
func replaced(from, to []byte) bool {
	before, behind, ok := aroundBlock(from)
	b, d, also := aroundBlock(to)
	return ok && also && bytes.Equal(before, b) && bytes.Equal(behind, d)
}

// aroundBlock cuts out the block of a body; ok is false where there is none, or more.
func aroundBlock(body []byte) (before, behind []byte, ok bool) {
	before, rest, _ := bytes.Cut(body, []byte(holdfast.BlockOpen))
	_, behind, ok = bytes.Cut(rest, []byte(holdfast.BlockClose))
	return before, behind, ok && bytes.Count(body, []byte(holdfast.BlockOpen)) == 1
}

func equal(s recorded, a eval.Request) bool {
	return s.Method == a.Method && s.URI == a.URI && bytes.Equal(s.Body, a.Body) && headerDifference(s.Header, a.Header) == ""
}

// nearest says in what a request differs from the sent one with the same body,
// or else from the first one left.
func nearest(left []recorded, a eval.Request) string {
	for _, s := range left {
		if bytes.Equal(s.Body, a.Body) {
			return ": " + headerDifference(s.Header, a.Header)
		}
	}
	for _, s := range left {
		if s.Method == a.Method {
			n := 0
			for n < len(s.Body) && n < len(a.Body) && s.Body[n] == a.Body[n] {
				n++
			}
			return fmt.Sprintf(": the body differs from byte %d on (%d sent, %d arrived)", n, len(s.Body), len(a.Body))
		}
	}
	return ""
}

// perHop are the headers that belong to one connection and not to the request.
var perHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Host"}

// headerDifference names the first header that differs, and is empty without one.
func headerDifference(a, b http.Header) string {
	for _, name := range headerNames(a, b) {
		if !slices.Equal(a[name], b[name]) {
			return fmt.Sprintf("header %s is %q, was sent as %q", name, b[name], a[name])
		}
	}
	return ""
}

func headerNames(headers ...http.Header) []string {
	var names []string
	for _, h := range headers {
		for name := range h {
			if !slices.Contains(perHop, name) {
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return slices.Compact(names)
}

// sameStructure is nil when two runs of one session sent the same requests to
// the model, but for what an agent makes new in each run.
func sameStructure(a, b []eval.Request) error {
	left, right := posted(a), posted(b)
	for i := range min(len(left), len(right)) {
		if d := difference("", shape(left[i]), shape(right[i])); d != "" {
			return fmt.Errorf("request %d of %d differs at %s", i+1, len(left), d)
		}
	}
	if len(left) != len(right) {
		return fmt.Errorf("%d requests directly, %d through Holdfast", len(left), len(right))
	}
	return nil
}

// posted lists the posted requests, those beside the conversation last: an agent
// sends them at the same time as others.
func posted(requests []eval.Request) []eval.Request {
	out := slices.DeleteFunc(slices.Clone(requests), func(r eval.Request) bool { return r.Method != http.MethodPost })
	slices.SortStableFunc(out, func(a, b eval.Request) int {
		switch aside, bside := a.Kind == eval.SideCall, b.Kind == eval.SideCall; {
		case aside == bside:
			return 0
		case aside:
			return 1
		}
		return -1
	})
	return out
}

// shape is a request as a JSON value with what is new in each run replaced.
func shape(r eval.Request) any {
	headers := map[string]any{}
	for _, name := range headerNames(r.Header) {
		if name != "Content-Length" {
			headers[name] = plain(strings.Join(r.Header[name], "\n"))
		}
	}
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		body = string(r.Body)
	}
	return map[string]any{"method": r.Method, "uri": r.URI, "header": headers, "body": scrub(body)}
}

func scrub(v any) any {
	switch v := v.(type) {
	case string:
		return plain(v)
	case float64:
		if v > 1e9 {
			return "<time>"
		}
	case []any:
		for i := range v {
			v[i] = scrub(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = scrub(v[k])
		}
	}
	return v
}

// fresh matches what an agent makes new in each run: ids, hashes, times, ports,
// its home and the suffix of claude-code's version.
var fresh = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`holdfast-agents-\d+([/-])[0-9a-f]{16}`), "<home>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
	{regexp.MustCompile(`cc_version=(\d+\.\d+\.\d+)\.\w+`), "cc_version=$1"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{16,}\b`), "<hash>"},
	{regexp.MustCompile(`\b\d{10,}(\.\d+)?\b`), "<time>"},
	{regexp.MustCompile(`\b(ses|msg|prt)_[0-9A-Za-z]+\b`), "<id>"},
	{regexp.MustCompile(`(?i)(pgid|chunk id|wall time|process id|duration)(: )\S+`), "$1$2<new>"},
}

func plain(s string) string {
	for _, f := range fresh {
		s = f.pattern.ReplaceAllString(s, f.name)
	}
	if object, ok := inner(s); ok {
		return object
	}
	return s
}

// inner puts the members of a JSON object inside a string into order: codex
// writes one in an order of its own.
func inner(s string) (string, bool) {
	if !strings.HasPrefix(s, "{") {
		return "", false
	}
	var v map[string]any
	if json.Unmarshal([]byte(s), &v) != nil {
		return "", false
	}
	b, err := json.Marshal(scrub(v))
	return string(b), err == nil
}

// difference names the first place where two JSON values differ.
func difference(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for k := range x {
			names[k] = true
		}
		for k := range y {
			names[k] = true
		}
		sorted := make([]string, 0, len(names))
		for k := range names {
			sorted = append(sorted, k)
		}
		sort.Strings(sorted)
		for _, k := range sorted {
			if d := difference(path+"."+k, x[k], y[k]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); d != "" {
				return d
			}
		}
		if len(x) != len(y) {
			return fmt.Sprintf("%s: %d elements, %d through Holdfast", path, len(x), len(y))
		}
		return ""
	default:
		if a == b {
			return ""
		}
	}
	return fmt.Sprintf("%s: %s", path, apart(fmt.Sprint(a), fmt.Sprint(b)))
}

// apart shows two texts from a little before the place where they part.
func apart(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	const before, behind = 30, 90
	clip := func(s string) string { return fmt.Sprintf("%q", s[max(at-before, 0):min(at+behind, len(s))]) }
	return fmt.Sprintf("%s, through Holdfast %s, at byte %d", clip(a), clip(b), at)
}
