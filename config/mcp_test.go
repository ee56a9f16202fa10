package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestErrorsOfServers(t *testing.T) {
	const (
		name   = " is no name of a server. Take 1 to 32 characters of a-z, 0-9, dash and underscore"
		url    = `f.toml:1: mcp.a.url must be an http or https address such as "https://mcp.example/mcp"`
		secret = ` may be a credential, which never stands in this file. Write "env:NAME" or "file:/PATH" (an absolute path)`
		line   = " must be one line of plain ASCII characters, without white space around it"
		ref    = ` must be "env:NAME" or "file:/PATH" (an absolute path), or a text that begins otherwise`
	)
	for _, c := range []struct{ name, text, want string }{
		{"a name with a capital", "[mcp.Git]\ncommand = \"g\"\n", "f.toml:1: mcp.Git" + name},
		{"a name with a dot", "[mcp.\"a.b\"]\ncommand = \"g\"\n", "f.toml:1: mcp.\"a.b\"" + name},
		{"a name that is too long", "[mcp.a23456789-123456789_1234567890123]\ncommand = \"g\"\n", "f.toml:1: mcp.a23456789-123456789_1234567890123" + name},
		{"no name", "[mcp.\"\"]\ncommand = \"g\"\n", "f.toml:1: mcp.\"\"" + name},
		{"neither a command nor an address", "\n[mcp.a]\nenabled = false\n", "f.toml:2: mcp.a has neither command nor url. Add one, or remove it"},
		{"both", "[mcp.a]\nurl = \"http://h\"\n\ncommand = \"g\"\n", "f.toml:2: mcp.a.url cannot stand beside mcp.a.command (f.toml:4). Remove one"},
		{"arguments of an address", "[mcp.a]\nurl = \"http://h\"\nargs = [\"x\"]\n", "f.toml:3: mcp.a.args has no effect beside url. Remove it"},
		{"variables of an address", "[mcp.a]\nurl = \"http://h\"\n[mcp.a.env]\nX = \"1\"\n", "f.toml:3: mcp.a.env has no effect beside url. Remove it"},
		{"headers of a command", "[mcp.a]\ncommand = \"g\"\nheaders.X = \"1\"\n", "f.toml:3: mcp.a.headers has no effect beside command. Remove it"},
		{"a blank command", "mcp.a.command = \" \"\n", "f.toml:1: mcp.a.command is empty. Write the program that is the server"},
		{"an unknown key, and what may be a credential", "mcp.a = {env = {DSN = \"pg://u:pw@h\"}, comand = \"g\"}\n", "f.toml:1: unknown key \"mcp.a.comand\"\n    mcp.a = ...\nDid you mean \"command\"?"},
		{"a server in capitals", "MCP.a = {command = \"g\", args = [\"pw\"]}\n", "f.toml:1: unknown key \"MCP\"\n    MCP.a = ...\nDid you mean \"mcp\"?"},
		{"a command line", "[mcp.a]\ncommand = [\"g\", \"pw\"]\n", "f.toml:2: mcp.a.command must be a text such as \"npx\"\n    command = ..."},
		{"one argument where a list belongs", "mcp.a.args = \"x\"\n", "f.toml:1: mcp.a.args must be a list of texts such as [\"--verbose\"]\n    mcp.a.args = ..."},
		{"a number in a variable", "mcp.a = {command = \"g\", env = {PORT = 80}}\n", "f.toml:1: mcp.a.env.PORT must be a text, or \"env:NAME\" to pass a variable on\n    mcp.a = ..."},
		{"a text where a table belongs", "mcp.a = \"g\"\n", "f.toml:1: mcp.a must be a table: write [mcp.NAME] above its keys\n    mcp.a = ..."},
		{"no name of a variable", "[mcp.a]\ncommand = \"g\"\nenv = {\"A=B\" = \"1\"}\n", "f.toml:3: mcp.a.env.\"A=B\" is no name of a variable. Take letters, digits and underscore"},
		{
			"no variable to pass on", "[mcp.a]\ncommand = \"g\"\nenv.X = \"env:\"\n",
			"f.toml:3: mcp.a.env.X must be \"env:NAME\" with the name of a variable, or a text that begins otherwise",
		},
		{
			"a credential in a variable", "[mcp.a]\ncommand = \"g\"\nenv.GITHUB_TOKEN = \"ghp_0123456789\"\n",
			"f.toml:3: mcp.a.env.GITHUB_TOKEN may be a credential, which never stands in this file. Write \"env:NAME\" with a variable that holds it",
		},
		{
			"a credential for a program in a file", "[mcp.a]\ncommand = \"g\"\nenv.api_key = \"file:/etc/key\"\n",
			"f.toml:3: mcp.a.env.api_key may be a credential, which never stands in this file. Write \"env:NAME\" with a variable that holds it",
		},
		{"a variable with a NUL", "mcp.a = {command = \"g\", env = {X = \"\\u0000\"}}\n", "f.toml:1: mcp.a.env.X must not hold a NUL character"},
		{"another scheme", "mcp.a.url = \"ws://h\"\n", url},
		{"no host", "mcp.a.url = \"http:///mcp\"\n", url},
		{"no address", "mcp.a.url = \"\"\n", url},
		{"a broken escape with a password in it", "mcp.a.url = \"https://u:sk-secret@h/%zz\"\n", url},
		{"a password", "mcp.a.url = \"https://u:sk-secret@h\"\n", "f.toml:1: mcp.a.url must not hold a user or password. Put the credential into headers"},
		{"a fragment", "mcp.a.url = \"https://h/#\"\n", "f.toml:1: mcp.a.url must not hold a fragment, which is never sent"},
		{"a credential in a query", "mcp.a.url = \"https://h/?x=1&exaApiKey=sk-secret\"\n", "f.toml:1: mcp.a.url must not hold a credential, as its query may. Put it into headers"},
		{"a broken query", "mcp.a.url = \"https://h/?a;key=sk-secret\"\n", "f.toml:1: mcp.a.url has a query that is not well-formed"},
		{"no name of a header", "mcp.a = {url = \"http://h\", headers = {\"a b\" = \"1\"}}\n", "f.toml:1: mcp.a.headers.\"a b\" is no name of a header"},
		{
			"a header twice", "[mcp.a]\nurl = \"http://h\"\n[mcp.a.headers]\nX-a = \"1\"\nx-A = \"2\"\n",
			"f.toml:5: mcp.a.headers.x-A is given twice: names of headers differ by more than capitals. Remove one",
		},
		{"a credential in a header", "mcp.a = {url = \"http://h\", headers = {Authorization = \"Bearer sk-secret\"}}\n", "f.toml:1: mcp.a.headers.Authorization" + secret},
		{"a credential in a header of its own", "mcp.a = {url = \"http://h\", headers = {X-Api-Key = \"sk-secret\"}}\n", "f.toml:1: mcp.a.headers.X-Api-Key" + secret},
		{"a header from a path that is not absolute", "mcp.a = {url = \"http://h\", headers = {X = \"file:key\"}}\n", "f.toml:1: mcp.a.headers.X" + ref},
		{"a header from no variable", "mcp.a = {url = \"http://h\", headers = {X = \"env:a b\"}}\n", "f.toml:1: mcp.a.headers.X" + ref},
		{"a header of two lines", "mcp.a = {url = \"http://h\", headers = {X = \"a\\r\\nb: c\"}}\n", "f.toml:1: mcp.a.headers.X" + line},
		{"a header that ends in a space", "mcp.a = {url = \"http://h\", headers = {X = \"a \"}}\n", "f.toml:1: mcp.a.headers.X" + line},
		{"an empty header", "mcp.a = {url = \"http://h\", headers = {X = \"\"}}\n", "f.toml:1: mcp.a.headers.X" + line},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.text, c.want) })
	}
	wantLayersError(t, []string{"[mcp.a]\ncommand = \"g\"", "mcp.a.url = \"http://h\""}, "2.toml:1: mcp.a.url cannot stand beside mcp.a.command (1.toml:2). Remove one")
	wantLayersError(t, []string{"[mcp.a]\nurl = \"http://h\"", "mcp.a.command = \"g\""}, "2.toml:1: mcp.a.command cannot stand beside mcp.a.url (1.toml:2). Remove one")
	wantLayersError(t, []string{"[mcp.a]\nurl = \"http://h\"\nheaders.x = \"1\"", "mcp.a.headers.X = \"g\""},
		"2.toml:1: mcp.a.headers.X is given twice: names of headers differ by more than capitals. Remove one")
}

