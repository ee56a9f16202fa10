package extraction

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// generatedEpochs makes the sessions some fifteen turns long.
const generatedEpochs = 8

// codec reads the history of a request.
type codec interface {
	Scan(body []byte) (holdfast.Request, error)
	Whole(element []byte) ([]holdfast.Event, error)
}

var codecs = map[holdfast.Protocol]codec{
	holdfast.Anthropic: anthropic.Codec{}, holdfast.Responses: responses.Codec{},
	holdfast.Chat: chat.Codec{}, holdfast.Gemini: gemini.Codec{},
}

// Generate makes a session of an agent from a seed: the history that the scripted
// agent has at its end, without a compaction. Every turn has a label: what was planted
// in it, or None. typed lists what the person typed in a history, in normal form.
func Generate(ctx context.Context, seed uint64, m eval.Manner, typed func([]holdfast.Entry) []string) (Session, error) {
	s := survival.Generate(seed, m, generatedEpochs)
	out := Session{Source: fmt.Sprintf("%s%d, %s", generatedSource, seed, m.Name), Agent: m.Name}
	entries, err := history(ctx, s)
	if err != nil {
		return out, fmt.Errorf("the scripted session of %s did not run: %w", m.Name, err)
	}
	out.Streams = [][]holdfast.Entry{entries}
	for i, text := range typed(entries) {
		out.Labels = append(out.Labels, labelled(s, out.Source, i+1, text)...)
	}
	last := s.Gold[len(s.Gold)-1]
	if last.Approved != "" {
		out.Gold = append(out.Gold, approved(last.Approved))
	}
	for i, step := range last.Open() {
		out.Gold = append(out.Gold, openStep(i+1, step))
	}
	for _, a := range last.Answers {
		out.Gold = append(out.Gold, answer(a.Question, a.Now()))
	}
	return out, nil
}

// plantKinds are the kinds of true plants.
var plantKinds = map[survival.Kind]Kind{
	survival.Value: Value, survival.Location: Value, survival.DeadEnd: Rejection, survival.Preference: Preference,
	survival.Decision: Decision, survival.Constraint: Constraint, survival.Rejected: Rejection, survival.Question: Question,
}

// labelled are the labels of a turn, by what stands in its text.
func labelled(s *survival.Session, source string, turn int, text string) (list []Label) {
	add := func(quote string, kind Kind) {
		if from := strings.Index(text, squeeze(quote)); from >= 0 && quote != "" {
			list = append(list, Label{Source: source, Turn: turn, Span: Span{from, from + len(squeeze(quote))}, Kind: kind, Split: SplitOf(source, turn)})
		}
	}
	for _, p := range s.Plants {
		if kind, ok := plantKinds[p.Kind]; ok {
			add(p.Quote, kind)
		}
	}
	for _, words := range s.Refusals {
		add(words, Rejection)
	}
	if text == implement {
		add(implement, Acceptance)
	}
	if len(list) == 0 {
		list = []Label{{Source: source, Turn: turn, Kind: None, Split: SplitOf(source, turn)}}
	}
	slices.SortFunc(list, func(a, b Label) int { return a.Span[0] - b.Span[0] })
	return list
}

// implement is codex's text for a yes to a plan.
const implement = "Implement the plan."

// history plays a session against a scripted provider and reads the last request.
func history(ctx context.Context, s *survival.Session) ([]holdfast.Entry, error) {
	run := &player{session: s}
	up := eval.NewUpstream(eval.Config{Seed: s.Tag, Turn: run.reply})
	agent := s.Manner.New(&http.Client{Transport: direct{up}}, "http://upstream.invalid", s.Tag)
	for _, t := range s.Turns {
		agent.Enter(run.world(t))
		if err := agent.Prompt(ctx, t.Prompt); err != nil {
			return nil, err
		}
	}
	turns := slices.DeleteFunc(up.Requests(), func(r eval.Request) bool { return r.Kind != eval.Turn })
	last := turns[len(turns)-1]
	c := codecs[last.Protocol]
	request, err := c.Scan(last.Body)
	if err != nil {
		return nil, err
	}
	var events []holdfast.Event
	for _, span := range request.Messages {
		more, err := c.Whole(span.Of(last.Body))
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return stream(append(events, holdfast.AssistantMessage{Text: run.last.Text})), nil
}

// stream puts events in a stream. A wire without ids of calls names in a result only
// the tool, with # behind it: it belongs to the oldest call of it without one. A
// result that gemini-cli repeats is left out.
func stream(events []holdfast.Event) (entries []holdfast.Entry) {
	add := func(e holdfast.Event) {
		n := int64(len(entries) + 1)
		entries = append(entries, holdfast.Entry{Seq: n, ID: holdfast.EventID(fmt.Sprintf("event-%d", n)), Event: e})
	}
	var open []string
	for _, event := range events {
		switch e := event.(type) {
		case holdfast.UserMessage:
			add(holdfast.TurnStart{})
		case holdfast.ToolCall:
			if strings.Contains(e.ID, "#") {
				// It is made of the call, which may be made again.
				e.ID = fmt.Sprintf("%s#%d", e.ID, len(entries))
				event = e
			}
			open = append(open, e.ID)
		case holdfast.ToolResult:
			at := slices.IndexFunc(open, func(id string) bool {
				return id == e.CallID || strings.HasSuffix(e.CallID, "#") && strings.HasPrefix(id, e.CallID)
			})
			if at < 0 {
				continue
			}
			e.CallID = open[at]
			open = slices.Delete(open, at, at+1)
			event = e
		}
		add(event)
	}
	return entries
}

// direct hands requests to an upstream without a network.
type direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := answered{header: http.Header{}, status: http.StatusOK}
	d.ServeHTTP(&w, r)
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// answered takes a whole answer; streams are flushed into it.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answered) Header() http.Header            { return w.header }
func (w *answered) WriteHeader(status int)         { w.status = status }
func (w *answered) Flush()                         {}
func (w *answered) Write(data []byte) (int, error) { return w.body.Write(data) }

// player gives the answers of a session in their order, and is its person.
type player struct {
	session *survival.Session

	mu   sync.Mutex
	last eval.Reply
	n    int
}

func (p *player) reply(int, eval.Request) eval.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.n
	p.n++
	for _, t := range p.session.Turns {
		if n < len(t.Replies) {
			p.last = t.Replies[n]
			return p.last
		}
		n -= len(t.Replies)
	}
	return eval.Reply{Status: http.StatusBadRequest} // more turns than the session has
}

func (p *player) world(t survival.Turn) eval.World {
	return eval.World{
		Answer: func(string) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, c := range p.last.Calls {
				if a := p.session.Answered[c.ID]; a != "" {
					return a
				}
			}
			return ""
		},
		Approve: func(plan string) (bool, string) {
			words, refused := p.session.Refusals[strings.TrimSpace(plan)]
			return !refused, words
		},
		Output: func(c eval.Call) string { return p.session.Outputs[c.ID] },
		Notice: func() string { return t.Notice },
	}
}
