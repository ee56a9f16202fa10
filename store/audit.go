package store

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// AuditRetention is how long entries of the audit are kept.
const AuditRetention = 365 * 24 * time.Hour

// AuditEntry says that what is in force for a session changed. It holds nothing
// of what was said in the session.
type AuditEntry struct {
	// At is kept to the microsecond and comes back in UTC.
	At        time.Time
	Principal holdfast.Principal
	Session   holdfast.SessionID
	// Label is that of the keys for which it holds; "" for those without one.
	Label string
	// Policy is the session policy that the value is from; "": none, it is that of
	// all sessions.
	Policy string
	Key    string // such as "enabled" or "preserve.user_words"
	// From and To are the values before and after, as they are written in a
	// configuration.
	From, To string
}

// Audit keeps the changes of what is in force for sessions. It is only added to.
//
// Laws, checked by storetest:
//   - Of one session, label and key, an entry that says what the newest one says
//     is not written: neither its value nor whether a policy sets it is another.
//     Where there is none yet, the one of no policy is not written.
//   - From is the newest one's To, where there is one.
//   - Entries outlive their session. They go by their age alone.
type Audit interface {
	// Note writes those of some entries, in their order, that are a change, and
	// returns them as they were written; all or none.
	Note(ctx context.Context, entries []AuditEntry) ([]AuditEntry, error)
	// Noted lists the entries of a principal, of all with "", oldest first.
	Noted(ctx context.Context, p holdfast.Principal) ([]AuditEntry, error)
	// ExpireNoted erases entries from before a time and returns how many.
	ExpireNoted(ctx context.Context, before time.Time) (int, error)
}

// Follows reports whether e is a change behind the newest entry of its session,
// label and key, if any, and returns it with its From. It is for those who
// implement Audit.
func (e AuditEntry) Follows(newest *AuditEntry) (AuditEntry, bool) {
	if newest == nil {
		return e, e.Policy != ""
	}
	e.From = newest.To
	return e, e.To != newest.To || (e.Policy == "") != (newest.Policy == "")
}
