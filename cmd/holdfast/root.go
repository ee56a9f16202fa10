package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

// app is what the commands share. The world is given to it, so that a test can
// give another.
type app struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // a person can answer and read
	// interactive tells that a person types on standard input: nothing is piped in.
	interactive bool
	colour      bool // out is a terminal that may be given colours
	width       int  // columns of out; 0: no limit
	now         func() time.Time
	version     string
	open        func(path string, create bool) (database, io.Closer, error)
	newID       func() string // a UUIDv7
	random      io.Reader     // fit for keys
	environ     config.Environ
	dir         string // the working directory; "" where it is unknown

	// The global flags.
	config string
	set    []string
	data   string
	json   bool

	principal holdfast.Principal // whose sessions and conversations a command works on
}

// run executes one command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var own *holdfast.Error
	if !errors.As(err, &own) {
		// Commands return errors with a code, so this one is of the parser.
		own = holdfast.Errorf(holdfast.ErrUsage, "%s", plainly(err.Error()))
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	// The parser stops at a flag that is wrong, and --json may stand behind it.
	a.json = a.json || slices.Contains(args, "--json")
	a.writeError(own)
	return own.Code.ExitStatus()
}

func (a *app) writeError(err *holdfast.Error) {
	if a.json {
		_ = writeJSON(a.err, map[string]any{"error": map[string]string{"code": string(err.Code), "message": err.Message}})
		return
	}
	_, _ = fmt.Fprintf(a.err, "holdfast: %s\n", clean(err.Message))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Keep the plan of a coding agent through context compaction",
		Long: "Holdfast is a local proxy for coding agents. Traffic passes byte for byte; the plan,\n" +
			"its progress and the user's decisions are kept and carried through every compaction.\n" +
			"And it holds conversations of your own with any model, on the same ground.",
		Example: "  # Start the proxy, then point an agent at it\n" +
			"  holdfast serve\n" +
			"  ANTHROPIC_BASE_URL=http://127.0.0.1:4141 claude\n\n" +
			"  # What is kept of the newest session\n" +
			"  holdfast capsule show last\n\n" +
			"  # Ask a model yourself, and look at what agents left on disk\n" +
			"  holdfast query 'Why does this test fail?' < test.log\n" +
			"  holdfast conversation import",
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetHelpFunc(a.help)
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "", "configuration file that stands above your own, the workspace's and the environment")
	flags.StringArrayVar(&a.set, "set", nil, "set a key of the configuration, KEY=VALUE, above all files; repeatable")
	flags.StringVar(&a.data, "data", "", "data directory (default: holdfast in ~/.local/share)")
	flags.BoolVar(&a.json, "json", false, "write JSON")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.checkGlobals(cmd) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// A value that was refused says itself what is wrong with it.
		var invalid *pflag.InvalidValueError
		var own *holdfast.Error
		if errors.As(err, &invalid) && errors.As(invalid.Unwrap(), &own) {
			err = own
		}
		return holdfast.Errorf(holdfast.ErrUsage, "%s. See %s --help", plainly(err.Error()), cmd.CommandPath())
	})
	root.AddCommand(
		a.serveCommand(), a.keyCommand(), a.ofPrincipal(a.sessionCommand()), a.ofPrincipal(a.capsuleCommand()),
		a.ofPrincipal(a.conversationCommand()), a.configCommand(), a.queryCommand(), a.modelsCommand(),
		a.usageCommand(), a.budgetCommand(), a.auditCommand(), a.storeCommand(), a.doctorCommand(),
		a.versionCommand(), demoCommand(scratch{a.now}.proxy), a.evalCommand(),
	)
	group(root)
	root.SetHelpCommand(helpCommand())
	completionCommand(root)
	refuse, help := root.Args, root.RunE
	root.Args = func(cmd *cobra.Command, args []string) error {
		if a.isQuestion(cmd, args) {
			return nil
		}
		return refuse(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return help(cmd, args)
		}
		return a.query(cmd, queryArgs{}, args)
	}
	return root
}

