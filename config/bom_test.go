package config

import "testing"

func TestAFileMayBeginWithAByteOrderMark(t *testing.T) {
	m, err := Merge(FileLayer("user.toml", []byte("\ufeff[limits]\nbody = \"16MiB\"\n")))
	if err != nil {
		t.Fatal(err)
	}
	if m.Limits.Body != 16<<20 {
		t.Errorf("the largest body is %d", m.Limits.Body)
	}
	_, err = Merge(FileLayer("user.toml", []byte("\ufeff[limits]\nbodi = 1\n")))
	want := "user.toml:2: unknown key \"limits.bodi\"\n    bodi = 1\nDid you mean \"body\"?"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
