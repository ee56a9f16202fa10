package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast"
)

// errorBody is an error in the form that the protocol's SDKs read, with the type that the
// provider has for such a status: agents tell by it whether to try again, or to ask for a
// login. code is our own, for which two of the forms have no place.
// https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
// https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
func errorBody(p holdfast.Protocol, status int, code, message string) []byte {
	type object = map[string]any
	var v any
	switch p {
	case holdfast.Anthropic:
		v = object{"type": "error", "error": object{"type": typeOf(anthropicTypes, status, "invalid_request_error", "api_error"), "message": message}}
	case holdfast.Gemini:
		v = object{"error": object{"code": status, "message": message, "status": typeOf(googleCodes, status, "FAILED_PRECONDITION", "INTERNAL")}}
	default:
		v = object{"error": object{"message": message, "type": typeOf(nil, status, "invalid_request_error", "server_error"), "code": code, "param": nil}}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return append(raw, '\n')
}

var (
	anthropicTypes = map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusPaymentRequired: "billing_error", http.StatusForbidden: "permission_error",
		http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
	}
	googleCodes = map[int]string{
		http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
		http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ABORTED", http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
		http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusBadGateway: "UNAVAILABLE",
	}
)

// typeOf is the type of a status, or what stands for others: of the client and of ours.
func typeOf(types map[int]string, status int, theirs, ours string) string {
	switch known, ok := types[status]; {
	case ok:
		return known
	case status < http.StatusInternalServerError:
		return theirs
	}
	return ours
}
