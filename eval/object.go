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
func (o object) MarshalJSON() ([]byte, error) {
	buf := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, encode(m.name)...)
		buf = append(buf, ':')
		buf = append(buf, encode(m.value)...)
	}
	return append(buf, '}'), nil
}

// encode is v as JSON, with no escapes for HTML. It is called with values that
// this package built itself, so it cannot fail but by a defect.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("eval: a value of its own that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
