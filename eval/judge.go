package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Judgement is what one request holds of a plan.
type Judgement struct {
	// Open is the number of steps that were not completed, and so must be there.
	Open int `json:"open"`
	// Known is how many of them stand anywhere in the request, in the block or
	// outside of it.
	Known int `json:"known"`
	// Ordered is how many of them stand in the block in the plan's order: the
	// longest run of steps, others left out, in which each follows the one before.
	Ordered int `json:"ordered"`
	// Right is how many of them stand in the block with their status.
	Right int `json:"right_status"`
	// Closed is how many completed steps the block shows as if they were open.
	Closed int `json:"closed_shown_open"`
	// Words is the number of words of the user that must be there.
	Words int `json:"words"`
	// WordsKnown is how many of them stand anywhere in the request.
	WordsKnown int `json:"words_known"`
	// Copies is the number of blocks in the request, whole or broken.
	Copies int `json:"copies"`
	// Block is the first whole block, delimiters included.
	Block string `json:"-"`
	// Place tells where it stands. Meaningless without a block.
	Place Place `json:"place"`
}

// Survived reports whether every open step is there once, in order, with its
// status, no completed one came back, and every word is known.
func (j Judgement) Survived() bool {
	return j.Copies == 1 && j.Ordered == j.Open && j.Right == j.Open && j.Closed == 0 && j.WordsKnown == j.Words
}

// Lost reports whether nothing is there: no block, and neither an open step nor
// a word anywhere in the request.
func (j Judgement) Lost() bool { return j.Copies == 0 && j.Known == 0 && j.WordsKnown == 0 }

// Place is the place of a block within a request.
type Place struct {
	// Message is the index in the history; -1 is outside of it.
	Message int `json:"message"`
	// Role is the message's role, or its type where it has none.
	Role string `json:"role"`
	// Part is the index within the message's content; -1 is outside of it.
	Part int `json:"part"`
	// Alone is true when the part holds the block and nothing else.
	Alone bool `json:"alone"`
	// AtEnd is true when nothing but white space follows in the part.
	AtEnd bool `json:"at_end"`
}

// passage is one text of a request, with its place.
type passage struct {
	text    string
	message int
	role    string
	part    int
}

// Judge looks for the plan in the body of a request of any protocol. It
// fails only when body is no JSON object.
func Judge(body []byte, plan []holdfast.Step) (Judgement, error) { return judge(body, plan, nil) }

func judge(body []byte, plan []holdfast.Step, words []string) (Judgement, error) {
	passages, err := passagesOf(body)
	if err != nil {
		return Judgement{}, err
	}
	known := func(text string) bool {
		return slices.ContainsFunc(passages, func(p passage) bool { return strings.Contains(p.text, text) })
	}
	j := Judgement{Words: len(words)}
	for _, w := range words {
		if known(w) {
			j.WordsKnown++
		}
	}
	for _, p := range passages {
		j.Copies += strings.Count(p.text, holdfast.BlockOpen)
		if block, rest, ok := cutBlock(p.text); ok && j.Block == "" {
			j.Block = block
			j.Place = Place{
				Message: p.message, Role: p.role, Part: p.part,
				Alone: strings.TrimSpace(p.text) == block, AtEnd: strings.TrimSpace(rest) == "",
			}
		}
	}
	lines := strings.Split(j.Block, "\n")
	var at []int // the lines of the open steps, in the plan's order
	for _, step := range plan {
		line := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, step.Text) })
		status, shown := holdfast.StepStatus(""), false
		if line >= 0 {
			status, shown = statusOf(lines[line])
		}
		if step.Status == holdfast.StepCompleted {
			if shown && status != holdfast.StepCompleted {
				j.Closed++
			}
			continue
		}
		j.Open++
		if known(step.Text) {
			j.Known++
		}
		if line >= 0 {
			at = append(at, line)
			if shown && status == step.Status {
				j.Right++
			}
		}
	}
	j.Ordered = longestRise(at)
	return j, nil
}

// cutBlock finds the first whole block of text, and what follows it.
func cutBlock(text string) (block, rest string, ok bool) {
	start := strings.Index(text, holdfast.BlockOpen)
	if start < 0 {
		return "", "", false
	}
	end := strings.Index(text[start:], holdfast.BlockClose)
	if end < 0 {
		return "", "", false
	}
	end += start + len(holdfast.BlockClose)
	return text[start:end], text[end:], true
}

// statusOf reads the status that a line of a block begins with: a word or a
// box in brackets, behind a number or bullet.
func statusOf(line string) (holdfast.StepStatus, bool) {
	_, after, ok := strings.Cut(line, "[")
	if !ok {
		return "", false
	}
	mark, _, ok := strings.Cut(after, "]")
	if !ok {
		return "", false
	}
	switch strings.TrimSpace(mark) {
	case "pending", "":
		return holdfast.StepPending, true
	case "in_progress", "in progress":
		return holdfast.StepInProgress, true
	case "completed", "done", "x":
		return holdfast.StepCompleted, true
	}
	return "", false
}

// longestRise is the length of the longest rising subsequence of lines.
func longestRise(lines []int) int {
	best := make([]int, len(lines))
	longest := 0
	for i := range lines {
		best[i] = 1
		for k := range i {
			if lines[k] < lines[i] {
				best[i] = max(best[i], best[k]+1)
			}
		}
		longest = max(longest, best[i])
	}
	return longest
}

// passagesOf lists all texts of a body: those of the history in order, then
// the others.
func passagesOf(body []byte) ([]passage, error) {
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("read a request body: %w", err)
	}
	var out []passage
	for _, name := range []string{"messages", "input", "contents"} {
		switch history := root[name].(type) {
		case string:
			out = append(out, passage{history, 0, "user", 0})
		case []any:
			for i, el := range history {
				out = append(out, messagePassages(el, i)...)
			}
		}
		delete(root, name)
	}
	eachString(root, func(s string) { out = append(out, passage{s, -1, "", -1}) })
	return out, nil
}

func messagePassages(el any, index int) []passage {
	m, ok := el.(map[string]any)
	if !ok {
		return nil
	}
	role, _ := m["role"].(string)
	if role == "" {
		role, _ = m["type"].(string)
	}
	var out []passage
	for name, value := range m {
		parts, ok := value.([]any)
		content := name == "content" || name == "parts"
		if !content || !ok {
			part := -1
			if content {
				part = 0
			}
			eachString(value, func(s string) { out = append(out, passage{s, index, role, part}) })
			continue
		}
		for k, p := range parts {
			eachString(p, func(s string) { out = append(out, passage{s, index, role, k}) })
		}
	}
	return out
}

// eachString calls f with every string of a JSON value, names left out.
func eachString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, el := range v {
			eachString(el, f)
		}
	case map[string]any:
		for _, el := range v {
			eachString(el, f)
		}
	}
}
