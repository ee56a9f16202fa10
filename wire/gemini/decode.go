package gemini

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// part is one part of a content.
type part struct {
	// kind is the name of the member that makes it what it is, or "thought"; ""
	// for one that has only members about another part, and for what is no part.
	kind  string
	value holdfast.Span // of that member; indexes the same bytes as the part
	span  holdfast.Span // of the part, where that is an object
	none  bool          // it is no object
}

// counts reports whether a part holds anything of a content.
func (p part) counts() bool { return p.kind != "" || p.none }

// kinds are the members that make a part what it is, about those that only
// describe it.
var (
	kinds = []string{"text", "functionCall", "functionResponse", "inlineData", "fileData"}
	about = []string{"thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}
)

// parts reads a parts value; one object stands for a list. value is absent, or
// of a well-formed value.
func parts(in []byte, value holdfast.Span) []part {
	return appendParts(nil, in, value)
}

func appendParts(list []part, in []byte, value holdfast.Span) []part {
	if value.Present() {
		// What is of another kind has no parts.
		_, _ = each(in, value.Start, nil, func(s holdfast.Span) { list = append(list, partAt(in, s)) })
	}
	return list
}

func partAt(in []byte, span holdfast.Span) part {
	if in[span.Start] != '{' {
		return part{none: true}
	}
	p := part{span: span}
	thought := false
	// The value is well-formed, so Object takes it.
	_, _ = jsonscan.Object(in, span.Start, func(key []byte, at int) (int, error) {
		end, err := jsonscan.Skip(in, at)
		if err != nil || isNull(in[at:]) {
			return end, err
		}
		if string(key) == "thought" {
			thought = string(in[at:end]) == "true"
			return end, nil
		}
		name, known := find(key, kinds)
		if _, more := find(key, about); !known && (more || p.kind != "") {
			return end, nil
		}
		if !known {
			name = string(key)
		}
		p.kind, p.value = name, holdfast.Span{Start: at, End: end}
		return end, nil
	})
	if thought && (p.kind == "text" || p.kind == "") {
		p.kind = "thought"
	}
	return p
}

func find(key []byte, names []string) (string, bool) {
	for _, name := range names {
		if named(key, name) {
			return name, true
		}
	}
	return "", false
}

// Decode reads one element of contents into events, in order. They hold no
// reference to element.
//
// Text and media parts of a user content that stand together are one
// UserMessage; a function response or an unknown part between them splits it. A
// content without a role is the user's. The text of a function response is its
// output when that is a string, else its error, else all of the response; with
// an error it is marked as one.
//
// wanted tells of which calls the text of the result is read, by the call's id
// as it stands in the result; nil reads all. The others have none.
func (Codec) Decode(element []byte, wanted func(callID string) bool) ([]holdfast.Event, error) {
	return decode(element, reading{wanted: wanted})
}

// reading says how much of a content is read.
type reading struct {
	whole  bool
	wanted func(callID string) bool
}

func decode(element []byte, how reading) ([]holdfast.Event, error) {
	at := jsonscan.Space(element, 0)
	end, err := jsonscan.Skip(element, at)
	if err != nil {
		return nil, unreadable("content", err)
	}
	if element[at] != '{' {
		return []holdfast.Event{holdfast.Unknown{}}, nil
	}
	var f [2]holdfast.Span
	fields(element, holdfast.Span{Start: at, End: end}, f[:], "role", "parts")
	list := parts(element, f[1])
	switch role := jsonscan.Text(f[0].Of(element)); role {
	case "user", "function", "":
		return userEvents(element, list, how), nil
	case "model":
		l := log{texts: true, thoughts: how.whole, keep: func(string) bool { return true }, most: math.MaxInt}
		for _, p := range list {
			l.take(element, p)
		}
		return l.read(), nil
	case "system":
		return []holdfast.Event{holdfast.SystemMessage{}}, nil
	default:
		return []holdfast.Event{holdfast.Unknown{Type: role}}, nil
	}
}

func userEvents(in []byte, list []part, how reading) (events []holdfast.Event) {
	var message []holdfast.Part
	flush := func() {
		if len(message) > 0 {
			events = append(events, holdfast.UserMessage{Parts: message})
			message = nil
		}
	}
	for _, p := range list {
		switch {
		case p.kind == "text":
			message = append(message, holdfast.Text(jsonscan.Text(p.value.Of(in))))
		case p.kind == "inlineData" || p.kind == "fileData":
			m := holdfast.Media{Type: p.kind}
			if how.whole {
				m = mediaOf(in, p)
			}
			message = append(message, m)
		case p.kind == "functionResponse":
			flush()
			events = append(events, result(in, p.value, how))
		case p.counts():
			flush()
			events = append(events, holdfast.Unknown{Type: p.kind})
		}
	}
	flush()
	return events
}

func result(in []byte, value holdfast.Span, how reading) holdfast.ToolResult {
	var f [2]holdfast.Span
	fields(in, value, f[:], "name", "response")
	var r [2]holdfast.Span
	fields(in, f[1], r[:], "output", "error")
	says := r[0].Of(in)
	if len(says) == 0 || says[0] != '"' {
		if says = r[1].Of(in); len(says) == 0 {
			says = f[1].Of(in)
		}
	}
	res := holdfast.ToolResult{CallID: callid.Result(jsonscan.Text(f[0].Of(in))), IsError: r[1].Present()}
	if how.whole {
		res.Parts = resultParts(in, value, says)
		return res
	}
	if how.wanted != nil && !how.wanted(res.CallID) {
		return res
	}
	if len(says) > 0 && says[0] == '"' {
		res.Text = string(jsonscan.AppendText(nil, says, holdfast.MaxResultText))
		return res
	}
	end := min(len(says), holdfast.MaxResultText)
	for end > 0 && end < len(says) && !utf8.RuneStart(says[end]) {
		end--
	}
	res.Text = string(says[:end])
	return res
}

// log makes events of the parts of the model, in order.
type log struct {
	texts    bool // are kept
	thoughts bool // too
	room     *int // bounds both where it is set, in bytes
	// keep tells of which tools the arguments are kept, up to most bytes.
	keep func(tool string) bool
	most int

	events []holdfast.Event
	// The text that goes on:
	text  []byte
	hash  holdfast.TextHasher
	join  jsonscan.Joiner
	buf   []byte
	begun bool            // a part was read
	think jsonscan.Joiner // of the thoughts that go on
}

func (l *log) take(in []byte, p part) {
	l.begun = l.begun || p.counts()
	if l.thoughts {
		l.reason(in, p)
	}
	switch {
	case p.kind == "text":
		l.buf = l.join.Append(l.buf[:0], p.value.Of(in))
		l.write(l.buf)
	case p.kind == "thought":
		if _, goesOn := l.reasoning(); !goesOn {
			l.events = append(l.events, holdfast.Reasoning{})
		}
	case p.kind == "functionCall":
		l.events = append(l.read(), l.call(in, p.value))
	case p.counts():
		l.events = append(l.read(), holdfast.Unknown{Type: p.kind})
	}
}

// reasoning is the newest event when that is reasoning.
func (l *log) reasoning() (r holdfast.Reasoning, ok bool) {
	if n := len(l.events); n > 0 {
		r, ok = l.events[n-1].(holdfast.Reasoning)
	}
	return r, ok
}

func (l *log) write(b []byte) {
	l.hash.Write(string(b))
	if l.texts && l.holds(len(b)) {
		l.text = append(l.text, b...)
	}
}

// holds reports whether n more bytes are kept; when there is no room for them,
// nothing is from then on.
func (l *log) holds(n int) bool {
	if l.room == nil {
		return true
	}
	if *l.room -= n; *l.room < 0 {
		l.texts, l.thoughts, l.text = false, false, nil
	}
	return *l.room >= 0
}

// read ends the text that goes on and returns the events.
func (l *log) read() []holdfast.Event {
	l.write(l.join.Flush(nil))
	l.events = l.sofar(l.events)
	l.hash, l.text = holdfast.TextHasher{}, nil
	return l.events
}

// sofar appends the text that goes on to events, when it says something.
func (l *log) sofar(events []holdfast.Event) []holdfast.Event {
	d := l.hash.Sum()
	if d == holdfast.TextDigest("") {
		return events
	}
	return append(events, holdfast.AssistantMessage{Text: string(l.text), Digest: d, Len: l.hash.Len()})
}

func (l *log) call(in []byte, value holdfast.Span) holdfast.ToolCall {
	var f [2]holdfast.Span
	fields(in, value, f[:], "name", "args")
	name, args := jsonscan.Text(f[0].Of(in)), f[1].Of(in)
	call := holdfast.ToolCall{ID: callid.Of(name, args), Name: name}
	if l.keep != nil && l.keep(name) && len(args) > 0 && len(args) <= l.most {
		call.Arguments = bytes.Clone(args)
	}
	return call
}

// ReadBody reads an answer that was not streamed, or a stream in its list form
// as a whole. It is Complete when it holds a part, the finish reason is STOP or
// MAX_TOKENS, and neither an error nor a blocked prompt is told of. It fails on
// malformed JSON only.
func (Codec) ReadBody(body []byte) (holdfast.Answer, error) { return readBody(body, false) }

func readBody(body []byte, thoughts bool) (holdfast.Answer, error) {
	span := whole(body)
	var err error
	switch {
	case !span.Present():
		_, err = jsonscan.Skip(body, jsonscan.Space(body, 0))
	case body[span.Start] != '{' && body[span.Start] != '[':
		err = &jsonscan.SyntaxError{At: span.Start, Want: "a list or an object"}
	case jsonscan.Space(body, span.End) < len(body):
		err = &jsonscan.SyntaxError{At: span.End, Want: "nothing behind the value"}
	}
	if err != nil {
		return holdfast.Answer{}, unreadable("answer", err)
	}
	s := Stream{log: log{texts: true, thoughts: thoughts, keep: func(string) bool { return true }, most: math.MaxInt}}
	for _, at := range elements(body, span) {
		c := chunkAt(body, at)
		s.take(&c)
	}
	s.log.read()
	return s.Answer(), nil
}
