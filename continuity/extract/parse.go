package extract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

// Bounds of an answer.
const (
	MaxAnswerBytes = 64 << 10 // of the whole
	MaxItems       = 100      // of one list
	maxDepth       = 4        // of nested values
	maxTextBytes   = 1 << 10  // of one string
	maxNameBytes   = 200      // of a subject, an id, a kind
)

// Reason tells why an answer was discarded or an item dropped. It is safe to count
// and to log.
type Reason string

// Reasons for discarding a whole answer. The empty reason is none.
const (
	Empty         Reason = "empty"
	ToolCall      Reason = "tool_call"
	Prose         Reason = "prose"
	Malformed     Reason = "malformed"
	TwoObjects    Reason = "two_objects"
	TooLarge      Reason = "too_large"
	TooMany       Reason = "too_many"
	CutOff        Reason = "cut_off"
	TooDeep       Reason = "too_deep"
	DuplicateName Reason = "duplicate_name"
	UnknownName   Reason = "unknown_name" // of an item too
	WrongType     Reason = "wrong_type"   // of an item too
	WrongVersion  Reason = "schema_version"
	WrongBase     Reason = "base_revision"
)

// TooMuch reports whether an answer was discarded since there was more to answer than
// one may have: less at once may do.
func (r Reason) TooMuch() bool { return r == CutOff || r == TooMany || r == TooLarge }

// Reasons for dropping an item, or for not believing all of it.
const (
	TooLong     Reason = "too_long"
	Missing     Reason = "missing"    // a text that must be there
	WrongKind   Reason = "wrong_kind" // of a question, a fact, a verdict
	UnknownID   Reason = "unknown_id"
	NotSaid     Reason = "not_said"     // kept as provisional: nobody typed the quote
	OnlyAsked   Reason = "only_asked"   // kept as provisional: the words are a question
	Misread     Reason = "misread"      // the words stand in the place of the statement
	Unsupported Reason = "unsupported"  // dropped: the words do not carry it
	NotAccepted Reason = "not_accepted" // a plan that stays a proposal
)

// Counts tells how often each reason applied.
type Counts map[Reason]int

// Answer is what the extractor's model answered.
type Answer struct {
	Text string
	// Calls is the number of tool calls that came with it: none was offered.
	Calls int
	// Cut tells that it broke off at the limit of what may be answered.
	Cut bool
}

// Extraction is an answer in its form, nothing of it believed yet. Texts are
// trimmed; a string that is absent is empty.
type Extraction struct {
	Decisions            []Item // Subject, Statement, Rationale, Quote, Supersedes
	Constraints          []Item // Statement, Quote
	RejectedAlternatives []Item // Statement, Reason, Quote
	OpenQuestions        []Item // Kind, Statement, Quote
	Facts                []Item // Kind, Statement, Quote
	Answered             []Item // ID, Quote
	Withdrawn            []Item // ID, Quote
	Plan                 *PlanItem
}

// Item is an item of a list; which fields it has, the list says.
type Item struct {
	ID, Kind, Subject, Statement, Rationale, Reason, Quote string
	Supersedes                                             []string
}

// Verdict is what the user said of a plan.
type Verdict string

// The verdicts.
const (
	Proposed Verdict = "proposed" // nothing yet
	Accepted Verdict = "accepted"
	Partly   Verdict = "partly"
	Rejected Verdict = "rejected"
)

// PlanItem is what an answer says of a plan.
type PlanItem struct {
	Verdict       Verdict
	Steps         []string
	Quote         string // the user's words
	ProposalQuote string // the model's words
}

// Parse reads an answer to a request that was made for the revision base: exactly
// one JSON object, in a code fence or not, with prose around it or not. It returns
// why a broken whole was discarded, or "", and how many items were dropped.
func Parse(a Answer, base int) (Extraction, Counts, Reason) {
	raw, reason := object(a)
	if reason == "" {
		reason = wellFormed(raw)
	}
	var top map[string]json.RawMessage
	if reason == "" && json.Unmarshal(raw, &top) != nil {
		reason = Malformed
	}
	if reason != "" {
		return Extraction{}, nil, reason
	}
	p := parser{dropped: Counts{}}
	var x Extraction
	for _, name := range slices.Sorted(maps.Keys(top)) {
		value := top[name]
		if isNull(value) && name != "schema_version" && name != "base_revision" {
			continue
		}
		switch name {
		case "schema_version":
			p.number(value, holdfast.SchemaVersion, WrongVersion)
		case "base_revision":
			p.number(value, base, WrongBase)
		case "decisions":
			x.Decisions = p.items(value, "subject", "statement", "quote", "rationale?", "supersedes?")
		case "constraints":
			x.Constraints = p.items(value, "statement", "quote")
		case "rejected_alternatives":
			x.RejectedAlternatives = p.items(value, "statement", "quote", "reason?")
		case "open_questions":
			x.OpenQuestions = p.items(value, "kind", "statement", "quote")
		case "facts":
			x.Facts = p.items(value, "kind", "statement", "quote")
		case "answered":
			x.Answered = p.items(value, "id", "quote")
		case "withdrawn":
			x.Withdrawn = p.items(value, "id", "quote")
		case "plan":
			x.Plan = p.plan(value)
		default:
			p.fail(UnknownName)
		}
	}
	if _, ok := top["base_revision"]; !ok {
		p.fail(WrongBase)
	}
	if _, ok := top["schema_version"]; !ok {
		p.fail(WrongVersion)
	}
	if p.reason != "" {
		return Extraction{}, nil, p.reason
	}
	return x, p.dropped, ""
}

