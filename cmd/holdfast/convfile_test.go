package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestAFileThatFailedIsNotThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.jsonl")
	full := errors.New("the disk is full")
	err := newFile(name, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			t.Error(err)
		}
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is left of the file: %v", err)
	}
	err = newFile(name, func(w io.Writer) error { return w.(io.Closer).Close() })
	if holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("a file that cannot be closed: %v", err)
	}
	whole := func(w io.Writer) error {
		_, err := io.WriteString(w, "all")
		return err
	}
	if err := newFile(name, whole); err != nil {
		t.Error(err)
	}
	if err := newFile(name, whole); holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("a file that is there: %v", err)
	}
	if text, err := os.ReadFile(name); string(text) != "all" {
		t.Errorf("%q, %v", text, err)
	}
}
