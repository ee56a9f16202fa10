package proxy

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// errorBody is an error in the form that the protocol's SDKs read.
func errorBody(p holdfast.Protocol, status int, code, message string) []byte {
	type object = map[string]any
	var v any
	switch p {
	case holdfast.Anthropic:
		v = object{"type": "error", "error": object{"type": code, "message": message}}
	case holdfast.Gemini:
		v = object{"error": object{"code": status, "message": message, "status": strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_"))}}
	default:
		v = object{"error": object{"message": message, "type": code, "code": code, "param": nil}}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(raw, '\n')
}
