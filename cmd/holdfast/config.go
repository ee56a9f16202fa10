package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/config"
)

func (a *app) configCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "config",
		Short: "Show the configuration, and trust that of a workspace",
		Long: "The configuration has layers, of which a later one stands above those before it: what is\n" +
			"built in, your own file (holdfast/config.toml in ~/.config), the nearest .holdfast.toml\n" +
			"from here upward, HOLDFAST_ variables such as HOLDFAST_LIMITS_BODY, a conversation's own\n" +
			"settings, --config FILE, --set KEY=VALUE.",
		Example: "  holdfast config show --origin\n  holdfast config trust\n  holdfast --set limits.body=16MiB config show",
	})
	c.AddCommand(a.configShow(), a.configSchema(), a.configTrust())
	return c
}

func (a *app) configShow() *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the configuration that is in force",
		Long: "Shows all layers merged, as a file that could be used. With --origin each key says\n" +
			"where it was set.",
		Example: "  holdfast config show\n  holdfast config show --origin\n  holdfast --set transcripts.enabled=true config show --json",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			merged, err := a.load()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(merged.JSON(origin))
			}
			return a.print(merged.TOML(origin))
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, "say where each key was set")
	return c
}

func (a *app) configSchema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Write the JSON Schema of a configuration file, for editors",
		Long:    "Writes the JSON Schema of a configuration file. An editor that reads TOML completes keys\nand marks mistakes by it.",
		Example: "  holdfast config schema > holdfast.schema.json",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.printJSON(config.Schema()) },
	}
}

func (a *app) configTrust() *cobra.Command {
	var yes, remove bool
	c := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let the file of a workspace decide what is run and where data goes",
		Long: "A .holdfast.toml may come from others, so it may not set upstreams, models that are asked,\n" +
			"tools, what is erased and the like until you have trusted it. Trust holds for the file as it is: when it changes, it\n" +
			"must be trusted again. Without FILE it is the nearest one from here upward.",
		Example: "  holdfast config trust\n  holdfast config trust ../.holdfast.toml --yes\n  holdfast config trust --remove",
		Args:    arguments(0, 1, "[FILE]"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.sources().WorkspacePath(strings.Join(args, ""))
			if err != nil {
				return err
			}
			dir, err := a.dataDir()
			if err != nil {
				return err
			}
			trust, err := config.OpenTrust(dir)
			if err != nil {
				return err
			}
			if remove {
				return a.endTrust(trust, path)
			}
			return a.beginTrust(trust, path, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&remove, "remove", false, "trust the file no more")
	c.MarkFlagsMutuallyExclusive("yes", "remove")
	return c
}

func (a *app) beginTrust(trust *config.Trust, path string, yes bool) error {
	file, err := config.ReadWorkspace(path)
	if err != nil {
		return err
	}
	guarded, err := file.Guarded()
	if err != nil {
		return err
	}
	if guarded == "" {
		return a.trustResult(path, false, "sets nothing that needs trust.")
	}
	if trust.State(file) == config.Trusted {
		return a.trustResult(path, true, "is trusted already.")
	}
	if !yes {
		question := fmt.Sprintf("%s sets what needs trust:\n\n%s\nTrust this file as it is? [y/N] ", line(path), guarded)
		ok, err := a.ask(question, "this lets a file decide what is run and where data goes", "Nothing was trusted.")
		if err != nil || !ok {
			return err
		}
	}
	if err := trust.Add(file); err != nil {
		return err
	}
	return a.trustResult(path, true, "is trusted as it is now.")
}

func (a *app) endTrust(trust *config.Trust, path string) error {
	if err := trust.Remove(path); err != nil {
		return err
	}
	return a.trustResult(path, false, "is no longer trusted.")
}

func (a *app) trustResult(path string, trusted bool, text string) error {
	if a.json {
		return a.printJSON(map[string]any{"path": path, "trusted": trusted})
	}
	return a.print(line(path) + " " + text + "\n")
}
