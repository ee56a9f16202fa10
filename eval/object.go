package eval

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that keeps the order of its members: providers and
// agents send theirs in a fixed order, and bytes are what is judged.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o), nil }

// encode is v as JSON, with no escapes for HTML. It is called with values that
// this package built itself, so it cannot fail but by a defect.
func encode(v any) []byte { return appendJSON(nil, v) }

// appendJSON appends v. Objects and lists of them, of which bodies are made, are
// written in one pass: encoding/json reads what a MarshalJSON returns once more at
// each level.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendOther(b, m.name), ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	case []object:
		return appendList(b, v)
	case []any:
		return appendList(b, v)
	}
	return appendOther(b, v)
}

func appendList[T any](b []byte, list []T) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, v)
	}
	return append(b, ']')
}

func appendOther(b []byte, v any) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("eval: a value of its own that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
