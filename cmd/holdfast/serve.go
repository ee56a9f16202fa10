package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

func (a *app) serveCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy",
		Long: "Runs the proxy until it is interrupted. Calls that are under way then have ten seconds\n" +
			"to finish. With --json one JSON line tells the address; the log goes to standard error.\n" +
			"Without keys it is open to all programs of this machine; with the first key of\n" +
			"holdfast key create every request needs one. Only then can it listen on addresses that\n" +
			"other machines reach. It speaks plain HTTP: put TLS in front of it there.",
		Example: "  holdfast serve\n" +
			"  holdfast serve --listen 127.0.0.1:0\n" +
			"  holdfast serve --config work.toml --data /var/tmp/holdfast",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runServe(cmd.Context(), address) },
	}
	c.Flags().StringVar(&address, "listen", "127.0.0.1:4141", "address to listen on; port 0 takes any that is free")
	return c
}

// runServe serves until ctx ends. What was opened first is closed last.
func (a *app) runServe(ctx context.Context, address string) (err error) {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	path, err := a.dataFile()
	if err != nil {
		return err
	}
	ln, err := openListener(address)
	if err != nil {
		return err
	}
	defer ln.Close()
	remote := !loopback(ln.Addr())
	if remote {
		if err := a.guarded(ctx, address); err != nil {
			return err
		}
	}
	st, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed(st, path)) }()
	defer steady(a.environ)()
	log := newLog(a.err, a.json)
	ring, err := keyring.NewRing(ctx, st, keyring.Config{Open: !remote}, log, a.now)
	if err != nil {
		return err
	}
	defer ring.Stop()
	s, err := newStack(cfg.Config, stackStores{st, st, st}, a.environ, access{ring, remote}, log, a.now, engine.Ablation{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := a.announce(ln.Addr()); err != nil {
		return err
	}
	return serveOn(ctx, ln, s.handler, log, shutdownLimit)
}

// guarded refuses an address that other machines reach where no key is in force.
func (a *app) guarded(ctx context.Context, address string) error {
	return a.withDatabase(false, func(d database) error {
		list, err := d.Keys(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(k store.Key) bool { return !k.Revoked(a.now()) }) {
			return nil
		}
		return holdfast.Errorf(holdfast.ErrUsage,
			"--listen %s would open Holdfast to other machines, and there is no key that could guard it. "+
				"Make one with `holdfast key create`, or use a loopback address such as 127.0.0.1:4141", address)
	})
}

func closed(c io.Closer, path string) error {
	if err := c.Close(); err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the database %s could not be closed: %w", path, err)
	}
	return nil
}

func newLog(w io.Writer, asJSON bool) *slog.Logger {
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
