package event

import (
	"errors"

	"github.com/togodb/togo/internal/event/jsonscan"
)

// Unit says what a number means as a time.
type Unit string

// Units of a timestamp.
const (
	UnitAuto         Unit = "" // by magnitude
	UnitSeconds      Unit = "s"
	UnitMilliseconds Unit = "ms"
	UnitMicroseconds Unit = "us"
	UnitNanoseconds  Unit = "ns"
)

// Errors of ParseTime: no time at all, or one that 64-bit nanoseconds can't hold.
var (
	ErrNoTime   = errors.New("not a time")
	ErrTooEarly = errors.New("earlier than 1677-09-21")
	ErrTooLate  = errors.New("later than 2262-04-11")
)

// ParseTime reads a time from a JSON value; text is the literal of a Number and the
// unescaped text of a String.
func ParseTime(kind jsonscan.Kind, text []byte, unit Unit) (Timestamp, error) {
	panic("to be filled")
}
