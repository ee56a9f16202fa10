package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

func (a *app) conversationImport() *cobra.Command {
	var again bool
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import conversations in Holdfast's own form",
		Long: "Reads JSON Lines, one event a line, as `conversation export` writes them; - is standard\n" +
			"input. Importing a file twice adds nothing, importing it grown adds what is new. Lines that\n" +
			"cannot be read are left out and named.",
		Example: "  holdfast conversation import session.jsonl\n" +
			"  holdfast c export last | ssh other holdfast c import -",
		Args: arguments(1, 1000, "FILE..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(true, func(s *conversations.Service) error {
				var result importResult
				for _, name := range args {
					if err := a.importFile(cmd, s, name, again, &result); err != nil {
						return err
					}
				}
				return a.importTold(result)
			})
		},
	}
	c.Flags().BoolVar(&again, "copy", false, "give all new ids, so that it stands beside what is there already")
	return c
}

// importResult is what imports did.
type importResult struct {
	Conversations []importedJSON `json:"conversations"`
	Skipped       []skippedJSON  `json:"skipped,omitempty"`
}

type importedJSON struct {
	ID    holdfast.ConversationID `json:"id"`
	Title string                  `json:"title"`
	New   bool                    `json:"new"`
	Added int                     `json:"added"`
	Known int                     `json:"known"`
}

type skippedJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (a *app) importFile(cmd *cobra.Command, s *conversations.Service, name string, again bool, result *importResult) error {
	in := io.NopCloser(a.in)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return holdfast.Errorf(holdfast.ErrNotFound, "the file cannot be read: %w", err)
		}
		in = f
	}
	defer in.Close()
	show, began := progressLine(a.err), time.Now()
	done, damage, err := s.Import(cmd.Context(), in, conversations.ImportOptions{
		Copy: again, Progress: func(n int64) {
			if time.Since(began) > progressAfter {
				show("reading " + line(name) + ": " + sizeText(n))
			}
		},
	})
	show("")
	for _, i := range done {
		result.Conversations = append(result.Conversations, importedJSON(i))
	}
	for _, d := range damage {
		result.Skipped = append(result.Skipped, skippedJSON{name, d.Line, d.Reason})
	}
	if err != nil {
		return holdfast.Errorf(holdfast.CodeOf(err), "%s: %w", line(name), err)
	}
	return nil
}

// progressAfter is how long work takes before a person is told that it goes on.
const progressAfter = time.Second

// shownSkipped bounds how many lines are named to a person; JSON names all.
const shownSkipped = 10

func (a *app) importTold(result importResult) error {
	if a.json {
		if result.Conversations == nil {
			result.Conversations = []importedJSON{}
		}
		return a.printJSON(result)
	}
	for _, c := range result.Conversations {
		text := fmt.Sprintf("%s  %s: %s", c.ID, untitled(c.Title), count(c.Added, "event added", "events added"))
		if c.Known > 0 {
			text += fmt.Sprintf(", %d there already", c.Known)
		}
		if err := a.print(text + "\n"); err != nil {
			return err
		}
	}
	if n := len(result.Skipped); n > 0 {
		_, _ = fmt.Fprintf(a.err, "holdfast: %s left out:\n", count(n, "line was", "lines were"))
		for i, d := range result.Skipped {
			if i == shownSkipped {
				_, _ = fmt.Fprintf(a.err, "  and %d more; --json names all\n", n-i)
				break
			}
			_, _ = fmt.Fprintf(a.err, "  %s:%d: %s\n", line(d.File), d.Line, line(d.Reason))
		}
	}
	if len(result.Conversations) == 0 {
		return holdfast.Errorf(holdfast.ErrFailed, "no conversation was found. A file holds one event a line; see `holdfast conversation export`")
	}
	return nil
}

func (a *app) conversationExport() *cobra.Command {
	var out, format string
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write a conversation as JSON Lines or Markdown",
		Long: "Writes all of a conversation, one event a line, in a form that `conversation import` reads\n" +
			"back. Markdown is for reading only.",
		Example:           "  holdfast conversation export last > session.jsonl\n  holdfast c export last --format markdown -o session.md",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "jsonl" && format != "markdown" {
				return holdfast.Errorf(holdfast.ErrUsage, "--format must be jsonl or markdown")
			}
			return a.withConversations(false, func(s *conversations.Service) (err error) {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				w := a.out
				if out != "" {
					f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
					if err != nil {
						return holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", err)
					}
					defer func() {
						if closed := f.Close(); err == nil && closed != nil {
							err = holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", closed)
						}
					}()
					w = f
				}
				if format == "markdown" {
					return s.Markdown(cmd.Context(), c.ID, w, clean)
				}
				if out == "" && a.terminal {
					w = &lineWriter{w: w, change: escapeJSON}
				}
				return s.Export(cmd.Context(), c.ID, w)
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "write to a new file")
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl or markdown")
	// Both values are names of this command's own.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}
