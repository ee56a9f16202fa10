package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// SecretRef tells where a credential is: "env:NAME" or "file:PATH" with an
// absolute path. "" is none. It is not a secret itself.
type SecretRef string

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r SecretRef) valid() bool {
	kind, where, _ := strings.Cut(string(r), ":")
	switch kind {
	case "env":
		return envName.MatchString(where)
	case "file":
		return filepath.IsAbs(where)
	}
	return false
}

// Read fetches the credential, without white space around it; "" for no
// reference. Errors carry the code config and never the secret.
func (r SecretRef) Read() (string, error) {
	if r == "" {
		return "", nil
	}
	if !r.valid() {
		return "", holdfast.Errorf(holdfast.ErrConfig, "api_key is no reference. Write env:NAME or file:/PATH")
	}
	kind, where, _ := strings.Cut(string(r), ":")
	text := os.Getenv(where)
	if kind == "file" {
		data, err := read(where)
		if err != nil {
			return "", holdfast.Errorf(holdfast.ErrConfig, "the api_key cannot be read: %w", err)
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "" && kind == "env":
		return "", holdfast.Errorf(holdfast.ErrConfig,
			"api_key refers to the environment variable %s, which is empty. Set it, or leave api_key out to forward the client's own", where)
	case text == "":
		return "", holdfast.Errorf(holdfast.ErrConfig,
			"api_key refers to the file %s, which is empty. Write the key into it, or leave api_key out to forward the client's own", where)
	case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "", holdfast.Errorf(holdfast.ErrConfig,
			"what %s holds is no API key: it must be one word of plain ASCII characters", string(r))
	}
	return text, nil
}
