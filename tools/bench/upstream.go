package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-dev/holdfast"
)

// ask is what the load wants of the mock upstream. It travels in headers.
type ask struct {
	deltas int // 0: a JSON document
	number int
	// pause comes before a JSON document, or behind each frame of a stream.
	pause time.Duration
	// hold leaves the stream without its last frame until the client goes.
	hold bool
	// early begins the stream before the request body is read.
	early bool
	// sum is the hash that the request body must have; 0: any.
	sum uint64
}

// header writes the fields that are set into h and takes the others out.
func (a ask) header(h http.Header) {
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{"X-Bench-Deltas", uint64(a.deltas)},
		{"X-Bench-Number", uint64(a.number)},
		{"X-Bench-Pause", uint64(a.pause)},
		{"X-Bench-Hold", number(a.hold)},
		{"X-Bench-Early", number(a.early)},
		{"X-Bench-Sum", a.sum},
	} {
		if f.value == 0 {
			delete(h, f.name)
		} else {
			h[f.name] = []string{strconv.FormatUint(f.value, 10)}
		}
	}
}

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// readAsk reads what header wrote. What is absent or malformed is zero.
func readAsk(h http.Header) ask {
	value := func(name string) uint64 {
		n, _ := strconv.ParseUint(h.Get(name), 10, 64)
		return n
	}
	return ask{
		deltas: int(value("X-Bench-Deltas")), number: int(value("X-Bench-Number")), pause: time.Duration(value("X-Bench-Pause")),
		hold: value("X-Bench-Hold") > 0, early: value("X-Bench-Early") > 0, sum: value("X-Bench-Sum"),
	}
}

// mock is the upstream: it reads the body and answers what it is asked for, as
// cheaply as it can. Safe for concurrent use.
type mock struct {
	answers sync.Map // answerKey -> *answer
	buffers sync.Pool
}

type answerKey struct {
	protocol holdfast.Protocol
	deltas   int
}

func newUpstream() *mock {
	return &mock{buffers: sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}}
}

func (m *mock) answer(k answerKey) *answer {
	if a, ok := m.answers.Load(k); ok {
		return a.(*answer)
	}
	a, _ := m.answers.LoadOrStore(k, newAnswer(k.protocol, k.deltas))
	return a.(*answer)
}

func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k := answerKey{protocol: holdfast.Anthropic}
	switch {
	case strings.HasPrefix(r.URL.Path, readerPath):
		readNothing(w, r)
		return
	case strings.HasSuffix(r.URL.Path, "/responses"):
		k.protocol = holdfast.Responses
	case !strings.HasSuffix(r.URL.Path, "/messages"):
		http.NotFound(w, r)
		return
	}
	a := readAsk(r.Header)
	k.deltas = a.deltas
	ans := m.answer(k)
	text := ans.numbered(nil, a.number)
	if !a.early && !m.read(w, r, a.sum) {
		return
	}
	if a.deltas == 0 {
		if !wait(r, a.pause) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text) // the client has left
		return
	}
	m.stream(w, r, a, text, ans.ends)
}

// readerPath is the base path of the extractor's model.
const readerPath = "/reader/v1"

var baseRevision = regexp.MustCompile(`base_revision is (\d+)`)

// readNothing answers a request of the extractor: there is nothing to extract.
func readNothing(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	base := baseRevision.FindSubmatch(body)
	if err != nil || base == nil {
		http.Error(w, "no request of the extractor", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"reader","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"schema_version\":1,\"base_revision\":%s}"}}],"usage":{"prompt_tokens":900,"completion_tokens":12,"total_tokens":912}}`, base[1])
}

// stream writes an answer frame by frame.
func (m *mock) stream(w http.ResponseWriter, r *http.Request, a ask, text []byte, ends []int) {
	rc := http.NewResponseController(w)
	if a.early {
		if err := rc.EnableFullDuplex(); err != nil {
			panic(err) // HTTP/1 can
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	at := 0
	for i, end := range ends {
		if a.hold && i == len(ends)-1 {
			<-r.Context().Done()
			return
		}
		if _, err := w.Write(text[at:end]); err != nil {
			return
		}
		if rc.Flush() != nil {
			return
		}
		at = end
		if i == 0 && a.early && !m.read(nil, r, a.sum) {
			panic(http.ErrAbortHandler) // the load sees a cut stream
		}
		if !wait(r, a.pause) {
			return
		}
	}
}

// read takes the request body and checks it. With w it answers 422 for one that
// is not as it was sent.
func (m *mock) read(w http.ResponseWriter, r *http.Request, sum uint64) bool {
	bp := m.buffers.Get().(*[]byte)
	defer m.buffers.Put(bp)
	h := xxhash.New()
	for {
		n, err := r.Body.Read(*bp)
		if sum != 0 {
			_, _ = h.Write((*bp)[:n]) // never fails
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false
		}
	}
	if sum == 0 || max(h.Sum64(), 1) == sum {
		return true
	}
	if w != nil {
		http.Error(w, fmt.Sprintf("the body has the hash %d instead of %d", h.Sum64(), sum), http.StatusUnprocessableEntity)
	}
	return false
}

// wait pauses, and reports whether the client is still there.
func wait(r *http.Request, pause time.Duration) bool {
	if pause <= 0 {
		return true
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
