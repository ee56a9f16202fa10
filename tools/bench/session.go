package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// size is a kind of session, named after the size of its requests.
type size struct {
	name  string
	bytes int // of a request in the middle of the session
	turns int // requests behind the first one
	round int // what a request is longer than the one before it, about
	tools int
	small bool // nothing but what a request must have
}

var sizes = []size{
	{name: "2 KB", bytes: 2 << 10, turns: 8, round: 300, tools: 3, small: true},
	{name: "200 KB", bytes: 200 << 10, turns: 49, round: 3 << 10, tools: 24},
	{name: "2 MB", bytes: 2 << 20, turns: 49, round: 8 << 10, tools: 24},
}

// tokenMark stands for the token that tells sessions apart, of the same length.
const tokenMark = "7e57ab1e7e57"

// session is a session from which all its requests are cut: request i is
// text[:cuts[i]] and tail. Every identifier and every text of the model holds
// the session's token. The same bytes serve many sessions, one after the other.
type session struct {
	protocol   holdfast.Protocol
	path       string
	text, tail []byte
	cuts       []int
	header     http.Header
	// Where the token stands.
	textMarks, tailMarks []int
	headerNames          []string
	headers              http.Header // with tokenMark
}

// newSession builds a session; the seed chooses its texts.
func newSession(p holdfast.Protocol, z size, stream bool, seed uint64) *session {
	g := &generator{r: rand.New(rand.NewPCG(seed, uint64(z.bytes))), size: z}
	s := &session{protocol: p}
	var open func(*generator) string
	var round func(*generator, int) string
	if p == holdfast.Responses {
		s.path, s.headers, open, round = "/v1/responses", codexHeaders(), codexOpening, codexRound
		s.tail = []byte(codexTail(g, stream))
	} else {
		s.path, s.headers, open, round = "/v1/messages?beta=true", claudeHeaders(), claudeOpening, claudeRound
		s.tail = []byte(claudeTail(g, stream))
	}
	s.text = append(s.text, open(g)...)
	first := z.bytes - z.turns*z.round/2
	for i := 0; len(s.cuts) <= z.turns; i++ {
		// A round starts with what closes the message before it, so that a cut
		// is where the tail can follow.
		s.text = append(s.text, round(g, i)...)
		if len(s.text)+len(s.tail) >= first {
			s.cuts = append(s.cuts, len(s.text))
		}
	}
	s.textMarks, s.tailMarks = marksIn(s.text), marksIn(s.tail)
	s.header = s.headers.Clone()
	for name := range s.headers {
		s.headerNames = append(s.headerNames, name)
	}
	slices.Sort(s.headerNames)
	return s
}

// clone is a session of its own with the same texts.
func (s *session) clone() *session {
	c := *s
	c.text, c.tail, c.header = bytes.Clone(s.text), bytes.Clone(s.tail), s.header.Clone()
	return &c
}

func marksIn(text []byte) (marks []int) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(tokenMark))
		if i < 0 {
			return marks
		}
		marks = append(marks, at+i)
		at += i + len(tokenMark)
	}
}

// begin makes it session n: no other has its identifiers.
func (s *session) begin(n uint64) {
	token := fmt.Sprintf("%0*x", len(tokenMark), n)
	for _, at := range s.textMarks {
		copy(s.text[at:], token)
	}
	for _, at := range s.tailMarks {
		copy(s.tail[at:], token)
	}
	for _, name := range s.headerNames {
		value := []byte(s.headers[name][0])
		for _, at := range marksIn(value) {
			copy(value[at:], token)
		}
		s.header[name] = []string{string(value)}
	}
}

// request is the body of request i in two parts.
func (s *session) request(i int) (text, tail []byte) { return s.text[:s.cuts[i]], s.tail }

// generator makes invented texts.
type generator struct {
	r    *rand.Rand
	size size
}

// result is the text of a tool's result: code in lines, of very mixed length,
// as long as it takes to make a round as long as it should be.
func (g *generator) result() string {
	if g.size.small {
		return "ok"
	}
	const rest = 900 // what a round has beside its result
	mean := float64(g.size.round - rest)
	return g.code(int(min(g.r.ExpFloat64(), 4) * mean * 0.9))
}

// code is n bytes of lines, or a line more.
func (g *generator) code(n int) string {
	var b bytes.Buffer
	for line := 1; b.Len() < n; line++ {
		indent := g.r.IntN(3)
		fmt.Fprintf(&b, "%6d\t", line)
		b.Write(bytes.Repeat([]byte("\t"), indent))
		fmt.Fprintf(&b, lines[g.r.IntN(len(lines))], g.word(), g.word(), g.word())
		b.WriteByte('\n')
	}
	return b.String()
}

// prose is a sentence of n words.
func (g *generator) prose(n int) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(g.word())
	}
	b.WriteByte('.')
	return b.String()
}

func (g *generator) word() string { return words[g.r.IntN(len(words))] }

// opaque is n characters as of a signature.
func (g *generator) opaque(n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.r.IntN(len(alphabet))]
	}
	return string(b)
}

var words = []string{
	"harbour", "ledger", "window", "signal", "copper", "meadow", "packet", "lantern", "orbit", "velvet", "anchor", "timber",
	"quarry", "ribbon", "saddle", "thicket", "umbrella", "valley", "walnut", "yonder", "buffer", "cursor", "driver", "editor",
	"filter", "gutter", "handle", "index", "joiner", "kernel", "loader", "marker", "naïve", "offset", "parser", "queue",
}

// lines are patterns of code lines with three words each.
var lines = []string{
	"func (%s *%s) Read(p []byte) (n int, err error) { // %s",
	"if %s, ok := table[\"%s\"]; ok && %s > 0 {",
	"return fmt.Errorf(\"%s: cannot open %s: %%w\", %s)",
	"const %s = \"C:\\\\temp\\\\%s\\\\%s\"",
	"for _, %s := range %s.All() { sum += %s }",
	"<div class=\"%s %s\" data-name='%s'>",
	"assert.Equal(t, %s.Len(), len(%s)) // \"%s\"",
	"type %s struct { %s int `json:\"%s,omitempty\"` }",
}
