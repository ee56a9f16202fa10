package extraction

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Session is one session with its labels.
type Session struct {
	Source string // as in its labels
	Agent  string
	// Streams are its conversations, in order. Turns are counted through all of them.
	Streams [][]holdfast.Entry
	Labels  []Label
	// Gold is what the structured sources must have given at the end; nil: it is read
	// from the calls, after each of them.
	Gold []Gold
}

// Known are the sources of the labels that come with the program.
func Known() (sources []string) {
	for _, l := range Labels() {
		if !slices.Contains(sources, l.Source) {
			sources = append(sources, l.Source)
		}
	}
	return sources
}

// LabelsOf are the labels of a source; nil: it is unknown.
func LabelsOf(source string) []Label {
	return slices.DeleteFunc(Labels(), func(l Label) bool { return l.Source != source })
}

// Turn is what the product makes of one turn.
type Turn struct {
	Number int
	Text   string // in normal form
	// Words tells that the words themselves may hold something; Sent, that they are
	// sent, for that or for what they answer.
	Words, Sent bool
	// Inputs are the whole texts of the calls that are made once the turn has ended.
	Inputs []string
}

// Product is what is measured. Its functions are called one after another.
type Product struct {
	// Turns reads a conversation, before of whose turns came in others. facts are the
	// spans that a perfect extractor would have found in a turn: what it has said so
	// far goes into the next input.
	Turns func(entries []holdfast.Entry, before int, facts func(turn int) []Span) []Turn
	// Harvest is the record by the structured sources alone.
	Harvest func(entries []holdfast.Entry) holdfast.Capsule
	// Tokens counts those of a conversation as a model is sent it, Count those of a text.
	Tokens func(entries []holdfast.Entry) int
	Count  func(text string) int
}

// Goals.
const (
	RecallGoal = 0.99 // of turns that hold something: sent, at least
	ShareGoal  = 0.45 // of all turns: sent, at most
	InputGoal  = 0.07 // tokens of all inputs by those of the sessions, at most
)

