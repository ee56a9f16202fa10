package toolbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/toolbox"
)

// stdio is a server that the test binary plays. The race detector would hold up
// its end for a second.
func stdio(name, kind string) toolbox.Server {
	return toolbox.Server{Name: name, Command: os.Args[0], Env: map[string]string{serverVar: kind, "GORACE": "atexit_sleep_ms=0"}}
}

var allowed = map[string]toolbox.Policy{"*": toolbox.Allow}

// overHTTP serves over HTTP what newServer does, for who has the credential.
func overHTTP(t *testing.T) string {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer("http") }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestToolsOfServers(t *testing.T) {
	const offered = "update_plan srv_both srv_crash srv_echo srv_env srv_fail srv_grow srv_hang srv_mixed srv_nothing srv_odd_name_ srv_structured"
	web := toolbox.Server{Name: "srv", URL: overHTTP(t), Headers: map[string]string{"Authorization": "Bearer secret"}}
	for kind, server := range map[string]toolbox.Server{"stdio": stdio("srv", "plain"), "http": web} {
		t.Run(kind, func(t *testing.T) {
			b := open(t, toolbox.Config{
				Servers: []toolbox.Server{server}, Policies: allowed, CallTimeout: 10 * time.Second,
				Notice: func(text string) { t.Error(text) },
			})
			before := b.Definitions()
			if got := names(b); got != offered {
				t.Fatalf("offered %q, want %q", got, offered)
			}
			want := holdfast.ToolDefinition{
				Name: "srv_echo", Description: "does echo",
				Schema: []byte(`{"properties":{"also":{"type":"string"},"text":{"type":"string"}},"type":"object"}`),
			}
			if d := cmp.Diff(want, before[3]); d != "" {
				t.Error(d)
			}
			for _, test := range []struct{ tool, arguments, want string }{
				{"echo", `{"text":"a <b>"}`, `{"text":"a <b>"}`},
				{"echo", ``, `{}`},
				{"fail", `{}`, "! no such issue"},
				{"mixed", `{}`, mixed},
				{"structured", `{}`, `{"a":["x"],"b":1}`},
				{"both", `{}`, `{"b": 1}`},
				{"nothing", `{}`, "[the tool answered with nothing]"},
				{"odd_name_", `{}`, "odd"},
				{"grow", `{}`, "grown"},
			} {
				if got := call(t, b, "srv_"+test.tool, test.arguments); got != test.want {
					t.Errorf("%s: got %q\nwant %q", test.tool, got, test.want)
				}
			}
			if d := cmp.Diff(before, b.Definitions()); d != "" {
				t.Errorf("the definitions changed with the server: %s", d)
			}
		})
	}
}

func TestWhatACommandIsGiven(t *testing.T) {
	t.Setenv("TOOLBOX_TEST_FOREIGN", "key of another service")
	dir := t.TempDir()
	server := stdio("srv", "plain")
	server.Env[secretVar] = "secret"
	b := open(t, toolbox.Config{Dir: dir, Servers: []toolbox.Server{server}, Policies: allowed})
	got := strings.Split(call(t, b, "srv_env", ""), "\n")
	if len(got) != 3 {
		t.Fatalf("%q", got)
	}
	if got[0] != "secret" {
		t.Errorf("its own variable is %q", got[0])
	}
	if !strings.Contains(got[1], "PATH") || strings.Contains(got[1], "FOREIGN") {
		t.Errorf("it has the variables %s", got[1])
	}
	if a, err := os.Stat(got[2]); err != nil {
		t.Error(err)
	} else if b, err := os.Stat(dir); err != nil || !os.SameFile(a, b) {
		t.Errorf("it runs in %s", got[2])
	}
}

