package survival

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// Extracted is what was found with an extractor.
type Extracted struct {
	Extractor string   `json:"extractor"`
	Sessions  int      `json:"sessions"`
	Calls     int      `json:"calls"`
	Figures   []Figure `json:"figures"`
}

// Passed reports whether every figure meets its goal.
func (e Extracted) Passed() bool {
	return !slices.ContainsFunc(e.Figures, func(f Figure) bool { return !f.Passed })
}

// extracts plays sessions of all agents that an extractor reads, those with nothing
// to extract apart.
func extracts(ctx context.Context, p Product, x Extractor, o Options, k int, manners []eval.Manner) (Extracted, error) {
	out := Extracted{Extractor: x.Name}
	j := newJudge()
	j.extractor = x.Name
	for seed := range o.Seeds {
		all := sessionsOf(uint64(seed), k, manners, o.Compactions)
		bare := slices.DeleteFunc(slices.Clone(all), func(s *Session) bool { return s.Shape != Bare })
		rest := slices.DeleteFunc(all, func(s *Session) bool { return s.Shape == Bare })
		for _, sessions := range [][]*Session{bare, rest} {
			if len(sessions) == 0 {
				continue
			}
			w, err := play(ctx, p, Whole, sessions, Compactors()[0], &x, false)
			if err != nil {
				return out, err
			}
			j.world(w)
			out.Sessions += len(w.lanes)
			out.Calls += len(w.reader.Requests())
			if sessions[0].Shape == Bare {
				j.tally.add(idleCalls, len(w.lanes), min(len(w.reader.Requests()), len(w.lanes)), fmt.Sprintf("seed %d: %d requests", seed, len(w.reader.Requests())))
			} else {
				j.read(w)
			}
		}
	}
	out.Figures = j.figures()
	return out, nil
}

// readBy starts the extractor's server, which knows the plants of all sessions, and
// returns its base URL.
func (w *world) readBy(x Extractor, sessions []*Session) (string, error) {
	var plants []Plant
	for _, s := range sessions {
		plants = append(plants, s.Plants...)
	}
	script := x.New(rand.New(rand.NewPCG(sessions[0].Seed, 13)), plants)
	w.reader = eval.NewUpstream(eval.Config{Seed: "extractor", Side: script, Turn: script, Summary: script})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", holdfast.Errorf(holdfast.ErrUnavailable, "no free port on loopback: %w", err)
	}
	w.readerServer = &http.Server{Handler: w.reader, ReadHeaderTimeout: time.Minute}
	go func() { _ = w.readerServer.Serve(l) }() // ends when stop closes it
	return "http://" + l.Addr().String() + "/v1", nil
}

// read judges what the extractor was sent.
func (j *judge) read(w *world) {
	sizes := map[string][]float64{}
	for n, r := range w.reader.Requests() {
		texts := textsOf(r.Body)
		all := strings.Join(texts, "\n")
		size := 0
		for _, t := range texts {
			size += tokens(t)
		}
		clean := true
		for _, l := range w.lanes {
			if strings.Contains(all, l.session.Tag) {
				sizes[l.session.Tag] = append(sizes[l.session.Tag], float64(size))
			}
			for _, p := range l.session.Plants {
				if (p.Kind == ToolClaim || p.Kind == Notice) && !p.Typed && contains(all, p.Quote) {
					clean = false
				}
			}
		}
		j.tally.count(foreign, clean, "request %d to the extractor", n)
	}
	for _, list := range sizes {
		if n := len(list); n >= 16 {
			j.inputs = append(j.inputs, slope(list[n/2:]))
		}
	}
}

// madeUp is what the noisy extractor says that nobody said.
var madeUp = regexp.MustCompile(`\b(aside|takes) [0-9a-f]{8,}`)

// prose judges what of the facts of a block was said in prose.
func (j *judge) prose(l *lane, b block, strict, loose, since Gold, where func(string) string) {
	facts := b.outside(headWords, headPlan, headWaiting, headNo)
	for _, id := range strict.Said {
		p := l.session.plant(id)
		if j.extractor == "oracle" && l.session.Shape != Heavy && slices.Contains(loose.Said, id) && !slices.Contains(since.Said, id) {
			j.tally.count(prose, p.shown(facts), "%s", where(string(p.Kind)+" "+id+" is not among the facts: "+p.Quote))
		}
	}
	for _, id := range strict.Overruled {
		p := l.session.plant(id)
		if slices.ContainsFunc(slices.Concat(strict.Said, loose.Said), func(id string) bool {
			now := l.session.plant(id)
			return now.Subject == p.Subject && now.Statement == p.Statement
		}) {
			continue // it was chosen again
		}
		j.tally.count(overruled, j.extractor != "oracle" || !p.shown(facts), "%s", where(string(p.Kind)+" "+id+" is still in force: "+p.Quote))
	}
	found := madeUp.FindString(facts)
	j.tally.count(invented, found == "", "%s", where("nobody said: "+found))
	for _, p := range l.session.Plants {
		if p.Kind.False() || j.extractor != "adversarial" {
			continue
		}
		said := p.Statement
		if said == "" {
			said = p.Quote
		}
		for _, lie := range contraries(said) {
			if slices.ContainsFunc(l.session.Plants, func(p Plant) bool { return strings.Contains(p.Quote, lie) }) {
				continue // somebody did say it
			}
			j.tally.count(invented, !strings.Contains(facts, lie), "%s", where("nobody said: "+lie))
		}
	}
}

// shown reports whether a text says what was planted, in its own words or in short.
func (p Plant) shown(text string) bool {
	if p.Exact == "" {
		return false
	}
	if contains(text, p.Exact) {
		return true
	}
	if p.Statement == "" || p.Kind.False() {
		return false
	}
	if p.Kind == Decision {
		return strings.Contains(text, p.Subject+" -> "+p.Statement)
	}
	return strings.Contains(text, p.Statement)
}

// stated reports whether a line of a block holds what was said in prose and is in
// force, or was: where an extractor has missed the later words, these must stand in
// the block as words.
func (l *lane) stated(b block, line string, g ...Gold) bool {
	for _, one := range g {
		for _, id := range one.Said {
			p := l.session.plant(id)
			if p.shown(line) || l.session.plant(p.Supersedes).shown(line) && contains(b.text, p.Exact) {
				return true
			}
		}
	}
	return false
}
