package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

// everyCommand calls do with each command, and how it is reached.
func everyCommand(a *app, do func(c *cobra.Command, path []string)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		do(c, strings.Fields(c.CommandPath())[1:])
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.rootCommand())
}

// helpOf is what --help of a command writes.
func helpOf(t *testing.T, path []string, width int, colour bool) string {
	t.Helper()
	var out, errors strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: &errors, width: width, colour: colour, version: "v1"}
	if status := a.run(t.Context(), append(append([]string{}, path...), "--help")); status != 0 || errors.Len() > 0 {
		t.Fatalf("%q --help: status %d, %s", path, status, errors.String())
	}
	return out.String()
}

// TestHelpIsNotCut holds the help of every command on terminals of any width: an
// example stands in one line as it is to be typed, words are whole, and all else is
// as wide as the terminal.
func TestHelpIsNotCut(t *testing.T) {
	for _, width := range []int{40, 80, 200, 0} {
		t.Run(fmt.Sprint(width, " columns"), func(t *testing.T) {
			everyCommand(&app{}, func(c *cobra.Command, path []string) {
				help := helpOf(t, path, width, false)
				most := width
				if width == 0 || width > 100 {
					most = 100
				}
				for text := range strings.Lines(c.Example) {
					if text = strings.TrimSpace(text); text != "" && !strings.Contains(help, "\n  "+text+"\n") {
						t.Errorf("%q: the example %q is not there", path, text)
					}
				}
				words := map[string]bool{}
				for _, word := range strings.Fields(help) {
					words[word] = true
				}
				for _, word := range strings.Fields(cmp.Or(c.Long, c.Short)) {
					if !words[word] {
						t.Errorf("%q: the word %q is not there", path, word)
					}
				}
				for text := range strings.Lines(help) {
					text = strings.TrimSuffix(text, "\n")
					typed := strings.Contains(c.Example, strings.TrimSpace(text)) || strings.HasPrefix(text, "  holdfast") || strings.Contains(c.Long, "\t"+strings.TrimSpace(text))
					if ansi.StringWidth(text) > most && !typed {
						t.Errorf("%q: wider than %d: %q", path, most, text)
					}
				}
			})
		})
	}
}

// TestHelpAsksATerminalNothing: it writes no sequences but those of bold titles, and
// those only where colours are wanted, so that no terminal is waited for.
func TestHelpAsksATerminalNothing(t *testing.T) {
	escape := regexp.MustCompile(`\x1b\[1m[A-Z ]+\x1b\[0m`)
	if plain := helpOf(t, nil, 80, false); strings.Contains(plain, "\x1b") {
		t.Errorf("%q", plain)
	}
	coloured := helpOf(t, nil, 80, true)
	if n := len(escape.FindAllString(coloured, -1)); n != 4 {
		t.Errorf("%d titles in bold, want usage, examples, commands and flags:\n%s", n, coloured)
	}
	if rest := escape.ReplaceAllString(coloured, ""); strings.Contains(rest, "\x1b") {
		t.Errorf("%q", rest)
	}
}

func TestFlagsInHelp(t *testing.T) {
	help := helpOf(t, []string{"serve"}, 50, false)
	want := `FLAGS
  -h, --help           help for serve
      --listen string  address to listen on; port
                       0 takes any that is free
                       (default: 127.0.0.1:4141)
`
	if !strings.Contains(help, want) {
		t.Errorf("the flags are not there:\n%s", help)
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	everyCommand(&app{}, func(c *cobra.Command, path []string) {
		if !strings.Contains(c.Example, "holdfast") {
			t.Errorf("%q has no example", path)
		}
	})
}
