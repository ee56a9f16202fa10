package sse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// frame is an Event copied out of the reader's memory.
type frame struct{ raw, name, data string }

// read feeds the pieces and returns the frames and what was left over.
func read(pieces ...string) (frames []frame, rest string) {
	var r Reader
	for _, p := range pieces {
		b := []byte(p)
		r.Feed(b, func(e Event) {
			name, data := string(e.Name), string(e.Data)
			if e.Name == nil {
				name = "-"
			}
			if e.Data == nil {
				data = "-"
			}
			frames = append(frames, frame{string(e.Raw), name, data})
		})
		clear(b) // the reader must not have kept the caller's memory
	}
	return frames, string(r.Rest())
}

func TestReader(t *testing.T) {
	cases := []struct {
		name, in string
		want     []frame
		rest     string
	}{
		{
			"a frame with LF line ends", "event: ping\ndata: {}\n\n",
			[]frame{{"event: ping\ndata: {}\n\n", "ping", "{}"}},
			"",
		},
		{
			"a frame with CRLF line ends", "event: ping\r\ndata: {}\r\n\r\n",
			[]frame{{"event: ping\r\ndata: {}\r\n\r\n", "ping", "{}"}},
			"",
		},
		{
			"two frames with CR line ends, the last one at the end of the stream", "data: a\r\rdata: b\r\r",
			[]frame{{"data: a\r\r", "-", "a"}, {"data: b\r\r", "-", "b"}},
			"",
		},
		{
			"an LF behind a frame of bare CRs leads the next frame", "data: a\r\r\ndata: b\n\n",
			[]frame{{"data: a\r\r", "-", "a"}, {"\ndata: b\n\n", "-", "b"}},
			"",
		},
		{
			"line ends of all three kinds in one frame", "event: x\rdata: a\r\ndata: b\n\n",
			[]frame{{"event: x\rdata: a\r\ndata: b\n\n", "x", "a\nb"}},
			"",
		},
		{
			"several data lines are joined by LF", "data: {\ndata:  1\ndata:}\n\n",
			[]frame{{"data: {\ndata:  1\ndata:}\n\n", "-", "{\n 1\n}"}},
			"",
		},
		{
			"only one space behind the colon is left out", "data:  a\n\ndata:b\n\n",
			[]frame{{"data:  a\n\n", "-", " a"}, {"data:b\n\n", "-", "b"}},
			"",
		},
		{
			"a comment is a frame without data", ": keep-alive\n\n",
			[]frame{{": keep-alive\n\n", "-", "-"}},
			"",
		},
		{
			"a comment inside a frame changes nothing", "event: a\n: note\ndata: 1\n\n",
			[]frame{{"event: a\n: note\ndata: 1\n\n", "a", "1"}},
			"",
		},
		{
			"a field without a colon has an empty value", "event\ndata\n\n",
			[]frame{{"event\ndata\n\n", "", ""}},
			"",
		},
		{
			"the last event field counts", "event: a\nevent: b\ndata: 1\n\n",
			[]frame{{"event: a\nevent: b\ndata: 1\n\n", "b", "1"}},
			"",
		},
		{
			"other fields and values with colons", "id: 7\nretry: 5\ndata: a:b\n\n",
			[]frame{{"id: 7\nretry: 5\ndata: a:b\n\n", "-", "a:b"}},
			"",
		},
		{
			"a stray blank line is a frame of its own", "\n\r\ndata: a\n\n",
			[]frame{{"\n", "-", "-"}, {"\r\n", "-", "-"}, {"data: a\n\n", "-", "a"}},
			"",
		},
		{
			"a byte order mark at the start is no part of the first field", "\xef\xbb\xbfdata: a\n\n",
			[]frame{{"\xef\xbb\xbfdata: a\n\n", "-", "a"}},
			"",
		},
		{
			"a byte order mark later is", "data: a\n\n\xef\xbb\xbfdata: b\n\n",
			[]frame{{"data: a\n\n", "-", "a"}, {"\xef\xbb\xbfdata: b\n\n", "-", "-"}},
			"",
		},
		{
			"an unfinished frame stays in the rest", "data: a\n\nevent: b\ndata: {\"x",
			[]frame{{"data: a\n\n", "-", "a"}},
			"event: b\ndata: {\"x",
		},
		{"a frame without its blank line stays in the rest", "data: a\n", nil, "data: a\n"},
		{"no bytes at all", "", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, rest := read(c.in)
			if !slices.Equal(got, c.want) || rest != c.rest {
				t.Errorf("got  %q, rest %q\nwant %q, rest %q", got, rest, c.want, c.rest)
			}
		})
	}
}

