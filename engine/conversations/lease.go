package conversations

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// Patience is how long to wait for a lease: longer than that of a process that was
// killed goes on.
const Patience = 10 * time.Second

// A lease lasts leaseTime and is prolonged in time: who was killed holds nobody
// up for longer.
const (
	leaseTime  = Patience - 2*time.Second
	leaseAgain = leaseTime / 4
	leasePoll  = 100 * time.Millisecond
)

// Lease takes the right to write to a conversation, and keeps it until release
// is called. While another holds it, it waits, for patience at most, and tells
// who that is by waiting, once. Then it fails with a conflict that names the
// holder. holder says to a person who takes it.
func (s *Service) Lease(ctx context.Context, id holdfast.ConversationID, holder string, patience time.Duration, waiting func(store.Lease)) (release func(), err error) {
	l := store.Lease{Holder: holder, Token: s.newID()}
	hold := func() (store.Lease, error) {
		l.Until = s.now().Add(leaseTime)
		return s.st.Hold(ctx, s.principal, id, l, s.now())
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	told := false
	for {
		held, err := hold()
		if err == nil {
			break
		}
		if holdfast.CodeOf(err) != holdfast.ErrConflict {
			return nil, err
		}
		if !told && waiting != nil {
			told = true
			waiting(held)
		}
		select {
		case <-time.After(leasePoll):
		case <-deadline.C:
			return nil, holdfast.Errorf(holdfast.ErrConflict,
				"conversation %s is being written by %s. Wait until it is done, or stop it", id, held.Holder)
		case <-ctx.Done():
			return nil, holdfast.Errorf(holdfast.ErrUnavailable, "waiting for %s was interrupted", held.Holder)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		again := time.NewTicker(leaseAgain)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				// What is lost by a failure is politeness: Append still refuses to
				// write behind another's back.
				_, _ = hold()
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		_ = s.st.Release(context.WithoutCancel(ctx), s.principal, id, l.Token)
	}, nil
}
