package toolbox_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary is also the stdio server that it talks to: these variables
// say which, and where it tells that it lives.
const (
	serverVar = "TOOLBOX_TEST_SERVER"
	aliveVar  = "TOOLBOX_TEST_ALIVE"
	secretVar = "TOOLBOX_TEST_SECRET"
)

func TestMain(m *testing.M) {
	kind := os.Getenv(serverVar)
	if kind == "" {
		os.Exit(m.Run())
	}
	if address := os.Getenv(aliveVar); address != "" {
		// The connection ends with the process. It is told apart by its first line.
		conn, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(3)
		}
		fmt.Fprintln(conn, kind)
	}
	serve(kind)
}

func serve(kind string) {
	in := io.Reader(os.Stdin)
	switch kind {
	case "dies":
		fmt.Fprintln(os.Stderr, "loading\nno \x1b[31mlicence\x1b[0m found")
		os.Exit(1)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "babbles":
		fmt.Println("welcome to the server")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "child":
		signal.Ignore(syscall.SIGTERM)
		select {}
	case "stubborn":
		// It outlives its input, and neither it nor its child hears a request to end.
		signal.Ignore(syscall.SIGTERM)
		child("child")
		go func() { _ = newServer(kind).Run(context.Background(), transport(in)) }()
		select {}
	case "parent":
		// It ends as it should, and leaves a child behind.
		child("child")
	case "deaf":
		in = &deaf{r: os.Stdin}
	}
	_ = newServer(kind).Run(context.Background(), transport(in))
}

func child(kind string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVar+"="+kind)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		os.Exit(3)
	}
}

func transport(in io.Reader) mcp.Transport {
	return &mcp.IOTransport{Reader: io.NopCloser(in), Writer: os.Stdout}
}

// deaf stops reading behind the request for the tools.
type deaf struct {
	r    io.Reader
	done bool
}

func (d *deaf) Read(p []byte) (int, error) {
	if d.done {
		select {}
	}
	n, err := d.r.Read(p)
	d.done = bytes.Contains(p[:n], []byte("tools/list"))
	return n, err
}

// newServer is the server that most tests talk to, in pages of two tools.
func newServer(kind string) *mcp.Server {
	pages := &mcp.ServerOptions{PageSize: 2}
	if kind == "deaf" {
		pages = nil
	}
	s := mcp.NewServer(&mcp.Implementation{Name: kind, Version: "1"}, pages)
	add := func(name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"text": {Type: "string"}, "also": {Type: "string"}},
		}}, h)
	}
	answer := func(name string, r mcp.CallToolResult) {
		add(name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return &r, nil })
	}
	words := func(text string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: text}} }
	switch kind {
	case "clash":
		answer("a.b", mcp.CallToolResult{})
		answer("a_b", mcp.CallToolResult{})
		return s
	case "crowd":
		for i := range 300 {
			answer(fmt.Sprintf("t%d", i), mcp.CallToolResult{})
		}
		return s
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: words(string(r.Params.Arguments))}, nil
	})
	add("env", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var names []string
		for _, v := range os.Environ() {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		dir, _ := os.Getwd()
		return &mcp.CallToolResult{Content: append(words(os.Getenv(secretVar)), words(strings.Join(names, " "))[0], words(dir)[0])}, nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer("a_new_one", mcp.CallToolResult{})
		return &mcp.CallToolResult{Content: words("grown")}, nil
	})
	add("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("crash", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(1)
		return nil, nil
	})
	answer("fail", mcp.CallToolResult{IsError: true, Content: words("no such issue")})
	answer("mixed", mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "a text"},
		&mcp.TextContent{},
		&mcp.ImageContent{Data: png, MIMEType: "image/jpeg"},
		&mcp.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/svg+xml"},
		&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
		&mcp.ResourceLink{URI: "https://example.com/a", Name: "a", MIMEType: "text/html", Description: "the page"},
		&mcp.ResourceLink{URI: "file:///b", Name: "b"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "mem:c", Text: "c's text"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "mem:d", MIMEType: "image/png", Blob: png}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "mem:e", MIMEType: "application/zip", Blob: []byte("PK")}},
	}})
	answer("structured", mcp.CallToolResult{StructuredContent: map[string]any{"b": 1, "a": []string{"x"}}})
	answer("both", mcp.CallToolResult{StructuredContent: map[string]any{"b": 1}, Content: words(`{"b": 1}`)})
	answer("nothing", mcp.CallToolResult{})
	answer("odd name!", mcp.CallToolResult{Content: words("odd")})
	return s
}

// mixed is what a model is given of the tool of this name.
var mixed = strings.Join([]string{
	"a text",
	"image image/png  " + base64.StdEncoding.EncodeToString(png),
	"[an image (6 bytes) that is too large, or no PNG, JPEG, GIF or WebP: not shown]",
	"[audio (audio/wav, 4 bytes): not shown]",
	"[a link to a: https://example.com/a (text/html), the page]",
	"[a link to b: file:///b]",
	"[mem:c]\nc's text",
	"image image/png  " + base64.StdEncoding.EncodeToString(png),
	"[mem:e (application/zip, 2 bytes): not shown]",
}, "\n")
