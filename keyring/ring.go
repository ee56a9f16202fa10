package keyring

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// RefreshLimit is how long a request with an unknown id waits at most.
const RefreshLimit = 500 * time.Millisecond

const (
	refreshEvery = time.Second
	refreshGap   = 100 * time.Millisecond
)

// Store is what a Ring reads.
type Store interface {
	Keys(ctx context.Context) ([]store.Key, error)
}

// Config is how a Ring decides.
type Config struct {
	// Open lets everybody in as Local while no key is stored. It is for servers
	// that only this machine can reach.
	Open bool
}

// Ring knows the keys of a store. Safe for concurrent use.
type Ring struct {
	st    Store
	cfg   Config
	log   *slog.Logger
	now   func() time.Time
	table atomic.Pointer[table]

	stop  context.CancelFunc
	ended chan struct{}
	nudge chan struct{} // asks for a reading, one at most

	mu   sync.Mutex
	next chan struct{} // closed by the reading that begins next; nil: nobody waits
}

// table is all keys at one reading. It is not changed.
type table map[holdfast.KeyID]store.Key

// NewRing reads the keys of a store and keeps up with it until Stop.
func NewRing(ctx context.Context, st Store, cfg Config, log *slog.Logger, now func() time.Time) (*Ring, error) {
	r := &Ring{st: st, cfg: cfg, log: log, now: now, ended: make(chan struct{}), nudge: make(chan struct{}, 1)}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.follow(own)
	return r, nil
}

// Stop ends the reading and waits for it. What is known then stays known. It is
// idempotent.
func (r *Ring) Stop() {
	r.stop()
	<-r.ended
}

// Authenticate tells whose a request is by all keys that it carries; the label is
// that of the first. The error has the code unauthorized and says what to do.
func (r *Ring) Authenticate(ctx context.Context, keys []string) (holdfast.Caller, error) {
	if r.open(ctx, len(keys) > 0) {
		return holdfast.Caller{Principal: holdfast.Local}, nil
	}
	if len(keys) == 0 {
		return holdfast.Caller{}, holdfast.Errorf(holdfast.ErrUnauthorized,
			"the request has no key of this server. Make one with `holdfast key create` and give it to the agent as its API key")
	}
	var owner holdfast.Caller
	for _, key := range keys {
		k, err := r.known(ctx, key)
		if err != nil {
			return holdfast.Caller{}, err
		}
		if owner.Principal == "" {
			owner = holdfast.Caller{Principal: k.Principal, Label: k.Label}
		}
		if owner.Principal != k.Principal {
			return holdfast.Caller{}, holdfast.Errorf(holdfast.ErrUnauthorized,
				"the request has keys of two principals. Let the agent send only one of them, in one header")
		}
	}
	return owner, nil
}

// open reports whether everybody is let in. Who brings a key may just have made
// the first one.
func (r *Ring) open(ctx context.Context, keyed bool) bool {
	if !r.cfg.Open || len(*r.table.Load()) > 0 {
		return false
	}
	if keyed {
		r.refresh(ctx)
	}
	return len(*r.table.Load()) == 0
}

// known is what is kept of a key that holds.
func (r *Ring) known(ctx context.Context, key string) (store.Key, error) {
	// The array keeps the copy on the stack. It has room for one byte too many, so
	// that what begins with a key is none.
	var raw [keyLength + 1]byte
	n := copy(raw[:], key)
	digest := sha256.Sum256(raw[:n])
	id, _ := holdfast.KeyIDOf(key)
	k, known := (*r.table.Load())[id]
	if !known && len(key) == keyLength {
		r.refresh(ctx)
		k, known = (*r.table.Load())[id]
	}
	same := subtle.ConstantTimeCompare(digest[:], k.Digest[:]) == 1
	switch {
	case !known || !same:
		return store.Key{}, holdfast.Errorf(holdfast.ErrUnauthorized,
			"the request's key is not one of this server. Compare its beginning with `holdfast key ls`, or make one with `holdfast key create`")
	case k.Revoked(r.now()):
		return store.Key{}, holdfast.Errorf(holdfast.ErrUnauthorized,
			"the request's key was revoked. Make one with `holdfast key create` and give it to the agent")
	}
	return k, nil
}

// refresh waits for a reading that begins after it was called.
func (r *Ring) refresh(ctx context.Context) {
	r.mu.Lock()
	if r.next == nil {
		r.next = make(chan struct{})
	}
	done := r.next
	r.mu.Unlock()
	select {
	case r.nudge <- struct{}{}:
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, RefreshLimit)
	defer cancel()
	select {
	case <-done:
	case <-r.ended:
	case <-ctx.Done():
	}
}

// follow reads the store every refreshEvery and when it is asked to, until ctx
// ends.
func (r *Ring) follow(ctx context.Context) {
	defer close(r.ended)
	every := time.NewTicker(refreshEvery)
	defer every.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-r.nudge:
		}
		err := r.read(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("keys not read, those known stay in force", "code", holdfast.CodeOf(err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(refreshGap):
		}
	}
}

// read makes a new table and lets those go on that waited for it.
func (r *Ring) read(ctx context.Context) error {
	r.mu.Lock()
	waiting := r.next
	r.next = nil
	r.mu.Unlock()
	if waiting != nil {
		defer close(waiting)
	}
	ctx, cancel := context.WithTimeout(ctx, refreshEvery)
	defer cancel()
	list, err := r.st.Keys(ctx)
	if err != nil {
		return err
	}
	keys := make(table, len(list))
	for _, k := range list {
		keys[k.ID] = k
	}
	r.table.Store(&keys)
	return nil
}
