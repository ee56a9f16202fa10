package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast"
)

// Bounds of what a server offers.
const (
	maxTools       = 256
	maxName        = 64   // of a tool, in bytes: what every provider takes
	maxDescription = 1024 // in bytes: likewise
)

// Server is an MCP server: a command that speaks on its standard input and output,
// or an address that speaks streamable HTTP. It has one of Command and URL.
type Server struct {
	// Name begins the names of its tools: a letter, then up to 31 letters, digits,
	// _ and -.
	Name string

	Command string
	Args    []string
	// Env is added to the few variables that a command inherits: where programs
	// and the home are, the language and the terminal.
	Env map[string]string

	URL string // http or https
	// Headers are sent with every request.
	Headers map[string]string
}

var serverName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,31}$`)

// checkServers checks servers, and that the tools of each can be told from all
// others by their names.
func checkServers(servers []Server, builtin []tool) error {
	for i, s := range servers {
		if !serverName.MatchString(s.Name) {
			return holdfast.Errorf(holdfast.ErrConfig, "the MCP server %.80q cannot be called so. Begin with a letter, then use letters, digits, _ and -, 32 at most", s.Name)
		}
		if (s.Command == "") == (s.URL == "") {
			return holdfast.Errorf(holdfast.ErrConfig, "the MCP server %s needs either a command or a url", s.Name)
		}
		if s.URL != "" {
			u, err := url.Parse(s.URL)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return holdfast.Errorf(holdfast.ErrConfig, "the url of the MCP server %s is no address. Write one such as https://example.com/mcp", s.Name)
			}
		}
		for _, t := range builtin {
			if strings.HasPrefix(t.Name, s.Name+"_") {
				return holdfast.Errorf(holdfast.ErrConfig, "the tools of the MCP server %s could be taken for the built-in tool %s. Give the server another name", s.Name, t.Name)
			}
		}
		for _, other := range servers[:i] {
			if strings.HasPrefix(s.Name+"_", other.Name+"_") || strings.HasPrefix(other.Name+"_", s.Name+"_") {
				return holdfast.Errorf(holdfast.ErrConfig, "the tools of the MCP servers %s and %s could be taken for each other. Rename one; a - in place of a _ is enough", other.Name, s.Name)
			}
		}
	}
	return nil
}

// server is a server that runs.
type server struct {
	name    string
	session *mcp.ClientSession
	process *process // nil: over HTTP
	tools   []tool
}

// connect starts a server and reads what it offers. Of one that fails nothing
// is left.
func (b *Box) connect(ctx context.Context, cfg Server) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.StartTimeout)
	defer cancel()
	s := &server{name: cfg.Name}
	err := b.dial(ctx, cfg, s)
	if err == nil {
		err = s.list(ctx)
	}
	if err == nil {
		for i := range s.tools {
			s.tools[i].policy = policies(b.cfg.Policies).of(s.tools[i].Name, Ask)
		}
		return s, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it was not ready within %s", b.cfg.StartTimeout)
	}
	s.stop()
	if s.process != nil && s.process.stderr.String() != "" {
		err = fmt.Errorf("%w; it said last: %s", err, s.process.stderr)
	}
	return nil, err
}

// dial connects s with its server. The client offers nothing to it: no roots, no
// sampling, no questions to the person.
func (b *Box) dial(ctx context.Context, cfg Server, s *server) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "holdfast", Version: b.cfg.Version},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	var transport mcp.Transport
	var err error
	if cfg.Command != "" {
		if s.process, err = startProcess(cfg, b.cfg.Dir, environment(cfg.Env), b.grace, b.cfg.CallTimeout); err != nil {
			return err
		}
		transport = s.process.transport()
	} else {
		transport = &mcp.StreamableClientTransport{
			Endpoint: cfg.URL,
			HTTPClient: &http.Client{
				Transport: remote{next: b.cfg.Transport, headers: cfg.Headers},
				// The headers, which may be secret, would follow to another host.
				CheckRedirect: func(*http.Request, []*http.Request) error {
					return errors.New("it redirects. Write the address that it leads to as the url")
				},
			},
			MaxRetries:           -1,   // a call that broke off may have done something
			DisableStandaloneSSE: true, // what it carries is not heard
		}
	}
	s.session, err = client.Connect(ctx, transport, nil)
	return plain(err)
}

// list reads what the server offers, page by page.
func (s *server) list(ctx context.Context) error {
	names := map[string]string{} // as offered to the model: as the server has them
	for t, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			return plain(err)
		}
		if len(s.tools) == maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
		name := toolName(s.name, t.Name)
		if other, ok := names[name]; ok {
			return fmt.Errorf("its tools %.80q and %.80q would both be called %s", other, t.Name, name)
		}
		names[name] = t.Name
		schema, err := schemaOf(t)
		if err != nil {
			return fmt.Errorf("the schema of its tool %.80q is no JSON object", t.Name)
		}
		s.tools = append(s.tools, tool{
			ToolDefinition: holdfast.ToolDefinition{Name: name, Description: first(strings.ToValidUTF8(t.Description, ""), maxDescription), Schema: schema},
			run: func(ctx context.Context, arguments []byte) ([]holdfast.Part, bool, error) {
				return s.call(ctx, t.Name, arguments)
			},
		})
	}
	slices.SortFunc(s.tools, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// schemaOf is the schema of the arguments, in the order of its names, so that the
// same tool is the same bytes.
func schemaOf(t *mcp.Tool) ([]byte, error) {
	object, ok := t.InputSchema.(map[string]any)
	if !ok {
		return nil, errors.New("no object")
	}
	return json.Marshal(object)
}

// toolName is what the model calls a tool of a server. A name that is too long
// ends in its digest, so that two that begin alike stay apart.
func toolName(server, tool string) string {
	name := server + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	if len(name) <= maxName {
		return name
	}
	digest := sha256.Sum256([]byte(tool))
	end := "_" + hex.EncodeToString(digest[:4])
	return name[:maxName-len(end)] + end
}

func (s *server) call(ctx context.Context, name string, arguments []byte) ([]holdfast.Part, bool, error) {
	r, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return nil, false, fmt.Errorf("the MCP server %s failed: %w", s.name, plain(err))
	}
	return parts(r), r.IsError, nil
}

// plain takes the address out of an error of HTTP: its query may hold a secret.
func plain(err error) error {
	if at := new(url.Error); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// stop ends the session, and the process with all that it started.
func (s *server) stop() {
	if s.session != nil {
		// What a server says to the end of its session changes nothing.
		_ = s.session.Close()
	}
	if s.process != nil {
		s.process.stop()
	}
}

// remote adds headers to requests, and bounds answers.
type remote struct {
	next    http.RoundTripper
	headers map[string]string
}

func (r remote) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	resp, err := r.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, mcp.DefaultMaxLineLength)
	}
	return resp, err
}