// object finds the one JSON object of an answer.
func object(a Answer) ([]byte, Reason) {
	text := strings.TrimSpace(a.Text)
	switch {
	case a.Calls > 0:
		return nil, ToolCall
	case a.Cut:
		return nil, CutOff
	case text == "":
		return nil, Empty
	case len(text) > MaxAnswerBytes:
		return nil, TooLarge
	}
	var found json.RawMessage
	for {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		inside := strings.TrimLeft(text[at+1:], " \t\r\n")
		if inside == "" || inside[0] != '"' {
			text = text[at+1:] // a brace of prose
			continue
		}
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		switch {
		case dec.Decode(&raw) != nil:
			return nil, Malformed
		case found != nil:
			return nil, TwoObjects
		}
		found, text = raw, text[at+int(dec.InputOffset()):]
	}
	if found == nil {
		return nil, Prose
	}
	return found, ""
}

// wellFormed checks depth and names of a valid object.
func wellFormed(raw []byte) Reason {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var walk func(depth int) Reason
	walk = func(depth int) Reason {
		token, err := dec.Token()
		if err != nil {
			return Malformed
		}
		open, ok := token.(json.Delim)
		if !ok {
			return ""
		}
		if depth == maxDepth {
			return TooDeep
		}
		names := map[string]bool{}
		for dec.More() {
			if open == '{' {
				name, err := dec.Token()
				if err != nil {
					return Malformed
				}
				if text, _ := name.(string); names[text] {
					return DuplicateName
				} else {
					names[text] = true
				}
			}
			if reason := walk(depth + 1); reason != "" {
				return reason
			}
		}
		if _, err := dec.Token(); err != nil {
			return Malformed
		}
		return ""
	}
	return walk(0)
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// parser keeps why the whole is discarded, and what was dropped.
type parser struct {
	reason  Reason
	dropped Counts
}

// fail discards the whole; of several reasons the first one found is told.
func (p *parser) fail(r Reason) { p.reason = cmp.Or(p.reason, r) }

func (p *parser) number(raw json.RawMessage, want int, otherwise Reason) {
	var n int
	if isNull(raw) || json.Unmarshal(raw, &n) != nil || n != want {
		p.fail(otherwise)
	}
}

// items reads a list. A name that ends in a question mark may be absent or empty.
func (p *parser) items(raw json.RawMessage, names ...string) (list []Item) {
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		p.fail(WrongType)
		return nil
	}
	if len(values) > MaxItems {
		p.fail(TooMany)
		return nil
	}
	for _, value := range values {
		if item, reason := readItem(value, names); reason != "" {
			p.dropped[reason]++
		} else {
			list = append(list, item)
		}
	}
	return list
}

func readItem(raw json.RawMessage, names []string) (item Item, reason Reason) {
	var members map[string]json.RawMessage
	if isNull(raw) || json.Unmarshal(raw, &members) != nil {
		return item, WrongType
	}
	for name := range members {
		if !slices.Contains(names, name) && !slices.Contains(names, name+"?") {
			return item, UnknownName
		}
	}
	for _, name := range names {
		name, optional := strings.CutSuffix(name, "?")
		value, there := members[name]
		if !there || isNull(value) {
			if !optional {
				return item, Missing
			}
			continue
		}
		if name == "supersedes" {
			if item.Supersedes, reason = texts(value, maxNameBytes); reason != "" {
				return item, reason
			}
			continue
		}
		limit := maxTextBytes
		if name == "subject" || name == "id" || name == "kind" {
			limit = maxNameBytes
		}
		text, reason := readText(value, limit)
		if reason == "" && text == "" && !optional {
			reason = Missing
		}
		if reason != "" {
			return item, reason
		}
		*item.field(name) = text
	}
	return item, ""
}

func (i *Item) field(name string) *string {
	return map[string]*string{
		"id": &i.ID, "kind": &i.Kind, "subject": &i.Subject, "statement": &i.Statement, "rationale": &i.Rationale, "reason": &i.Reason, "quote": &i.Quote,
	}[name]
}

func readText(raw json.RawMessage, limit int) (string, Reason) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", WrongType
	}
	if len(text) > limit {
		return "", TooLong
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return "", WrongType // no text that anybody typed
	}
	return strings.TrimSpace(text), ""
}

func texts(raw json.RawMessage, limit int) (list []string, reason Reason) {
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil, WrongType
	}
	if len(values) > MaxItems {
		return nil, TooMany
	}
	for _, value := range values {
		text, reason := readText(value, limit)
		if reason != "" {
			return nil, reason
		}
		if text != "" {
			list = append(list, text)
		}
	}
	return list, ""
}

// plan reads the plan, whose verdict says which other members it needs.
func (p *parser) plan(raw json.RawMessage) *PlanItem {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		p.fail(WrongType)
		return nil
	}
	var plan PlanItem
	drop := func(r Reason) *PlanItem {
		p.dropped[r]++
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		var reason Reason
		var text string
		if isNull(value) {
			continue
		}
		switch name {
		case "verdict":
			text, reason = readText(value, maxNameBytes)
			plan.Verdict = Verdict(text)
		case "quote":
			plan.Quote, reason = readText(value, maxTextBytes)
		case "proposal_quote":
			plan.ProposalQuote, reason = readText(value, maxTextBytes)
		case "steps":
			plan.Steps, reason = texts(value, maxTextBytes)
		default:
			reason = UnknownName
		}
		if reason != "" {
			return drop(reason)
		}
	}
	switch plan.Verdict {
	case Proposed:
	case Accepted, Partly, Rejected:
		if plan.Quote == "" {
			return drop(Missing)
		}
	case "":
		return drop(Missing)
	default:
		return drop(WrongKind)
	}
	return &plan
}
