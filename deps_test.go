package holdfast_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-dev/holdfast"

// rooms says which other rooms each may import; "." is the root and "*" all. A
// package that is not listed belongs to the listed room above it.
var rooms = map[string]string{
	".":              "",
	"conversation":   ".",
	"compaction":     ". conversation",
	"continuity":     ". conversation agents",
	"agents":         ".",
	"transcript":     ".",
	"redact":         "",
	"toolbox":        ".",
	"config":         ".",
	"sse":            "",
	"wire":           ". sse", // what the protocols share
	"wire/anthropic": ". sse wire",
	"wire/chat":      ". sse wire",
	"wire/responses": ". sse wire",
	"wire/gemini":    ". sse wire",
	"upstream":       ".",
	"provider":       ". sse wire/anthropic wire/chat wire/responses wire/gemini upstream",
	"store":          ".",
	"store/sqlite":   ". store",
	"store/postgres": ". store",
	"keyring":        ". store",
	"ledger":         ". store",
	"engine":         ". conversation compaction continuity agents transcript redact ledger store",
	"proxy":          ". engine agents wire/anthropic wire/chat wire/responses wire/gemini sse upstream",
	"console":        ". engine sse",
	"mcpserver":      ". engine sse",
	"eval":           ". sse wire/anthropic wire/chat wire/responses wire/gemini",
	"internal":       ". sse wire/anthropic wire/chat wire/responses wire/gemini",
	"cmd/holdfast":   "*",
	"tools":          "*",
}

// pure are the rooms that hold values and rules, and what these never touch.
var (
	pure    = []string{".", "conversation", "compaction"}
	outside = []string{"os", "net", "net/http", "database/sql"}
)

// packages lists the imports of the module's packages, by path inside it.
func packages(t *testing.T) map[string][]string {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		path, _ := inside(fields[0])
		all[path] = fields[1:]
	}
	return all
}

// inside turns an import path into one inside the module.
func inside(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func room(path string) string {
	at := path
	for _, ok := rooms[at]; !ok; _, ok = rooms[at] {
		at = filepath.Dir(at)
	}
	if at == "." && path != "." {
		return ""
	}
	return at
}

func TestTheRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	for path, imports := range packages(t) {
		from := room(path)
		if from == "" {
			t.Errorf("%s is in no room: add it to the table here and in the documentation, or move it", path)
			continue
		}
		for _, imported := range imports {
			if slices.Contains(pure, from) && slices.Contains(outside, imported) {
				t.Errorf("%s imports %s, but %s is pure: pass the value in", path, imported, from)
			}
			to, ours := inside(imported)
			if to = room(to); !ours || to == from || rooms[from] == "*" {
				continue
			}
			if !slices.Contains(strings.Fields(rooms[from]), to) {
				t.Errorf("%s imports %s, but %s may import only [%s]: declare a small interface there, or pass a function in", path, imported, from, rooms[from])
			}
		}
	}
}

func TestImportsAreShallow(t *testing.T) {
	const most = 7
	all := packages(t)
	var depth func(path string) int
	depth = func(path string) (deepest int) {
		for _, imported := range all[path] {
			if to, ours := inside(imported); ours {
				deepest = max(deepest, depth(to))
			}
		}
		return deepest + 1
	}
	for path := range all {
		if d := depth(path); d > most {
			t.Errorf("%s stands on %d layers of packages, more than %d", path, d, most)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	const most = 600
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if n := bytes.Count(data, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, more than %d: look for the noun that wants its own file", path, n, most)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
