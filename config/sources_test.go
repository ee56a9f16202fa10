package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// world is a directory with a home and a project in it.
type world struct {
	t   *testing.T
	dir string
	Sources
}

func newWorld(t *testing.T) *world {
	dir := resolve(t.TempDir())
	w := &world{t: t, dir: dir, Sources: Sources{
		Environ: Environ{"HOME=" + filepath.Join(dir, "home")},
		Dir:     filepath.Join(dir, "home", "project", "sub"),
		DataDir: filepath.Join(dir, "data"),
	}}
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// write writes a file; its path is below the world's directory.
func (w *world) write(path, text string) string {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// body wants a body limit in bytes from an origin.
func (w *world) body(what string, want int64, origin string) {
	w.t.Helper()
	m, err := w.Load()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	if got := m.Origin("limits.body"); m.Limits.Body != want || got != origin {
		w.t.Errorf("%s: the body limit is %d from %s, want %d from %s", what, m.Limits.Body, got, want, origin)
	}
}

func (w *world) fails(what string, code holdfast.Code, want string) {
	w.t.Helper()
	if _, err := w.Load(); err == nil || err.Error() != want || holdfast.CodeOf(err) != code {
		w.t.Errorf("%s: code %s\n got: %v\nwant: %s", what, holdfast.CodeOf(err), err, want)
	}
}

func TestEachLayerStandsAboveTheOneBefore(t *testing.T) {
	w := newWorld(t)
	w.body("without any layer", 64<<20, "built-in")
	path := w.write("home/.config/holdfast/config.toml", "limits.body = 100_001")
	w.body("the user's file", 100_001, path+":1")
	path = w.write("home/project/.holdfast.toml", "\nlimits.body = 100_002")
	w.body("the workspace's file", 100_002, path+":2")
	w.Environ = append(w.Environ, "HOLDFAST_LIMITS_BODY=100_003")
	w.body("the environment", 100_003, "environment HOLDFAST_LIMITS_BODY")
	for _, settings := range []string{`{"limits":{"body":100004}}`, `{"limits":{"body":100005}}`} {
		l, err := ConversationLayer("conversation", []byte(settings))
		if err != nil {
			t.Fatal(err)
		}
		w.Conversation = append(w.Conversation, l)
	}
	w.body("the conversation", 100_005, "conversation")
	w.File = w.write("named.toml", "limits.body = 100_006")
	w.body("the named file", 100_006, w.File+":1")
	w.Set = []string{"limits.body=100_007", "limits.body=100_008"}
	w.body("the flag", 100_008, "--set limits.body")
}

func TestTheUsersFileIsWhereXDGSays(t *testing.T) {
	w := newWorld(t)
	home := w.write("home/.config/holdfast/config.toml", "limits.body = 100_001")
	xdg := w.write("xdg/holdfast/config.toml", "limits.body = 100_002")
	environ := w.Environ
	w.Environ = append(environ, "XDG_CONFIG_HOME="+filepath.Join(w.dir, "xdg"))
	w.body("XDG_CONFIG_HOME", 100_002, xdg+":1")
	w.Environ = append(environ, "XDG_CONFIG_HOME="+filepath.Join(w.dir, "none"))
	w.body("a directory that is not there", 64<<20, "built-in")
	w.Environ = append(environ, "XDG_CONFIG_HOME=relative/counts/as/unset")
	w.body("a relative directory", 100_001, home+":1")
	w.Environ = nil
	w.body("without a home", 64<<20, "built-in")
}

func TestFilesThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.File = filepath.Join(w.dir, "none.toml")
	w.fails("a missing file", holdfast.ErrConfig, "there is no file "+w.File+". Write one, or leave --config out: everything has a default")
	w.File = w.write("big.toml", strings.Repeat("# padding\n", 110_000))
	w.fails("a large file", holdfast.ErrConfig, w.File+": the file is larger than 1 MiB; a configuration is a few lines")
	w.File = w.dir
	w.fails("a directory", holdfast.ErrUnavailable, "the configuration cannot be read: read "+w.dir+": is a directory")
	w.File = ""
	user := filepath.Join(w.dir, "home", ".config", "holdfast", "config.toml")
	if err := os.MkdirAll(user, 0o700); err != nil {
		t.Fatal(err)
	}
	w.fails("a directory in the place of the user's file", holdfast.ErrUnavailable, "the configuration cannot be read: read "+user+": is a directory")
}

func TestTheNearestWorkspaceFileCountsUpToTheHome(t *testing.T) {
	w := newWorld(t)
	w.write(".holdfast.toml", "limits.body = 100_001")
	w.body("only above the home", 64<<20, "built-in")
	home := w.write("home/.holdfast.toml", "limits.body = 100_002")
	w.body("in the home", 100_002, home+":1")
	project := w.write("home/project/.holdfast.toml", "limits.in_flight = \"1GiB\"")
	w.body("nearer, and the one above does not count beside it", 64<<20, "built-in")
	sub := w.write("home/project/sub/.holdfast.toml", "limits.body = 100_003")
	w.body("in the working directory", 100_003, sub+":1")

	w.Dir = filepath.Join(w.dir, "elsewhere", "deep")
	w.body("outside of the home it is searched up to the root", 100_001, filepath.Join(w.dir, ".holdfast.toml")+":1")
	w.Dir = filepath.Join(w.dir, "link")
	if err := os.Symlink(filepath.Join(w.dir, "home", "project"), w.Dir); err != nil {
		t.Fatal(err)
	}
	m, err := w.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Origin("limits.in_flight"); got != project+":1" {
		t.Errorf("through a link: %s", got)
	}
	w.Dir = ""
	w.body("without a working directory", 64<<20, "built-in")
}

func TestANamedFileThatIsALayerAlreadyCountsOnce(t *testing.T) {
	const rule = "[[conversation.compaction.rules]]\nreasoning = \"strip\"\n"
	w := newWorld(t)
	user := w.write("home/.config/holdfast/config.toml", rule)
	workspace := w.write("home/project/.holdfast.toml", rule+"[transcripts]\nenabled = true\n")
	for file, want := range map[string]int{user: 1, workspace: 2} {
		w.File = file
		if file == user {
			w.Dir = w.dir
		} else {
			w.Dir = filepath.Join(w.dir, "home", "project")
		}
		m, err := w.Load()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if got := len(m.Compaction.Rules); got != want {
			t.Errorf("with %s there are %d rules, want %d", file, got, want)
		}
	}
}

func TestDataDir(t *testing.T) {
	for xdg, want := range map[string]string{
		"":         "/home/ada/.local/share/holdfast",
		"relative": "/home/ada/.local/share/holdfast",
		"/data":    "/data/holdfast",
	} {
		if got, err := (Environ{"HOME=/home/ada", "XDG_DATA_HOME=" + xdg}).DataDir(); got != want || err != nil {
			t.Errorf("with XDG_DATA_HOME=%q: %q, %v", xdg, got, err)
		}
	}
	_, err := Environ{"HOME="}.DataDir()
	if want := "there is no home directory to look in. Set HOME or XDG_DATA_HOME, or give --data"; err == nil || err.Error() != want {
		t.Errorf("without a home: %v", err)
	}
}
