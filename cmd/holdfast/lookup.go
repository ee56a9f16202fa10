package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// noSessions is what a person reads where there is nothing to show.
const noSessions = "There are no sessions yet. Start the proxy with `holdfast serve` and point an agent at it."

// shortLength is the least that is shown of an id.
const shortLength = 8

// shortener returns a function that cuts ids to the shortest length, at least
// shortLength, at which all of them differ.
func shortener[T ~string](ids []T) func(T) string {
	length := shortLength
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ { // those that are most alike are neighbours
		length = max(length, common(string(sorted[i-1]), string(sorted[i]))+1)
	}
	return func(id T) string { return line(string(id[:min(length, len(id))])) }
}

// common is the length of the common beginning of a and b.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func sessionIDs(list []store.SessionInfo) []holdfast.SessionID {
	ids := make([]holdfast.SessionID, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	return ids
}

func branchShortener(s store.SessionState) func(holdfast.BranchID) string {
	ids := make([]holdfast.BranchID, len(s.Branches))
	for i, b := range s.Branches {
		ids[i] = b.ID
	}
	return shortener(ids)
}

// findSession loads the session that name stands for: an id, the agent's own id,
// the name that its path gave it, a beginning of one of these, or "last".
func (a *app) findSession(ctx context.Context, keeper store.Keeper, name string) (store.SessionState, error) {
	list, err := keeper.Sessions(ctx, a.principal)
	if err != nil {
		return store.SessionState{}, err
	}
	if len(list) == 0 {
		return store.SessionState{}, holdfast.Errorf(holdfast.ErrNotFound, "%s", a.none("sessions", noSessions))
	}
	hits := matching(list, name)
	switch len(hits) {
	case 1:
		return keeper.Load(ctx, a.principal, hits[0].ID)
	case 0:
		slices.SortStableFunc(list, func(x, y store.SessionInfo) int { return cmp.Compare(likeness(y, name), likeness(x, name)) })
		return store.SessionState{}, holdfast.Errorf(holdfast.ErrNotFound,
			"no session is named %s. The nearest:\n%sSee holdfast session ls", line(name), a.listing(list[:min(3, len(list))], list))
	}
	return store.SessionState{}, holdfast.Errorf(holdfast.ErrUsage,
		"%s can mean %d sessions. Write more of the id:\n%s", line(name), len(hits), candidates(a.listing(hits, list)))
}

// mostCandidates is how many things are named that a short id can mean.
const mostCandidates = 10

// candidates is the beginning of a listing, which has the newest first.
func candidates(listing string) string {
	lines := strings.Split(strings.TrimSuffix(listing, "\n"), "\n")
	if more := len(lines) - mostCandidates; more > 0 {
		lines = append(lines[:mostCandidates], fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func matching(list []store.SessionInfo, name string) (hits []store.SessionInfo) {
	if name == "last" {
		return list[:1] // the list begins with the one used last
	}
	if name == "" {
		return nil
	}
	for _, s := range list {
		if slices.Contains(sessionNames(s), name) {
			return []store.SessionInfo{s}
		}
		if slices.ContainsFunc(sessionNames(s), func(n string) bool { return strings.HasPrefix(n, name) }) {
			hits = append(hits, s)
		}
	}
	return hits
}

// sessionNames are what a person may call a session. The key of one that its path
// names, as in /r/NAME/, is run:NAME.
func sessionNames(s store.SessionInfo) []string {
	return []string{string(s.ID), s.Key, strings.TrimPrefix(s.Key, "run:")}
}

func likeness(s store.SessionInfo, name string) (most int) {
	for _, n := range sessionNames(s) {
		most = max(most, common(n, name))
	}
	return most
}

// listing shows some of all sessions in an error, one in a line.
func (a *app) listing(list, every []store.SessionInfo) string {
	short := shortener(sessionIDs(every))
	var b strings.Builder
	for _, s := range list {
		b.WriteString("  " + short(s.ID) + "  " + cmp.Or(line(s.Agent), "unknown agent") + ", " + ago(a.now(), s.UsedAt) + "\n")
	}
	return b.String()
}

// completeSession completes the ids of sessions. A store that cannot be read
// completes nothing: a shell is no place for errors.
func (a *app) completeSession(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := []cobra.Completion{}
	_ = a.withStore(func(keeper store.Keeper) error {
		sessions, err := keeper.Sessions(cmd.Context(), a.principal)
		if err != nil {
			return err
		}
		if len(sessions) > 0 && strings.HasPrefix("last", typed) {
			list = append(list, cobra.CompletionWithDesc("last", "the session used last"))
		}
		for _, s := range sessions {
			if strings.HasPrefix(string(s.ID), typed) {
				list = append(list, cobra.CompletionWithDesc(line(string(s.ID)), cmp.Or(line(s.Agent), "unknown agent")+", "+ago(a.now(), s.UsedAt)))
			}
		}
		return nil
	})
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// findBranch picks a branch by its id or a beginning of it. Without a name it
// is the main thread's branch that was used last, or, where there is none, that
// of any thread.
func findBranch(s store.SessionState, name string) (store.BranchState, error) {
	var hits []store.BranchState
	for _, b := range s.Branches {
		if string(b.ID) == name {
			return b, nil
		}
		if name == "" || strings.HasPrefix(string(b.ID), name) {
			hits = append(hits, b)
		}
	}
	if len(hits) == 1 || name == "" && len(hits) > 0 {
		return slices.MaxFunc(hits, func(x, y store.BranchState) int {
			return cmp.Or(boolCompare(x.Thread == "", y.Thread == ""), x.UsedAt.Compare(y.UsedAt))
		}), nil
	}
	short := branchShortener(s)
	var names []string
	for _, b := range s.Branches {
		names = append(names, short(b.ID))
	}
	switch {
	case len(names) == 0:
		return store.BranchState{}, holdfast.Errorf(holdfast.ErrNotFound, "this session has no branch yet: none of its requests was a turn of a conversation")
	case len(hits) == 0:
		return store.BranchState{}, holdfast.Errorf(holdfast.ErrNotFound, "no branch of this session is named %s. There are: %s", line(name), strings.Join(names, ", "))
	}
	return store.BranchState{}, holdfast.Errorf(holdfast.ErrUsage, "%s can mean %d branches. Write more of the id. There are: %s", line(name), len(hits), strings.Join(names, ", "))
}

func boolCompare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}
