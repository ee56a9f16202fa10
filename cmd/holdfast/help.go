package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// helpWidth is how wide help is at most, and where the output has no width.
	helpWidth = 100
	// helpRoom is the least that a text beside a name may have; else it stands below.
	helpRoom = 20
)

// help writes the help of a command. Nothing of it is cut: an example is there to
// be copied.
func (a *app) help(c *cobra.Command, _ []string) {
	width := helpWidth
	if a.width > 0 {
		width = min(width, a.width)
	}
	var b strings.Builder
	for i, text := range strings.Split(cmp.Or(c.Long, c.Short), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(text, "\t") { // to be typed
			b.WriteString("  " + strings.TrimSpace(text) + "\n")
			continue
		}
		b.WriteString(flow("", "", text, width))
	}
	usage := c.UseLine()
	if c.HasAvailableSubCommands() {
		usage = c.CommandPath() + " COMMAND"
	}
	a.helpSection(&b, "usage", []helpItem{{name: usage}}, width)
	var examples []helpItem
	for text := range strings.Lines(c.Example) {
		examples = append(examples, helpItem{name: strings.TrimSpace(text)})
	}
	a.helpSection(&b, "examples", examples, width)
	var commands []helpItem
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			commands = append(commands, helpItem{sub.Name(), sub.Short})
		}
	}
	a.helpSection(&b, "commands", commands, width)
	a.helpSection(&b, "flags", helpFlags(c.LocalFlags()), width)
	a.helpSection(&b, "flags of every command", helpFlags(c.InheritedFlags()), width)
	// Nobody is left to be told that help cannot be written.
	_, _ = io.WriteString(c.OutOrStdout(), b.String())
}

// helpItem is a line of help, with what is said of it.
type helpItem struct{ name, about string }

func helpFlags(flags *pflag.FlagSet) (items []helpItem) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if value != "" && f.NoOptDefVal == "" {
			name += " " + strings.TrimSuffix(value, "Array")
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			about += " (default: " + f.DefValue + ")"
		}
		items = append(items, helpItem{name, about})
	})
	return items
}

// helpSection writes items under a title, and nothing where there are none.
func (a *app) helpSection(b *strings.Builder, title string, items []helpItem, width int) {
	if len(items) == 0 {
		return
	}
	b.WriteString("\n" + a.strong(strings.ToUpper(title)) + "\n")
	names := 0
	for _, i := range items {
		names = max(names, ansi.StringWidth(i.name))
	}
	margin := strings.Repeat(" ", names+4)
	for _, i := range items {
		switch {
		case i.about == "":
			b.WriteString(strings.TrimRight("  "+i.name, " ") + "\n")
		case width-len(margin) < helpRoom:
			b.WriteString("  " + i.name + "\n" + flow("      ", "      ", i.about, width))
		default:
			b.WriteString(flow(fmt.Sprintf("  %s%*s", i.name, names-ansi.StringWidth(i.name)+2, ""), margin, i.about, width))
		}
	}
}

// flow sets words in lines of at most width columns (0: no limit), the first of which begins with
// first and the others with rest. It breaks nothing that is to be typed as it is.
func flow(first, rest, text string, width int) string {
	var b strings.Builder
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && width > 0 && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return b.String() + line + "\n"
}

// helpCommand is the command help, which fails where it knows nothing.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Show how a command is used",
		Long:    "Shows how a command is used, as its --help does.",
		Example: "  holdfast help\n  holdfast help capsule add",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range of.Commands() {
					if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}

// completionCommand is cobra's, which would take any name for its own help.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		group(c)
		c.Example = "  source <(holdfast completion bash)\n  holdfast completion fish | source"
		for _, shell := range c.Commands() {
			shell.Args = arguments(0, 0, "")
			shell.Example = map[string]string{
				"bash":       "  source <(holdfast completion bash)",
				"fish":       "  holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
				"powershell": "  holdfast completion powershell | Out-String | Invoke-Expression",
				"zsh":        "  source <(holdfast completion zsh)",
			}[shell.Name()]
		}
	}
}
