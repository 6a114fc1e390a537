// Package fail holds the errors that a query is answered with. Each has a code, which
// decides the HTTP status, a message that says what to change, and, where the mistake is in
// the text, its line and column.
//
// A message holds nothing but what the asking tenant sent or may see.
package fail

import (
	"errors"
	"fmt"
)

// Code says what kind of mistake it is. Codes are part of the HTTP interface.
type Code string

const (
	Syntax          Code = "syntax"           // the text is not SQL
	Unsupported     Code = "unsupported"      // SQL that Togo does not do
	UnknownTable    Code = "unknown_table"    // only events and dead_letters are there
	UnknownColumn   Code = "unknown_column"   //
	UnknownFunction Code = "unknown_function" //
	Type            Code = "type_mismatch"    // an operator or function does not take these types
	Semantic        Code = "semantic"         // a column outside of GROUP BY, an aggregate in WHERE and the like
	Value           Code = "invalid_value"    // a value that cannot be cast, a bad regular expression, found while running
	OutOfRange      Code = "out_of_range"     // a result beyond its type's range
	Request         Code = "invalid_request"  // a parameter, a header or a body
	Unauthorized    Code = "unauthorized"     // no token, or an unknown one
	NotFound        Code = "not_found"        // no such tenant, or none that the token may see
	Gone            Code = "gone"             // a snapshot whose data is gone
	TooLarge        Code = "too_large"        // a limit of the query: memory, rows, bytes, body; the message names it
	TooMany         Code = "too_many"         // the tenant's concurrent queries, or a full queue
	Unavailable     Code = "unavailable"      // the store does not answer
	Timeout         Code = "timeout"          // the query's time limit
	Cancelled       Code = "cancelled"        // the client left
	Internal        Code = "internal"         // a bug or damage; the log has the details
)

// Error is what the client gets. Line and Column count from 1, in characters; 0: no place.
type Error struct {
	Code         Code
	Message      string
	Line, Column int
	Err          error // the cause, for the log alone; may be nil
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Placed is a place in the text of a query.
type Placed interface{ Place() (line, column int) }

// At makes an error at a place; at may be nil.
func At(at Placed, code Code, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		e.Line, e.Column = at.Place()
	}
	return e
}

// New makes an error without a place.
func New(code Code, format string, args ...any) *Error { return At(nil, code, format, args...) }

// CodeOf is the code of an error; Internal if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
