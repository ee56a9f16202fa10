package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (a *app) conversationImport() *cobra.Command {
	var again bool
	var agent string
	c := &cobra.Command{
		Use:   "import [FILE...]",
		Short: "Import conversations, and the sessions that agents left on disk",
		Long: "Reads Holdfast's own JSON Lines, as `conversation export` writes them, and the sessions of\n" +
			"Claude Code, Codex, OpenCode, Pi, Gemini CLI, Qwen Code, Cline and jp; - is standard input.\n" +
			"Without a FILE it finds by itself what agents left, with --agent what one of them left.\n" +
			"Importing again adds only what is new. What cannot be read is left out and named.",
		Example: "  holdfast conversation import session.jsonl\n" +
			"  holdfast c import --agent claude-code\n" +
			"  holdfast c export last | ssh other holdfast c import -",
		Args: arguments(0, 1000, "[FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format := transcript.Format(agent)
			if agent != "" && !slices.Contains(transcript.Formats(), format) {
				return holdfast.Errorf(holdfast.ErrUsage, "there is no agent %s whose sessions can be read. There are: %s", line(agent), agentNames())
			}
			return a.withConversations(true, func(s *conversations.Service) error {
				return a.importAll(cmd.Context(), s, args, format, conversations.ImportOptions{Copy: again})
			})
		},
	}
	c.Flags().BoolVar(&again, "copy", false, "give all new ids, so that it stands beside what is there already")
	c.Flags().StringVar(&agent, "agent", "", "the agent that wrote it; without a FILE, all that this one left")
	// The names are those of the formats.
	_ = c.RegisterFlagCompletionFunc("agent", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return strings.Split(agentNames(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func agentNames() string {
	var names []string
	for _, f := range transcript.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// importAll imports files, or what is found where none is named. A file that fails
// is told, and the others go on.
func (a *app) importAll(ctx context.Context, s *conversations.Service, names []string, agent transcript.Format, o conversations.ImportOptions) error {
	named := len(names) > 0
	if !named {
		var err error
		if names, err = a.leftByAgents(agent); err != nil {
			return err
		}
	}
	var result importResult
	var failed []error
	show, began := progressLine(a.err), time.Now()
	for i, name := range names {
		if time.Since(began) > progressAfter {
			show(fmt.Sprintf("reading %d of %d: %s", i+1, len(names), line(name)))
		}
		before := len(result.Conversations)
		err := a.importFile(ctx, s, name, agent, o, &result)
		if err == nil && named && len(result.Conversations) == before && isDirectory(name) {
			err = holdfast.Errorf(holdfast.ErrFailed, "%s is a directory, and no storage of OpenCode. Name the files in it", line(name))
		}
		if err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	show("")
	if len(failed) > 0 && len(names) == 1 {
		return failed[0]
	}
	if err := a.importTold(result); err != nil && len(failed) == 0 {
		return err
	}
	if len(failed) > 0 {
		return holdfast.Errorf(holdfast.CodeOf(failed[0]), "%d of %d files were not imported as a whole:\n%w", len(failed), len(names), errors.Join(failed...))
	}
	return nil
}

// leftByAgents finds the files that agents left, or one of them.
func (a *app) leftByAgents(agent transcript.Format) (names []string, err error) {
	var only []transcript.Format
	if agent != "" {
		only = []transcript.Format{agent}
	}
	place := transcript.Place{Home: a.environ.Home(), Work: a.dir, Env: a.environ.Get, Dir: os.DirFS}
	for _, f := range transcript.Find(place, only...) {
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "no agent left a session where they are kept. Name the files")
	}
	return names, nil
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

// headSize is how much of a file tells its format.
const headSize = 64 << 10

func (a *app) importFile(ctx context.Context, s *conversations.Service, name string, agent transcript.Format, o conversations.ImportOptions, result *importResult) error {
	done, damage, err := a.importOne(ctx, s, name, agent, o)
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

func (a *app) importOne(ctx context.Context, s *conversations.Service, name string, agent transcript.Format, o conversations.ImportOptions) ([]conversations.Imported, []conversations.Damage, error) {
	// The same texts of harnesses are known as on the wire.
	how := transcript.Options{Synthetic: agents.Synthetic, SyntheticParts: agents.SyntheticParts, Words: agents.UserText}
	if name != "-" {
		if isDirectory(name) {
			return s.ImportSessions(ctx, transcript.OpenCodeFiles(os.DirFS(name), how), o)
		}
	}
	in := io.NopCloser(a.in)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil, holdfast.Errorf(holdfast.ErrNotFound, "there is no such file")
			}
			return nil, nil, holdfast.Errorf(holdfast.ErrUnavailable, "the file cannot be read: %w", err)
		}
		in = f
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, headSize)
	// What comes short of it is all there is.
	head, _ := r.Peek(headSize)
	format, known := transcript.Sniff(head, name)
	if agent != "" {
		format, known = agent, true
	}
	switch {
	case !known:
		return s.Import(ctx, r, o)
	case format == transcript.OpenCode && strings.HasPrefix(string(head), "SQLite format 3"):
		return importDatabase(ctx, s, name, how, o)
	}
	return s.ImportSessions(ctx, transcript.Read(format, r, filepath.ToSlash(name), how), o)
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// importDatabase imports OpenCode's database, which is only read.
func importDatabase(ctx context.Context, s *conversations.Service, name string, how transcript.Options, o conversations.ImportOptions) ([]conversations.Imported, []conversations.Damage, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, holdfast.Errorf(holdfast.ErrUnavailable, "the database cannot be found: %w", err)
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, nil, holdfast.Errorf(holdfast.ErrUnavailable, "the database cannot be opened: %w", err)
	}
	defer func() {
		// It was only read.
		_ = db.Close()
	}()
	var items iter.Seq2[transcript.Item, error] = transcript.OpenCodeDB(ctx, db, how)
	return s.ImportSessions(ctx, items, o)
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
