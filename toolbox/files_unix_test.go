//go:build unix

package toolbox_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/toolbox"
)

func TestAPipeHoldsNothingUp(t *testing.T) {
	dir := workspace(t, map[string]string{"a": "needle\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, toolbox.Config{Dir: dir})
	for _, test := range []struct{ tool, arguments, want string }{
		{"fs_read_file", `{"path":"pipe"}`, `! "pipe" cannot be read: it is no regular file`},
		{"fs_list", `{"path":"."}`, "a (7 bytes)\npipe\n"},
		{"fs_search", `{"pattern":"needle"}`, "a:1: needle\n"},
	} {
		if got := call(t, b, test.tool, test.arguments); got != test.want {
			t.Errorf("%s: %q, want %q", test.tool, got, test.want)
		}
	}
}
