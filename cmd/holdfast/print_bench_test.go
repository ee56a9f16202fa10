package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var errEnough = errors.New("enough was read")

// firstByte is a writer that notes when it is written to first, and then fails,
// so that the rest is not waited for.
type firstByte struct{ at time.Time }

func (f *firstByte) Write([]byte) (int, error) {
	if f.at.IsZero() {
		f.at = time.Now()
	}
	return 0, errEnough
}

// BenchmarkPrintBegins is how long it takes from the start of the command, the
// opening of the database included, until a conversation of 100 MB is begun to be
// printed. The goal is 100 ms.
func BenchmarkPrintBegins(b *testing.B) {
	const size = 100 << 20
	dir := b.TempDir()
	a := &app{
		out: io.Discard, err: io.Discard, now: time.Now, open: openStore,
		newID: func() string { return "id" }, data: dir,
	}
	result := strings.Repeat("a line of a tool's output, as long as they are\\n", 1000)
	var file strings.Builder
	for i := 0; file.Len() < size; i++ {
		fmt.Fprintf(&file, `{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"question %[1]d"}]}
{"kind":"tool_call","call_id":"%[1]d","name":"read","arguments":{"n":%[1]d}}
{"kind":"tool_result","call_id":"%[1]d","content":[{"type":"text","text":"%[2]s"}]}
{"kind":"compaction","from_turn":%[1]d,"to_turn":%[1]d,"reasoning":"strip"}
`, i, result)
	}
	a.in = strings.NewReader(file.String())
	if status := a.run(context.Background(), []string{"--data", dir, "c", "import", "-"}); status != 0 {
		b.Fatalf("exit status %d for %s", status, filepath.Base(dir))
	}
	var total time.Duration
	for b.Loop() {
		began := time.Now()
		first := &firstByte{}
		a.out = first
		a.run(context.Background(), []string{"--data", dir, "c", "print", "last"})
		if first.at.IsZero() {
			b.Fatal("nothing was printed")
		}
		total += first.at.Sub(began)
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms-to-first-byte")
}
