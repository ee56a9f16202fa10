package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// auditor writes what is in force for sessions into the audit, off the request
// path. The store tells what is a change.
type auditor struct {
	st  store.Audit
	log *slog.Logger
	now func() time.Time
	// identify names a session whose requests pass, and writes its head where keep
	// is set.
	identify func(ctx context.Context, k sessionKey, keep bool) (holdfast.SessionID, error)
	queue    chan noting

	mu     sync.Mutex
	seen   map[noted]*Settings // what was handed over
	closed bool

	failing  bool // of the worker alone
	finished chan struct{}
}

// noted is whose settings are noted: keys with different labels may use one
// session.
type noted struct {
	session sessionKey
	label   string
}

// noting is a job. A session that is not enabled is known by its key alone.
type noting struct {
	noted
	set *Settings
	id  holdfast.SessionID // "": to be asked for
}

// auditQueue bounds the jobs that wait, maxNoted the sessions that are known to be
// noted. What does not fit is noted again with a later request.
const (
	auditQueue = 256
	maxNoted   = 4096
)

func newAuditor(st store.Audit, identify func(context.Context, sessionKey, bool) (holdfast.SessionID, error), log *slog.Logger, now func() time.Time) *auditor {
	a := &auditor{
		st: st, identify: identify, log: log, now: now, queue: make(chan noting, auditQueue),
		seen: map[noted]*Settings{}, finished: make(chan struct{}),
	}
	go a.run()
	return a
}

// note hands over what is in force for a session, once. It never waits.
func (a *auditor) note(k sessionKey, label string, set *Settings, id holdfast.SessionID) {
	if len(set.Terms) == 0 || k.key == "" {
		return
	}
	at := noted{k, label}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.seen[at] == set {
		return
	}
	select {
	case a.queue <- noting{at, set, id}:
		if len(a.seen) >= maxNoted {
			clear(a.seen)
		}
		a.seen[at] = set
	default:
	}
}

// forget lets a session that was erased be noted anew.
func (a *auditor) forget(k sessionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at := range a.seen {
		if at.session == k {
			delete(a.seen, at)
		}
	}
}

func (a *auditor) run() {
	defer close(a.finished)
	for j := range a.queue {
		err := a.write(j)
		if err != nil {
			a.mu.Lock()
			delete(a.seen, j.noted)
			a.mu.Unlock()
		}
		if failing := err != nil; failing != a.failing {
			if a.failing = failing; failing {
				a.log.Error("the audit is not written, traffic goes on; free disk space or check the data directory", "code", holdfast.CodeOf(err))
			} else {
				a.log.Info("the audit is written again")
			}
		}
	}
}

func (a *auditor) write(j noting) error {
	ctx := context.Background()
	if j.id == "" {
		var err error
		if j.id, err = a.identify(ctx, j.session, slices.ContainsFunc(j.set.Terms, func(t Term) bool { return t.Policy != "" })); err != nil {
			return err
		}
	}
	entries := make([]store.AuditEntry, len(j.set.Terms))
	for i, t := range j.set.Terms {
		entries[i] = store.AuditEntry{
			At: a.now(), Principal: j.session.principal, Session: j.id, Label: j.label,
			Policy: t.Policy, Key: t.Key, From: t.Global, To: t.Value,
		}
	}
	written, err := a.st.Note(ctx, entries)
	for _, e := range written {
		a.log.Info("in force", "session", e.Session, "principal", e.Principal, "label", e.Label, "policy", e.Policy, "key", e.Key, "from", e.From, "to", e.To)
	}
	return err
}

// close writes what is queued. It is idempotent.
func (a *auditor) close(ctx context.Context) error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.queue)
	}
	a.mu.Unlock()
	select {
	case <-a.finished:
		return nil
	case <-ctx.Done():
		return holdfast.Errorf(holdfast.ErrUnavailable, "the audit was not written in time: %w", ctx.Err())
	}
}

// identify is the id of a session whose requests pass. It is that of the session in
// memory, so that it stays the same where keys of another label have it enabled.
// Only the head of one that a policy turns off is kept, so that there is something
// that the audit and the commands can name.
func (e *Engine) identify(ctx context.Context, k sessionKey, keep bool) (holdfast.SessionID, error) {
	s, err := e.enter(ctx, k)
	if err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	s.usedAt = e.now()
	if keep {
		s.row.UsedAt = s.usedAt
		e.rec.put(store.Batch{Session: s.row}, false, &s.void, func(err error) { e.wrote(s, err) })
	}
	return s.row.ID, nil
}
