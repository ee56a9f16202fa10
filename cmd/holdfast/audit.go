package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) auditCommand() *cobra.Command {
	var of holdfast.Principal
	var session string
	c := &cobra.Command{
		Use:   "audit",
		Short: "List what session policies changed, and when",
		Long: "Lists the changes of what is in force for sessions, oldest first: which policy set which\n" +
			"key from which value to which. A change is written when the server first sees a session\n" +
			"under it. Entries hold nothing of what was said, outlive their session and are kept for a\n" +
			"year. A session is named by its id, or the agent's own id, or a beginning of one.",
		Example: "  holdfast audit\n  holdfast audit --principal ci\n  holdfast audit --session 0193c5d2 --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDatabase(false, func(d database) error {
				list, err := d.Noted(cmd.Context(), of)
				if err != nil {
					return err
				}
				if session != "" {
					if list, err = a.auditOf(cmd.Context(), d, list, of, session); err != nil {
						return err
					}
				}
				if a.json {
					return a.printJSON(newAuditJSON(list))
				}
				return a.print(a.auditText(list))
			})
		},
	}
	c.Flags().Var(principalFlag{&of}, "principal", "only the sessions of this one")
	c.Flags().StringVar(&session, "session", "", "only this session")
	// It fails only for a flag that is not there.
	_ = c.RegisterFlagCompletionFunc("principal", func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completePrincipal(cmd, nil, typed)
	})
	return c
}

// auditOf are the entries of the sessions that name stands for: those that it
// names by their ids, of which some may be gone, or by what their agent calls them.
// The list is that of one principal, or of all where of is empty.
func (a *app) auditOf(ctx context.Context, d database, list []store.AuditEntry, of holdfast.Principal, name string) ([]store.AuditEntry, error) {
	named := map[holdfast.SessionID]bool{}
	principals := map[holdfast.Principal]bool{cmp.Or(of, holdfast.Local): true}
	for _, e := range list {
		named[e.Session] = strings.HasPrefix(string(e.Session), name)
		principals[e.Principal] = true
	}
	known := slices.Contains(slices.Collect(maps.Values(named)), true)
	for p := range principals {
		sessions, err := d.Sessions(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(sessions) == 0 {
			continue
		}
		for _, s := range matching(sessions, name) {
			named[s.ID], known = true, true
		}
	}
	if !known {
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "no session is named %s, and none of the audit. See holdfast audit and holdfast session ls", line(name))
	}
	return slices.DeleteFunc(list, func(e store.AuditEntry) bool { return !named[e.Session] }), nil
}

// auditJSON is an entry in JSON output.
type auditJSON struct {
	At        time.Time          `json:"at"`
	Principal holdfast.Principal `json:"principal"`
	Session   holdfast.SessionID `json:"session"`
	Label     string             `json:"label"`
	Policy    string             `json:"policy"`
	Key       string             `json:"key"`
	From      string             `json:"from"`
	To        string             `json:"to"`
}

func newAuditJSON(list []store.AuditEntry) []auditJSON {
	rows := make([]auditJSON, len(list))
	for i, e := range list {
		rows[i] = auditJSON(e)
	}
	return rows
}

func (a *app) auditText(list []store.AuditEntry) string {
	if len(list) == 0 {
		return "No policy has changed anything for a session.\n"
	}
	ids := make([]holdfast.SessionID, len(list))
	for i, e := range list {
		ids[i] = e.Session
	}
	slices.Sort(ids)
	short := shortener(slices.Compact(ids))
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{
			moment(a.now(), e.At), line(string(e.Principal)), short(e.Session), line(e.Label), cmp.Or(line(e.Policy), "none"),
			fmt.Sprintf("%s: %s to %s", line(e.Key), line(e.From), line(e.To)),
		}
	}
	return table([]column{
		{title: "AT", keep: 5},
		{title: "PRINCIPAL", keep: 3},
		{title: "SESSION", keep: 6},
		{title: "LABEL", keep: 1},
		{title: "POLICY", keep: 4},
		{title: "CHANGE", keep: 6},
	}, rows, a.width)
}
