// Package callid makes ids for tool calls on wires that have none, or whose ids
// the agents do not keep.
//
// The id of a call is its tool's name, a number sign and a digest of its
// arguments. A result that does not name its call has the same up to the number
// sign: it answers the earliest call before it that has no result yet and whose
// id begins with that. More results than calls are repeats and answer none. No
// tool has a number sign in its name.
//
// Two calls of one tool with equal arguments have one id: unlike an id that a
// provider made, it does not tell where in a history the call stands, nor in
// which.
package callid

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Of is the id of a call. White space between the tokens of arguments and the
// way in which strings are escaped make no difference to it, nor does leaving
// out arguments that are empty.
func Of(tool string, arguments []byte) string {
	plain := canonical(arguments)
	if len(plain) == 0 {
		plain = []byte(`{}`)
	}
	return Result(tool) + holdfast.DigestOf(string(plain)).String()
}

// Result is the call id of a result of a tool.
func Result(tool string) string { return tool + "#" }

func canonical(b []byte) (plain []byte) {
	for at := 0; at < len(b); {
		switch b[at] {
		case ' ', '\n', '\r', '\t':
			at++
		case '"':
			end, err := jsonscan.Skip(b, at)
			if err != nil {
				return append(plain, b[at:]...)
			}
			plain = jsonscan.AppendQuote(plain, jsonscan.Text(b[at:end]))
			at = end
		default:
			plain = append(plain, b[at])
			at++
		}
	}
	return plain
}
