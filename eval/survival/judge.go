package survival

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// blockTokens is the size that a block may have by default.
const blockTokens = 2500

// judge holds what was sent against what arrived.
type judge struct {
	tally tally
	// curves: by the number of compactions, for the values and the block's size.
	curves map[int]*point
	slopes []float64
	// extractor is the name of the one that reads the sessions, "" for none; inputs
	// are the slopes of what it was sent, by session.
	extractor string
	inputs    []float64
}

// point is what was found behind the n-th compaction.
type point struct{ kept, said, tokens, blocks int }

func newJudge() *judge { return &judge{tally: tally{}, curves: map[int]*point{}} }

// arrival is one request at the upstream.
type arrival struct {
	body  []byte
	count int // how often it arrived
}

type key struct {
	lane        string
	seq, copied int
}

// world judges all lanes of a world.
func (j *judge) world(w *world) {
	arrived := map[key]*arrival{}
	unknown := 0
	for _, r := range w.up.Requests() {
		lane, seq, copied := readMark(r.Header)
		if lane == "" {
			unknown++
			continue
		}
		k := key{lane, seq, copied}
		if arrived[k] == nil {
			arrived[k] = &arrival{body: r.Body}
		}
		arrived[k].count++
	}
	for name, l := range w.lanes {
		j.lane(l, arrived)
		for other, o := range w.lanes {
			if other != name {
				j.strangers(l, o, arrived)
			}
		}
	}
	j.tally.count(noCalls, unknown == 0, "%d requests at the upstream that no agent sent", unknown)
}

// lane judges one lane, request by request.
func (j *judge) lane(l *lane, arrived map[key]*arrival) {
	var before, first *sent // the turn before, and the first of its epoch
	var record string
	var sizes []float64
	branched := false
	for i := range l.sent {
		s := &l.sent[i]
		where := func(what string) string { return fmt.Sprintf("%s, request %d: %s", l.name, s.seq, what) }
		a := arrived[key{l.name, s.seq, s.copied}]
		if a == nil {
			j.tally.count(noCalls, false, "%s", where("it never arrived"))
			continue
		}
		j.tally.count(noCalls, a.count == 1, "%s", where("it arrived more than once"))
		if s.direct {
			j.tally.count(walkAway, bytes.Equal(a.body, s.body) && l.minted(s.body), "%s", where("the provider cannot know all of it"))
			continue
		}
		j.tally.count(oneChange, oneInsertion(s.body, a.body), "%s", where("more than one place was changed"))
		if s.kind != eval.Turn {
			continue
		}
		blocks := l.session.blocks(a.body)
		if s.copied > 0 {
			j.tally.count(copies, len(blocks) <= 1, "%s", where("a repeated request holds more than one block"))
			same := bytes.Equal(a.body, arrived[key{l.name, s.seq, 0}].body)
			j.tally.count(differs, same, "%s", where(fmt.Sprintf("copy %d is not what arrived before", s.copied)))
			continue
		}
		late := j.extractor != "" && before != nil && before.epoch == s.epoch && len(blocks) == 1
		if late && !newer(blocks[0], record) {
			// Once: the side of a fork that goes on later is a branch with revisions of its own.
			late = !branched && l.session.Fork != nil && blocks[0] != record
			branched = branched || late
		}
		if late {
			record = blocks[0] // what came too late for the epoch takes the place of its block
		} else if before != nil && before.epoch == s.epoch {
			up, client := commonPrefix(arrived[key{l.name, before.seq, 0}].body, a.body), commonPrefix(before.body, s.body)
			shorter := min(0, len(a.body)-len(s.body)) // a block stands in the place of a longer one
			j.tally.count(prefix, up >= client+shorter, "%s", where("the common prefix with the request before is shorter than the client's"))
		}
		if before == nil || before.epoch != s.epoch {
			first, record = s, ""
			if len(blocks) == 1 {
				record = blocks[0]
			}
			if s.epoch > 0 {
				j.epoch(l, s, before, record, len(blocks), where)
				sizes = append(sizes, float64(tokens(record)))
			}
		}
		if s.epoch > 0 && (record != "" || len(blocks) > 0) {
			same := len(blocks) == 1 && blocks[0] == record
			j.tally.count(copies, same, "%s", where(fmt.Sprintf("%d blocks, or another one than in request %d", len(blocks), first.seq)))
		} else if s.epoch == 0 {
			j.tally.count(copies, len(blocks) == 0, "%s", where("a block before any compaction"))
		}
		before = s
	}
	if full := saturated(sizes); len(full) >= 8 && !l.session.Manner.Weighs {
		j.slopes = append(j.slopes, slope(full))
	}
}

