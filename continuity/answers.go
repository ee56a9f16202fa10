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
	Options  []struct {
		Preview string `json:"preview"` // claude-code repeats it behind the answer
	} `json:"options"`
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

// headedAnswers gives the lines under a header to the questions that have it, in
// order. With fewer lines than questions nobody knows whose they are.
func headedAnswers(text string, questions []question) map[string]string {
	lines := map[string][]string{}
	for _, m := range headed.FindAllStringSubmatch(text, -1) {
		lines[m[1]] = append(lines[m[1]], m[2])
	}
	asked := map[string][]string{}
	for _, q := range questions {
		asked[q.Header] = append(asked[q.Header], q.Question)
	}
	answers := map[string]string{}
	for header, names := range asked {
		if len(lines[header]) < len(names) {
			continue
		}
		for i, name := range names {
			answers[name] = lines[header][i]
		}
	}
	return answers
}

// What claude-code writes in place of an answer, and behind one.
const (
	noOption  = "(no option selected)"
	preview   = " selected preview:"
	notes     = " notes: "
	userNotes = " user notes: "
)

// lastWords begin the sentence behind the last answer.
var lastWords = []string{". You can now continue", ". Read the answers"}

// textAnswers reads claude-code's `"QUESTION"="ANSWER"` pairs. The questions are
// known from the call, so an answer that holds quotes of its own is still cut
// where the next known question begins, or at the sentence that ends the list. What
// the user noted beside an answer belongs to it; the preview of the option that was
// picked is the model's.
func textAnswers(text string, questions []question) map[string]string {
	text, _, _ = strings.Cut(text, "\n\n<system-reminder>")
	answers := headedAnswers(text, questions)
	type mark struct {
		at, end int
		q       question
	}
	var marks []mark
	for _, q := range questions {
		for _, begins := range []string{`"`, noOption} {
			key := `"` + q.Question + `"=`
			if i := strings.Index(text, key+begins); i >= 0 && q.Question != "" {
				marks = append(marks, mark{i, i + len(key), q})
				break
			}
		}
	}
	slices.SortFunc(marks, func(a, b mark) int { return a.at - b.at })
	for i, m := range marks {
		var piece string
		if i+1 < len(marks) {
			piece = strings.TrimRight(text[m.end:marks[i+1].at], ",. \n")
		} else {
			piece = text[m.end:]
			end := -1
			for _, words := range lastWords {
				end = max(end, strings.LastIndex(piece, words))
			}
			if end < 0 {
				end = strings.LastIndex(piece, `". `) + 1
			}
			if end > 0 {
				piece = piece[:end]
			}
		}
		if answer := m.q.answer(piece); answer != "" {
			answers[m.q.Question] = answer
		}
	}
	return answers
}

// answer reads what stands behind a question: the answer in quotes or none, then
// perhaps a preview, then perhaps notes.
func (q question) answer(piece string) string {
	picked, rest := "", ""
	if after, none := strings.CutPrefix(piece, noOption); none {
		rest = after
	} else {
		end := -1
		for _, begins := range []string{preview, notes, userNotes} {
			if i := strings.Index(piece, `"`+begins); i > 0 && (end < 0 || i < end) {
				end = i
			}
		}
		if end < 0 {
			end = strings.LastIndexByte(piece, '"')
		}
		if end <= 0 {
			return ""
		}
		picked, rest = piece[1:end], piece[end+1:]
	}
	noted := q.notes(rest)
	switch {
	case noted == "":
		return picked
	case picked == "":
		return noted
	}
	return picked + " (notes: " + noted + ")"
}

// notes is what the user noted, in what stands behind an answer. A preview that no
// option has goes to the last place where notes may begin.
func (q question) notes(rest string) string {
	if shown, ok := strings.CutPrefix(rest, preview); ok {
		shown = strings.TrimPrefix(shown, "\n")
		known := -1
		for _, o := range q.Options {
			if o.Preview != "" && strings.HasPrefix(shown, o.Preview) {
				known = max(known, len(o.Preview))
			}
		}
		if known < 0 {
			known = max(strings.LastIndex(shown, notes), 0)
		}
		rest = shown[known:]
	}
	for _, begins := range []string{notes, userNotes} {
		if words, ok := strings.CutPrefix(rest, begins); ok {
			return strings.TrimSpace(words)
		}
	}
	return ""
}

// decide records an answer. The same answer again changes nothing; another one
// to the same question supersedes it, and what has superseded that since. An
// alternative that the answer chooses is no longer rejected.
func decide(c *holdfast.Capsule, call, subject, answer string) {
	about := map[string]bool{} // the decisions of this question, and what replaced them
	for _, d := range c.Decisions {
		if d.Subject != subject {
			continue
		}
		if d.Evidence.Call == call || (d.Status == holdfast.FactActive && d.Statement == answer) {
			return
		}
		about[d.ID] = true
	}
	var supersedes []string
	for i, d := range c.Decisions {
		if about[d.ID] || d.Status != holdfast.FactProvisional && slices.ContainsFunc(d.Supersedes, func(id string) bool { return about[id] }) {
			about[d.ID] = true
			if d.Status == holdfast.FactActive {
				c.Decisions[i].Status = holdfast.FactSuperseded
				supersedes = append(supersedes, d.ID)
			}
		}
	}
	for i, r := range c.RejectedAlternatives {
		if r.Status == holdfast.FactRejected && same(r.Statement, answer) {
			c.RejectedAlternatives[i].Status = holdfast.FactReversed
		}
	}
	c.Decisions = append(c.Decisions, holdfast.Decision{
		ID: nextID(*c, decisions), Subject: subject, Statement: answer, Supersedes: supersedes, Status: holdfast.FactActive,
		Evidence: holdfast.Evidence{By: holdfast.ByStructured, Call: call},
	})
	evict(c)
}
