package chat

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
	b.WriteString(`{"model":"m","stream":true,"tools":[],"messages":[{"role":"system","content":"` + prose + `"},`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"role":"assistant","content":"%s","tool_calls":[{"id":"call_%06d","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a/b.go\"}"}}]},`, prose[:300], i)
		fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"call_%06d","content":"%s"},{"role":"user","content":"%s"},`, i, source, prose)
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
		if _, err := (Codec{}).InsertBlock(body, req, len(req.Messages)-1, record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamDelta(b *testing.B) {
	in := []byte(delta(" a few words"))
	b.Run("read", func(b *testing.B) {
		var r sse.Reader
		s := NewStream(nil)
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
		b.ReportAllocs()
		for b.Loop() {
			r.Feed(in, take)
		}
	})
}