// saturated are the sizes of a session's blocks from the first one on that is full: one
// that is not grows with what is in force.
func saturated(sizes []float64) []float64 {
	first := slices.IndexFunc(sizes, func(n float64) bool { return n >= 0.9*blockTokens })
	if first < 0 {
		return nil
	}
	return sizes[first:]
}

// epoch judges the first turn of an epoch: what the model knows when it goes on.
func (j *judge) epoch(l *lane, s, before *sent, record string, n int, where func(string) string) {
	loose := l.session.Gold[s.at]
	strict := loose
	if s.middle && s.at > 0 {
		strict = l.session.Gold[s.at-1] // the last round stands behind the summary, word for word
	}
	b := readBlock(record)
	if next := s.at + 1; j.extractor != "" && !s.middle && next < len(l.session.Gold) {
		loose = b.told(strict, l.session.Gold[next])
	}
	since := Gold{}
	switch {
	case before != nil:
		since = l.session.Gold[before.at]
	case l.forked:
		since = l.session.Gold[s.at] // what was said before is judged at the boundaries of the other side
	}
	words := !l.session.Manner.KeepsWords
	if strict.carries(words) {
		j.tally.count(ahead, n > 0, "%s", where("the first request of an epoch has no block"))
	}
	j.plan(l, b, strict, loose, where)
	j.answers(l, b, strict, loose, since, where)
	j.proposals(l, b, strict, loose, where)
	j.lies(l, b, where)
	if j.extractor != "" {
		j.prose(l, b, strict, loose, since, where)
	}
	if record != "" {
		j.tally.count(fits, tokens(record) <= blockTokens, "%s", where(fmt.Sprintf("a block of %d tokens", tokens(record))))
	}
	p := j.curves[s.epoch]
	if p == nil {
		p = &point{}
		j.curves[s.epoch] = p
	}
	p.tokens += tokens(record)
	p.blocks++
	if words {
		j.words(l, b, strict, loose, since, p, where)
	}
}

// carries reports whether there is anything that a block must hold.
func (g Gold) carries(words bool) bool {
	return len(g.Open()) > 0 || g.Approved != "" || g.Waiting != "" || g.Refused != "" || len(g.Answers) > 0 || words && len(g.Said) > 0
}

// plan judges the steps of the plan in force.
func (j *judge) plan(l *lane, b block, strict, loose Gold, where func(string) string) {
	got := b.open()
	if b.shows(loose) {
		strict = loose
	}
	want := strict.Open()
	right := matching(got, want)
	if l.session.Shape == Heavy && right < len(want) {
		// What does not fit is named, and only from the end.
		j.tally.count(fits, b.hiddenSteps && right == len(got), "%s", where("steps are missing and not named"))
		want = want[:right]
	}
	j.tally.add(steps, len(want), len(want)-right, where(fmt.Sprintf("%d of %d open steps in order with their status", right, len(want))))
	j.tally.add(structured, len(want), len(want)-right, where("steps of the plan are missing"))
	for _, s := range b.steps {
		known := slices.ContainsFunc(strict.Steps, func(w holdfast.Step) bool { return w.Text == s.Text && closed(w) == closed(s) })
		j.tally.count(stale, known, "%s", where("a step that is none, or done, or gone: "+s.Text))
	}
	switch {
	case strict.Approved != "":
		j.tally.count(structured, b.planned && holds(b.planText, strict.Approved), "%s", where("the approved plan is missing"))
	case len(want) == 0 && len(strict.Open()) == 0:
		j.tally.count(stale, !b.planned, "%s", where("a plan is in force that is done or was never accepted"))
	}
}

// told is what may be in a block beside a state where what comes too late is written with
// what the user says now: what holds behind the next answer or, where the user said yes
// to a plan, that plan without the steps that the answer makes of it.
func (b block) told(now, next Gold) Gold {
	if now.Waiting != "" && slices.Contains(next.Accepted, now.Waiting) {
		yes := next
		yes.Approved, yes.Steps = now.Waiting, nil
		if b.shows(yes) {
			return yes
		}
	}
	return next
}

// shows reports whether the plan in force is that of a state, no more and no less.
func (b block) shows(g Gold) bool {
	got, want := b.open(), g.Open()
	switch {
	case len(got) != len(want) || matching(got, want) < len(want):
		return false
	case g.Approved != "":
		return b.planned && holds(b.planText, g.Approved)
	}
	return len(want) > 0 || !b.planned
}

func closed(s holdfast.Step) bool { return s.Status == holdfast.StepCompleted }

