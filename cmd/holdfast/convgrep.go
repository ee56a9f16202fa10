package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

// matchJSON is one line that matched. Turn counts from 1.
type matchJSON struct {
	Conversation holdfast.ConversationID `json:"conversation"`
	Turn         int                     `json:"turn"`
	Event        int64                   `json:"event"`
	Kind         string                  `json:"kind"`
	Line         string                  `json:"line"`
	Match        string                  `json:"match"`
}

func (a *app) conversationGrep() *cobra.Command {
	var fold, literal bool
	c := &cobra.Command{
		Use:   "grep PATTERN [ID]",
		Short: "Search conversations, archived ones too",
		Long: "Searches all that was said, called and answered, and summaries. PATTERN is a regular\n" +
			"expression (RE2). Exit status 1 says that nothing was found.",
		Example: "  holdfast conversation grep 'retry.*queue'\n  holdfast c grep -iF 'exponential back-off' last",
		Args:    arguments(1, 2, "PATTERN [ID]"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) != 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeConversation(cmd, nil, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if literal {
				text = regexp.QuoteMeta(text)
			}
			if fold {
				text = "(?i)" + text
			}
			pattern, err := regexp.Compile(text)
			if err != nil {
				return holdfast.Errorf(holdfast.ErrUsage, "the pattern is no regular expression: %w. Use -F for a plain text", err)
			}
			return a.withConversations(false, func(s *conversations.Service) error {
				list, err := s.List(cmd.Context(), true)
				short := shortener(conversationIDs(list))
				if err == nil && len(args) > 1 {
					var one store.Conversation
					one, err = a.findConversation(cmd.Context(), s, args[1])
					list = []store.Conversation{one}
				}
				if err != nil {
					return err
				}
				return a.grep(cmd, s, list, short, pattern)
			})
		},
	}
	c.Flags().BoolVarP(&fold, "ignore-case", "i", false, "large and small letters are alike")
	c.Flags().BoolVarP(&literal, "fixed", "F", false, "the pattern is a plain text")
	return c
}

func (a *app) grep(cmd *cobra.Command, s *conversations.Service, list []store.Conversation, short func(holdfast.ConversationID) string, pattern *regexp.Regexp) error {
	matches := []matchJSON{}
	found := false
	for _, c := range list {
		for m, err := range s.Search(cmd.Context(), c.ID, pattern) {
			if err != nil {
				return err
			}
			found = true
			if a.json {
				matches = append(matches, matchJSON{c.ID, m.Turn + 1, m.Seq, m.Kind, m.Line, m.Line[m.Start:m.End]})
				continue
			}
			if err := a.print(a.matchText(short(c.ID), m) + "\n"); err != nil {
				return err
			}
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"matches": matches}); err != nil {
			return err
		}
	}
	if !found {
		return holdfast.Errorf(holdfast.ErrFailed, "nothing was found")
	}
	return nil
}

// aroundMatch is how many characters of a long line are shown before a match.
const aroundMatch = 40

// matchText is a match in one line, with what matched in it.
func (a *app) matchText(id string, m conversations.Match) string {
	head := fmt.Sprintf("%s %d %s: ", id, m.Turn+1, strings.ReplaceAll(m.Kind, "_", " "))
	before, hit, after := line(m.Line[:m.Start]), line(m.Line[m.Start:m.End]), line(m.Line[m.End:])
	if strings.HasSuffix(m.Line[:m.Start], " ") {
		before += " "
	}
	if strings.HasPrefix(m.Line[m.End:], " ") {
		after = " " + after
	}
	if n := ansi.StringWidth(before); a.width > 0 && n > aroundMatch {
		before = "…" + ansi.TruncateLeft(before, n-aroundMatch, "")
	}
	return fit(head+before+a.strong(hit)+after, a.width)
}
