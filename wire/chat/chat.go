package chat

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Model is the model that a request body names; "" when there is none, or when
// the body is not JSON. It is also right for the other formats whose body has
// the model at the top (Messages, Responses).
func Model(body []byte) string {
	var model [1]holdfast.Span
	at := jsonscan.Space(body, 0)
	if at >= len(body) || body[at] != '{' {
		return ""
	}
	if _, err := jsonscan.Fields(body, at, model[:], "model"); err != nil || !model[0].Present() {
		return ""
	}
	lit := model[0].Of(body)
	if lit[0] != '"' {
		return ""
	}
	return jsonscan.Text(lit)
}