// checkGlobals refuses global flags that are wrong, also for commands that do without
// what they say: nobody gives one to be without effect.
func (a *app) checkGlobals(cmd *cobra.Command) error {
	flags := cmd.Flags()
	for _, place := range []struct{ name, value string }{{"data", a.data}, {"config", a.config}} {
		if flags.Changed(place.name) && place.value == "" {
			return holdfast.Errorf(holdfast.ErrUsage, "--%s is empty, as where a variable is not set. Name a place, or leave it out", place.name)
		}
	}
	// What a workspace sets is refused until config trust has run.
	if !flags.Changed("config") && !flags.Changed("set") || cmd.CommandPath() == "holdfast config trust" {
		return nil
	}
	_, err := a.sources().Load()
	return err
}

// isQuestion reports whether what stands where a command is expected is a text to
// ask: it has several words and its first one is not nearly a command, so that a
// slip costs no call of a model.
func (a *app) isQuestion(cmd *cobra.Command, args []string) bool {
	words := strings.Fields(strings.Join(args, " "))
	return len(words) > 1 && (strings.ContainsAny(args[0], " \n") || len(cmd.SuggestionsFor(args[0])) == 0)
}

// group makes a command that only holds others: alone it shows its help, with
// an unknown name it fails.
func group(c *cobra.Command) *cobra.Command {
	c.SuggestionsMinimumDistance = 2
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return c
}

// unknownCommand refuses a name that a group does not have.
func unknownCommand(c *cobra.Command, name string) error {
	near := ""
	if list := c.SuggestionsFor(name); len(list) > 0 {
		near = fmt.Sprintf(" Did you mean %s?", strings.Join(list, " or "))
	}
	return holdfast.Errorf(holdfast.ErrUsage, "there is no command %q.%s See %s --help", c.CommandPath()+" "+name, near, c.CommandPath())
}

// arguments accepts from low to high arguments; form is how they are written.
func arguments(low, high int, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		return holdfast.Errorf(holdfast.ErrUsage, "write it as: %s", strings.TrimSpace(cmd.CommandPath()+" "+form))
	}
}

// dataDir is the data directory.
func (a *app) dataDir() (string, error) {
	if a.data != "" {
		return a.data, nil
	}
	return a.environ.DataDir()
}

// dataFile is the path of the database.
func (a *app) dataFile() (string, error) {
	dir, err := a.dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "holdfast.db"), nil
}

// sources is where the configuration comes from.
func (a *app) sources() config.Sources {
	// Without a data directory no workspace file is trusted; who needs one says
	// what is missing.
	dir, _ := a.dataDir()
	return config.Sources{Environ: a.environ, Dir: a.dir, DataDir: dir, File: a.config, Set: a.set}
}

// withStore runs do with the sessions of the data directory.
func (a *app) withStore(do func(store.Keeper) error) error {
	return a.withDatabase(false, func(d database) error { return do(d) })
}

// withConversations runs do with the conversations of the data directory, which
// is begun where create is set.
func (a *app) withConversations(create bool, do func(*conversations.Service) error) error {
	return a.withDatabase(create, func(d database) error {
		return do(conversations.New(d, a.principal, a.now, a.newID))
	})
}

func (a *app) withDatabase(create bool, do func(database) error) (err error) {
	path, err := a.dataFile()
	if err != nil {
		return err
	}
	opened, closer, err := a.open(path, create)
	if err != nil {
		return err
	}
	defer func() {
		if closed := closer.Close(); err == nil && closed != nil {
			err = holdfast.Errorf(holdfast.ErrUnavailable, "the database %s could not be closed: %w", path, closed)
		}
	}()
	return do(opened)
}

// print writes text that is already harmless.
func (a *app) print(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return unwritten(err)
	}
	return nil
}

// printJSON writes one indented JSON document to the output.
func (a *app) printJSON(v any) error {
	var b strings.Builder
	if err := writeJSON(&b, v); err != nil {
		return holdfast.Errorf(holdfast.ErrInternal, "the result cannot be written as JSON: %w", err)
	}
	return a.print(b.String())
}

func writeJSON(w io.Writer, v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeJSON(b.String()))
	return err
}
