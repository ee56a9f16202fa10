package config

import (
	"cmp"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// MCPServer is an entry of the section mcp: a program that is started
// (Command), or one that is called (URL).
type MCPServer struct {
	// Enabled is false where the server only stands prepared.
	Enabled bool
	// Command is "" where there is a URL.
	Command string
	Args    []string
	// Env are variables for Command by their names, as the file has them: a text,
	// or "env:NAME". Environ reads them.
	Env map[string]string
	// URL is http or https, without credentials; nil where there is a Command.
	URL *url.URL
	// Headers are those of each request to URL by their names, as the file has
	// them: a text, "env:NAME" or "file:/PATH". ReadHeaders reads them.
	Headers map[string]string
}

var (
	serverName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerText = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	// credentialName is a variable, a header or a parameter that holds a credential.
	credentialName = regexp.MustCompile(`(?i)(key|token|secret|passwd|password|authorization|cookie)$`)
)

// Environ are the variables as a process takes them, NAME=VALUE each, in the
// order of their names. Errors carry the code config and no value.
func (s MCPServer) Environ() ([]string, error) {
	var list []string
	for _, name := range sortedKeys(s.Env) {
		value := s.Env[name]
		if from, ok := strings.CutPrefix(value, "env:"); ok {
			if value, ok = os.LookupEnv(from); !ok {
				return nil, holdfast.Errorf(holdfast.ErrConfig, "%s refers to the environment variable %s, which is not set. Set it, or remove %s", name, from, name)
			}
		}
		list = append(list, name+"="+value)
	}
	return list, nil
}

// ReadHeaders are the headers with what references refer to, without white space
// around it. Errors carry the code config and no value.
func (s MCPServer) ReadHeaders() (map[string]string, error) {
	headers := map[string]string{}
	for name, value := range s.Headers {
		if isReference(value) {
			text, source, err := SecretRef(value).text()
			switch {
			case err != nil:
				return nil, holdfast.Errorf(holdfast.ErrConfig, "the header %s cannot be read: %w", name, err)
			case text == "":
				return nil, holdfast.Errorf(holdfast.ErrConfig, "the header %s refers to the %s, which is empty. Fill it, or remove the header", name, source)
			case !headerText.MatchString(text):
				return nil, holdfast.Errorf(holdfast.ErrConfig, "what %s holds is no value of the header %s: it must be one line of plain ASCII characters", value, name)
			}
			value = text
		}
		headers[name] = value
	}
	return headers, nil
}

func isReference(value string) bool {
	return strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:")
}

// serverFile mirrors an entry of the section mcp.
type serverFile struct {
	Enabled *bool             `toml:"enabled"`
	Command *string           `toml:"command"`
	Args    []string          `toml:"args"`
	Env     map[string]string `toml:"env"`
	URL     *string           `toml:"url"`
	Headers map[string]string `toml:"headers"`
}

func (s serverFile) over(before serverFile) serverFile {
	latter := func(own, _ string) string { return own }
	s.Enabled = cmp.Or(s.Enabled, before.Enabled)
	s.Command = cmp.Or(s.Command, before.Command)
	if s.Args == nil {
		s.Args = before.Args
	}
	s.Env = over(before.Env, s.Env, latter)
	s.URL = cmp.Or(s.URL, before.URL)
	s.Headers = over(before.Headers, s.Headers, latter)
	return s
}

// servers checks the values of the section mcp.
func (r *reader) servers(f file) (map[string]MCPServer, error) {
	var servers map[string]MCPServer
	for _, name := range sortedKeys(f.MCP) {
		key := "mcp." + keyPart(name)
		if !serverName.MatchString(name) {
			return nil, r.at(key, "is no name of a server. Take 1 to 32 characters of a-z, 0-9, dash and underscore")
		}
		s, err := r.server(key, f.MCP[name])
		if err != nil {
			return nil, err
		}
		if servers == nil {
			servers = map[string]MCPServer{}
		}
		servers[name] = s
	}
	return servers, nil
}

func (r *reader) server(key string, in serverFile) (MCPServer, error) {
	s := MCPServer{Enabled: true}
	set(&s.Enabled, in.Enabled)
	if set(&s.Command, in.Command); r.has(key+".command") && strings.TrimSpace(s.Command) == "" {
		return s, r.at(key+".command", "is empty. Write the program that is the server")
	}
	if len(in.Args) > 0 {
		s.Args = in.Args
	}
	if err := r.environment(key+".env", in.Env); err != nil {
		return s, err
	}
	if err := r.headers(key+".headers", in.Headers); err != nil {
		return s, err
	}
	if len(in.Env) > 0 {
		s.Env = maps.Clone(in.Env)
	}
	if len(in.Headers) > 0 {
		s.Headers = maps.Clone(in.Headers)
	}
	if in.URL == nil {
		return s, nil
	}
	var err error
	s.URL, err = r.serverURL(key+".url", *in.URL)
	return s, err
}

func (r *reader) environment(key string, env map[string]string) error {
	for _, name := range sortedKeys(env) {
		value, at := env[name], key+"."+keyPart(name)
		from, passed := strings.CutPrefix(value, "env:")
		switch {
		case !envName.MatchString(name):
			return r.at(at, "is no name of a variable. Take letters, digits and underscore")
		case passed && !envName.MatchString(from):
			return r.at(at, `must be "env:NAME" with the name of a variable, or a text that begins otherwise`)
		case !passed && credentialName.MatchString(name):
			return r.at(at, `may be a credential, which never stands in this file. Write "env:NAME" with a variable that holds it`)
		case strings.ContainsRune(value, 0):
			return r.at(at, "must not hold a NUL character")
		}
	}
	return nil
}

func (r *reader) headers(key string, headers map[string]string) error {
	seen := map[string]string{}
	for _, name := range sortedKeys(headers) {
		value, at := headers[name], key+"."+keyPart(name)
		lower := strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			return r.at(at, "is no name of a header")
		case seen[lower] != "":
			return r.at(r.later(at, seen[lower]), "is given twice: names of headers differ by more than capitals. Remove one")
		case isReference(value):
			if !SecretRef(value).valid() {
				return r.at(at, `must be "env:NAME" or "file:/PATH" (an absolute path), or a text that begins otherwise`)
			}
		case credentialName.MatchString(name):
			return r.at(at, `may be a credential, which never stands in this file. Write "env:NAME" or "file:/PATH" (an absolute path)`)
		case !headerText.MatchString(value):
			return r.at(at, "must be one line of plain ASCII characters, without white space around it")
		}
		seen[lower] = at
	}
	return nil
}

