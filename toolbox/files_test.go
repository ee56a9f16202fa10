package toolbox_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/toolbox"
)

// png is enough of an image to be known by its content.
var png = []byte("\x89PNG\r\n\x1a\nxxxx")

// workspace writes files, with a secret beside the directory that tools may read.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "work")
	write(t, filepath.Join(top, "secret.txt"), "secret\n")
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestFileTools(t *testing.T) {
	dir := workspace(t, map[string]string{
		"a.go":            "package a\n\nfunc A() {}\n",
		"b.txt":           "one\ntwo\nthree",
		"empty":           "",
		"latin":           "caf\xe9\n",
		"sub/c.go":        "// func B is elsewhere\nfunc C() {}\r\n",
		"sub/long":        strings.Repeat("x", 400) + "needle" + strings.Repeat("y", 400) + "\n",
		"sub/bin":         "func\x00",
		"sub/pic.png":     string(png),
		"sub/big.txt":     "func\n" + strings.Repeat("x", 4<<20),
		".git/config":     "func token\n",
		"sub/.git/HEAD":   "func\n",
		".gitignore":      "bin\n",
		"sub/pic-big.png": string(png) + strings.Repeat("x", 3<<20),
	})
	link(t, "a.go", filepath.Join(dir, "inside"))
	link(t, "sub", filepath.Join(dir, "subdir"))
	b := open(t, toolbox.Config{Dir: dir})
	for _, test := range []struct{ name, tool, arguments, want string }{
		{
			"a list is sorted, without .git", "fs_list", `{"path":"."}`,
			".gitignore (4 bytes)\na.go (23 bytes)\nb.txt (13 bytes)\nempty (0 bytes)\ninside (link)\nlatin (5 bytes)\nsub/\nsubdir (link)\n",
		},
		{"the list of a file", "fs_list", `{"path":"a.go"}`, `! "a.go" is no directory. Read it with fs_read_file`},
		{"a directory that is not there", "fs_list", `{"path":"x"}`, `! "x" does not exist`},
		{"a whole file", "fs_read_file", `{"path":"a.go"}`, "package a\n\nfunc A() {}\n"},
		{"by a way that leads back", "fs_read_file", `{"path":"./sub/../a.go"}`, "package a\n\nfunc A() {}\n"},
		{"through a link inside", "fs_read_file", `{"path":"inside"}`, "package a\n\nfunc A() {}\n"},
		{"the first line", "fs_read_file", `{"path":"b.txt","to_line":1}`, "one\n[the file goes on. Go on with from_line 2]"},
		{"one line between", "fs_read_file", `{"path":"b.txt","from_line":2,"to_line":2}`, "two\n[the file goes on. Go on with from_line 3]"},
		{"the last line", "fs_read_file", `{"path":"b.txt","from_line":3}`, "three"},
		{"up to the last line", "fs_read_file", `{"path":"b.txt","from_line":2,"to_line":3}`, "two\nthree"},
		{"more lines than there are", "fs_read_file", `{"path":"b.txt","from_line":3,"to_line":9}`, "three"},
		{"behind the end", "fs_read_file", `{"path":"b.txt","from_line":4}`, "! the file has 3 lines, so there is no line 4"},
		{"behind an end with a line break", "fs_read_file", `{"path":"a.go","from_line":4}`, "! the file has 3 lines, so there is no line 4"},
		{"lines that run backwards", "fs_read_file", `{"path":"b.txt","from_line":3,"to_line":2}`, "! there are no lines from 3 to 2: they are counted from 1, and to_line is not before from_line"},
		{"an empty file", "fs_read_file", `{"path":"empty"}`, "[the file is empty]"},
		{"text in another encoding", "fs_read_file", `{"path":"latin"}`, "caf\uFFFD\n"},
		{"a binary file is told", "fs_read_file", `{"path":"sub/bin"}`, "[a binary file (application/octet-stream, 5 bytes): not shown]"},
		{"an image is shown", "fs_read_file", `{"path":"sub/pic.png"}`, "image image/png pic.png " + base64.StdEncoding.EncodeToString(png)},
		{"a large image is told", "fs_read_file", `{"path":"sub/pic-big.png"}`, fmt.Sprintf("[a binary file (image/png, %d bytes): not shown]", 3<<20+12)},
		{"a directory is no file", "fs_read_file", `{"path":"sub"}`, `! "sub" cannot be read: it is no regular file`},
		{
			"a search goes through all text", "fs_search", `{"pattern":"^func \\w+"}`,
			"a.go:3: func A() {}\nsub/c.go:2: func C() {}\n[1 files above 4194304 bytes were not searched]\n",
		},
		{"a search below a path", "fs_search", `{"pattern":"func","path":"sub","glob":"*.go"}`, "sub/c.go:1: // func B is elsewhere\nsub/c.go:2: func C() {}\n"},
		{"a search in a file", "fs_search", `{"pattern":"t[wh]","path":"b.txt"}`, "b.txt:2: two\nb.txt:3: three\n"},
		{"a search below a link inside", "fs_search", `{"pattern":"C","path":"subdir","glob":"*.go"}`, "subdir/c.go:2: func C() {}\n"},
		{
			"of a long line, what is around the match", "fs_search", `{"pattern":"needle","glob":"long"}`,
			"sub/long:1: " + strings.Repeat("x", 100) + "needle" + strings.Repeat("y", 194) + "\n",
		},
		{"nothing to find", "fs_search", `{"pattern":"nowhere","glob":"*.go"}`, "[no matches]\n"},
		{"a glob with a directory", "fs_search", `{"pattern":"x","glob":"sub/*.go"}`, "! glob is a pattern of file names, such as *.go. Directories belong into path"},
		{"no pattern", "fs_search", `{}`, "! a pattern has 1 to 1000 bytes"},
		{"a pattern that is too long", "fs_search", `{"pattern":"` + strings.Repeat("x", 1001) + `"}`, "! a pattern has 1 to 1000 bytes"},
		{"a pattern of another dialect", "fs_search", `{"pattern":"(?=x)"}`, "! the pattern is no RE2 expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := call(t, b, test.tool, test.arguments); got != test.want {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestThereIsNoWayOut(t *testing.T) {
	dir := workspace(t, map[string]string{"a/b": "b\n", ".git/config": "secret\n"})
	link(t, "../secret.txt", filepath.Join(dir, "up"))
	link(t, filepath.Join(filepath.Dir(dir), "secret.txt"), filepath.Join(dir, "absolute"))
	link(t, "..", filepath.Join(dir, "parent"))
	link(t, ".git", filepath.Join(dir, "a", "git"))
	link(t, filepath.Join("..", ".git"), filepath.Join(dir, "a", "dotgit"))
	link(t, "loop", filepath.Join(dir, "loop"))
	b := open(t, toolbox.Config{Dir: dir})
	for _, path := range []string{
		"../secret.txt", "..", "a/../../secret.txt", "a/../../work/../secret.txt", "./..", "/", "/etc/passwd",
		filepath.Join(dir, "a", "b"), "up", "absolute", "parent", "parent/secret.txt", "parent/work/a/b", "a/../parent/secret.txt",
		".git", ".git/config", ".GIT/config", "./.git/config", "a/../.git/config", "a/dotgit", "a/dotgit/config", "a/git", "loop",
		"a/b\x00", "a/b/", "nul\n/../../secret.txt",
	} {
		t.Run(path, func(t *testing.T) {
			arguments := fmt.Sprintf(`{"path":%s}`, quoted(path))
			for _, tool := range []string{"fs_read_file", "fs_list"} {
				got := call(t, b, tool, arguments)
				// A trailing slash is no way out, it only names the file.
				if path == "a/b/" && tool == "fs_read_file" {
					continue
				}
				if !strings.HasPrefix(got, "! ") || strings.Contains(got, "secret\n") || strings.Contains(got, filepath.Dir(dir)+"\"") {
					t.Errorf("%s: %q", tool, got)
				}
			}
			got := call(t, b, "fs_search", fmt.Sprintf(`{"pattern":"secret","path":%s}`, quoted(path)))
			if !strings.HasPrefix(got, "! ") && got != "[no matches]\n" {
				t.Errorf("fs_search: %q", got)
			}
		})
	}
	if got := call(t, b, "fs_search", `{"pattern":"secret"}`); got != "[no matches]\n" {
		t.Errorf("a search follows links: %q", got)
	}
}

// quoted writes a path as JSON.
func quoted(s string) string {
	return strings.NewReplacer("\x00", `\u0000`, "\n", `\n`).Replace(`"` + s + `"`)
}

func TestResultsOfFileToolsFit(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	files := map[string]string{"lines": strings.Repeat(line, 30), "one": strings.Repeat("y", 100_000) + "\nnext\n", "sub/x": ""}
	for i := range 1200 {
		files[fmt.Sprintf("many/%04d", i)] = "m\n"
	}
	dir := workspace(t, files)
	keep := func(_ context.Context, c holdfast.ToolCall, _ holdfast.ToolResult) error {
		t.Errorf("the result of %s %s did not fit", c.Name, c.Arguments)
		return nil
	}
	b := open(t, toolbox.Config{Dir: dir, MaxResult: 1000, Keep: keep})
	wide := open(t, toolbox.Config{Dir: dir})
	// 160 of the 1000 bytes are held free for what is told at the end.
	for _, test := range []struct {
		name, tool, arguments, want string
	}{
		{"as many lines as fit", "fs_read_file", `{"path":"lines"}`, strings.Repeat(line, 8) + "[the file goes on. Go on with from_line 9]"},
		{"and from where it went on", "fs_read_file", `{"path":"lines","from_line":25}`, strings.Repeat(line, 6)},
		{"a line that is longer than a result", "fs_read_file", `{"path":"one"}`, strings.Repeat("y", 840) + "\n[line 1 is longer than can be shown. Go on with from_line 2, or search in it]"},
		{"what is behind it", "fs_read_file", `{"path":"one","from_line":2}`, "next\n"},
		{
			"as many matches as fit", "fs_search", `{"pattern":"x","path":"lines"}`,
			matches("lines:%d: "+line, 1, 7) + "[stopped: there are more matches. Search below a path, with a glob or a narrower pattern]\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := call(t, b, test.tool, test.arguments); got != test.want {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
	got := call(t, wide, "fs_search", `{"pattern":"m"}`)
	if n := strings.Count(got, ": m\n"); n != 200 || !strings.HasSuffix(got, "[stopped: there are more matches. Search below a path, with a glob or a narrower pattern]\n") {
		t.Errorf("%d matches: %q", n, got[max(0, len(got)-200):])
	}
	got = call(t, wide, "fs_list", `{"path":"many"}`)
	if n := strings.Count(got, " (2 bytes)\n"); n != 1000 || !strings.HasSuffix(got, "[there are more than 1000 entries; the others are not shown]\n") {
		t.Errorf("%d entries: %q", n, got[max(0, len(got)-200):])
	}
}

func matches(format string, from, to int) (out string) {
	for i := from; i <= to; i++ {
		out += fmt.Sprintf(format, i)
	}
	return out
}

func TestFileToolsStopInTime(t *testing.T) {
	b := open(t, toolbox.Config{Dir: workspace(t, map[string]string{"a": "needle\n"}), CallTimeout: time.Nanosecond})
	for tool, arguments := range map[string]string{"fs_search": `{"pattern":"needle"}`, "fs_read_file": `{"path":"a"}`} {
		if got := call(t, b, tool, arguments); got != "! the tool did not answer within 1ns and was stopped. Ask for less, or do without it" {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

func TestASearchThatTakesTooLongTellsWhatItFound(t *testing.T) {
	b := open(t, toolbox.Config{Dir: workspace(t, map[string]string{"a": "needle\n"})})
	b.SetSearchTime(0)
	want := "[stopped: the search took too long. Search below a path, or with a glob]\n"
	if got := call(t, b, "fs_search", `{"pattern":"needle"}`); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThereAreNoFileToolsWithoutADirectory(t *testing.T) {
	if got := names(open(t, toolbox.Config{})); got != "update_plan" {
		t.Errorf("%q", got)
	}
	if got := names(open(t, toolbox.Config{Dir: t.TempDir()})); got != "fs_list fs_read_file fs_search update_plan" {
		t.Errorf("%q", got)
	}
}
