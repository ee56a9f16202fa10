package transcript

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
)

// opaqueSummary stands for a summary that only its provider can read.
const opaqueSummary = "[The summary is the provider's own, in a form that only the provider can read.]"

// stream is the reading of one file.
type stream struct {
	format Format
	name   string
	o      Options
	yield  func(Item, error) bool
	// stopped says that the loop was left: nothing more is yielded.
	stopped bool
	line    int

	threads map[string]*thread
	now     *thread // nil before the first session
	// written counts the records of a key, and done holds the events of formats
	// that write a record again.
	written map[holdfast.Digest]int
	done    map[holdfast.EventID]bool
	again   bool
	// key is the record that events are made of now, labels count them in it.
	key    []string
	labels map[string]int

	// marked says that the file marks its turns, so that messages begin none.
	marked bool
	schema []byte // of the answer to the next message of a person

	state any // of the format
}

// thread is one session of the file.
type thread struct {
	Session
	at    time.Time // of the newest event
	turns int
	// closed says that the newest turn ended with a compaction.
	closed bool
}

func newStream(f Format, name string, o Options, yield func(Item, error) bool) *stream {
	if o.Synthetic == nil {
		o.Synthetic = func(string) bool { return false }
	}
	if o.SyntheticParts == nil {
		o.SyntheticParts = func(parts []holdfast.Part) []bool { return make([]bool, len(parts)) }
	}
	if o.Words == nil {
		o.Words = func(text string) string { return text }
	}
	return &stream{
		format: f, name: name, o: o, yield: yield, threads: map[string]*thread{},
		written: map[holdfast.Digest]int{}, labels: map[string]int{},
	}
}

// stateOf is the state that a format keeps while a file is read.
func stateOf[T any](s *stream) *T {
	if s.state == nil {
		s.state = new(T)
	}
	return s.state.(*T)
}

func (s *stream) put(it Item) { s.stopped = s.stopped || !s.yield(it, nil) }

func (s *stream) fail(err error) {
	if !s.stopped {
		s.stopped = true
		s.yield(nil, err)
	}
}

func (s *stream) damage(why string) {
	if !s.stopped {
		s.put(Damage{Line: s.line, Reason: why})
	}
}

// record reads one record.
func (s *stream) record(object []byte, read func(*stream, []byte) error) {
	if s.stopped {
		return
	}
	if object[0] != '{' {
		s.damage("it is no JSON object")
	} else if err := read(s, object); err != nil {
		s.damage(reason(err))
	}
}

// session goes on in a session, which it tells of when something is new.
func (s *stream) session(d Session) {
	d.Agent = string(s.format)
	t := s.threads[d.ID]
	if t == nil {
		t = &thread{at: d.StartedAt}
		s.threads[d.ID] = t
	} else {
		d.Title, d.Parent, d.StartedAt = first(d.Title, t.Title), first(t.Parent, d.Parent), t.StartedAt
	}
	s.now = t
	if t.Session != d {
		t.Session = d
		if !s.stopped {
			s.put(d)
		}
	}
}

