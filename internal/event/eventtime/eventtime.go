// Package eventtime reads the time of an event: RFC 3339 text, or a number since 1970.
//
// # Rules
//
//  1. A number counts the unit from 1970-01-01T00:00:00Z. Without a unit its magnitude
//     tells it: |n| below 1e11 is seconds, below 1e14 milliseconds, below 1e17
//     microseconds, else nanoseconds. So 0 and -1 are seconds, 2^63-1 is nanoseconds.
//  2. A fraction and an exponent are taken exactly, by decimal arithmetic; what is
//     finer than a nanosecond is cut off, towards zero.
//  3. A string that holds a number is that number; the unit holds for it alike.
//     Leading zeros are allowed there. 20240317 is a number of seconds, not a day.
//  4. Any other string is RFC 3339: date, then T, t or a space, then time, then an
//     optional fraction of any length after a point or a comma (cut off beyond
//     nanoseconds, towards the past), then the zone: Z, z, +01:00, +0100, +01, after a
//     space if there is one. A time without a zone is UTC. A year has four digits.
//     The unit plays no role.
//  5. A second of 60 is the next minute's second 0, at any minute.
//  6. What 64-bit nanoseconds can't hold (the years 1 and 9999, 1e400) is ErrTooEarly
//     or ErrTooLate, by its side.
//  7. Everything else is ErrNoTime: another kind of value, other text, a day that the
//     month does not have.
//
// An empty string and null are no times either; that they stand for a missing
// timestamp is the mapping's rule. Times are 64-bit nanoseconds since 1970, UTC.
package eventtime

import (
	"errors"
	"math/bits"

	"github.com/togodb/togo/internal/event/jsonscan"
)

// Unit says what a number means as a time.
type Unit string

// Units of a timestamp.
const (
	Auto         Unit = "" // by magnitude
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
	Nanoseconds  Unit = "ns"
)

// Errors of Parse: no time at all, or one that 64-bit nanoseconds can't hold.
var (
	ErrNoTime   = errors.New("not a time")
	ErrTooEarly = errors.New("earlier than 1677-09-21T00:12:43.145224192Z, which 64 bits begin with")
	ErrTooLate  = errors.New("later than 2262-04-11T23:47:16.854775807Z, which 64 bits end with")
)

// Parse reads a time from a JSON value; text is the literal of a Number and the
// unescaped text of a String. It gives nanoseconds since 1970.
func Parse(kind jsonscan.Kind, text []byte, unit Unit) (ns int64, err error) {
	switch kind {
	case jsonscan.Number:
		return parseNumber(text, unit)
	case jsonscan.String:
		if len(text) >= len("2006-01-02T15:04:05") && text[4] == '-' && text[7] == '-' { // no number has both
			return parseRFC3339(text)
		}
		return parseNumber(text, unit)
	}
	return 0, ErrNoTime
}

// decimal is 0.digits * 10^point, with the first digit not zero, or zero.
type decimal struct {
	negative bool
	digits   uint64 // the first significant digits, at most maxDigits
	count    int    // of digits in digits
	point    int
}

// maxDigits is what a uint64 holds for sure. int64 nanoseconds have as many, so digits
// after these are finer than a nanosecond or the number is out of range.
const maxDigits = 19

// maxExponent is where an exponent is cut: far beyond what could be a time again, by
// the digits of a record of any size.
const maxExponent = 1 << 40

func parseDecimal(b []byte) (d decimal, ok bool) {
	i := 0
	if i < len(b) && b[i] == '-' {
		d.negative = true
		i++
	}
	start, fraction := i, 0 // fraction: index after the point
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			if b[i] != '.' || fraction > 0 || i == start {
				break
			}
			fraction = i + 1
			continue
		}
		if d.count > 0 || c > 0 {
			if d.count < maxDigits {
				d.digits = d.digits*10 + uint64(c)
				d.count++
			}
			if fraction == 0 {
				d.point++
			}
		} else if fraction > 0 {
			d.point--
		}
	}
	if i == start || fraction == i {
		return d, false
	}
	if i < len(b) {
		e, ok := parseExponent(b[i:])
		if !ok {
			return d, false
		}
		d.point += e
	}
	return d, true
}

func parseExponent(b []byte) (e int, ok bool) {
	if b[0]|0x20 != 'e' || len(b) < 2 {
		return 0, false
	}
	b = b[1:]
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		e = min(e*10+int(c), maxExponent)
	}
	if negative {
		e = -e
	}
	return e, true
}

var powers = func() (p [maxDigits + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

func parseNumber(text []byte, unit Unit) (ns int64, err error) {
	d, ok := parseDecimal(text)
	if !ok {
		return 0, ErrNoTime
	}
	if d.count == 0 {
		return 0, nil
	}
	if unit == Auto {
		unit = d.unit()
	}
	// The time in ns is digits * 10^shift.
	shift := d.point - d.count
	switch unit {
	case Seconds:
		shift += 9
	case Milliseconds:
		shift += 6
	case Microseconds:
		shift += 3
	}
	n := d.digits
	switch {
	case shift < -maxDigits:
		n = 0
	case shift < 0:
		n /= powers[-shift]
	case shift > maxDigits:
		return 0, d.outside()
	default:
		var high uint64
		if high, n = bits.Mul64(n, powers[shift]); high > 0 {
			return 0, d.outside()
		}
	}
	switch {
	case d.negative && n <= 1<<63:
		return int64(-n), nil
	case !d.negative && n < 1<<63:
		return int64(n), nil
	}
	return 0, d.outside()
}

// unit is the unit by magnitude. |d| < 10^n exactly if point <= n.
func (d *decimal) unit() Unit {
	switch {
	case d.point <= 11:
		return Seconds
	case d.point <= 14:
		return Milliseconds
	case d.point <= 17:
		return Microseconds
	}
	return Nanoseconds
}

func (d *decimal) outside() error {
	if d.negative {
		return ErrTooEarly
	}
	return ErrTooLate
}
