package keyring_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/store"
)

// desk is a ring over a store, in a bubble of time.
type desk struct {
	t    *testing.T
	st   *counted
	ring *keyring.Ring
	log  strings.Builder
}

// counted counts the readings of a store, which fail while it is down.
type counted struct {
	*store.Memory
	reads atomic.Int64
	down  atomic.Bool
}

func (c *counted) Keys(ctx context.Context) ([]store.Key, error) {
	c.reads.Add(1)
	if c.down.Load() {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "down")
	}
	return c.Memory.Keys(ctx)
}

// inBubble runs test with a ring over a store that seed has filled.
func inBubble(t *testing.T, open bool, seed func(d *desk), test func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, st: &counted{Memory: store.NewMemory()}}
		if seed != nil {
			seed(d)
		}
		ring, err := keyring.NewRing(t.Context(), d.st, keyring.Config{Open: open}, slog.New(slog.NewTextHandler(&d.log, nil)), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		d.ring = ring
		test(t, d)
		ring.Stop()
		ring.Stop() // is idempotent
	})
}

// make adds a key of a principal.
func (d *desk) make(p holdfast.Principal) (string, holdfast.KeyID) {
	d.t.Helper()
	secret, row, err := keyring.New(rand.Reader, p, "", time.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.st.AddKey(context.Background(), row); err != nil {
		d.t.Fatal(err)
	}
	return string(secret), row.ID
}

func (d *desk) revoke(id holdfast.KeyID, at time.Time) {
	d.t.Helper()
	if _, err := d.st.RevokeKey(context.Background(), id, at); err != nil {
		d.t.Fatal(err)
	}
}

// The refusals.
const (
	noKey      = "the request has no key of this server. Make one with `holdfast key create` and give it to the agent as its API key"
	unknownKey = "the request's key is not one of this server. Compare its beginning with `holdfast key ls`, or make one with `holdfast key create`"
	revokedKey = "the request's key was revoked. Make one with `holdfast key create` and give it to the agent"
	twoOwners  = "the request has keys of two principals. Let the agent send only one of them, in one header"
)

// answer is the principal whose keys these are, or the text of a refusal.
func (d *desk) answer(keys ...string) string {
	d.t.Helper()
	who, err := d.ring.Authenticate(context.Background(), keys)
	if err == nil {
		return string(who.Principal)
	}
	if holdfast.CodeOf(err) != holdfast.ErrUnauthorized || who != (holdfast.Caller{}) {
		d.t.Errorf("refused with code %q and caller %+v", holdfast.CodeOf(err), who)
	}
	return err.Error()
}

func (d *desk) expect(want string, keys ...string) {
	d.t.Helper()
	if got := d.answer(keys...); got != want {
		d.t.Errorf("got %q, want %q", got, want)
	}
}

func TestAKeyTellsItsLabel(t *testing.T) {
	inBubble(t, true, nil, func(t *testing.T, d *desk) {
		var keys []string
		for _, label := range []string{"nightly runs", "laptop"} {
			secret, row, err := keyring.New(rand.Reader, "me", label, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := d.st.AddKey(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, string(secret))
		}
		for n, want := range []string{"nightly runs", "laptop"} {
			who, err := d.ring.Authenticate(t.Context(), []string{keys[n], keys[1-n]})
			if err != nil || who != (holdfast.Caller{Principal: "me", Label: want}) {
				t.Errorf("got %+v, %v", who, err)
			}
		}
	})
}

func TestAKeyTellsItsPrincipal(t *testing.T) {
	inBubble(t, true, nil, func(t *testing.T, d *desk) {
		mine, id := d.make("me")
		second, _ := d.make("me")
		theirs, _ := d.make("them")
		ended, gone := d.make("me")
		d.revoke(gone, time.Now())
		stranger, _, err := keyring.New(rand.Reader, "me", "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		forged := "hf_" + string(id) + string(stranger)[len("hf_")+len(id):]
		d.expect("me", mine)
		for _, c := range []struct {
			name, want string
			keys       []string
		}{
			{"a key", "me", []string{mine}},
			{"another one's", "them", []string{theirs}},
			{"the same key in two headers", "me", []string{mine, mine}},
			{"two keys of one principal", "me", []string{mine, second}},
			{"no key", noKey, nil},
			{"two keys of two principals", twoOwners, []string{mine, theirs}},
			{"a key and a revoked one", revokedKey, []string{mine, ended}},
			{"a key and an unknown one", unknownKey, []string{mine, string(stranger)}},
			{"a key that nobody has", unknownKey, []string{string(stranger)}},
			{"a known id with another secret", unknownKey, []string{forged}},
			{"the id of a revoked key with another secret", unknownKey, []string{"hf_" + string(gone) + forged[11:]}},
			{"a key without its last character", unknownKey, []string{mine[:len(mine)-1]}},
			{"a key with one character more", unknownKey, []string{mine + "A"}},
			{"a key with a null byte behind it", unknownKey, []string{mine + "\x00"}},
			{"a key with a long tail", unknownKey, []string{mine + strings.Repeat("x", 1000)}},
			{"an id alone", unknownKey, []string{"hf_" + string(id) + "_"}},
			{"an empty text", unknownKey, []string{""}},
		} {
			if got := d.answer(c.keys...); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	})
}

func TestAServerIsOpenWhileNoKeyIsStored(t *testing.T) {
	inBubble(t, true, nil, func(t *testing.T, d *desk) {
		stranger, _, err := keyring.New(rand.Reader, "me", "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d.expect("local")
		d.expect("local", string(stranger))

		mine, id := d.make("me")
		d.expect("me", mine) // at once, also where it is the first
		d.expect(noKey)

		d.revoke(id, time.Now()) // the last one, which locks it
		time.Sleep(2 * time.Second)
		d.expect(noKey)
		d.expect(revokedKey, mine)

		if err := d.st.DeleteKey(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		d.expect("local")
	})
}

func TestAServerForOthersIsNeverOpen(t *testing.T) {
	inBubble(t, false, nil, func(t *testing.T, d *desk) {
		d.expect(noKey)
		mine, id := d.make("me")
		d.expect("me", mine)
		d.revoke(id, time.Now())
		if err := d.st.DeleteKey(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		d.expect(noKey)
		d.expect(unknownKey, mine)
	})
}

func TestARevocationHoldsWithinTwoSeconds(t *testing.T) {
	var mine string
	var id holdfast.KeyID
	inBubble(t, true, func(d *desk) { mine, id = d.make("me") }, func(t *testing.T, d *desk) {
		// Whenever it happens between two readings.
		for _, wait := range []time.Duration{0, 300 * time.Millisecond, 999 * time.Millisecond} {
			time.Sleep(wait)
			d.expect("me", mine)
		}
		d.revoke(id, time.Now())
		time.Sleep(2 * time.Second)
		d.expect(revokedKey, mine)
	})
}

func TestAnEndThatIsSetHoldsToTheMoment(t *testing.T) {
	var mine string
	inBubble(t, true, func(d *desk) {
		var id holdfast.KeyID
		mine, id = d.make("me")
		d.revoke(id, time.Now().Add(time.Hour))
	}, func(t *testing.T, d *desk) {
		time.Sleep(time.Hour - time.Nanosecond)
		d.expect("me", mine)
		time.Sleep(time.Nanosecond)
		d.expect(revokedKey, mine)
	})
}

func TestUnknownKeysCannotOverloadTheStore(t *testing.T) {
	inBubble(t, true, func(d *desk) { d.make("me") }, func(t *testing.T, d *desk) {
		stranger, _, err := keyring.New(rand.Reader, "me", "", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		before, begin := d.st.reads.Load(), time.Now()
		for range 100 {
			done := make(chan struct{})
			for range 10 {
				go func() {
					d.expect(unknownKey, string(stranger))
					done <- struct{}{}
				}()
			}
			for range 10 {
				<-done
			}
		}
		// One reading serves all that wait, and readings are 100 ms apart.
		if took, reads := time.Since(begin), d.st.reads.Load()-before; reads > 1+int64(took/(100*time.Millisecond)) || reads < 100 {
			t.Errorf("%d readings in %s", reads, took)
		}
	})
}

func TestAStoreThatFailsLeavesTheKeysInForce(t *testing.T) {
	var mine string
	inBubble(t, true, func(d *desk) { mine, _ = d.make("me") }, func(t *testing.T, d *desk) {
		d.st.down.Store(true)
		fresh, _ := d.make("me")
		time.Sleep(10 * time.Second)
		d.expect("me", mine)
		d.expect(unknownKey, fresh)
		d.expect(noKey)
		d.st.down.Store(false)
		d.expect("me", fresh)
		d.ring.Stop() // what it writes is written
		if n := strings.Count(d.log.String(), "keys not read"); n != 1 {
			t.Errorf("it is logged %d times, want once:\n%s", n, d.log.String())
		}
	})
}

func TestARingDoesNotBeginWithoutItsStore(t *testing.T) {
	st := &counted{Memory: store.NewMemory()}
	st.down.Store(true)
	_, err := keyring.NewRing(t.Context(), st, keyring.Config{Open: true}, slog.New(slog.DiscardHandler), time.Now)
	if holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestNoPartOfAKeyIsLogged(t *testing.T) {
	inBubble(t, true, nil, func(t *testing.T, d *desk) {
		mine, _ := d.make("me")
		d.expect("me", mine)
		d.st.down.Store(true)
		time.Sleep(2 * time.Second)
		d.expect(unknownKey, mine[:len(mine)-1]+"!")
		d.ring.Stop() // what it writes is written
		if log := d.log.String(); !strings.Contains(log, "keys not read") || strings.Contains(log, "hf_") {
			t.Error(d.log.String())
		}
	})
}

func TestAuthenticatingTakesNoMemory(t *testing.T) {
	st := store.NewMemory()
	secret, row, err := keyring.New(rand.Reader, "me", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.AddKey(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.NewRing(t.Context(), st, keyring.Config{}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Stop()
	keys := []string{string(secret)}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ring.Authenticate(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	st := store.NewMemory()
	var secret keyring.Secret
	for range 1000 {
		var row store.Key
		var err error
		if secret, row, err = keyring.New(rand.Reader, "me", "", time.Now()); err != nil {
			b.Fatal(err)
		}
		if err := st.AddKey(b.Context(), row); err != nil {
			b.Fatal(err)
		}
	}
	ring, err := keyring.NewRing(b.Context(), st, keyring.Config{}, slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer ring.Stop()
	keys := []string{string(secret)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Authenticate(b.Context(), keys); err != nil {
			b.Fatal(err)
		}
	}
}