// title names the session that is read.
func (s *stream) title(title string) {
	if s.now != nil && title != "" {
		d := s.now.Session
		d.Title = title
		s.session(d)
	}
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// from says what the events that follow are made of: a record of a key, at a time.
// Of two records with the same key the second is told apart by its number, unless
// the format writes a record again.
func (s *stream) from(at time.Time, key ...string) {
	if s.now == nil {
		s.session(Session{ID: baseID(s.name)})
	}
	if !at.IsZero() {
		s.now.at = at
	}
	clear(s.labels)
	s.key = append([]string{"transcript", string(s.format), s.now.ID}, key...)
	if !s.again {
		d := holdfast.DigestOf(s.key...)
		s.key = append(s.key, strconv.Itoa(s.written[d]))
		s.written[d]++
	}
}

// id is that of the next event of the record with a label. Where a format writes
// records again, a call and its result may stand in several of them: they are known
// by the call.
func (s *stream) id(label string) holdfast.EventID {
	key, n := s.key, s.labels[label]
	s.labels[label]++
	if kind, call, _ := strings.Cut(label, " "); s.again && call != "" && (kind == "call" || kind == "result") {
		key, n = s.key[:3], 0
	}
	parts := append(append([]string(nil), key...), label, strconv.Itoa(n))
	u := uuid.UUID(holdfast.DigestOf(parts...))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return holdfast.EventID(u.String())
}

// peek is the id that the next event with a label will have.
func (s *stream) peek(label string) holdfast.EventID {
	id := s.id(label)
	s.labels[label]--
	return id
}

// emit yields an event; label is what it is in its record. It reports whether the
// event is new.
func (s *stream) emit(label string, e holdfast.Event) bool {
	id := s.id(label)
	if s.stopped || s.again && s.done[id] {
		return false
	}
	if s.again {
		if s.done == nil {
			s.done = map[holdfast.EventID]bool{}
		}
		s.done[id] = true
	}
	s.put(Event{Session: s.now.ID, Entry: holdfast.Entry{ID: id, At: s.now.at, Event: e}})
	return true
}

func (s *stream) turn() {
	if s.emit("turn", holdfast.TurnStart{}) {
		s.now.turns++
		s.now.closed = false
	}
}

// open makes sure that there is a turn that an event can belong to.
func (s *stream) open() {
	switch {
	case s.now.closed:
		s.turn()
	case s.now.turns == 0:
		s.now.turns = 1
	}
}

// model yields an event that a model is sent, but for messages of the user.
func (s *stream) model(label string, e holdfast.Event) {
	if !s.again {
		s.open()
		s.emit(label, e)
		return
	}
	// What was read already opens nothing.
	if !s.done[s.peek(label)] {
		s.open()
	}
	s.emit(label, e)
}

// user yields a message in the user's role. Where a harness put texts beside those
// of a person, they are messages of their own.
func (s *stream) user(parts []holdfast.Part, synthetic bool) {
	if len(parts) == 0 {
		return
	}
	type message struct {
		parts     []holdfast.Part
		synthetic bool
	}
	var messages []message
	typed := false
	marks := s.o.SyntheticParts(parts)
	for i, p := range parts {
		mark := synthetic || marks[i]
		if t, ok := p.(holdfast.Text); ok {
			words := s.o.Words(string(t))
			mark = mark || s.o.Synthetic(string(t)) || s.o.Synthetic(words)
			if !mark {
				p = holdfast.Text(words)
			}
		} else if n := len(messages); n > 0 && !synthetic {
			// An image is whose the text beside it is.
			mark = messages[n-1].synthetic
		}
		typed = typed || !mark
		if n := len(messages); n > 0 && messages[n-1].synthetic == mark {
			messages[n-1].parts = append(messages[n-1].parts, p)
		} else {
			messages = append(messages, message{[]holdfast.Part{p}, mark})
		}
	}
	if typed && !s.marked {
		s.turn()
	}
	for _, m := range messages {
		e := holdfast.UserMessage{Parts: m.parts, Synthetic: m.synthetic}
		if !m.synthetic {
			e.Schema = s.schema
		}
		s.model("user", e)
	}
}

// call yields a call; arguments is what the model wrote.
func (s *stream) call(c holdfast.ToolCall) {
	if c.Name != "" {
		s.model("call "+c.ID, c)
	}
}

func (s *stream) result(r holdfast.ToolResult) { s.model("result "+r.CallID, r) }

func (s *stream) assistant(text string) {
	if strings.TrimSpace(text) != "" {
		s.model("assistant", holdfast.AssistantMessage{Text: text})
	}
}

func (s *stream) reasoning(text string, opaque []byte) {
	if text != "" || opaque != nil {
		s.model("reasoning", holdfast.Reasoning{Text: text, Opaque: opaque})
	}
}

// usage yields what a call took, unless that is nothing.
func (s *stream) usage(u holdfast.Usage) {
	if u.Window() > 0 {
		if u.Purpose == "" {
			u.Purpose = holdfast.ForTurn
		}
		s.emit("usage", u)
	}
}

// compacted yields a compaction of which the summary tells all turns but the
// newest kept ones.
func (s *stream) compacted(summary, model string, kept int) {
	to := s.now.turns - 1 - kept
	if to < 0 {
		s.user([]holdfast.Part{holdfast.Text(summary)}, true)
		return
	}
	s.emit("compaction", holdfast.Overlay{
		ToTurn: to, Source: holdfast.AgentOverlay,
		Summary: &holdfast.Summary{Text: summary, Origin: holdfast.GeneratedSummary, Model: model},
	})
	s.now.closed = s.now.closed || kept == 0
}

// usd is a price in dollars in millionths; nil for none.
func usd(dollars *float64) *int64 {
	if dollars == nil {
		return nil
	}
	n := int64(*dollars*1e6 + 0.5)
	return &n
}

// thinking is reasoning as Anthropic's wire has it; nil without a signature.
func thinking(text, signature string) []byte {
	if signature == "" {
		return nil
	}
	return marshal(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{"thinking", text, signature})
}

// signed is reasoning as Gemini's wire has it.
func signed(signature string) []byte {
	if signature == "" {
		return nil
	}
	return marshal(map[string]string{"thoughtSignature": signature})
}

// marshal writes a value that has a JSON form, without escapes for HTML.
func marshal(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return []byte(strings.TrimSpace(b.String()))
}
