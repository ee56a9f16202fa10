package toolbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

// Defaults of a Config.
const (
	DefaultMaxResult    = 30_000
	DefaultCallTimeout  = time.Minute
	DefaultStartTimeout = 10 * time.Second
)

// maxRaw bounds a result before it is shortened, in bytes.
const maxRaw = 8 << 20

// Config says what is in a Box. Its functions must not call the Box.
type Config struct {
	// Dir is where the file tools read, and where servers run; "": there are no
	// file tools, and servers run where this process does.
	Dir string
	// Servers are MCP servers, in the order of their tools.
	Servers []Server
	// Policies are patterns of tool names, in the form of path.Match, such as
	// github_*. One that denies counts before all others, then the longest that
	// matches. Without one, built-in tools are
	// allowed and others ask.
	Policies map[string]Policy
	// Ask asks a person; nil: calls that must be confirmed are refused. It is
	// called for one call at a time. Its error ends the turn.
	Ask func(ctx context.Context, call holdfast.ToolCall) (Answer, error)
	// Keep is given a result that Run shortens, as it was; nil: it is dropped. Its
	// error ends the turn.
	Keep func(ctx context.Context, call holdfast.ToolCall, raw holdfast.ToolResult) error
	// Notice tells a person, in one line, of a server that did not start; nil: nobody.
	Notice func(text string)
	// Transport carries what goes to servers with a URL; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Version of this program, which servers are told.
	Version string
	// StartTimeout bounds the start of a server until it has told its tools,
	// CallTimeout a call. 0: the defaults.
	StartTimeout, CallTimeout time.Duration
	// MaxResult bounds the text of a result in bytes; 0: the default. At least 1,000.
	MaxResult int
}

// Box holds tools. Its methods may be called from several goroutines.
type Box struct {
	cfg   Config
	files *files // nil: no file tools
	grace time.Duration

	// asking is held while a person is asked, and guards always.
	asking sync.Mutex
	always map[string]bool

	// mu is held while servers start or end, and guards what follows.
	mu      sync.Mutex
	started bool
	running []*server
	tools   []tool
}

// tool is one tool of any source.
type tool struct {
	holdfast.ToolDefinition
	policy Policy
	// run makes a call with a JSON object. Its error is told to the model, in words.
	run func(ctx context.Context, arguments []byte) ([]holdfast.Part, bool, error)
}

// New returns a Box and starts nothing. Errors have the code config, or
// unavailable where Dir cannot be opened.
func New(cfg Config) (*Box, error) {
	if cfg.MaxResult == 0 {
		cfg.MaxResult = DefaultMaxResult
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = DefaultCallTimeout
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Notice == nil {
		cfg.Notice = func(string) {}
	}
	if cfg.MaxResult < 1000 || cfg.CallTimeout < 0 || cfg.StartTimeout < 0 {
		return nil, holdfast.Errorf(holdfast.ErrConfig, "the bounds of tools are out of range: results need at least 1000 bytes, and timeouts are above 0")
	}
	if err := policies(cfg.Policies).check(); err != nil {
		return nil, err
	}
	b := &Box{cfg: cfg, grace: 2 * time.Second, always: map[string]bool{}}
	if cfg.Dir != "" {
		files, err := openFiles(cfg.Dir, cfg.MaxResult)
		if err != nil {
			return nil, err
		}
		b.files = files
	}
	b.tools = b.builtin()
	if err := checkServers(cfg.Servers, b.tools); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// builtin lists the tools of this package.
func (b *Box) builtin() []tool {
	var all []tool
	if b.files != nil {
		all = b.files.tools()
	}
	all = append(all, planTool)
	for i := range all {
		all[i].policy = policies(b.cfg.Policies).of(all[i].Name, Allow)
	}
	return all
}

// Start starts the servers, all at once, where that was not done yet. Its error
// says that ctx ended before they were there: then none runs, and the next call
// starts over.
func (b *Box) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return nil
	}
	running := make([]*server, len(b.cfg.Servers))
	failures := make([]error, len(b.cfg.Servers))
	var all sync.WaitGroup
	for i, s := range b.cfg.Servers {
		all.Go(func() { running[i], failures[i] = b.connect(ctx, s) })
	}
	all.Wait()
	running = slices.DeleteFunc(running, func(s *server) bool { return s == nil })
	if err := ctx.Err(); err != nil {
		stop(running)
		return err
	}
	for i, err := range failures {
		if err != nil {
			b.cfg.Notice(fmt.Sprintf("the MCP server %s did not start, its tools are missing: %s", b.cfg.Servers[i].Name, oneLine(err.Error())))
		}
	}
	for _, s := range running {
		b.tools = append(b.tools, s.tools...)
	}
	b.running, b.started = running, true
	return nil
}