// answer is a stream with what breaks naive readers: umlaut and emoji, both
// line ends, comments and one line of 300 kB.
func answer() string {
	return "\xef\xbb\xbf: open\r\n\r\n" +
		"event: delta\ndata: {\"text\":\"grün 🧭\"}\n\n" +
		"event: delta\r\ndata: {\"a\":1,\r\ndata: \"b\":2}\r\n\r\n" +
		"data: " + strings.Repeat("0123456789", 30_000) + "\n\n" +
		": ping\n\n" +
		"event: stop\r\ndata: {}\r\n\r\n" +
		"event: late\ndata: {"
}

func TestCutAtEveryByteGivesTheSameFrames(t *testing.T) {
	long := answer()
	want, rest := read(long)
	if len(want) != 6 || rest != "event: late\ndata: {" {
		t.Fatalf("got %d frames and the rest %q", len(want), rest)
	}
	digits := strings.Index(long, "0123456789")
	for i := range len(long) {
		// Inside the long line every position is like the next.
		if i > digits+16 && i < digits+299_990 && i%19_997 != 0 {
			continue
		}
		got, left := read(long[:i], long[i:])
		if !slices.Equal(got, want) || left != rest {
			t.Fatalf("cut at byte %d: other frames than uncut", i)
		}
	}
	var single []string
	for i := range len(long) {
		single = append(single, long[i:i+1])
	}
	if got, left := read(single...); !slices.Equal(got, want) || left != rest {
		t.Fatal("fed byte by byte: other frames than at once")
	}
}

func TestDataOfOneLineIsNotCopied(t *testing.T) {
	in := []byte("event: a\ndata: {\"x\":1}\n\n")
	var r Reader
	r.Feed(in, func(e Event) {
		if &e.Raw[0] != &in[0] || &e.Data[0] != &in[len("event: a\ndata: ")] {
			t.Error("the event does not alias the piece that was fed")
		}
	})
	if n := testing.AllocsPerRun(100, func() { r.Feed(in, func(Event) {}) }); n != 0 {
		t.Errorf("%v allocations per frame, want 0", n)
	}
}

func TestEventsOfOneFeedStayValidUntilTheNext(t *testing.T) {
	var r Reader
	var got []Event
	keep := func(e Event) { got = append(got, e) }
	r.Feed([]byte("data: o"), keep)
	r.Feed([]byte("ne\n\ndata: two\n\ndata: thr"), keep)
	if len(got) != 2 || string(got[0].Data) != "one" || string(got[1].Raw) != "data: two\n\n" {
		t.Fatalf("got %q", got)
	}
	if string(r.Rest()) != "data: thr" {
		t.Fatalf("rest %q", r.Rest())
	}
}

func TestFrameAboveTheLimitStopsTheReader(t *testing.T) {
	small := "data: a\n\n"
	for _, complete := range []bool{false, true} {
		t.Run(fmt.Sprintf("frame complete: %v", complete), func(t *testing.T) {
			big := "data: " + strings.Repeat("x", MaxFrame)
			if complete {
				big += "\n\n" + small
			}
			var r Reader
			frames := 0
			count := func(Event) { frames++ }
			r.Feed([]byte(small+big), count)
			if !r.Overflowed() || frames != 1 || string(r.Rest()) != big {
				t.Fatalf("overflowed %v, %d frames, %d bytes left; want true, 1, %d", r.Overflowed(), frames, len(r.Rest()), len(big))
			}
			r.Feed([]byte(small), count)
			if frames != 1 || len(r.Rest()) != len(big) {
				t.Fatal("a reader that overflowed took another piece")
			}
		})
	}
	t.Run("a frame of exactly the limit is parsed", func(t *testing.T) {
		var r Reader
		got := 0
		r.Feed([]byte("data: "+strings.Repeat("x", MaxFrame-len("data: \n\n"))+"\n\n"), func(e Event) { got = len(e.Raw) })
		if r.Overflowed() || got != MaxFrame {
			t.Fatalf("overflowed %v, frame of %d bytes; want false, %d", r.Overflowed(), got, MaxFrame)
		}
	})
}