// Also where a layer writes the whole entry, as a variable must, each key of it
// stands over the one before alone.
func TestServersAreMergedKeyByKey(t *testing.T) {
	m := merge(t,
		"mcp = {a = {command = \"g\", args = [\"x\", \"y\"], env = {A = \"1\", B = \"2\"}}, b = {url = \"http://h\", headers = {A = \"1\", B = \"2\"}}}",
		"mcp = {a = {enabled = false}, c = {command = \"c\"}}",
		"mcp = {a = {args = [\"z\"]}, b = {url = \"http://i\"}}",
		"mcp = {a = {env = {B = \"3\", C = \"4\"}}, b = {headers = {B = \"3\"}}}",
		"mcp = {a = {command = \"h\"}, c = {args = [], env = {}}}",
		"mcp.a = {}\nmcp.b = {}",
	)
	want := map[string]MCPServer{
		"a": {Command: "h", Args: []string{"z"}, Env: map[string]string{"A": "1", "B": "3", "C": "4"}},
		"b": {Enabled: true, URL: mustURL(t, "http://i"), Headers: map[string]string{"A": "1", "B": "3"}},
		"c": {Enabled: true, Command: "c"},
	}
	if diff := cmp.Diff(want, m.MCP); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"mcp.a.enabled": "2.toml:1", "mcp.a.env.A": "1.toml:1", "mcp.a.env.B": "4.toml:1", "mcp.a.args[0]": "3.toml:1", "mcp.a.args[1]": BuiltIn, "mcp.c.enabled": BuiltIn,
	} {
		if got := m.Origin(key); got != want {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
}

func TestVariablesForAServer(t *testing.T) {
	t.Setenv("HF_SET", "secret = 1")
	t.Setenv("HF_EMPTY", "")
	s := MCPServer{Env: map[string]string{"B": "env:HF_SET", "A": "file:/x y", "C": "env:HF_EMPTY", "D": ""}}
	got, err := s.Environ()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A=file:/x y", "B=secret = 1", "C=", "D="}, got); diff != "" {
		t.Error(diff)
	}
	s.Env["C"] = "env:HF_NOT_SET"
	_, err = s.Environ()
	if want := "C refers to the environment variable HF_NOT_SET, which is not set. Set it, or remove C"; err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
		t.Errorf("code %s\n got: %v\nwant: %s", holdfast.CodeOf(err), err, want)
	}
}

