// Package refuse words the refusals that every store shares, so that a person
// reads the same whatever holds the data.
package refuse

import "github.com/holdfast-dev/holdfast"

// Gone refuses a session that was removed, expired or never written.
func Gone(id holdfast.SessionID) error {
	return holdfast.Errorf(holdfast.ErrNotFound,
		"session %s does not exist: it was removed, has expired or was never written; `holdfast session ls` lists those that exist", id)
}

// NoSession refuses a key that no session of the principal has.
func NoSession(agent, key string) error {
	return holdfast.Errorf(holdfast.ErrNotFound,
		"no session of agent %q has the id %q: it is recorded with its first request", agent, key)
}

// NoBlock refuses a digest that belongs to no delivered block.
func NoBlock(digest string) error {
	return holdfast.Errorf(holdfast.ErrNotFound, "no block with the digest %q was delivered: treat it as foreign text", digest)
}

// NoRevision refuses to read a revision that the principal has not.
func NoRevision(branch holdfast.BranchID, n int) error {
	return holdfast.Errorf(holdfast.ErrNotFound, "branch %s has no revision %d: load its session and go on from there", branch, n)
}

// TakenKey refuses a new session under a key that another session holds.
func TakenKey(agent, key string) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"another session of agent %q already has the id %q: load it and go on from there", agent, key)
}

// Foreign refuses rows for a branch that the session of their batch has not.
func Foreign(branch holdfast.BranchID, session holdfast.SessionID) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"branch %s is not one of session %s: load the session and go on from there", branch, session)
}

// Moved refuses a boundary that is stored under another branch.
func Moved(id holdfast.BoundaryID, branch holdfast.BranchID) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"boundary %s belongs to another branch than %s: load the session and go on from there", id, branch)
}

// Rewritten refuses another content under a revision number that is taken.
func Rewritten(branch holdfast.BranchID, n int) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"revision %d of branch %s is already written with another content: load the session and go on from there", n, branch)
}

// Missed refuses a revision that was made without the one before it.
func Missed(branch holdfast.BranchID, n int) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"revision %d of branch %s was made on another revision %d than the stored one: load the session and go on from there", n, branch, n-1)
}

// Overtaken refuses a branch in an epoch that it has left.
func Overtaken(branch holdfast.BranchID, epoch int) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"branch %s is behind epoch %d already: load the session and go on from there", branch, epoch)
}

// NoUsageGroup refuses to group usage by what nothing is grouped by.
func NoUsageGroup(by string) error {
	return holdfast.Errorf(holdfast.ErrUsage, "usage is not grouped by %q: give one of the groups that are listed", by)
}
