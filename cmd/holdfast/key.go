package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) keyCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "key",
		Short: "Make and end the keys of the server",
		Long: "A key tells whose a request is. Sessions belong to a principal, and no principal sees\n" +
			"those of another. Without keys all programs of this machine are let in, as the principal\n" +
			"local; from the first key on every request to the server needs one, and revoked keys\n" +
			"still count. An agent sends its key as its API key; the provider then gets the api_key\n" +
			"of the upstream. A running server learns of changes within two seconds.",
		Example: "  KEY=$(holdfast key create)\n" +
			"  ANTHROPIC_API_KEY=$KEY ANTHROPIC_BASE_URL=http://127.0.0.1:4141 claude\n" +
			"  holdfast key create ci --label 'nightly runs'\n" +
			"  holdfast key rotate k7qx2m4a --grace 1h",
	})
	c.AddCommand(a.keyCreate(), a.keyList(), a.keyRevoke(), a.keyRotate(), a.keyRemove())
	return c
}

// keyJSON is a key in JSON output. Key is the key itself, where it was just made.
type keyJSON struct {
	ID         holdfast.KeyID     `json:"id"`
	Principal  holdfast.Principal `json:"principal"`
	Label      string             `json:"label"`
	CreatedAt  time.Time          `json:"created_at"`
	RevokedAt  *time.Time         `json:"revoked_at"`
	ReplacedBy holdfast.KeyID     `json:"replaced_by,omitempty"`
	Key        keyring.Secret     `json:"key,omitempty"`
}

func newKeyJSON(k store.Key) keyJSON {
	row := keyJSON{ID: k.ID, Principal: k.Principal, Label: k.Label, CreatedAt: k.CreatedAt, ReplacedBy: k.ReplacedBy}
	if !k.RevokedAt.IsZero() {
		row.RevokedAt = &k.RevokedAt
	}
	return row
}

func (a *app) keyCreate() *cobra.Command {
	var label string
	c := &cobra.Command{
		Use:   "create [PRINCIPAL]",
		Short: "Make a key",
		Long: "Makes a key of a principal and writes it to standard output, this once: what is kept\n" +
			"cannot be turned back into it. PRINCIPAL is local where it is left out, to whom the\n" +
			"sessions from before the first key belong.",
		Example:           "  holdfast key create\n  KEY=$(holdfast key create ci --label 'nightly runs')\n  holdfast key create --json",
		Args:              arguments(0, 1, "[PRINCIPAL]"),
		ValidArgsFunction: a.completePrincipal,
		RunE: func(cmd *cobra.Command, args []string) error {
			p := holdfast.Local
			if len(args) > 0 {
				var err error
				if p, err = keyring.ParsePrincipal(args[0]); err != nil {
					return err
				}
			}
			return a.withDatabase(true, func(d database) error {
				secret, k, err := keyring.New(a.random, p, label, a.now())
				if err != nil {
					return err
				}
				if err := d.AddKey(cmd.Context(), k); err != nil {
					return err
				}
				if err := a.showKey(secret, k, ""); err != nil {
					if left := a.unmake(cmd.Context(), d, k.ID); left != nil {
						return holdfast.Errorf(holdfast.CodeOf(err), "%w. Key %s is kept, and nobody has it (%w): end it with holdfast key revoke %s", err, k.ID, left, k.ID)
					}
					return err
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&label, "label", "", "a text by which you know the key again")
	return c
}

// unmake erases a key that nobody has seen.
func (a *app) unmake(ctx context.Context, d database, id holdfast.KeyID) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := d.RevokeKey(ctx, id, a.now()); err != nil {
		return err
	}
	return d.DeleteKey(ctx, id, a.now())
}

// showKey writes a key that was just made; note is a line about another one.
func (a *app) showKey(secret keyring.Secret, k store.Key, note string) error {
	if a.json {
		row := newKeyJSON(k)
		row.Key = secret
		return a.printJSON(row)
	}
	// The notes come first, so that on a terminal the key stands alone at the end.
	if _, err := fmt.Fprintf(a.err, "Key %s of %s. It is shown only now: put it where the agent takes its API key from.\n%s", k.ID, k.Principal, note); err != nil {
		return unwritten(err)
	}
	return a.print(string(secret) + "\n")
}

func (a *app) keyList() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List keys, oldest first",
		Long:    "Lists all keys, revoked ones too. ID is the part of a key behind hf_.",
		Example: "  holdfast key ls\n  holdfast key ls --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDatabase(false, func(d database) error {
				list, err := d.Keys(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					rows := make([]keyJSON, len(list))
					for i, k := range list {
						rows[i] = newKeyJSON(k)
					}
					return a.printJSON(rows)
				}
				if len(list) == 0 {
					return a.print(noKeys + "\n")
				}
				return a.print(a.keyTable(list))
			})
		},
	}
}

// noKeys is what a person reads where there is nothing to show.
const noKeys = "There are no keys: the server is open to all programs of this machine. Make one with `holdfast key create`."

func (a *app) keyTable(list []store.Key) string {
	rows := make([][]string, len(list))
	for i, k := range list {
		rows[i] = []string{line(string(k.ID)), line(string(k.Principal)), line(k.Label), ago(a.now(), k.CreatedAt), a.keyState(k)}
	}
	return table([]column{
		{title: "ID", keep: 5},
		{title: "PRINCIPAL", keep: 3, least: 12},
		{title: "LABEL", keep: 1, least: 8},
		{title: "CREATED", keep: 2},
		{title: "STATE", keep: 4},
	}, rows, a.width)
}

