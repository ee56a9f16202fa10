package survival

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// heard is what was said of one subject: what holds now, and all of it, the
// oldest first.
type heard struct {
	subject, now string
	answers      []string
}

// muddle is what merge-confuse remembers of a session.
type muddle struct {
	steps   []holdfast.Step // with their newest status
	answers []heard
	early   []string // the first specific sentences of the user
}

var (
	// answerGiven is how agents write the answer to a structured question.
	answerGiven  = regexp.MustCompile(`"([^"\n]+)"="([^"\n]+)"`)
	decisionLine = regexp.MustCompile(`^- (.+) -> (.+)$`)
)

// currentHead is the heading of its own that it puts over old sentences.
const currentHead = "## Now in force"

// mergeConfuse states false merges as current, in the form of the record: steps
// with their status turned round, answers that were superseded or that belong to
// another subject, and the oldest sentences of the user.
func mergeConfuse(rng *rand.Rand) eval.Script {
	var m muddle
	return func(_ int, r eval.Request) eval.Reply {
		m.take(r.Body)
		lines := slices.Concat(m.turnedRound(), m.outOfForce(rng))
		for i, s := range m.early {
			if i == 0 {
				lines = append(lines, currentHead)
			}
			lines = append(lines, "- "+s)
		}
		if lines == nil {
			lines = []string{"All that was proposed is now in force."}
		}
		return asSummary(r, strings.Join(bothEnds(lines, summaryRoom(r, 2*shortBytes)), "\n"))
	}
}

// take reads what a request tells.
func (m *muddle) take(body []byte) {
	const early = 12
	for _, p := range bySpeaker(Texts(body)) {
		for line := range strings.SplitSeq(p.Text, "\n") {
			line = strings.TrimSpace(line)
			if f := stepLine.FindStringSubmatch(line); f != nil {
				m.step(f[2], holdfast.StepStatus(f[1]))
			} else if f := decisionLine.FindStringSubmatch(line); f != nil {
				m.answer(f[1], f[2])
			}
		}
		if p.Role == "tool" {
			for _, f := range answerGiven.FindAllStringSubmatch(p.Text, -1) {
				m.answer(f[1], f[2])
			}
		}
		summary := strings.Contains(p.Text, currentHead) || strings.Contains(p.Text, holdfast.BlockOpen)
		if p.Role != "user" || summary {
			continue
		}
		for _, s := range fewOf(sentencesIn(typedIn(p.Text))) {
			if len(m.early) < early && !slices.Contains(m.early, s) {
				m.early = append(m.early, s)
			}
		}
	}
}

func (m *muddle) step(text string, status holdfast.StepStatus) {
	i := slices.IndexFunc(m.steps, func(s holdfast.Step) bool { return s.Text == text })
	if i < 0 {
		i = len(m.steps)
		m.steps = append(m.steps, holdfast.Step{Text: text})
	}
	m.steps[i].Status = status
}

func (m *muddle) answer(subject, statement string) {
	i := slices.IndexFunc(m.answers, func(h heard) bool { return h.subject == subject })
	if i < 0 {
		i = len(m.answers)
		m.answers = append(m.answers, heard{subject: subject})
	}
	h := &m.answers[i]
	h.now = statement
	if !slices.Contains(h.answers, statement) {
		h.answers = append(h.answers, statement)
	}
}

// turnedRound is the plan with finished steps open and open ones finished.
func (m *muddle) turnedRound() (lines []string) {
	done := 0
	for i, s := range m.steps {
		status := holdfast.StepCompleted
		if s.Status == status {
			status = holdfast.StepPending
		} else {
			done++
		}
		lines = append(lines, fmt.Sprintf("%d. [%s] %s", i+1, status, s.Text))
	}
	if lines == nil {
		return nil
	}
	return slices.Insert(lines, 0, fmt.Sprintf("## Plan in force (%d of %d steps completed)", done, len(lines)))
}

// outOfForce gives each subject an answer that does not hold: an older one of
// its own, else the newest one of the next subject.
func (m *muddle) outOfForce(rng *rand.Rand) (lines []string) {
	for i, h := range m.answers {
		wrong := m.answers[(i+1)%len(m.answers)].now
		if older := slices.DeleteFunc(slices.Clone(h.answers), func(a string) bool { return a == h.now }); len(older) > 0 {
			wrong = older[rng.IntN(len(older))]
		}
		if wrong != h.now {
			lines = append(lines, "- "+h.subject+" -> "+wrong)
		}
	}
	if lines == nil {
		return nil
	}
	return slices.Insert(lines, 0, "## Decisions of the user")
}
