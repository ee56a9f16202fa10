package main

import "testing"

func TestDaemonsAreFoundByTheirHome(t *testing.T) {
	d := shell(t, "echo up; exec tail -f /dev/null")
	other := shell(t, "echo up; exec tail -f /dev/null")
	for _, d := range []desk{d, other} {
		r, err := d.launch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.stop()
		if _, err := r.await("up"); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupsOf(d.home); len(got) != 1 {
		t.Errorf("groups of the home: %d, want 1", len(got))
	}
	endAllOf(d.home)
	if got := groupsOf(d.home); len(got) != 0 {
		t.Errorf("groups left: %v", got)
	}
	if got := groupsOf(other.home); len(got) != 1 {
		t.Errorf("groups of another home: %d, want 1", len(got))
	}
}
