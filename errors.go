package holdfast

import (
	"errors"
	"fmt"
)

// Code is one of a closed list of error codes. Each has one HTTP status and
// one exit status, in the table below.
type Code string

// The codes.
const (
	ErrInternal     Code = "internal"     // a defect of Holdfast
	ErrUsage        Code = "usage"        // the command or request is malformed
	ErrConfig       Code = "config"       // the configuration file is wrong
	ErrNotFound     Code = "not_found"    // what was named does not exist
	ErrConflict     Code = "conflict"     // port taken, stale revision
	ErrTooLarge     Code = "too_large"    // a body above the limit
	ErrBusy         Code = "busy"         // too many bytes in flight
	ErrForbidden    Code = "forbidden"    // Host header, principal
	ErrUnauthorized Code = "unauthorized" // no key of Holdfast, or not a good one
	ErrBudget       Code = "budget"       // a budget is spent, or cannot count what was asked for
	ErrUnavailable  Code = "unavailable"  // data directory, database, upstream
	ErrNewer        Code = "newer_schema" // written by a newer version
	ErrFailed       Code = "failed"       // a check ran and did not pass
)

var codes = map[Code]struct{ http, exit int }{
	ErrInternal:     {500, 70},
	ErrUsage:        {400, 2},
	ErrConfig:       {500, 78},
	ErrNotFound:     {404, 4},
	ErrConflict:     {409, 5},
	ErrTooLarge:     {413, 6},
	ErrBusy:         {429, 75},
	ErrForbidden:    {403, 77},
	ErrUnauthorized: {401, 77},
	ErrBudget:       {402, 77},
	ErrUnavailable:  {502, 69},
	ErrNewer:        {500, 76},
	ErrFailed:       {500, 1},
}

// Error is an error with a code. Message tells what happened, where, and what
// to do next, in one or two plain sentences.
type Error struct {
	Code    Code
	Message string
	Err     error
}

// Errorf makes an Error; a %w verb keeps the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf finds the code of err; ErrInternal when it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ErrInternal
}

// HTTPStatus is the status that answers a request which failed with c.
func (c Code) HTTPStatus() int {
	if row, ok := codes[c]; ok {
		return row.http
	}
	return 500
}

// ExitStatus is what the command ends with when it failed with c.
func (c Code) ExitStatus() int {
	if row, ok := codes[c]; ok {
		return row.exit
	}
	return 70
}
