package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// redactor takes secrets out of events; text does it for one text and says how
// many it found.
type redactor struct {
	text func(string) (clean string, secrets int)
}

func (r redactor) clean(s string) string {
	s, _ = r.text(s)
	return s
}

// Redacted is an event without secrets. text takes them out of one text and says
// how many it found.
func Redacted(e holdfast.Event, text func(string) (clean string, secrets int)) holdfast.Event {
	return redactor{text}.event(e)
}

// event is the event without secrets.
func (r redactor) event(e holdfast.Event) holdfast.Event {
	switch e := e.(type) {
	case holdfast.UserMessage:
		e.Parts = r.parts(e.Parts)
		return e
	case holdfast.AssistantMessage:
		e.Text = r.clean(e.Text)
		return e
	case holdfast.Reasoning:
		return r.reasoning(e)
	case holdfast.ToolCall:
		e.Arguments = r.json(e.Arguments)
		return e
	case holdfast.ToolResult:
		e.Text, e.Parts = "", r.parts(e.Parts)
		return e
	}
	return e
}

func (r redactor) reasoning(e holdfast.Reasoning) holdfast.Reasoning {
	text, found := r.text(e.Text)
	_, inside := r.text(string(e.Opaque))
	if found+inside > 0 {
		e.Opaque = nil // it goes back as it came or not at all
	}
	e.Text = text
	return e
}

func (r redactor) parts(parts []holdfast.Part) []holdfast.Part {
	out := make([]holdfast.Part, len(parts))
	for i, p := range parts {
		switch p := p.(type) {
		case holdfast.Text:
			out[i] = holdfast.Text(r.clean(string(p)))
		case holdfast.Media:
			p.Name, p.URI = r.clean(p.Name), r.clean(p.URI)
			if strings.HasPrefix(p.MIME, "text/") {
				if text, err := base64.StdEncoding.DecodeString(p.Data); err == nil {
					p.Data = base64.StdEncoding.EncodeToString([]byte(r.clean(string(text))))
				}
			}
			out[i] = p
		}
	}
	return out
}

// capsule is the capsule without secrets, under the digest that it had.
func (r redactor) capsule(c holdfast.Capsule) holdfast.Capsule {
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain strings and slices always marshal
	}
	var clean holdfast.Capsule
	if json.Unmarshal(r.json(raw), &clean) != nil {
		return holdfast.Capsule{SchemaVersion: c.SchemaVersion, Revision: c.Revision, Branch: c.Branch, Digest: c.Digest}
	}
	return clean
}

// json takes secrets out of a JSON text; what is none is taken as plain text.
// Only strings that hold one are written anew. Each is looked at alone, where
// escapes hide nothing, and then all of it, where the name beside a value shows.
func (r redactor) json(raw []byte) []byte {
	if !json.Valid(raw) {
		if raw == nil {
			return nil
		}
		return []byte(r.clean(string(raw)))
	}
	clean := r.strings(raw)
	all, found := r.text(string(clean))
	switch {
	case found == 0:
		return clean
	case json.Valid([]byte(all)):
		return []byte(all)
	}
	// A mark took the place of a bare number, or of a quote with it.
	quoted, err := json.Marshal(all)
	if err != nil {
		panic(err) // a string always marshals
	}
	return quoted
}

// strings redacts each string of a valid JSON text.
func (r redactor) strings(raw []byte) []byte {
	var out []byte
	done := 0
	for at := 0; at < len(raw); at++ {
		if raw[at] != '"' {
			continue
		}
		end := at + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var text string
		if json.Unmarshal(raw[at:end+1], &text) == nil {
			if clean, found := r.text(text); found > 0 {
				out = append(append(out, raw[done:at]...), quote(clean)...)
				done = end + 1
			}
		}
		at = end
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
