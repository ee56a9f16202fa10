package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/toolbox"
)

// toolbox makes the tools of a query; nil where it has none. What it began is
// ended by close.
func (a *app) toolbox(ctx context.Context, s *conversations.Service, l *conversations.Loaded, cfg config.Config, args queryArgs, screen *screen) (box query.Tools, end func(), err error) {
	if args.noTools {
		return nil, func() {}, nil
	}
	c := toolbox.Config{
		Policies:    policies(cfg),
		Notice:      screen.Notice,
		Version:     a.version,
		CallTimeout: cfg.Query.ToolTimeout,
		MaxResult:   int(cfg.Query.MaxResult),
		Keep: func(ctx context.Context, call holdfast.ToolCall, raw holdfast.ToolResult) error {
			return s.Append(ctx, l, conversation.RawResult(call, raw))
		},
	}
	if a.interactive && a.terminal && !a.json {
		c.Ask = a.askTool
	}
	if cfg.Tools.Files {
		c.Dir = a.dir
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCP)) {
		if m := cfg.MCP[name]; m.Enabled {
			server, err := mcpServer(name, m)
			if err != nil {
				screen.Notice("the MCP server " + name + " is left out: " + err.Error())
				continue
			}
			c.Servers = append(c.Servers, server)
		}
	}
	b, err := toolbox.New(c)
	if err != nil {
		return nil, nil, err
	}
	if err := b.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return b, func() {
		// What a server says at its end changes nothing.
		_ = b.Close()
	}, nil
}

// policies are what the configuration says of tools. What it does not name is
// asked for.
func policies(cfg config.Config) map[string]toolbox.Policy {
	p := map[string]toolbox.Policy{"*": toolbox.Ask}
	for _, pattern := range cfg.Tools.Allow {
		p[pattern] = toolbox.Allow
	}
	for _, pattern := range cfg.Tools.Deny {
		p[pattern] = toolbox.Deny
	}
	return p
}

// mcpServer is a configured server as the toolbox knows it, with its credentials.
func mcpServer(name string, m config.MCPServer) (toolbox.Server, error) {
	s := toolbox.Server{Name: name, Command: m.Command, Args: m.Args}
	if m.URL != nil {
		s.URL = m.URL.String()
	}
	env, err := m.Environ()
	if err != nil {
		return s, err
	}
	s.Env = map[string]string{}
	for _, pair := range env {
		key, value, _ := strings.Cut(pair, "=")
		s.Env[key] = value
	}
	s.Headers, err = m.ReadHeaders()
	return s, err
}

// askTool asks a person whether a call may be made.
func (a *app) askTool(ctx context.Context, call holdfast.ToolCall) (toolbox.Answer, error) {
	// All of it is shown: what is cut off could not be judged.
	_, _ = fmt.Fprintf(a.err, "Run %s %s? [y/N/a(lways)] ", line(call.Name), line(string(call.Arguments)))
	answer := make(chan string, 1)
	go func() {
		// An answer that ends without a newline, or none at all, is read as it is.
		text, _ := bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
		answer <- text
	}()
	select {
	case text := <-answer:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return toolbox.Once, nil
		case "a", "always":
			return toolbox.Always, nil
		}
		return toolbox.No, nil
	case <-ctx.Done():
		return toolbox.No, ctx.Err()
	}
}
