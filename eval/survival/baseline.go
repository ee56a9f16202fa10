package survival

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/eval"
)

// Bounds of SummaryOfSummary.
const (
	summaryBytes = 6 << 10
	// fromOneText is how many sentences it takes from one message, half of them
	// from either end: what lies between is pasted bulk.
	fromOneText = 16
)

// specific finds what a summary is for: a number, a path, a quoted or code word,
// or a word of choice.
var specific = regexp.MustCompile(`(?i)\d|\w/\w|["` + "`" + `„“]|'\w+'|\w_\w|\b(?:never|always|must|not|use|using|prefer|instead|because|forget|` +
	`nie|niemals|nicht|kein|immer|muss|nimm|nehmen|statt|stattdessen|weil|vergiss)\b`)

const pointsHead = "What is known, the newest first:"

// SummaryOfSummary is a good summarizer that summarizes its own summary. It
// keeps each specific sentence of the user and of the model, and each line of
// its previous summary, with a probability of 0.9: at most 6 kB, and the newest
// first. What the user said goes before what the model said.
func SummaryOfSummary(rng *rand.Rand) eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		drawn := map[string]bool{}
		keep := func(into *[]string, line string) {
			if !drawn[line] {
				drawn[line] = true
				if rng.Float64() < 0.9 {
					*into = append(*into, line)
				}
			}
		}
		var asked, told, before []string
		passages := bySpeaker(Texts(r.Body))
		for _, p := range slices.Backward(passages) {
			if points, ok := readPoints(p.Text); ok {
				for _, line := range points {
					keep(&before, line)
				}
				continue
			}
			switch p.Role {
			case "tool":
				continue
			case "user":
				p.Text = typedIn(p.Text)
			}
			for _, s := range slices.Backward(fewOf(sentencesIn(p.Text))) {
				if p.Role == "user" {
					keep(&asked, s)
				} else {
					keep(&told, s)
				}
			}
		}
		text := pointsHead
		room := summaryRoom(r, summaryBytes)
		for _, line := range slices.Concat(asked, before, told) {
			if len(text)+len("\n- ")+len(line) <= room {
				text += "\n- " + line
			}
		}
		return asSummary(r, text)
	}
}

// fewOf keeps the specific ones of sentences, and of many the ends.
func fewOf(sentences []string) []string {
	few := slices.DeleteFunc(sentences, func(s string) bool { return !specific.MatchString(s) })
	if n := len(few); n > fromOneText {
		few = append(few[:fromOneText/2:fromOneText/2], few[n-fromOneText/2:]...)
	}
	return few
}

// readPoints reads a list of SummaryOfSummary back.
func readPoints(text string) (points []string, ok bool) {
	_, list, ok := strings.Cut(text, pointsHead+"\n")
	if !ok {
		return nil, strings.Contains(text, pointsHead)
	}
	for line := range strings.Lines(list) {
		point, item := strings.CutPrefix(line, "- ")
		if !item {
			break
		}
		points = append(points, strings.TrimRight(point, "\n"))
	}
	return points, true
}

const (
	pinsHead = "Messages of the user, word for word:"
	pinsEnd  = "=== end of the messages ==="
)

var pinLine = regexp.MustCompile(`(?m)^=== message \d+ ===\n`)

// PinUserMessages repeats every message of the user verbatim, once and in order,
// those that its previous summary holds included, and nothing else.
func PinUserMessages() eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		var pins []string
		pin := func(text string) {
			if strings.TrimSpace(text) != "" && !slices.Contains(pins, text) {
				pins = append(pins, text)
			}
		}
		for _, p := range bySpeaker(Texts(r.Body)) {
			if before, ok := readPins(p.Text); ok {
				for _, text := range before {
					pin(text)
				}
			} else if p.Role == "user" {
				pin(typedIn(p.Text))
			}
		}
		var b strings.Builder
		b.WriteString(pinsHead + "\n")
		for i, text := range pins {
			fmt.Fprintf(&b, "=== message %d ===\n%s\n", i+1, text)
		}
		b.WriteString(pinsEnd)
		return asSummary(r, b.String())
	}
}

// readPins reads a list of PinUserMessages back.
func readPins(text string) (pins []string, ok bool) {
	_, list, ok := strings.Cut(text, pinsHead+"\n")
	if !ok {
		return nil, false
	}
	if end := strings.LastIndex(list, pinsEnd); end >= 0 {
		list = list[:end]
	}
	for _, text := range pinLine.Split(list, -1)[1:] {
		pins = append(pins, strings.TrimSuffix(text, "\n"))
	}
	return pins, true
}
