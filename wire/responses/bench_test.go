package responses

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/sse"
)

func conversation(size int) []byte {
	prose := strings.Repeat(`The reader stops at the first blank line.\nA field named \"data\" may repeat, `, 25)
	source := strings.Repeat(`\tfor at < len(b) {\n\t\tat = step(b, at)\n\t}\n`, 100)
	var b bytes.Buffer
	b.WriteString(`{"model":"m","stream":true,"instructions":"` + prose + `","tools":[],"input":[`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]},`, prose)
		fmt.Fprintf(&b, `{"type":"function_call","id":"fc_%06d","call_id":"c_%06d","name":"exec","arguments":"{\"cmd\":\"go test ./...\"}"},`, i, i)
		fmt.Fprintf(&b, `{"type":"function_call_output","call_id":"c_%06d","output":"%s"},`, i, source)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	return b.Bytes()
}

func BenchmarkScan2MB(b *testing.B) {
	body := conversation(2 << 20)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Scan(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInsert2MB(b *testing.B) {
	body := conversation(2 << 20)
	req, err := Codec{}.Scan(body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).InsertBlock(body, req, 0, record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamDelta(b *testing.B) {
	in := []byte(numbered(delta(0, 0, " a few words")))
	b.Run("read", func(b *testing.B) {
		var r sse.Reader
		s := NewStream(nil)
		r.Feed([]byte(created()+added(0, begun)), s.Event)
		b.ReportAllocs()
		for b.Loop() {
			r.Feed(in, s.Event)
		}
	})
	b.Run("read and patched", func(b *testing.B) {
		var r sse.Reader
		s, p := NewStream(nil), NewPatcher(always(record))
		none := func([]byte) {}
		take := func(e sse.Event) {
			s.Event(e)
			p.Event(e, none)
		}
		r.Feed([]byte(created()+added(0, begun)), take)
		b.ReportAllocs()
		for b.Loop() {
			r.Feed(in, take)
		}
	})
}
