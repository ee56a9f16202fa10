package sqlite

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestAKilledWriterLosesNothingThatWasAcknowledged(t *testing.T) {
	for _, test := range []struct {
		name string
		acks int // after which the writer is killed
	}{
		{"after the first call", 1},
		{"in the first pages of the log", 20},
		{"after the log was moved into the database", 250},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := newPath(t)
			acknowledged := killWriter(t, "write until killed", path, test.acks, 0)

			// A backup tool would copy these two; the -shm file is made anew.
			backup := newPath(t)
			for _, suffix := range []string{"", "-wal"} {
				copyFile(t, path+suffix, backup+suffix)
			}
			for _, file := range []string{backup, path} {
				s := openAt(t, file)
				var health string
				if err := s.writer.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&health); err != nil {
					t.Fatal(err)
				}
				expect(t, health, "ok")

				state := load(t, s, "s1")
				written := len(state.Branches[0].Revisions)
				// One call more may have been written before its acknowledgement
				// got out, and then whole.
				if written != acknowledged && written != acknowledged+3 {
					t.Fatalf("%d steps were acknowledged and %d are stored", acknowledged, written)
				}
				expect(t, state, stateAfter(written))
				apply(t, s, step(written+1))
			}
		})
	}
}

func TestAKilledAppendIsThereWholeOrNotAtAll(t *testing.T) {
	for range 8 {
		calls, delay := 1+rand.IntN(30), rand.N(4*time.Millisecond)
		t.Run(fmt.Sprintf("killed %s after acknowledgement %d", delay, calls), func(t *testing.T) {
			path := newPath(t)
			acknowledged := killWriter(t, "append until killed", path, calls, delay)

			s := openAt(t, path)
			c := get(t, s)
			written := c.Turns
			if written != acknowledged && written != acknowledged+1 {
				t.Fatalf("%d appends were acknowledged and %d are stored", acknowledged, written)
			}
			want, stream := streamAfter(written)
			expect(t, c, want)
			expectStream(t, s, stream)

			if err := s.Append(t.Context(), holdfast.Local, "c1", c.Head, exchange(written+1)); err != nil {
				t.Fatal(err)
			}
			want, stream = streamAfter(written + 1)
			expect(t, get(t, s), want)
			expectStream(t, s, stream)
		})
	}
}

// killWriter starts a process that writes, kills it some time after a number of
// acknowledgements and returns the last one that it saw.
func killWriter(t *testing.T, role, path string, calls int, delay time.Duration) (acknowledged int) {
	t.Helper()
	writer := process(t, role, path)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if n == calls {
			defer time.AfterFunc(delay, func() {
				if err := writer.Process.Kill(); err != nil {
					t.Error(err)
				}
			}).Stop()
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if err := writer.Wait(); err == nil || writer.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return acknowledged
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
