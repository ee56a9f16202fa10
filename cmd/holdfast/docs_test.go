package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestTheREADMENamesEveryExitStatus(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(readme), "\n## Exit status\n")
	for _, code := range []holdfast.Code{
		holdfast.ErrInternal, holdfast.ErrUsage, holdfast.ErrConfig, holdfast.ErrNotFound, holdfast.ErrConflict, holdfast.ErrTooLarge, holdfast.ErrBusy,
		holdfast.ErrForbidden, holdfast.ErrUnauthorized, holdfast.ErrBudget, holdfast.ErrUnavailable, holdfast.ErrNewer, holdfast.ErrFailed,
	} {
		if !strings.Contains(list, fmt.Sprintf("\n| %d | ", code.ExitStatus())) {
			t.Errorf("there is no status %d (%s)", code.ExitStatus(), code)
		}
	}
}
