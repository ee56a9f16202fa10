package store

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// UsageGroup is what sums of usage are grouped by.
type UsageGroup string

// The groups. The zero value makes one group of all, with an empty key.
const (
	ByPrincipal UsageGroup = "principal"
	ByModel     UsageGroup = "model"
	ByRole      UsageGroup = "role"
	BySession   UsageGroup = "session"
	ByDay       UsageGroup = "day" // of the beginning, in UTC, such as 2026-03-01
	ByAgent     UsageGroup = "agent"
)

// UsageGroups lists all groups in their fixed order.
func UsageGroups() []UsageGroup {
	return []UsageGroup{ByPrincipal, ByModel, ByRole, BySession, ByDay, ByAgent}
}

// UsageQuery picks attempts and says how to sum them up.
type UsageQuery struct {
	By UsageGroup
	// Principal picks those of one principal; "": of all.
	Principal holdfast.Principal
	Since     time.Time // began then or later; the zero time: all
}

// UsageSum is what attempts took together.
type UsageSum struct {
	// Key is what the attempts have in common; "" also stands for what they lack.
	Key string
	// Auxiliary tells the roles: those of a sum are either all primary or all
	// auxiliary.
	Auxiliary bool
	Attempts  int64
	// Unknown counts the attempts whose input or output was not told, and
	// Unpriced those of the others without a cost.
	Unknown, Unpriced int64
	// Tokens and Cost sum up what is known; nil where no attempt told any.
	Tokens holdfast.Tokens
	Cost   *int64 // in millionths of a US dollar
}

// Spending is what a caller's attempts cost together.
type Spending struct {
	holdfast.Caller
	Cost int64 // in millionths of a US dollar
}

// Attempts keeps the records of upstream calls. They belong to a principal and
// only name sessions and conversations: what removes these leaves the records.
//
// Laws, checked by storetest:
//   - A call of AddAttempts writes all or nothing. A record whose id is there
//     already is left as it is, so a lost acknowledgement is safe.
//   - What was not told is not zero, in a record or in a sum.
//   - Spent reads nothing but an index of the attempts from a moment on.
type Attempts interface {
	// AddAttempts writes records in one transaction.
	AddAttempts(ctx context.Context, attempts []holdfast.Attempt) error
	// Attempts lists the newest records of a principal, or with "" of all, by when
	// they began and then by id, at most limit.
	Attempts(ctx context.Context, p holdfast.Principal, limit int) ([]holdfast.Attempt, error)
	// SumAttempts sums attempts up, in the order of the keys, primary ones before
	// auxiliary ones.
	SumAttempts(ctx context.Context, q UsageQuery) ([]UsageSum, error)
	// Spent is what the attempts of each caller that began at since or later cost,
	// with the estimates of what was not told, in the order of principals and labels.
	// Callers of whom neither is known are left out.
	Spent(ctx context.Context, since time.Time) ([]Spending, error)
	// ExpireAttempts removes records of attempts that began before t, and returns
	// how many.
	ExpireAttempts(ctx context.Context, t time.Time) (int, error)
}
