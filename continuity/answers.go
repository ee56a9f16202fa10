package continuity

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// question is the part of a structured question that is read. claude-code names
// it by its text, codex by its id.
type question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
}

// answerQuestions makes a decision of each answer. A question that nobody
// answered leaves nothing.
func answerQuestions(c *holdfast.Capsule, call Call) {
	if call.Result == nil {
		return
	}
	var args struct {
		Questions []question `json:"questions"`
	}
	if json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	answers := jsonAnswers(call.Result.Text)
	if answers == nil {
		answers = textAnswers(call.Result.Text, args.Questions)
	}
	for i, q := range args.Questions {
		answer, ok := answers[q.Question]
		for _, name := range []string{q.ID, strconv.Itoa(i)} {
			if !ok && name != "" {
				answer, ok = answers[name]
			}
		}
		if answer = bounded(answer, maxStepBytes); ok && answer != "" && answer != "Unanswered" {
			decide(c, call.ID, bounded(q.Question, maxStepBytes), answer)
		}
	}
}

// answerOne makes a decision of the answer to a single question (cline).
func answerOne(c *holdfast.Capsule, call Call) {
	var args struct {
		Question string `json:"question"`
	}
	if call.Result == nil || json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	answer := bounded(call.Result.Text, maxStepBytes)
	if args.Question == "" || answer == "" || strings.HasPrefix(answer, "{") {
		return // an error object, or nothing
	}
	decide(c, call.ID, bounded(args.Question, maxStepBytes), answer)
}

// jsonAnswers reads {"answers":{"ID":{"answers":["..."]}}} (codex, by the
// question's id) and {"answers":{"0":"..."}} (gemini-cli, by its place); nil when
// the text is something else.
func jsonAnswers(text string) map[string]string {
	var out struct {
		Answers map[string]json.RawMessage `json:"answers"`
	}
	if json.Unmarshal([]byte(text), &out) != nil || out.Answers == nil {
		return nil
	}
	answers := make(map[string]string, len(out.Answers))
	for id, raw := range out.Answers {
		var one string
		var many struct {
			Answers []string `json:"answers"`
		}
		switch {
		case json.Unmarshal(raw, &one) == nil:
			answers[id] = one
		case json.Unmarshal(raw, &many) == nil:
			for i, w := range many.Answers {
				many.Answers[i] = strings.TrimPrefix(w, "user_note: ")
			}
			answers[id] = strings.Join(many.Answers, ", ")
		}
	}
	return answers
}

// headed finds qwen-code's `**HEADER**: ANSWER` lines.
var headed = regexp.MustCompile(`(?m)^\*\*(.+?)\*\*: (.+)$`)

// textAnswers reads claude-code's `"QUESTION"="ANSWER"` pairs. The questions are
// known from the call, so an answer that holds quotes of its own is still cut
// where the next known question begins, or at the sentence that ends the list.
func textAnswers(text string, questions []question) map[string]string {
	text, _, _ = strings.Cut(text, "\n\n<system-reminder>")
	answers := map[string]string{}
	for _, m := range headed.FindAllStringSubmatch(text, -1) {
		for _, q := range questions {
			if q.Header == m[1] {
				answers[q.Question] = m[2]
			}
		}
	}
	type mark struct {
		at, end int
		q       string
	}
	var marks []mark
	for _, q := range questions {
		key := `"` + q.Question + `"="`
		if i := strings.Index(text, key); i >= 0 && q.Question != "" {
			marks = append(marks, mark{i, i + len(key), q.Question})
		}
	}
	slices.SortFunc(marks, func(a, b mark) int { return a.at - b.at })
	for i, m := range marks {
		stop := len(text)
		if i+1 < len(marks) {
			stop = marks[i+1].at
		} else if end := strings.LastIndex(text[m.end:], `". `); end >= 0 {
			stop = m.end + end + 1
		}
		if j := strings.LastIndexByte(text[m.end:stop], '"'); j >= 0 {
			answers[m.q] = text[m.end : m.end+j]
		}
	}
	return answers
}

// decide records an answer. The same answer again changes nothing; another one
// to the same question supersedes it.
func decide(c *holdfast.Capsule, call, subject, answer string) {
	var supersedes []string
	for i, d := range c.Decisions {
		if d.Subject != subject {
			continue
		}
		if d.Evidence.Call == call || (d.Status == holdfast.FactActive && d.Statement == answer) {
			return
		}
		if d.Status == holdfast.FactActive {
			c.Decisions[i].Status = holdfast.FactSuperseded
			supersedes = append(supersedes, d.ID)
		}
	}
	c.Decisions = append(c.Decisions, holdfast.Decision{
		ID: nextID(*c, decisions), Subject: subject, Statement: answer, Supersedes: supersedes, Status: holdfast.FactActive,
		Evidence: holdfast.Evidence{By: holdfast.ByStructured, Call: call},
	})
	evict(c)
}
