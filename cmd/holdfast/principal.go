package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/store"
)

// principalFlag is the value of --principal.
type principalFlag struct{ to *holdfast.Principal }

func (f principalFlag) String() string {
	if f.to == nil {
		return ""
	}
	return string(*f.to)
}

func (f principalFlag) Type() string { return "name" }

func (f principalFlag) Set(name string) error {
	p, err := keyring.ParsePrincipal(name)
	if err == nil {
		*f.to = p
	}
	return err
}

// ofPrincipal gives a command and those below it the flag --principal.
func (a *app) ofPrincipal(c *cobra.Command) *cobra.Command {
	a.principal = holdfast.Local
	c.PersistentFlags().Var(principalFlag{&a.principal}, "principal", "whose they are, as holdfast key names them")
	// It fails only for a flag that is not there.
	_ = c.RegisterFlagCompletionFunc("principal", func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completePrincipal(cmd, nil, typed)
	})
	return c
}

// none is what a person reads where a principal has none of what is listed; local is
// what the one reads who named nobody.
func (a *app) none(what, local string) string {
	if a.principal == holdfast.Local {
		return local
	}
	return fmt.Sprintf("The principal %s has no %s. See `holdfast key ls` for the principals that have keys.", a.principal, what)
}

// completePrincipal completes the principals that keys are of, or that made calls.
func (a *app) completePrincipal(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []cobra.Completion{}
	if len(args) == 0 {
		names := []string{string(holdfast.Local)}
		for _, k := range a.keys(cmd.Context()) {
			names = append(names, string(k.Principal))
		}
		names = append(names, a.callers(cmd.Context())...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if strings.HasPrefix(name, typed) {
				list = append(list, line(name))
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// callers are the principals whose calls are on record; where they cannot be read,
// none.
func (a *app) callers(ctx context.Context) (names []string) {
	_ = a.withDatabase(false, func(d database) error {
		sums, err := d.SumAttempts(ctx, store.UsageQuery{By: store.ByPrincipal})
		for _, s := range sums {
			names = append(names, s.Key)
		}
		return err
	})
	return names
}
