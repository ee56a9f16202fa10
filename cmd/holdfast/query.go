package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/store"
)

// queryArgs is what a query was asked for.
type queryArgs struct {
	fresh, last, fork bool
	id                string
	attach            []string
	model             string
	schema            string
	inline            inlineRules
	tools, noTools    bool
	noPersist         bool
	raw               bool
}

func (a *app) queryCommand() *cobra.Command {
	var args queryArgs
	c := &cobra.Command{
		Use:     "query [TEXT...]",
		Aliases: []string{"q"},
		Short:   "Ask a model, with tools and with a conversation that is kept",
		Long: "Asks a model and prints its answer; nothing else goes to standard output. Text from standard\n" +
			"input joins the question. A conversation is kept and can be continued. Without the word query\n" +
			"a text of several words is a query too. Ctrl-C stops the answer and keeps what came; a second\n" +
			"one leaves at once.",
		Example: "  holdfast query 'Why does this test fail?' < test.log\n" +
			"  holdfast q -c 'And on Windows?'\n" +
			"  holdfast q --id 0193c5d2 --fork -k s:..-3 'Try the other way'\n" +
			"  holdfast q -a diagram.png -s schema.json 'List the boxes'",
		RunE: func(cmd *cobra.Command, words []string) error { return a.query(cmd, args, words) },
	}
	flags := c.Flags()
	flags.BoolVarP(&args.fresh, "new", "n", false, "begin a new conversation (the default)")
	flags.BoolVarP(&args.last, "continue", "c", false, "continue the conversation used last")
	flags.StringVar(&args.id, "id", "", "continue this conversation")
	flags.BoolVar(&args.fork, "fork", false, "continue in a copy, and leave the conversation as it is")
	flags.StringArrayVarP(&args.attach, "attach", "a", nil, "a file to send along; may be given several times")
	flags.StringVarP(&args.model, "model", "m", "", "the model, or UPSTREAM:MODEL; see holdfast models")
	flags.StringVarP(&args.schema, "schema", "s", "", "a JSON schema that the answer must follow, else the exit status is 1: a file, or the schema itself")
	flags.BoolVar(&args.tools, "tools", false, "offer tools (the default)")
	flags.BoolVar(&args.noTools, "no-tools", false, "offer no tools")
	flags.BoolVar(&args.noPersist, "no-persist", false, "keep nothing of it but the record of what it cost")
	flags.BoolVarP(&args.raw, "raw", "r", false, "print the answer as it came, also on a terminal")
	addInlineFlags(flags, &args.inline)
	c.MarkFlagsMutuallyExclusive("new", "continue", "id")
	c.MarkFlagsMutuallyExclusive("tools", "no-tools")
	// Models are those of the configuration; where that cannot be read, none.
	_ = c.RegisterFlagCompletionFunc("model", a.completeModel)
	_ = c.RegisterFlagCompletionFunc("id", func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeConversation(cmd, nil, typed)
	})
	return c
}

