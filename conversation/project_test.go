package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// stream reads lines into entries, numbered from 1, with ids e1, e2 and so on
// where a line has none.
func stream(t testing.TB, lines ...string) []holdfast.Entry {
	t.Helper()
	var list []holdfast.Entry
	for _, line := range strings.Split(strings.Join(lines, "\n"), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := conversation.ParseLine([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		e.Seq = int64(len(list) + 1)
		if e.ID == "" {
			e.ID = holdfast.EventID(fmt.Sprint("e", e.Seq))
		}
		list = append(list, e)
	}
	return list
}

// turn is a whole turn: its marker, a user message, reasoning, a tool call and
// its result, an answer.
func turn(n int) string { return turnWith(n, false) }

func turnWith(n int, failed bool) string {
	return fmt.Sprintf(`{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"question %[1]d"}]}
{"kind":"reasoning","text":"thought %[1]d","opaque":"{\"signature\": \"s%[1]d\"}"}
{"kind":"tool_call","call_id":"c%[1]d","name":"cargo_test","arguments":{"n": %[1]d}}
{"kind":"tool_result","call_id":"c%[1]d","content":[{"type":"text","text":"output %[1]d"}],"is_error":%[2]v}
{"kind":"assistant","content":[{"type":"text","text":"answer %[1]d"}]}`, n, failed)
}

func overlay(from, to int, policies string) string {
	return fmt.Sprintf(`{"kind":"compaction","from_turn":%d,"to_turn":%d,%s}`, from, to, policies)
}

const (
	reasoning = `"reasoning":"strip"`
	request   = `"tool_calls":{"policy":"strip","request":true,"response":false}`
	response  = `"tool_calls":{"policy":"strip","request":false,"response":true}`
	both      = `"tool_calls":{"policy":"strip"}`
	omit      = `"tool_calls":{"policy":"omit"}`
)

func summary(text string) string {
	return fmt.Sprintf(`"summary":{"text":%q,"origin":"generated","model":"m"}`, text)
}

// sketch writes a view as one line a turn: its origin, then its events.
func sketch(v conversation.View) string {
	var b strings.Builder
	for _, t := range v.Turns {
		switch {
		case t.Origin.Summary:
			fmt.Fprintf(&b, "summary %d-%d:", t.Origin.From, t.Origin.To)
		default:
			fmt.Fprintf(&b, "kept %d:", t.Origin.From)
		}
		for _, e := range t.Entries {
			b.WriteString(" " + sketchEvent(e.Event))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func sketchEvent(e holdfast.Event) string {
	texts := func(parts []holdfast.Part) string {
		var list []string
		for _, p := range parts {
			list = append(list, fmt.Sprint(p))
		}
		return strings.Join(list, "|")
	}
	switch e := e.(type) {
	case holdfast.UserMessage:
		return "U(" + texts(e.Parts) + ")"
	case holdfast.AssistantMessage:
		return "A(" + e.Text + ")"
	case holdfast.Reasoning:
		return "R(" + e.Text + string(e.Opaque) + ")"
	case holdfast.ToolCall:
		return "C(" + e.ID + " " + e.Name + string(e.Arguments) + ")"
	case holdfast.ToolResult:
		if e.IsError {
			return "E(" + e.CallID + " " + texts(e.Parts) + ")"
		}
		return "T(" + e.CallID + " " + texts(e.Parts) + ")"
	}
	return fmt.Sprintf("%T", e)
}

func whole(n int) string { return "kept " + fmt.Sprint(n) + ": " + wholeEvents(n) + "\n" }

func wholeEvents(n int) string {
	return fmt.Sprintf(`U(question %[1]d) R(thought %[1]d{"signature": "s%[1]d"}) C(c%[1]d cargo_test{"n": %[1]d}) T(c%[1]d output %[1]d) A(answer %[1]d)`, n)
}

func summarised(from, to int, text string) string {
	return fmt.Sprintf("summary %d-%d: U([Summary of previous conversation]) A(%s)\n", from, to, text)
}

func TestProject(t *testing.T) {
	noReasoning := func(n int) string {
		return strings.Replace(whole(n), fmt.Sprintf(` R(thought %[1]d{"signature": "s%[1]d"})`, n), "", 1)
	}
	with := func(s, old, replacement string) string { return strings.ReplaceAll(s, old, replacement) }
	strippedCalls := func(n int) string {
		s := with(whole(n), fmt.Sprintf(`{"n": %d}`, n), "{}")
		return with(s, fmt.Sprintf("T(c%[1]d output %[1]d)", n), fmt.Sprintf("T(c%d [compacted] cargo_test: success)", n))
	}
	omitted := func(n int) string {
		return with(whole(n), fmt.Sprintf(` C(c%[1]d cargo_test{"n": %[1]d}) T(c%[1]d output %[1]d)`, n), "")
	}
	two := turn(0) + "\n" + turn(1)
	six := strings.Join([]string{turn(0), turn(1), turn(2), turn(3), turn(4), turn(5)}, "\n")
	cases := []struct{ name, in, want string }{
		{"no overlay", two, whole(0) + whole(1)},
		{"reasoning is stripped whole", two + "\n" + overlay(0, 1, reasoning), noReasoning(0) + noReasoning(1)},
		{
			"the request half of tools", two + "\n" + overlay(0, 1, request),
			with(whole(0), `{"n": 0}`, "{}") + with(whole(1), `{"n": 1}`, "{}"),
		},
		{"both halves of tools", two + "\n" + overlay(0, 1, both), strippedCalls(0) + strippedCalls(1)},
		{
			"the response half of a result that is an error", turnWith(0, true) + "\n" + overlay(0, 0, response),
			with(whole(0), "T(c0 output 0)", "E(c0 [compacted] cargo_test: error)"),
		},
		{"tools are omitted", two + "\n" + overlay(0, 1, omit), omitted(0) + omitted(1)},
		{"a summary is two messages", two + "\n" + overlay(0, 1, summary("S")), summarised(0, 1, "S")},
		{"a summary with a strip in one overlay", two + "\n" + overlay(0, 1, reasoning+","+both+","+summary("S")), summarised(0, 1, "S")},
		{"a summary of the first turn", two + "\n" + overlay(0, 0, summary("S")), summarised(0, 0, "S") + whole(1)},
		{"a summary of the middle", six + "\n" + overlay(1, 4, summary("S")), whole(0) + summarised(1, 4, "S") + whole(5)},
		{
			"two summaries of one turn with the same text", two + "\n" + overlay(0, 0, summary("S")) + "\n" + overlay(1, 1, summary("S")),
			summarised(0, 0, "S") + summarised(1, 1, "S"),
		},
		{"a newer, weaker tool policy replaces an older one", two + "\n" + overlay(0, 1, omit) + "\n" + overlay(0, 1, both), strippedCalls(0) + strippedCalls(1)},
		{
			"policies of two kinds add up", two + "\n" + overlay(0, 1, reasoning) + "\n" + overlay(1, 1, omit),
			noReasoning(0) + with(omitted(1), ` R(thought 1{"signature": "s1"})`, ""),
		},
		{"an older summary beats a newer strip", two + "\n" + overlay(0, 1, summary("S")) + "\n" + overlay(0, 1, reasoning), summarised(0, 1, "S")},
		{"a newer summary beats an older strip", two + "\n" + overlay(0, 1, reasoning) + "\n" + overlay(0, 1, summary("S")), summarised(0, 1, "S")},
		{
			"a newer summary inside an older one parts it", six + "\n" + overlay(0, 4, summary("S")) + "\n" + overlay(2, 2, summary("N")),
			summarised(0, 1, "S") + summarised(2, 2, "N") + summarised(3, 4, "S") + whole(5),
		},
		{"a range past the end is clamped", two + "\n" + overlay(1, 99, summary("S")), whole(0) + summarised(1, 1, "S")},
		{"a range that starts past the end is ignored", two + "\n" + overlay(2, 99, summary("S")), whole(0) + whole(1)},
		{
			"a revoked overlay", two + "\n" + strings.Replace(overlay(0, 1, summary("S")), "{", `{"id":"o",`, 1) + "\n" + `{"kind":"revocation","compactions":["o"]}`,
			whole(0) + whole(1),
		},
		{"an empty stream and a summary", overlay(0, 1, summary("S")), ""},
		{
			"messages before the first marker are turn 0", strings.TrimPrefix(turn(0), `{"kind":"turn"}`) + "\n" + turn(1) + "\n" + overlay(1, 1, reasoning),
			whole(0) + noReasoning(1),
		},
		{"settings before the first marker are no turn", `{"kind":"config","config":{}}` + "\n" + turn(0) + "\n" + overlay(0, 0, reasoning), noReasoning(0)},
		{
			"one call id twice in a turn: each result with its own call",
			`{"kind":"turn"}
			{"kind":"tool_call","call_id":"c","name":"first","arguments":{}}
			{"kind":"tool_result","call_id":"c","content":[],"is_error":true}
			{"kind":"tool_call","call_id":"c","name":"second","arguments":{}}
			{"kind":"tool_result","call_id":"c","content":[]}` + "\n" + overlay(0, 0, response),
			"kept 0: C(c first{}) E(c [compacted] first: error) C(c second{}) T(c [compacted] second: success)\n",
		},
		{
			"four calls at once are four pairs",
			`{"kind":"turn"}
			{"kind":"tool_call","call_id":"1","name":"a","arguments":{}}
			{"kind":"tool_call","call_id":"2","name":"b","arguments":{}}
			{"kind":"tool_call","call_id":"3","name":"c","arguments":{}}
			{"kind":"tool_call","call_id":"4","name":"d","arguments":{}}
			{"kind":"tool_result","call_id":"4","content":[]}
			{"kind":"tool_result","call_id":"2","content":[],"is_error":true}
			{"kind":"tool_result","call_id":"1","content":[]}
			{"kind":"tool_result","call_id":"3","content":[]}` + "\n" + overlay(0, 0, response),
			"kept 0: C(1 a{}) C(2 b{}) C(3 c{}) C(4 d{}) T(4 [compacted] d: success) E(2 [compacted] b: error) T(1 [compacted] a: success) T(3 [compacted] c: success)\n",
		},
		{
			"a result without a call is left out, a call without a result gets one",
			`{"kind":"turn"}
			{"kind":"tool_result","call_id":"x","content":[]}
			{"kind":"tool_call","call_id":"c","name":"a","arguments":{}}
			{"kind":"assistant","content":[{"type":"text","text":"A"}]}`,
			"kept 0: C(c a{}) E(c " + conversation.NoResult + ") A(A)\n",
		},
		{
			"a result in a later turn is not that of the call",
			`{"kind":"turn"}
			{"kind":"tool_call","call_id":"c","name":"a","arguments":{}}
			{"kind":"turn"}
			{"kind":"tool_result","call_id":"c","content":[]}
			{"kind":"user","content":[]}`,
			"kept 0: C(c a{}) E(c " + conversation.NoResult + ")\nkept 1: U()\n",
		},
		{
			"a call without a result in a stripped range", `{"kind":"turn"}
			{"kind":"tool_call","call_id":"c","name":"a","arguments":{"x":1}}` + "\n" + overlay(0, 0, both),
			"kept 0: C(c a{}) E(c [compacted] a: error)\n",
		},
		{"empty turns at the end vanish", turn(0) + "\n" + `{"kind":"turn"}` + "\n" + `{"kind":"turn"}`, whole(0)},
		{
			"an empty turn between others stays", turn(0) + "\n" + `{"kind":"turn"}` + "\n" + turn(2),
			whole(0) + "kept 1:\n" + whole(2),
		},
		{
			"the same words in two turns: the one outside of the range stays word for word",
			with(six, "question 5", "question 2") + "\n" + overlay(1, 3, summary("S")),
			whole(0) + summarised(1, 3, "S") + whole(4) + with(whole(5), "question 5", "question 2"),
		},
		{
			"events by number: a result goes with its call", two + "\n" +
				`{"kind":"compaction","from_event":3,"to_event":4,"reasoning":"strip","tool_calls":{"policy":"strip"}}`,
			with(strippedCalls(0), ` R(thought 0{"signature": "s0"})`, "") + whole(1),
		},
		{
			"events by number: a call that is kept stays with its result", two + "\n" +
				`{"kind":"compaction","from_event":1,"to_event":12,"kept_calls":[4],"reasoning":"strip","tool_calls":{"policy":"strip"}}`,
			noReasoning(0) + with(strippedCalls(1), ` R(thought 1{"signature": "s1"})`, ""),
		},
		{
			"events by number: what a call is kept from still holds for older compactions", two + "\n" + overlay(0, 1, request) + "\n" +
				`{"kind":"compaction","from_event":1,"to_event":12,"kept_calls":[4],"tool_calls":{"policy":"omit"}}`,
			with(whole(0), `{"n": 0}`, "{}") + with(whole(1), ` C(c1 cargo_test{"n": 1}) T(c1 output 1)`, ""),
		},
		{
			"events by number: a number that is no call keeps nothing", two + "\n" +
				`{"kind":"compaction","from_event":3,"to_event":4,"kept_calls":[2,5,900],"reasoning":"strip","tool_calls":{"policy":"strip"}}`,
			with(strippedCalls(0), ` R(thought 0{"signature": "s0"})`, "") + whole(1),
		},
		{
			"an overlay in the middle of the stream covers its turns only", turn(0) + "\n" + turn(1) + "\n" + overlay(0, 1, reasoning) + "\n" + turn(2),
			noReasoning(0) + noReasoning(1) + whole(2),
		},
		{
			"what is not for the model is not shown", `{"kind":"hologram","x":1}` + "\n" + turn(0) + "\n" + `{"kind":"usage","input_tokens":5}` + "\n" + turn(1),
			whole(0) + whole(1),
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := stream(t, c.in)
			before := stream(t, c.in)
			got := conversation.Project(in, nil)
			if diff := cmp.Diff(c.want, sketch(got)); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, in); diff != "" {
				t.Errorf("the stream changed:\n%s", diff)
			}
		})
	}
}

func TestProjectKeepsSettings(t *testing.T) {
	in := stream(t, `{"kind":"config","config":{"a":1}}`, turn(0), `{"kind":"config","config":{"b":2}}`, turn(1), overlay(0, 1, summary("S")), `{"kind":"turn"}`, `{"kind":"config","config":{"c":3}}`)
	var got []string
	for _, e := range conversation.Project(in, nil).Settings {
		got = append(got, string(e.Event.(holdfast.Settings).JSON))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProjectDeliversTheCapsule(t *testing.T) {
	const capsule = `{"kind":"continuity","capsule":{"schema_version":1,"revision":7,"branch":"b","digest":"d"}}`
	render := func(c holdfast.Capsule) string { return fmt.Sprint("record ", c.Revision) }
	empty := func(holdfast.Capsule) string { return "" }
	three := turn(0) + "\n" + turn(1) + "\n" + turn(2) + "\n" + capsule + "\n"
	behind := func(n int) string { return strings.Replace(whole(n), "U(", "U(record 7|", 1) }
	bare := func(n int) string {
		return strings.Replace(whole(n), fmt.Sprintf(` R(thought %[1]d{"signature": "s%[1]d"})`, n), "", 1)
	}
	events := func(from, to int) string {
		return fmt.Sprintf(`{"kind":"compaction","from_event":%d,"to_event":%d,"reasoning":"strip"}`, from, to)
	}
	cases := []struct {
		name, in, want string
		render         func(holdfast.Capsule) string
	}{
		{"nowhere without an overlay", three, whole(0) + whole(1) + whole(2), render},
		{"nowhere when it holds nothing", three + overlay(0, 1, reasoning), bare(0) + bare(1) + whole(2), empty},
		{"before the first user message behind the range", three + overlay(0, 1, reasoning), bare(0) + bare(1) + behind(2), render},
		{"behind a summary", three + overlay(0, 1, summary("S")), summarised(0, 1, "S") + behind(2), render},
		{"behind the last of two ranges", three + overlay(1, 1, reasoning) + "\n" + overlay(0, 0, summary("S")), summarised(0, 0, "S") + bare(1) + behind(2), render},
		{"behind a range of events, in the next turn", three + events(1, 10), bare(0) + bare(1) + behind(2), render},
		{
			"behind a range of events, in a message of its own at the end of a turn that goes on", three + events(1, 15),
			bare(0) + bare(1) + strings.TrimSuffix(bare(2), "\n") + " U(record 7)\n", render,
		},
		{"before a message that came into the turn behind the range", three + `{"kind":"user","content":[{"type":"text","text":"wait"}]}` + "\n" + events(1, 15), bare(0) + bare(1) + strings.TrimSuffix(bare(2), "\n") + " U(record 7|wait)\n", render},
		{"in a message of its own at the end", three + overlay(0, 2, summary("S")), strings.TrimSuffix(summarised(0, 2, "S"), "\n") + " U(record 7)\n", render},
		{
			"the newest of those in the stream", three + strings.Replace(overlay(0, 1, summary("S")), `"model":"m"`, `"capsule":{"schema_version":1,"revision":9,"branch":"b","digest":"d"}`, 1),
			summarised(0, 1, "S") + strings.Replace(whole(2), "U(", "U(record 9|", 1), render,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sketch(conversation.Project(stream(t, c.in), c.render))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