// Rate is a share with its 95 % interval by Wilson. Of 0 it is 0, from 0 to 1.
type Rate struct {
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func rate(hits, of int) Rate {
	if of == 0 {
		return Rate{High: 1}
	}
	const z = 1.959964 // of 95 %
	n, p := float64(of), float64(hits)/float64(of)
	middle, wide := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return Rate{Hits: hits, Of: of, Share: p, Low: max(0, (middle-wide)/scale), High: min(1, (middle+wide)/scale)}
}

// Gate is how good the gate is on some turns.
type Gate struct {
	Split Split `json:"split"`
	// Of is the agent, or all of what.
	Of string `json:"of"`
	// Holding is the share of turns that hold something: no gate that finds all can
	// send less. Recall is the share of those that are sent, Sent of all turns.
	Holding Rate `json:"holding"`
	Recall  Rate `json:"recall"`
	Sent    Rate `json:"sent"`
	// WordsRecall and WordsSent are the same for the words alone, whatever they answer.
	WordsRecall Rate `json:"words_recall"`
	WordsSent   Rate `json:"words_sent"`
	Passed      bool `json:"passed"`
}

// Missed is a turn that holds something and is not sent.
type Missed struct {
	Source string `json:"source"` // the beginning of the digest
	Turn   int    `json:"turn"`
	Kind   Kind   `json:"kind"`
	Split  Split  `json:"split"`
}

// Input is what the calls of one session are sent.
type Input struct {
	Source  string `json:"source"`
	Agent   string `json:"agent"`
	Turns   int    `json:"turns"`
	Calls   int    `json:"calls"`
	Tokens  int    `json:"tokens"`
	Session int    `json:"session_tokens"`
	// Share is Tokens by Session.
	Share float64 `json:"share"`
	// Planted counts calls with text of a tool's output in them.
	Planted int `json:"planted"`
}

func (in *Input) add(other Input) {
	in.Turns += other.Turns
	in.Calls += other.Calls
	in.Tokens += other.Tokens
	in.Session += other.Session
	in.Planted += other.Planted
	in.Share = float64(in.Tokens) / float64(max(in.Session, 1))
}

// Passed reports whether the goals are met.
func (in Input) Passed() bool { return in.Planted == 0 && in.Share <= InputGoal }

// Report is what was found.
type Report struct {
	Agreement Agreement `json:"agreement"`
	// Files is the number of real sessions that were measured, Unknown that of files
	// without labels. Where Files is 0 only generated sessions were.
	Files   int `json:"files"`
	Unknown int `json:"unknown_files"`
	Seeds   int `json:"seeds"`
	// Misplaced counts labels that fit no turn as the product reads the session.
	Misplaced int      `json:"misplaced_labels"`
	Gate      []Gate   `json:"gate"`
	Missed    []Missed `json:"missed"`
	// Structured are the sources that need no model, of generated and of real sessions.
	Structured []Structured `json:"structured"`
	Inputs     []Input      `json:"inputs"`
	// Totals are the inputs together, by what is pooled, which stands in Agent.
	Totals []Input `json:"input_totals"`
	Model  *Model  `json:"model,omitempty"`
	Passed bool    `json:"passed"`
}

// AllFiles, AllGenerated and All name what is pooled.
const (
	AllFiles     = "real sessions"
	AllGenerated = "generated sessions"
	All          = "all"
)

// generatedSource begins the source of a generated session.
const generatedSource = "generator "

// Generated reports whether the session was made by Generate.
func (s Session) Generated() bool { return strings.HasPrefix(s.Source, generatedSource) }

// Measure holds a product against sessions.
func Measure(p Product, sessions []Session) Report {
	agreement := Compare(FirstPass(), SecondPass())
	again := map[turnKey]bool{}
	for _, l := range Labels() {
		if l.Reconsidered {
			again[turnKey{l.Source, l.Turn}] = true
		}
	}
	agreement.Reconsidered = len(again)
	r := Report{Agreement: agreement, Gate: []Gate{}, Missed: []Missed{}, Structured: []Structured{}, Inputs: []Input{}, Totals: []Input{}}
	tallies := map[[2]string]*tally{}
	made, real := Structured{Of: AllGenerated}, Structured{Of: AllFiles}
	for _, s := range sessions {
		turns, in := walk(p, s)
		r.Inputs = append(r.Inputs, in)
		r.Misplaced += misplaced(turns, s.Labels)
		pooled := AllFiles
		if s.Generated() {
			pooled = AllGenerated
			made.add(p, s)
		} else {
			r.Files++
			real.add(p, s)
		}
		kinds := firstKinds(s.Labels)
		for _, t := range turns {
			kind, known := kinds[turnKey{s.Source, t.Number}]
			if !known {
				continue
			}
			split := SplitOf(s.Source, t.Number)
			names := []string{s.Agent, pooled, All}
			if s.Generated() {
				names = names[1:]
			}
			for _, name := range names {
				key := [2]string{string(split), name}
				if tallies[key] == nil {
					tallies[key] = &tally{}
				}
				tallies[key].add(kind, t)
			}
			if kind != None && !t.Sent {
				r.Missed = append(r.Missed, Missed{Source: short(s.Source), Turn: t.Number, Kind: kind, Split: split})
			}
		}
	}
	r.Passed = r.Misplaced == 0
	for key, t := range tallies {
		g := t.gate(Split(key[0]), key[1])
		r.Passed = r.Passed && (g.Passed || key[1] != All)
		r.Gate = append(r.Gate, g)
	}
	order := []string{AllFiles, AllGenerated, All}
	slices.SortFunc(r.Gate, func(a, b Gate) int {
		return cmp.Or(-cmp.Compare(a.Split, b.Split), cmp.Compare(slices.Index(order, a.Of), slices.Index(order, b.Of)), cmp.Compare(a.Of, b.Of))
	})
	for _, s := range []Structured{made, real} {
		if s.Sessions > 0 {
			r.Structured = append(r.Structured, s)
			r.Passed = r.Passed && s.passed()
		}
	}
	for _, pooled := range []string{AllFiles, AllGenerated} {
		total := Input{Agent: pooled}
		for i, in := range r.Inputs {
			if sessions[i].Generated() == (pooled == AllGenerated) {
				total.add(in)
			}
		}
		if total.Session > 0 {
			r.Totals = append(r.Totals, total)
			r.Passed = r.Passed && total.Passed()
		}
	}
	return r
}

// misplaced counts labels without a turn, or with a span beyond its text.
func misplaced(turns []Turn, labels []Label) (n int) {
	for _, l := range labels {
		if !slices.ContainsFunc(turns, func(t Turn) bool { return t.Number == l.Turn && l.Span[1] <= len(t.Text) }) {
			n++
		}
	}
	return n
}

// short is the beginning of a digest, or the name of a generated session.
func short(source string) string {
	if strings.HasPrefix(source, generatedSource) {
		return source
	}
	return source[:min(len(source), 12)]
}

type tally struct{ turns, holding, found, sent, wordsFound, wordsSent int }

func (t *tally) add(kind Kind, turn Turn) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	t.turns++
	count(&t.holding, kind != None)
	count(&t.found, kind != None && turn.Sent)
	count(&t.sent, turn.Sent)
	count(&t.wordsFound, kind != None && turn.Words)
	count(&t.wordsSent, turn.Words)
}

func (t *tally) gate(split Split, of string) Gate {
	g := Gate{
		Split: split, Of: of, Holding: rate(t.holding, t.turns),
		Recall: rate(t.found, t.holding), Sent: rate(t.sent, t.turns),
		WordsRecall: rate(t.wordsFound, t.holding), WordsSent: rate(t.wordsSent, t.turns),
	}
	g.Passed = (t.holding == 0 || g.Recall.Share >= RecallGoal) && g.Sent.Share <= ShareGoal
	return g
}

// planted stands in every result of a tool, and must stand in no input.
const planted = "output-of-a-tool-7c21e0"

// plant puts a mark into each result of a tool.
func plant(entries []holdfast.Entry) []holdfast.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if result, ok := e.Event.(holdfast.ToolResult); ok {
			result.Parts = append([]holdfast.Part{holdfast.Text(planted)}, result.Parts...)
			entries[i].Event = result
		}
	}
	return entries
}

// walk goes through a session turn by turn.
func walk(p Product, s Session) (turns []Turn, in Input) {
	in = Input{Source: short(s.Source), Agent: s.Agent}
	facts := func(turn int) (spans []Span) {
		for _, l := range s.Labels {
			if l.Turn == turn && l.Kind != None {
				spans = append(spans, l.Span)
			}
		}
		return spans
	}
	for _, entries := range s.Streams {
		in.Session += p.Tokens(entries)
		turns = append(turns, p.Turns(plant(entries), len(turns), facts)...)
	}
	in.Turns = len(turns)
	for _, t := range turns {
		in.Calls += len(t.Inputs)
		for _, text := range t.Inputs {
			in.Tokens += p.Count(text)
			if strings.Contains(text, planted) {
				in.Planted++
			}
		}
	}
	in.Share = float64(in.Tokens) / float64(max(in.Session, 1))
	return turns, in
}