func (r *reader) serverURL(key, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	// The text itself is not repeated: it may hold a password.
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return nil, r.at(key, "must be an http or https address such as %q", "https://mcp.example/mcp")
	}
	if u.User != nil {
		return nil, r.at(key, "must not hold a user or password. Put the credential into headers")
	}
	if strings.Contains(text, "#") {
		return nil, r.at(key, "must not hold a fragment, which is never sent")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, r.at(key, "has a query that is not well-formed")
	}
	for name := range query {
		if credentialName.MatchString(name) {
			return nil, r.at(key, "must not hold a credential, as its query may. Put it into headers")
		}
	}
	return u, nil
}

// serverKinds checks that each server is either started or called.
func (r *reader) serverKinds(servers map[string]MCPServer) error {
	for _, name := range sortedKeys(servers) {
		key := "mcp." + keyPart(name)
		command, address := key+".command", key+".url"
		other, useless := "url", []string{".args", ".env"}
		switch {
		case r.has(command) && r.has(address):
			first, second := command, address
			if r.later(address, command) == command {
				first, second = address, command
			}
			return r.at(second, "cannot stand beside %s (%s). Remove one", first, where(r.layers, r.places[first]))
		case r.has(command):
			other, useless = "command", []string{".headers"}
		case !r.has(address):
			return r.at(key, "has neither command nor url. Add one, or remove it")
		}
		for _, part := range useless {
			if r.has(key + part) {
				return r.at(key+part, "has no effect beside %s. Remove it", other)
			}
		}
	}
	return nil
}

func mcpTree(servers map[string]MCPServer) *node {
	n := section("mcp")
	for _, name := range sortedKeys(servers) {
		s := servers[name]
		server := section(name, leaf("enabled", s.Enabled))
		if s.Command != "" {
			server.fields = append(server.fields, leaf("command", s.Command))
		}
		if len(s.Args) > 0 {
			server.fields = append(server.fields, leaf("args", s.Args))
		}
		if s.URL != nil {
			server.fields = append(server.fields, leaf("url", s.URL.String()))
		}
		for _, t := range []struct {
			name   string
			values map[string]string
		}{{"env", s.Env}, {"headers", s.Headers}} {
			if len(t.values) == 0 {
				continue
			}
			table := section(t.name)
			for _, key := range sortedKeys(t.values) {
				table.fields = append(table.fields, leaf(key, t.values[key]))
			}
			server.fields = append(server.fields, table)
		}
		n.fields = append(n.fields, server)
	}
	return n
}
