package survival

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// block is a record that reached the upstream, read by what its lines say.
type block struct {
	text string
	// steps are the lines of the plan in force, planText all of that section, and
	// so on with the others.
	steps                    []holdfast.Step
	planned                  bool
	planText, waiting, no    string
	decisions                []string // "question -> answer"
	words                    string
	lines                    []sectionLine
	hidden                   bool // it names something that was left out for size
	headings                 []string
	hiddenSteps, hiddenFacts bool
	hiddenOffer              bool // the text of the plan that waits or got a no
}

// sectionLine is a line with the heading that it stands below.
type sectionLine struct{ head, text string }

// outside is the text that stands below none of these headings.
func (b block) outside(heads ...string) string {
	var out strings.Builder
	for _, l := range b.lines {
		if !slices.ContainsFunc(heads, func(h string) bool { return strings.HasPrefix(l.head, h) }) {
			out.WriteString(l.text + "\n")
		}
	}
	return out.String()
}

// stepLine is a step as the record writes it: its number, its status, its text.
var stepLine = regexp.MustCompile(`^\d+\. \[(pending|in_progress|completed)\] (.*)$`)

// headings of the record, by what they begin with.
const (
	headPlan      = "## Plan in force"
	headWaiting   = "## Proposed plan"
	headNo        = "## Plan that the user rejected"
	headDecisions = "## Decisions of the user"
	headWords     = "## Words of the user"
)

func readBlock(text string) block {
	b := block{text: text}
	head := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "Left out for size:") {
			b.hidden = true
			b.hiddenFacts = b.hiddenFacts || strings.Contains(line, "decisions")
			b.hiddenOffer = b.hiddenOffer || strings.Contains(line, "the text of the proposed plan")
			continue
		}
		if strings.HasPrefix(line, "## ") {
			head = line
			b.headings = append(b.headings, line)
			b.planned = b.planned || strings.HasPrefix(line, headPlan)
			continue
		}
		b.lines = append(b.lines, sectionLine{head, line})
		switch {
		case strings.HasPrefix(head, headPlan):
			b.planText += line + "\n"
			b.hiddenSteps = b.hiddenSteps || strings.HasSuffix(line, "later steps are not listed.")
			if m := stepLine.FindStringSubmatch(line); m != nil {
				b.steps = append(b.steps, holdfast.Step{Text: m[2], Status: holdfast.StepStatus(m[1])})
			}
		case strings.HasPrefix(head, headWaiting):
			b.waiting += line + "\n"
		case strings.HasPrefix(head, headNo):
			b.no += line + "\n"
		case strings.HasPrefix(head, headDecisions):
			if item, ok := strings.CutPrefix(line, "- "); ok {
				b.decisions = append(b.decisions, item)
			}
		case strings.HasPrefix(head, headWords):
			b.words += line + "\n"
		}
	}
	return b
}

// open are the steps of the block that are not completed.
func (b block) open() (open []holdfast.Step) {
	for _, s := range b.steps {
		if s.Status != holdfast.StepCompleted {
			open = append(open, s)
		}
	}
	return open
}

// blocksOf finds the records in a body, those that a session or a summarizer
// forged left out: torn ones count as records too.
func blocksOf(texts []string, forged func(string) bool) (found []string) {
	for _, text := range texts {
		for {
			_, after, ok := strings.Cut(text, holdfast.BlockOpen)
			if !ok {
				break
			}
			inside, rest, whole := strings.Cut(after, holdfast.BlockClose)
			if i := strings.Index(inside, holdfast.BlockOpen); !whole || i >= 0 {
				if i < 0 {
					i = len(after)
				}
				inside, rest, whole = after[:i], after[i:], false
			}
			if whole {
				inside += holdfast.BlockClose
			}
			if !forged(inside) {
				found = append(found, holdfast.BlockOpen+inside)
			}
			text = rest
		}
	}
	return found
}

// textsOf are all strings of a JSON body, names left out.
func textsOf(body []byte) (texts []string) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var root any
	if dec.Decode(&root) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, el := range v {
				walk(el)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(root)
	return texts
}

// tokens is the length of a text in tokens as a rule of thumb has it: three
// bytes each.
func tokens(text string) int { return (len(text) + 2) / 3 }