func TestACallThatHangsIsBrokenOff(t *testing.T) {
	const told = "! the tool did not answer within 1s and was stopped. Ask for less, or do without it"
	web := toolbox.Server{Name: "web", URL: overHTTP(t), Headers: map[string]string{"Authorization": "Bearer secret"}}
	b := open(t, toolbox.Config{Servers: []toolbox.Server{stdio("cmd", "plain"), stdio("deaf", "deaf"), web}, Policies: allowed, CallTimeout: time.Second})
	b.SetGrace(100 * time.Millisecond)
	for _, test := range []struct{ name, tool, arguments, want string }{
		{"a command", "cmd_hang", `{}`, told},
		{"a server over HTTP", "web_hang", `{}`, told},
		// More than a pipe holds, so that the call cannot be written.
		{"a command that stopped reading", "deaf_echo", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, told},
		{"the command goes on", "cmd_fail", `{}`, "! no such issue"},
		{"the server goes on", "web_fail", `{}`, "! no such issue"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := call(t, b, test.tool, test.arguments); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAnInterruptionBreaksACallOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := open(t, toolbox.Config{
		Servers: []toolbox.Server{stdio("cmd", "plain")},
		Ask: func(context.Context, holdfast.ToolCall) (toolbox.Answer, error) {
			go cancel()
			return toolbox.Once, nil
		},
	})
	if r, err := b.Run(ctx, holdfast.ToolCall{Name: "cmd_hang"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", told(r), err)
	}
}

func TestAServerThatCrashesIsTold(t *testing.T) {
	b := open(t, toolbox.Config{Servers: []toolbox.Server{stdio("srv", "plain")}, Policies: allowed, CallTimeout: 10 * time.Second})
	for _, tool := range []string{"srv_crash", "srv_echo"} {
		if got := call(t, b, tool, ""); !strings.HasPrefix(got, "! the MCP server srv failed: ") {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

func TestAServerThatDoesNotStartIsANotice(t *testing.T) {
	redirect := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	defer redirect.Close()
	for _, test := range []struct {
		name    string
		server  toolbox.Server
		timeout time.Duration
		want    string // behind the common beginning; ... stands for anything
	}{
		{"a command that is not there", toolbox.Server{Name: "srv", Command: "no-such-command"}, 0, `exec: "no-such-command": executable file not found in $PATH`},
		{"a command that ends at once", stdio("srv", "dies"), 0, "... it said last: no [31mlicence [0m found"},
		{"a command that says nothing", stdio("srv", "silent"), 400 * time.Millisecond, "it was not ready within 400ms"},
		{"a command that speaks something else", stdio("srv", "babbles"), 0, "..."},
		{"two tools of one name", stdio("srv", "clash"), 0, `its tools "a.b" and "a_b" would both be called srv_a_b`},
		{"more tools than are taken", stdio("srv", "crowd"), 0, "it has more than 256 tools"},
		{"an address where nobody is", toolbox.Server{Name: "srv", URL: "http://127.0.0.1:1/?key=secret"}, 0, "dial tcp 127.0.0.1:1: connect: connection refused"},
		{"an address that leads elsewhere", toolbox.Server{Name: "srv", URL: redirect.URL + "/?key=secret"}, 0, "it redirects. Write the address that it leads to as the url"},
		{"a credential that is refused", toolbox.Server{Name: "srv", URL: overHTTP(t)}, 0, "..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var notices []string
			cfg := toolbox.Config{
				Servers: []toolbox.Server{test.server, stdio("other", "plain")}, Policies: allowed,
				Notice: func(text string) { notices = append(notices, text) },
			}
			if test.timeout > 0 {
				// Where a start is short, the other server may not make it either.
				cfg.Servers, cfg.StartTimeout = cfg.Servers[:1], test.timeout
			}
			b := open(t, cfg)
			b.SetGrace(100 * time.Millisecond)
			if got := call(t, b, "other_fail", ""); test.timeout == 0 && got != "! no such issue" {
				t.Errorf("the other server: %q", got)
			}
			if got := call(t, b, "srv_echo", ""); got != "! there is no tool of this name" {
				t.Errorf("its tools: %q", got)
			}
			if len(notices) != 1 {
				t.Fatalf("notices: %q", notices)
			}
			got, ok := strings.CutPrefix(notices[0], "the MCP server srv did not start, its tools are missing: ")
			begin, end, open := strings.Cut(test.want, "...")
			if !ok || !open && got != test.want || open && (!strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end)) || strings.Contains(got, "secret") {
				t.Errorf("%q, want %q", notices[0], test.want)
			}
		})
	}
}

func TestAnAnswerWithoutAnEndIsRefused(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "vast", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "vast", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 17<<20)}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	t.Cleanup(web.Close)
	b := open(t, toolbox.Config{Servers: []toolbox.Server{{Name: "srv", URL: web.URL}}, Policies: allowed})
	if got := call(t, b, "srv_vast", ""); !strings.HasPrefix(got, "! the MCP server srv failed: ") || !strings.Contains(got, "too large") {
		t.Errorf("%.300q", got)
	}
}

func TestAStartThatIsInterruptedBeginsAnew(t *testing.T) {
	b := open(t, toolbox.Config{Servers: []toolbox.Server{stdio("srv", "plain")}, Notice: func(text string) { t.Error(text) }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := names(b); !strings.Contains(got, "srv_echo") {
		t.Errorf("%q", got)
	}
}

// TestCloseEndsWhatAServerStarted watches connections that processes hold: each
// ends with its process.
func TestCloseEndsWhatAServerStarted(t *testing.T) {
	for _, kind := range []string{"stubborn", "parent"} {
		t.Run(kind, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			server := stdio("srv", kind)
			server.Env[aliveVar] = listener.Addr().String()
			b := open(t, toolbox.Config{Servers: []toolbox.Server{server}, Policies: allowed})
			b.SetGrace(200 * time.Millisecond)
			if got := call(t, b, "srv_fail", ""); got != "! no such issue" {
				t.Fatalf("%q", got)
			}
			alive := map[string]*bufio.Reader{}
			for range 2 {
				conn, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				r := bufio.NewReader(conn)
				who, err := r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				alive[strings.TrimSpace(who)] = r
			}
			if alive[kind] == nil || alive["child"] == nil {
				t.Fatalf("alive: %v", alive)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			for who, r := range alive {
				if rest, err := io.ReadAll(r); len(rest) > 0 {
					t.Errorf("%s: %q, %v", who, rest, err)
				}
			}
			if got := names(b) + call(t, b, "srv_fail", ""); got != "! there is no tool of this name" {
				t.Errorf("behind the end: %q", got)
			}
		})
	}
}

func TestDescriptionsAreBounded(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "long", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "long", Description: strings.Repeat("ä", 600), InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, fmt.Errorf("not called")
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer web.Close()
	b := open(t, toolbox.Config{Servers: []toolbox.Server{{Name: "srv", URL: web.URL}}})
	defer b.Close()
	want := []holdfast.ToolDefinition{{Name: "srv_long", Description: strings.Repeat("ä", 512), Schema: []byte(`{"type":"object"}`)}}
	if d := cmp.Diff(want, b.Definitions()[1:]); d != "" {
		t.Error(d)
	}
}
