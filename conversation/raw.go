package conversation

import "github.com/holdfast-dev/holdfast"

// KindRawResult is the kind of a result as its tool gave it, where the model was
// sent a shorter one: the tool_result behind it.
const KindRawResult = "raw_result"

// RawResult is the event that keeps the whole result of a call. It goes to no
// model.
func RawResult(call holdfast.ToolCall, r holdfast.ToolResult) holdfast.Unknown {
	w := writer{[]byte{'{'}}
	w.text("kind", KindRawResult)
	w.text("call_id", call.ID)
	w.content(r.Parts)
	w.flag("is_error", r.IsError)
	return holdfast.Unknown{Type: KindRawResult, Raw: append(w.b, '}')}
}
