package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// fuzzed reads anything as a format: no panic, no event without a session that was
// told of, no id twice, no place of an overlay that was not there.
func fuzzed(f *testing.F, format Format) {
	seed := whole[format] + documents[format]
	if format == OpenCode {
		seed = openCodeExport()
	}
	f.Add(seed)
	f.Add("{}\n[]\n")
	f.Fuzz(func(t *testing.T, in string) {
		Sniff([]byte(in), "f")
		known, seen := map[string]bool{}, map[holdfast.EventID]bool{}
		turns := map[string]int{}
		for item, err := range Read(format, strings.NewReader(in), "f", asAgents) {
			if err != nil {
				return
			}
			switch it := item.(type) {
			case Session:
				known[it.ID] = true
			case Event:
				if !known[it.Session] || seen[it.Entry.ID] || it.Entry.At.Location() != time.UTC {
					t.Fatalf("%s of %q, id %s, at %s", shown(it.Entry.Event), it.Session, it.Entry.ID, it.Entry.At)
				}
				seen[it.Entry.ID] = true
				switch e := it.Entry.Event.(type) {
				case holdfast.TurnStart:
					turns[it.Session]++
				case holdfast.Overlay:
					// Messages before the first turn are one of their own.
					if e.ToTurn < 0 || e.ToTurn > turns[it.Session] {
						t.Fatalf("an overlay up to %d of %d turns", e.ToTurn, turns[it.Session])
					}
				}
			}
		}
	})
}

func FuzzClaudeCode(f *testing.F) { fuzzed(f, ClaudeCode) }
func FuzzCodex(f *testing.F)      { fuzzed(f, Codex) }
func FuzzPi(f *testing.F)         { fuzzed(f, Pi) }
func FuzzGemini(f *testing.F)     { fuzzed(f, Gemini) }
func FuzzQwen(f *testing.F)       { fuzzed(f, Qwen) }
func FuzzCline(f *testing.F)      { fuzzed(f, Cline) }
func FuzzJP(f *testing.F)         { fuzzed(f, JP) }
func FuzzOpenCode(f *testing.F)   { fuzzed(f, OpenCode) }