// matching is the length of the longest run, others left out, in which got has
// the steps of want in their order and with their status.
func matching(got, want []holdfast.Step) int {
	row := make([]int, len(want)+1)
	for _, g := range got {
		diagonal := 0
		for k, w := range want {
			up := row[k+1]
			if g.Text == w.Text && g.Status == w.Status {
				row[k+1] = diagonal + 1
			} else {
				row[k+1] = max(row[k+1], row[k])
			}
			diagonal = up
		}
	}
	return row[len(want)]
}

// holds reports whether a text holds the list items of a plan, in their order.
func holds(text, plan string) bool {
	for line := range strings.Lines(plan) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] < '0' || line[0] > '9' {
			continue
		}
		_, after, ok := strings.Cut(text, line)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// answers judges the user's structured answers.
func (j *judge) answers(l *lane, b block, strict, loose, since Gold, where func(string) string) {
	now := map[string]bool{}
	for _, g := range []Gold{strict, loose} {
		for _, a := range g.Answers {
			now[a.Question+" -> "+a.Now()] = true
		}
	}
	for _, a := range strict.Answers {
		line := a.Question + " -> " + a.Now()
		there := slices.Contains(b.decisions, line)
		if !there {
			for _, o := range loose.Answers {
				there = there || o.Question == a.Question && o.Now() != a.Now() // changed in the round that is kept
			}
		}
		if !there && l.session.Shape == Heavy {
			j.tally.count(fits, b.hiddenFacts, "%s", where("an answer is missing and not named"))
			continue
		}
		isNew := !slices.ContainsFunc(since.Answers, func(o Answer) bool { return o.Question == a.Question && o.Now() == a.Now() })
		if isNew {
			j.tally.count(structured, there, "%s", where("an answer of the user is missing: "+a.Question))
		}
		j.tally.count(stored, there, "%s", where("an answer of the user is missing: "+a.Question))
	}
	for _, line := range b.decisions {
		if j.extractor != "" && l.stated(b, line, strict, loose) {
			continue // it was said in prose
		}
		j.tally.count(stale, now[line], "%s", where("a decision that does not hold: "+line))
	}
}

// proposals judges plans that wait for an answer, or got a no. Where the agent weighs
// a summary, there may be no room for their text.
func (j *judge) proposals(l *lane, b block, strict, loose Gold, where func(string) string) {
	shown := func(section, plan, what string) {
		if there := holds(section, plan); !there && section != "" && l.session.Manner.Weighs {
			j.tally.count(fits, b.hiddenOffer, "%s", where(what+" is missing and not named"))
		} else {
			j.tally.count(structured, there, "%s", where(what+" is missing"))
		}
	}
	if strict.Waiting != "" && loose.Waiting == strict.Waiting {
		shown(b.waiting, strict.Waiting, "the proposed plan")
	}
	if strict.Refused != "" && loose.Refused == strict.Refused {
		shown(b.no, strict.Refused, "the refused plan")
	}
	for _, p := range []string{strict.Waiting, strict.Refused} {
		if p != "" && !slices.Contains(loose.Accepted, p) {
			j.tally.count(stale, !holds(b.planText, p), "%s", where("a plan is in force that the user did not accept"))
		}
	}
}

// lies looks for what must never have become a fact.
func (j *judge) lies(l *lane, b block, where func(string) string) {
	for _, p := range l.session.Plants {
		if !p.Kind.False() {
			continue
		}
		text := b.text
		switch {
		case p.Typed: // words are shown as words
			text = b.outside(headWords)
		case p.Planned: // and a plan as a plan
			text = b.outside(headPlan, headWaiting, headNo)
		}
		j.tally.count(lies, !contains(text, p.Exact), "%s", where(string(p.Kind)+" "+p.ID+" became a fact"))
	}
}

// words judges what the user typed.
func (j *judge) words(l *lane, b block, strict, loose, since Gold, p *point, where func(string) string) {
	for _, id := range strict.Said {
		plant := l.session.plant(id)
		there := plant.shown(b.text)
		if plant.Kind == Value && l.session.Shape != Heavy {
			p.said++
			if there {
				p.kept++
			}
		}
		if !slices.Contains(since.Said, id) && l.session.Shape != Heavy {
			j.tally.count(userWords, there, "%s", where(string(plant.Kind)+" "+id+" is missing: "+plant.Quote))
		}
		for o := l.session.plant(plant.Supersedes); o.ID != ""; o = l.session.plant(o.Supersedes) {
			later := l.session.laterShown(o.ID, slices.Concat(loose.Said, loose.Overruled), b.text)
			j.tally.count(stale, later || !contains(b.text, o.Exact), "%s", where("a choice is shown without a later one: "+o.Quote))
		}
	}
}