// Definitions lists the tools that a model is offered. It starts the servers
// where Start was not called before.
func (b *Box) Definitions() []holdfast.ToolDefinition {
	// Without an end of its own, a start cannot fail.
	_ = b.Start(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []holdfast.ToolDefinition
	for _, t := range b.tools {
		if t.policy != Deny {
			all = append(all, t.ToolDefinition)
		}
	}
	return all
}

// Run makes a call, once it is permitted. What goes wrong with it is in the
// result; an error says that ctx ended, or comes from Config.Ask or Config.Keep.
func (b *Box) Run(ctx context.Context, call holdfast.ToolCall) (holdfast.ToolResult, error) {
	if err := b.Start(ctx); err != nil {
		return holdfast.ToolResult{}, err
	}
	raw, err := b.run(ctx, call)
	if err != nil {
		return holdfast.ToolResult{}, err
	}
	raw.CallID = call.ID
	result, cut := shorten(raw, b.cfg.MaxResult)
	if cut && b.cfg.Keep != nil {
		// The call was made: what it brought is not lost to an interruption.
		if err := b.cfg.Keep(context.WithoutCancel(ctx), call, raw); err != nil {
			return holdfast.ToolResult{}, err
		}
	}
	return result, nil
}

func (b *Box) run(ctx context.Context, call holdfast.ToolCall) (holdfast.ToolResult, error) {
	t, ok := b.find(call.Name)
	if !ok {
		return failed("there is no tool of this name"), nil
	}
	arguments := bytes.TrimSpace(call.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	// Names that stand twice would let a person confirm one value and the tool
	// read another.
	if v := jsontext.Value(arguments); v.Kind() != '{' || !v.IsValid() {
		return failed("the arguments are no JSON object, or have a name twice"), nil
	}
	refusal, err := b.permit(ctx, t, call)
	if err != nil {
		return holdfast.ToolResult{}, err
	}
	if refusal != "" {
		return failed(refusal), nil
	}
	within, cancel := context.WithTimeout(ctx, b.cfg.CallTimeout)
	defer cancel()
	parts, isError, err := t.run(within, arguments)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return holdfast.ToolResult{}, ctx.Err()
	case within.Err() != nil:
		return failed(fmt.Sprintf("the tool did not answer within %s and was stopped. Ask for less, or do without it", b.cfg.CallTimeout)), nil
	default:
		return failed(err.Error()), nil
	}
	if n := size(parts); n > maxRaw {
		return failed(fmt.Sprintf("the result has %d bytes, more than the %d that are taken. Ask for less at once", n, maxRaw)), nil
	}
	if len(parts) == 0 {
		parts = []holdfast.Part{holdfast.Text("[the tool answered with nothing]")}
	}
	return holdfast.ToolResult{IsError: isError, Parts: parts}, nil
}

func (b *Box) find(name string) (tool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.tools, func(t tool) bool { return t.Name == name })
	if i < 0 {
		return tool{}, false
	}
	return b.tools[i], true
}

// Close ends the servers and waits for their processes: each may take a few
// seconds to end by itself before it is killed. There are no tools behind it.
// Calls under way fail. It may be called again.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	stop(b.running)
	b.running, b.tools, b.started = nil, nil, true
	if b.files == nil {
		return nil
	}
	return b.files.root.Close()
}

func stop(servers []*server) {
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(s.stop)
	}
	all.Wait()
}

// failed is a result that tells a model what went wrong.
func failed(why string) holdfast.ToolResult {
	return holdfast.ToolResult{IsError: true, Parts: []holdfast.Part{holdfast.Text(why)}}
}

// decode reads arguments strictly: what a model wrote and nobody reads would
// mislead it.
func decode(arguments []byte, into any) error {
	if err := json.Unmarshal(arguments, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("the arguments do not fit the schema: %w", err)
	}
	return nil
}