// keyState tells whether a key holds, and what took its place.
func (a *app) keyState(k store.Key) string {
	state := "in force"
	switch {
	case k.Revoked(a.now()):
		state = "revoked " + ago(a.now(), k.RevokedAt)
	case !k.RevokedAt.IsZero():
		state = "until " + moment(a.now(), k.RevokedAt)
	}
	if k.ReplacedBy != "" {
		state += ", replaced by " + line(string(k.ReplacedBy))
	}
	return state
}

func (a *app) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use:               "revoke ID",
		Short:             "End a key",
		Long:              "Ends a key at once and for good; a running server refuses it within two seconds. Where\nit is the last one, the server stays locked: holdfast key rm opens it.",
		Example:           "  holdfast key revoke k7qx2m4a",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeKey(func(k store.Key) bool { return !k.Revoked(a.now()) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKey(cmd.Context(), args[0], func(d database, k store.Key) error {
				k, err := d.RevokeKey(cmd.Context(), k.ID, a.now())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(newKeyJSON(k))
				}
				return a.print(fmt.Sprintf("Key %s of %s is revoked.\n", line(string(k.ID)), line(string(k.Principal))))
			})
		},
	}
}

func (a *app) keyRotate() *cobra.Command {
	var grace time.Duration
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a key by a new one",
		Long: "Makes a new key of the same principal and label, as create does, and ends the old one: at\n" +
			"once, or with --grace after that time. A key is replaced once.",
		Example:           "  KEY=$(holdfast key rotate k7qx2m4a)\n  holdfast key rotate k7qx2m4a --grace 1h",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeKey(func(k store.Key) bool { return k.ReplacedBy == "" }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return holdfast.Errorf(holdfast.ErrUsage, "--grace is how long the old key still holds, such as 1h")
			}
			return a.withKey(cmd.Context(), args[0], func(d database, old store.Key) error {
				secret, k, err := keyring.New(a.random, old.Principal, old.Label, a.now())
				if err != nil {
					return err
				}
				end := a.now().Add(grace)
				if err := d.ReplaceKey(cmd.Context(), old.ID, k, end); err != nil {
					return err
				}
				note := fmt.Sprintf("Key %s is revoked.\n", old.ID)
				if grace > 0 && !old.Revoked(a.now()) {
					note = fmt.Sprintf("Key %s holds until %s at the latest.\n", old.ID, moment(a.now(), end))
				}
				if err := a.showKey(secret, k, note); err != nil {
					return holdfast.Errorf(holdfast.CodeOf(err), "%w. Key %s took the place of %s and nobody has it: replace it with holdfast key rotate %s", err, k.ID, old.ID, k.ID)
				}
				return nil
			})
		},
	}
	c.Flags().DurationVar(&grace, "grace", 0, "how long the old key still holds, such as 1h")
	return c
}

func (a *app) keyRemove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "rm ID",
		Short: "Erase a revoked key",
		Long: "Erases what is kept of a revoked key. Where it is the last one, a server on loopback is\n" +
			"open again. The sessions of its principal stay.",
		Example:           "  holdfast key rm k7qx2m4a\n  holdfast key rm k7qx2m4a --yes",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeKey(func(k store.Key) bool { return k.Revoked(a.now()) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKey(cmd.Context(), args[0], func(d database, k store.Key) error {
				if !yes && k.Revoked(a.now()) { // any other is refused
					ok, err := a.confirm(fmt.Sprintf("Erase key %s of %s? [y/N] ", line(string(k.ID)), line(string(k.Principal))))
					if err != nil || !ok {
						return err
					}
				}
				if err := d.DeleteKey(cmd.Context(), k.ID, a.now()); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"erased": newKeyJSON(k)})
				}
				return a.print(fmt.Sprintf("Erased key %s of %s.\n", line(string(k.ID)), line(string(k.Principal))))
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// withKey runs do with the key that name stands for: its id, the beginning of
// it, or the whole key. What was written may be a secret, so no error repeats it.
func (a *app) withKey(ctx context.Context, name string, do func(database, store.Key) error) error {
	return a.withDatabase(false, func(d database) error {
		list, err := d.Keys(ctx)
		if err != nil {
			return err
		}
		if id, ok := holdfast.KeyIDOf(name); ok {
			name = string(id)
		}
		hits := slices.DeleteFunc(list, func(k store.Key) bool { return name == "" || !strings.HasPrefix(string(k.ID), name) })
		switch len(hits) {
		case 1:
			return do(d, hits[0])
		case 0:
			return holdfast.Errorf(holdfast.ErrNotFound, "no key has this id. See holdfast key ls")
		}
		return holdfast.Errorf(holdfast.ErrUsage, "this can mean %d keys. Write more of the id. See holdfast key ls", len(hits))
	})
}

// completion is what completes an argument or the value of a flag.
type completion = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeKey completes the ids of those keys that fit.
func (a *app) completeKey(fit func(store.Key) bool) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list := []cobra.Completion{}
		if len(args) == 0 {
			for _, k := range a.keys(cmd.Context()) {
				if strings.HasPrefix(string(k.ID), typed) && fit(k) {
					list = append(list, cobra.CompletionWithDesc(line(string(k.ID)), strings.TrimSuffix(line(string(k.Principal))+", "+line(k.Label), ", ")))
				}
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// keys are all keys, for a completion; none where they cannot be read: a shell is
// no place for errors.
func (a *app) keys(ctx context.Context) (list []store.Key) {
	_ = a.withDatabase(false, func(d database) (err error) {
		list, err = d.Keys(ctx)
		return err
	})
	return list
}