func (a *app) completeModel(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []cobra.Completion{}
	if merged, err := a.sources().Load(); err == nil {
		m := a.newModels(merged.Config)
		for _, u := range m.upstreams {
			for _, name := range m.catalogue.Names(u) {
				if strings.HasPrefix(name, typed) {
					list = append(list, cobra.CompletionWithDesc(line(name), u.Name))
				}
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) query(cmd *cobra.Command, args queryArgs, words []string) error {
	asked, err := a.asked(args, words)
	if err != nil {
		return err
	}
	return a.withDatabase(!args.noPersist, func(d database) error {
		s := conversations.New(d, holdfast.Local, a.now, a.newID)
		l, err := a.talk(cmd, s, args)
		if err != nil {
			return err
		}
		if args.noPersist {
			// The same conversation in a store that ends with this process.
			if s, err = a.inMemory(cmd.Context(), &l); err != nil {
				return err
			}
		} else {
			release, err := a.lease(cmd, s, l.ID)
			if err != nil {
				return err
			}
			defer release()
			// Another may have written while this one waited.
			if l, err = s.Load(cmd.Context(), l.ID); err != nil {
				return err
			}
		}
		began := len(l.Entries)
		err = a.turn(cmd.Context(), s, d, &l, args, asked)
		if err != nil && (began == 0 || args.fork) && len(l.Entries) == began {
			// Nothing was asked, so there is no conversation, and no copy of one.
			err = errors.Join(err, s.Delete(context.WithoutCancel(cmd.Context()), l.ID))
		}
		return err
	})
}

// asked is the message: the words, what standard input has, and files.
func (a *app) asked(args queryArgs, words []string) (holdfast.UserMessage, error) {
	var m holdfast.UserMessage
	text := strings.Join(words, " ")
	if !a.interactive {
		piped, err := io.ReadAll(io.LimitReader(a.in, maxAttachment+1))
		if err != nil {
			return m, holdfast.Errorf(holdfast.ErrUnavailable, "standard input cannot be read: %w", err)
		}
		if len(piped) > maxAttachment {
			return m, holdfast.Errorf(holdfast.ErrTooLarge, "standard input has more than %s. Give a part of it", sizeText(maxAttachment))
		}
		if more := strings.TrimSpace(string(piped)); more != "" {
			text = strings.TrimSpace(text + "\n\n" + strings.ToValidUTF8(more, "\uFFFD"))
		}
	}
	if strings.TrimSpace(text) == "" && len(args.attach) == 0 {
		return m, holdfast.Errorf(holdfast.ErrUsage, "there is nothing to ask. Write it behind the command, or pipe it in")
	}
	for _, name := range args.attach {
		part, err := attachment(name)
		if err != nil {
			return m, err
		}
		m.Parts = append(m.Parts, part)
	}
	if text != "" {
		m.Parts = append(m.Parts, holdfast.Text(text))
	}
	if args.schema != "" {
		schema, err := readSchema(args.schema)
		if err != nil {
			return m, err
		}
		m.Schema = schema
	}
	return m, nil
}

// talk finds or makes the conversation.
func (a *app) talk(cmd *cobra.Command, s *conversations.Service, args queryArgs) (conversations.Loaded, error) {
	ctx := cmd.Context()
	name := args.id
	if args.last || args.fork && name == "" {
		name = "last"
	}
	if name == "" {
		if args.noPersist {
			return conversations.Loaded{Conversation: store.Conversation{ID: holdfast.ConversationID(a.newID())}}, nil
		}
		return s.Begin(ctx)
	}
	c, err := a.findOwn(ctx, s, name)
	if err != nil {
		return conversations.Loaded{}, err
	}
	if c.Origin == store.RecordedConversation && !args.fork && !args.noPersist {
		return conversations.Loaded{}, holdfast.Errorf(holdfast.ErrUsage,
			"conversation %s is the recording of a session and is written by the proxy. Continue in a copy: add --fork", c.ID)
	}
	if args.fork && !args.noPersist {
		if c, err = s.Fork(ctx, c.ID, 0, c.Title); err != nil {
			return conversations.Loaded{}, err
		}
	}
	return s.Load(ctx, c.ID)
}

// findOwn finds a conversation to continue. The last one is the last that is no
// recording.
func (a *app) findOwn(ctx context.Context, s *conversations.Service, name string) (store.Conversation, error) {
	if name == "last" {
		list, err := s.List(ctx, false)
		if err != nil {
			return store.Conversation{}, err
		}
		for _, c := range list {
			if c.Origin != store.RecordedConversation {
				return c, nil
			}
		}
	}
	return a.findConversation(ctx, s, name)
}

// inMemory is a service with a copy of a conversation that nobody else sees.
func (a *app) inMemory(ctx context.Context, l *conversations.Loaded) (*conversations.Service, error) {
	s := conversations.New(store.NewMemory(), holdfast.Local, a.now, a.newID)
	begun, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	events := make([]holdfast.Event, len(l.Entries))
	for i, e := range l.Entries {
		events[i] = e.Event
	}
	if len(events) > 0 {
		if err := s.Append(ctx, &begun, events...); err != nil {
			return nil, err
		}
	}
	*l = begun
	return s, nil
}

// turn asks and shows what comes. Its calls are recorded in the database.
func (a *app) turn(ctx context.Context, s *conversations.Service, d database, l *conversations.Loaded, args queryArgs, asked holdfast.UserMessage) error {
	cfg, err := a.conversationConfig(l.Entries)
	if err != nil {
		return err
	}
	name := firstOf(args.model, conversations.Model(l.Entries), cfg.all.Query.Model)
	if name == "" {
		return holdfast.Errorf(holdfast.ErrUsage, "no model is chosen. Give one with -m, or set query.model in the configuration. See holdfast models")
	}
	m := a.newModels(cfg.all)
	show := progressLine(a.err)
	m.retrying = a.retrying
	if err := m.takes(name, asked); err != nil {
		return err
	}
	books, err := a.recordCalls(m, cfg.all, d, l.ID, args.noPersist)
	if err != nil {
		return err
	}
	defer books.end()
	route, err := m.route(ctx, name, holdfast.ForTurn)
	if err != nil {
		return err
	}
	writer, err := a.summarizer(cfg.all, show, func(model string) (query.Route, error) {
		if model == "" || model == name {
			return m.also(route, holdfast.ForSummary)
		}
		other, err := m.route(ctx, model, holdfast.ForSummary)
		other.Other = true
		return other, err
	})
	if err != nil {
		return err
	}
	if args.inline.given() {
		if err := a.compactBefore(ctx, s, l, cfg, args.inline, writer); err != nil {
			return err
		}
		show("")
	}
	screen := a.newScreen(args.raw, show)
	box, closeBox, err := a.toolbox(ctx, s, l, cfg.all, args, screen)
	if err != nil {
		return err
	}
	defer closeBox()
	estimator := func(entries []holdfast.Entry, overhead []string) compaction.Estimator {
		return cfg.estimate(entries, overhead, func(string) int64 { return route.Window })
	}
	loop := query.Config{
		Model: name, System: cfg.all.Query.System, MaxOutput: route.MaxOutput, Window: route.Window, MaxCalls: cfg.all.Query.MaxCalls,
		Estimator: estimator, Redact: func(text string) string { out, _ := writer.Redact(text); return out },
	}
	if cfg.auto.Enabled && !args.noPersist {
		loop.Trigger = &conversations.Trigger{
			Config: cfg.auto, Window: func(string) int64 { return route.Window }, Writer: writer,
		}
	}
	if !args.noPersist {
		loop.Extraction = a.extraction(ctx, cfg.all, d, books, m.transport, screen, show)
	}
	titled := a.title(ctx, s, *l, cfg, m, name, asked, args.noPersist)
	q := query.NewLoop(s, route.Model, box, screen, loop)
	before := len(l.Entries)
	answer, err := q.Turn(ctx, l, asked)
	show("")
	if len(l.Entries) > before && conversations.Model(l.Entries) != name {
		// The answer was interrupted, or the provider does not tell what it took.
		err = errors.Join(err, s.Append(context.WithoutCancel(ctx), l, conversations.ModelSetting(name)))
	}
	if shown := screen.end(); err == nil {
		err = shown
	}
	titled()
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(newQueryJSON(l, answer, name, args.noPersist)); err != nil {
			return err
		}
	}
	if asked.Schema != nil {
		return follows(asked.Schema, answer)
	}
	return nil
}

func firstOf(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// compactBefore applies -k before the question.
func (a *app) compactBefore(ctx context.Context, s *conversations.Service, l *conversations.Loaded, cfg conversationConfig, inline inlineRules, writer compaction.Summarizer) error {
	rules, err := inline.resolve(cfg.rules, false)
	if err != nil {
		return err
	}
	before := l.Entries
	steps, err := compaction.Plan(before, rules, a.now(), cfg.estimator)
	if err != nil {
		return err
	}
	if err := s.Compact(ctx, l, steps, writer, cfg.estimator); err != nil {
		return err
	}
	if !a.json {
		_, _ = fmt.Fprint(a.err, compacted{id: l.ID, entries: before, steps: steps}.text(false))
	}
	return nil
}

// queryJSON is the answer in JSON output.
type queryJSON struct {
	Conversation holdfast.ConversationID `json:"conversation,omitempty"`
	Model        string                  `json:"model"`
	Answer       string                  `json:"answer"`
	Data         json.RawMessage         `json:"data,omitempty"` // where a schema was given
	Usage        usageJSON               `json:"usage"`          // of all calls of the turn
}

type usageJSON struct {
	Calls      int    `json:"calls"`
	Input      int64  `json:"input_tokens"`
	CacheRead  int64  `json:"cache_read_tokens"`
	CacheWrite int64  `json:"cache_write_tokens"`
	Output     int64  `json:"output_tokens"`
	Cost       *int64 `json:"cost_microusd,omitempty"`
}

func newQueryJSON(l *conversations.Loaded, answer holdfast.AssistantMessage, model string, unkept bool) queryJSON {
	out := queryJSON{Conversation: l.ID, Model: model, Answer: answer.Text, Data: answer.Data}
	if unkept {
		out.Conversation = ""
	}
	turns := conversation.Turns(l.Entries)
	for _, e := range l.Entries[turns[len(turns)-1].Start:] {
		u, ok := e.Event.(holdfast.Usage)
		if !ok {
			continue
		}
		out.Usage.Calls++
		out.Usage.Input += u.Input
		out.Usage.CacheRead += u.CacheRead
		out.Usage.CacheWrite += u.CacheWrite
		out.Usage.Output += u.Output
		if u.Cost != nil {
			sum := *u.Cost
			if out.Usage.Cost != nil {
				sum += *out.Usage.Cost
			}
			out.Usage.Cost = &sum
		}
	}
	return out
}

// titleWait is how long a title is waited for when the answer is there.
const titleWait = 5 * time.Second

// title has a model write a title beside a conversation's first turn. The
// function that it returns waits for it, not for long.
func (a *app) title(ctx context.Context, s *conversations.Service, l conversations.Loaded, cfg conversationConfig, m *models, main string, asked holdfast.UserMessage, unkept bool) (wait func()) {
	first := conversation.TitleOf(asked)
	if unkept || len(l.Entries) > 0 {
		return func() {}
	}
	// What was asked is the title until there is a better one.
	_ = s.Retitle(ctx, l.ID, first)
	if !cfg.all.Query.Titles {
		return func() {}
	}
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	go func() {
		defer close(done)
		route, err := m.route(ctx, firstOf(cfg.all.Query.TitleModel, main), holdfast.ForTitle)
		if err != nil {
			return
		}
		// A conversation does well without a better title.
		if title, err := query.Title(ctx, route, asked); err == nil && title != "" {
			_ = s.Retitle(ctx, l.ID, title)
		}
	}()
	return func() {
		defer cancel()
		select {
		case <-done:
		case <-time.After(titleWait):
			cancel()
			<-done
		}
	}
}