func TestMemoryOfALargeFrameIsGivenBack(t *testing.T) {
	var r Reader
	none := func(Event) {}
	r.Feed([]byte("data: "+strings.Repeat("x", 300_000)), none)
	r.Feed([]byte("\n\n"), none)
	r.Feed([]byte("data: a"), none)
	if cap(r.buf) > keep {
		t.Errorf("%d bytes kept between frames, want at most %d", cap(r.buf), keep)
	}
}

func TestBetweenTwoPiecesNoMoreThanTheUnfinishedFrameIsHeld(t *testing.T) {
	var r Reader
	n := 0
	count := func(Event) { n++ }
	r.Feed([]byte("data: a"), count)
	r.Feed([]byte("\n\n"+strings.Repeat("data: b\n\n", 2000)+"data: c"), count)
	if n != 2001 || string(r.Rest()) != "data: c" || cap(r.buf) > 64 {
		t.Errorf("got %d frames, %q is left, in %d bytes", n, r.Rest(), cap(r.buf))
	}
}

func TestAppend(t *testing.T) {
	cases := []struct{ name, event, data, want string }{
		{"name and data", "ping", "{}", "event: ping\ndata: {}\n\n"},
		{"without a name", "", "[DONE]", "data: [DONE]\n\n"},
		{"empty data", "x", "", "event: x\ndata: \n\n"},
		{"each line of data is a field", "", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Append([]byte("<"), c.event, []byte(c.data))); got != "<"+c.want {
				t.Errorf("got %q, want %q", got, "<"+c.want)
			}
		})
	}
}

func TestRewrite(t *testing.T) {
	cases := []struct{ name, raw, data, want string }{
		{"the data of a plain frame", "event: a\ndata: 1\n\n", "22", "event: a\ndata: 22\n\n"},
		{"CRLF, a comment and an id stay", ": n\r\nid: 4\r\ndata:1\r\nevent: a\r\n\r\n", "2", ": n\r\nid: 4\r\ndata:2\r\nevent: a\r\n\r\n"},
		{"each data line gets its line", "data: {\nevent: a\ndata:  1\ndata:}\n\n", "{\n 234\n}", "data: {\nevent: a\ndata:  234\ndata:}\n\n"},
		{"a data field without a colon gets one when it needs it", "data\ndata\n\n", "\nx", "data\ndata: x\n\n"},
		{"a byte order mark stays", "\xef\xbb\xbfdata: 1\n\n", "2", "\xef\xbb\xbfdata: 2\n\n"},
		{"a frame without data stays", ": ping\n\n", "", ": ping\n\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Rewrite(nil, []byte(c.raw), []byte(c.data))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\r\n\r\n: c\n\ndata: x\r\rdata\n\n"), 3)
	f.Add([]byte("\xef\xbb\xbfdata: a\n\r\n\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		whole, rest := read(string(in))
		var back strings.Builder
		for _, fr := range whole {
			back.WriteString(fr.raw)
		}
		if back.String()+rest != string(in) {
			t.Fatalf("the frames and the rest are not the input: %q", back.String()+rest)
		}
		step = 1 + (step&0x7fffffff)%7
		var pieces []string
		for c := range slices.Chunk(in, step) {
			pieces = append(pieces, string(c))
		}
		cut, left := read(pieces...)
		if !slices.Equal(cut, whole) || left != rest {
			t.Fatalf("in pieces of %d: %q + %q, at once %q + %q", step, cut, left, whole, rest)
		}
		for i, fr := range whole {
			if fr.data == "-" || i == 0 || bytes.HasPrefix([]byte(fr.raw), bom) {
				continue
			}
			if same := Rewrite(nil, []byte(fr.raw), []byte(fr.data)); string(same) != fr.raw {
				t.Fatalf("rewritten with its own data %q became %q", fr.raw, same)
			}
		}
	})
}

func FuzzAppend(f *testing.F) {
	f.Add("ping", []byte("a\nb"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.ContainsAny(name, "\r\n") || strings.HasPrefix(name, " ") || bytes.ContainsRune(data, '\r') {
			return
		}
		frames, rest := read(string(Append(nil, name, data)))
		if name == "" {
			name = "-"
		}
		if len(frames) != 1 || rest != "" || frames[0].name != name || frames[0].data != string(data) {
			t.Fatalf("%q, %q was read back as %q and %q", name, data, frames, rest)
		}
	})
}

func BenchmarkFeedDelta(b *testing.B) {
	in := Append(nil, "content_block_delta", []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" a few words"}}`))
	var r Reader
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r.Feed(in, func(Event) {})
	}
}