func TestHeadersForAServer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": " Bearer file-key\n", "empty": "\n", "lines": "secret\nsecret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HF_SET", "Bearer env-key")
	t.Setenv("HF_EMPTY", " ")
	for value, want := range map[string]string{
		"as it is":             "as it is",
		"env:HF_SET":           "Bearer env-key",
		"file:DIR/good":        "Bearer file-key",
		"env:HF_EMPTY":         "error: the header X refers to the environment variable HF_EMPTY, which is empty. Fill it, or remove the header",
		"file:DIR/empty":       "error: the header X refers to the file DIR/empty, which is empty. Fill it, or remove the header",
		"file:DIR/none":        "error: the header X cannot be read: open DIR/none: no such file or directory",
		"file:DIR/lines":       "error: what file:DIR/lines holds is no value of the header X: it must be one line of plain ASCII characters",
		"env:HF_NOT_SET_AT_IT": "error: the header X refers to the environment variable HF_NOT_SET_AT_IT, which is empty. Fill it, or remove the header",
	} {
		got, err := MCPServer{Headers: map[string]string{"X": strings.ReplaceAll(value, "DIR", dir)}}.ReadHeaders()
		text := got["X"]
		if err != nil {
			text = "error: " + err.Error()
			if holdfast.CodeOf(err) != holdfast.ErrConfig {
				t.Errorf("%s: code %s", value, holdfast.CodeOf(err))
			}
		}
		if want := strings.ReplaceAll(want, "DIR", dir); text != want {
			t.Errorf("%s\n got: %s\nwant: %s", value, text, want)
		}
	}
}
