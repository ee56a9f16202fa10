package sqlite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The superuser may write everywhere, so these run in a process of an ordinary
// user: "nobody" when the tests run as root.
func TestWhatThisUserMayNotWriteIsNamedWithTheReason(t *testing.T) {
	const nobody = 65534
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, dir, path string)
		want    string // DIR and PROBE stand for what differs
	}{
		{
			"a directory without a database",
			func(t *testing.T, dir, path string) { mode(t, dir, 0o555) },
			"unavailable: cannot write in the data directory DIR: open DIR/PROBE: permission denied; " +
				"make it writable for this user, or choose another with --data DIR",
		},
		{
			"a directory that cannot be made",
			func(t *testing.T, dir, path string) {
				if err := os.Remove(dir); err != nil {
					t.Fatal(err)
				}
				mode(t, filepath.Dir(dir), 0o555)
			},
			"unavailable: cannot write in the data directory DIR: mkdir DIR: permission denied; " +
				"make it writable for this user, or choose another with --data DIR",
		},
		{
			"a database that may only be read",
			func(t *testing.T, dir, path string) {
				s, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				closed(t, s)
				mode(t, dir, 0o777)
				mode(t, path, 0o400)
				if os.Getuid() == 0 {
					if err := os.Chown(path, nobody, nobody); err != nil {
						t.Fatal(err)
					}
				}
			},
			"unavailable: cannot open the database: the database DIR/holdfast.db cannot be written; make it and its directory " +
				"writable for this user, or choose another directory with --data DIR (attempt to write a readonly database (8))",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := t.TempDir()
			mode(t, filepath.Dir(base), 0o755)
			dir := filepath.Join(base, "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "holdfast.db")
			test.prepare(t, dir, path)
			t.Cleanup(func() { mode(t, base, 0o755) })

			child := process(t, "open", path)
			if os.Getuid() == 0 {
				child.Path = "/proc/self/exe" // the binary lies where nobody may look
				child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			got, err := child.CombinedOutput()
			if err == nil {
				t.Fatalf("the child opened the database")
			}
			text := strings.ReplaceAll(string(got), dir, "DIR")
			text = regexp.MustCompile(`\.holdfast-probe-\d+`).ReplaceAllString(text, "PROBE")
			expect(t, text, test.want)
		})
	}
}

func mode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
