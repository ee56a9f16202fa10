package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast"
)

// readSchema reads a JSON schema: the text itself where it begins as an object,
// else a file. One that answers cannot be checked by is refused before a model is
// asked.
func readSchema(given string) ([]byte, error) {
	data, where := []byte(given), "--schema"
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if data, err = os.ReadFile(given); err != nil {
			return nil, holdfast.Errorf(holdfast.ErrNotFound, "the schema cannot be read: %w", err)
		}
		where = given
	}
	var object map[string]any
	err := json.Unmarshal(data, &object)
	if err == nil {
		_, err = resolveSchema(data)
	}
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "%s is no JSON schema: %w", line(where), err)
	}
	return data, nil
}

func resolveSchema(data []byte) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Schema != "" && !strings.Contains(s.Schema, "draft-07") && !strings.Contains(s.Schema, "2020-12") {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "$schema must be draft-07 or 2020-12, or be left out")
	}
	return s.Resolve(nil)
}

// unmet is where in the schema a check failed, and by which of its keywords.
var unmet = regexp.MustCompile(`^(?:validating ([^:]*): )+([A-Za-z]+)`)

// follows checks an answer by the schema that it was asked for with. The error has
// the code failed and says what of the schema is not met, without the answer.
func follows(schema []byte, answer holdfast.AssistantMessage) error {
	const then = "It is printed as it came. Ask again, or use a model that takes schemas"
	if answer.Data == nil {
		return holdfast.Errorf(holdfast.ErrFailed, "the answer is no JSON, which the schema asks for. %s", then)
	}
	resolved, err := resolveSchema(schema)
	if err != nil {
		return holdfast.Errorf(holdfast.ErrInternal, "the schema was read before: %w", err)
	}
	var value any
	if err := json.Unmarshal(answer.Data, &value); err != nil {
		return holdfast.Errorf(holdfast.ErrInternal, "the answer was JSON before: %w", err)
	}
	if err := resolved.Validate(value); err != nil {
		where := ""
		if found := unmet.FindStringSubmatch(err.Error()); found != nil {
			where = ": " + strings.TrimSpace(strings.TrimPrefix(found[1], "root")+" "+found[2]) + " is not met"
		}
		return holdfast.Errorf(holdfast.ErrFailed, "the answer does not follow the schema%s. %s", where, then)
	}
	return nil
}
