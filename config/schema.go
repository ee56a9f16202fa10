package config

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema of a configuration file, for editors. It knows the
// keys, types and ranges; what depends on several keys only Merge checks.
func Schema() json.RawMessage { return jsonOf(schema()) }

func schema() *jsonschema.Schema {
	defaults := map[string]json.RawMessage{}
	tree(Default()).defaults("", defaults)
	root := object(&jsonschema.Schema{Type: "object"})
	root.Schema = "http://json-schema.org/draft-07/schema#" // the newest that editors of TOML read
	root.Title = "Configuration of Holdfast"
	tables := map[string]*jsonschema.Schema{"": root}
	for _, k := range allKeys {
		s := k.value // a copy: the table stays as it is
		s.Description = k.about
		s.Default = defaults[k.name]
		i := strings.LastIndexByte(k.name, '.')
		table, name := tables[k.name[:max(i, 0)]], k.name[i+1:]
		switch {
		case name == "*":
			table.AdditionalProperties = &s
		default:
			table.Properties[name] = &s
			table.PropertyOrder = append(table.PropertyOrder, name)
		}
		if k.required {
			table.Required = append(table.Required, name)
		}
		switch {
		case s.Type == "object":
			tables[k.name] = object(&s)
		case s.Type == "array" && s.Items == nil:
			s.Items = object(&jsonschema.Schema{Type: "object"})
			s.MinItems = new(1)
			tables[k.name] = s.Items
		}
	}
	return root
}

// object prepares a schema for properties; others are wrong.
func object(s *jsonschema.Schema) *jsonschema.Schema {
	s.Properties = map[string]*jsonschema.Schema{}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	return s
}

// defaults collects the values below a table, without those in lists.
func (n *node) defaults(path string, into map[string]json.RawMessage) {
	for _, field := range n.fields {
		switch key := join(path, field.name); {
		case field.value != nil:
			into[key] = jsonOf(field.value)
		case !field.list:
			field.defaults(key, into)
		}
	}
}