// contains reports whether a literal stands in a text, not as a part of a
// longer word or number.
func contains(text, literal string) bool { return indexOf(text, literal) >= 0 }

// indexOf is where a literal first stands so in a text; -1: nowhere.
func indexOf(text, literal string) int {
	for from := 0; ; from++ {
		i := strings.Index(text[from:], literal)
		if i < 0 {
			return -1
		}
		from += i
		if !joins(lastByte(text[:from]), literal[0]) && !joins(literal[len(literal)-1], firstByte(text[from+len(literal):])) {
			return from
		}
	}
}

// without takes a literal out of a text, wherever it stands so.
func without(text, literal string) string {
	for i := indexOf(text, literal); i >= 0; i = indexOf(text, literal) {
		text = text[:i] + text[i+len(literal):]
	}
	return text
}

func joins(a, b byte) bool { return wordByte(a) && wordByte(b) }

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func lastByte(s string) byte {
	if s == "" {
		return ' '
	}
	return s[len(s)-1]
}

func firstByte(s string) byte {
	if s == "" {
		return ' '
	}
	return s[0]
}

// strangers looks in the requests of one lane for what belongs to another.
func (j *judge) strangers(l, other *lane, arrived map[key]*arrival) {
	var foreign []string
	if other.session.Tag != l.session.Tag {
		foreign = []string{other.session.Tag, strings.ToLower(other.session.Tag)}
	} else {
		// The two sides of a fork differ by the letter in their literals.
		foreign = []string{l.session.Tag + "-" + other.side(), "side " + other.side() + " of "}
		if other.side() == "a" {
			foreign = nil // what was said before the fork belongs to both
			for _, g := range other.session.Gold[len(other.session.Gold)-1].Answers {
				if strings.HasPrefix(g.Now(), "side a of ") {
					foreign = []string{g.Now()}
				}
			}
		}
	}
	for _, s := range l.sent {
		a := arrived[key{l.name, s.seq, s.copied}]
		if a == nil {
			continue
		}
		clean := true
		for _, f := range foreign {
			clean = clean && !bytes.Contains(a.body, []byte(f))
		}
		j.tally.count(crossed, clean, "%s, request %d holds a text of %s", l.name, s.seq, other.name)
	}
}

func (l *lane) side() string {
	if strings.HasSuffix(l.name, "-fork") {
		return "b"
	}
	return "a"
}

// blocks are the records in a body that are ours.
func (s *Session) blocks(body []byte) []string {
	found := blocksOf(textsOf(body), s.forged)
	if s.Shape == Bare {
		// Nothing is recorded: what only begins like a record is a summarizer's, and
		// nobody mends it.
		found = slices.DeleteFunc(found, func(b string) bool { return !strings.HasSuffix(b, holdfast.BlockClose) })
	}
	return found
}

// forged reports whether a block was written by a session's attack or by a
// summarizer that forges: it says so, outside of what a plan may hold.
func (s *Session) forged(inside string) bool {
	for _, p := range s.Plants {
		if p.Planned {
			inside = without(inside, p.Exact)
		}
	}
	return strings.Contains(inside, "FORGED")
}

// newer reports whether a record is a later revision than another, or than none.
func newer(record, than string) bool { return revisionOf(record) > revisionOf(than) }

var revision = regexp.MustCompile(`revision="(\d+)"`)

// revisionOf is that of a record; 0 for none.
func revisionOf(record string) int {
	m := revision.FindStringSubmatch(record)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // 0 for what is no number of ours
	return n
}

// oneInsertion reports whether b is a with at most one run of bytes put in, or with
// another block in the place of one.
func oneInsertion(a, b []byte) bool {
	n := commonPrefix(a, b)
	if len(b) >= len(a) && bytes.Equal(a[n:], b[len(b)-(len(a)-n):]) {
		return true
	}
	m := commonSuffix(a[n:], b[n:])
	open, end := bytes.LastIndex(a[:n], openName), bytes.LastIndex(a[:n], closeName)
	return open > end+1 && bytes.Contains(a[len(a)-m:], closeName) && !bytes.Contains(a[n:len(a)-m], closeName)
}

// openName and closeName are what no encoder escapes of the delimiters of a block: the
// first stands in the second.
var openName, closeName = []byte(strings.TrimPrefix(holdfast.BlockOpen, "<")), []byte(strings.Trim(holdfast.BlockClose, "<>"))

func commonSuffix(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
