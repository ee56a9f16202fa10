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
	text, source, err := r.text()
	switch {
	case err != nil:
		return "", holdfast.Errorf(holdfast.ErrConfig, "the api_key cannot be read: %w", err)
	case text == "":
		fill := "Set it"
		if strings.HasPrefix(string(r), "file:") {
			fill = "Write the key into it"
		}
		return "", holdfast.Errorf(holdfast.ErrConfig,
			"api_key refers to the %s, which is empty. %s, or leave api_key out to forward the client's own", source, fill)
	case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "", holdfast.Errorf(holdfast.ErrConfig,
			"what %s holds is no API key: it must be one word of plain ASCII characters", string(r))
	}
	return text, nil
}

// text is what a valid reference refers to, without white space around it, and
// what people call the place.
func (r SecretRef) text() (text, source string, err error) {
	kind, where, _ := strings.Cut(string(r), ":")
	if kind == "env" {
		return strings.TrimSpace(os.Getenv(where)), "environment variable " + where, nil
	}
	data, err := read(where)
	return strings.TrimSpace(string(data)), "file " + where, err
}
