package main

import (
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/store"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// kept is a database that outlives the commands.
func kept() func(string, bool) (database, io.Closer, error) {
	d := store.NewMemory()
	return func(string, bool) (database, io.Closer, error) { return d, io.NopCloser(nil), nil }
}

func TestAKeyThatNobodyHasSeenIsNotKept(t *testing.T) {
	open := kept()
	keys := func(out io.Writer, args ...string) (status int, errs string) {
		var b strings.Builder
		a := &app{out: out, err: &b, now: func() time.Time { return noon }, open: open, random: rand.Reader}
		return a.run(t.Context(), append([]string{"--data", "none"}, args...)), b.String()
	}
	if status, errs := keys(full{}, "key", "create"); status != 69 || !strings.Contains(errs, "no space left on device") {
		t.Errorf("status %d, %s", status, errs)
	}
	var list strings.Builder
	if status, errs := keys(&list, "key", "ls", "--json"); status != 0 || list.String() != "[]\n" {
		t.Errorf("status %d, %s%s", status, list.String(), errs)
	}

	// A rotation cannot be taken back: it says what to do.
	var created strings.Builder
	if status, errs := keys(&created, "key", "create"); status != 0 {
		t.Fatal(errs)
	}
	id := created.String()[len("hf_"):len("hf_12345678")]
	status, errs := keys(full{}, "key", "rotate", id)
	if status != 69 || !strings.Contains(errs, "took the place of "+id+" and nobody has it: replace it with holdfast key rotate ") {
		t.Errorf("status %d, %s", status, errs)
	}
}
