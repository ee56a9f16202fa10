package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

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
			return a.withConversations(false, func(s *conversations.Service) error {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				write := func(w io.Writer) error { return s.Export(cmd.Context(), c.ID, w) }
				if format == "markdown" {
					write = func(w io.Writer) error { return s.Markdown(cmd.Context(), c.ID, w, clean) }
				}
				switch {
				case out != "" && out != "-":
					return newFile(out, write)
				case format == "jsonl" && a.terminal:
					return write(&lineWriter{w: a.out, change: escapeJSON})
				}
				return write(a.out)
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "write to a new file; - is standard output")
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl or markdown")
	// Both values are names of this command's own.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// newFile makes a file of what write writes. Where that fails there is none: what is
// in it could pass for all of a conversation.
func newFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return holdfast.Errorf(holdfast.ErrConflict, "%s exists already: choose another name, or remove it first", line(name))
	}
	if err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", err)
	}
	err = write(f)
	if closed := f.Close(); err == nil && closed != nil {
		err = holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", closed)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
