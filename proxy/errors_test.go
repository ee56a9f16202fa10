package proxy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// Agents tell by the type of an error what to do about it.
func TestErrorsHaveTheTypesOfTheirProvider(t *testing.T) {
	for code, want := range map[holdfast.Code][3]string{
		holdfast.ErrUsage:        {"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
		holdfast.ErrUnauthorized: {"authentication_error", "invalid_request_error", "UNAUTHENTICATED"},
		holdfast.ErrBudget:       {"billing_error", "invalid_request_error", "FAILED_PRECONDITION"},
		holdfast.ErrForbidden:    {"permission_error", "invalid_request_error", "PERMISSION_DENIED"},
		holdfast.ErrNotFound:     {"not_found_error", "invalid_request_error", "NOT_FOUND"},
		holdfast.ErrTooLarge:     {"request_too_large", "invalid_request_error", "INVALID_ARGUMENT"},
		holdfast.ErrBusy:         {"rate_limit_error", "invalid_request_error", "RESOURCE_EXHAUSTED"},
		holdfast.ErrInternal:     {"api_error", "server_error", "INTERNAL"},
		holdfast.ErrUnavailable:  {"api_error", "server_error", "UNAVAILABLE"},
	} {
		for i, p := range []holdfast.Protocol{holdfast.Anthropic, holdfast.Responses, holdfast.Gemini} {
			var got struct {
				Error struct {
					Type, Status, Message string
					Code                  any
				}
			}
			if err := json.Unmarshal(errorBody(p, code.HTTPStatus(), string(code), "what happened"), &got); err != nil {
				t.Fatal(err)
			}
			wantCode := map[holdfast.Protocol]any{holdfast.Responses: string(code), holdfast.Gemini: float64(code.HTTPStatus())}[p]
			if fmt.Sprint(got.Error.Type, got.Error.Status) != want[i] || got.Error.Code != wantCode || got.Error.Message != "what happened" {
				t.Errorf("%s in the form of %s: %+v, want %s", code, p, got.Error, want[i])
			}
		}
	}
}
