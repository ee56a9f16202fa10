package eval

import (
	"net/http"
	"strings"
)

// geminiAnswer is an answer of the Gemini protocol, as a stream and whole. A
// stream brings texts in pieces, calls whole, and the finish reason with the
// last part.
func geminiAnswer(req *wireRequest, r Reply, id func(string) string) ([]event, object) {
	responseID := id("resp_")
	answer := func(parts []object, last bool) object {
		candidate := object{{"content", object{{"parts", parts}, {"role", "model"}}}}
		if last {
			candidate = append(candidate, member{"finishReason", "STOP"})
		}
		return object{
			{"candidates", []object{append(candidate, member{"index", 0})}},
			{"usageMetadata", object{
				{"promptTokenCount", r.InputTokens},
				{"candidatesTokenCount", r.outputTokens()},
				{"totalTokenCount", r.InputTokens + r.outputTokens()},
			}},
			{"modelVersion", req.Model},
			{"responseId", responseID},
		}
	}
	var streamed, whole []object
	for _, p := range pieces(r.Text) {
		streamed = append(streamed, object{{"text", p}})
	}
	if r.Text != "" || len(r.Calls) == 0 {
		whole = append(whole, object{{"text", r.Text}})
	}
	for _, c := range r.Calls {
		c = c.complete("fc_", id)
		call := object{{"functionCall", object{{"id", c.ID}, {"name", c.Name}, {"args", c.Args}}}}
		streamed, whole = append(streamed, call), append(whole, call)
	}
	if streamed == nil {
		streamed = whole
	}
	var events []event
	for i, p := range streamed {
		events = append(events, event{data: answer([]object{p}, i == len(streamed)-1)})
	}
	return events, answer(whole, true)
}

// geminiModel takes model and method out of a path .../models/MODEL:METHOD.
func geminiModel(path string) (model, method string) {
	model, method, _ = strings.Cut(path[strings.LastIndex(path, "/")+1:], ":")
	return model, method
}

func geminiErrorStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
