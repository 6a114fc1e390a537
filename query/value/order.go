// Package value holds what single values do: order, text, and casts from type to type, as DuckDB has them.
package value

import (
	"cmp"
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// Doubles orders doubles: NaN is above all and equal to itself, -0 equals 0.
func Doubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a == a:
		return -1
	case b == b:
		return 1
	}
	return 0
}

// Compare orders two values of one type that are not NULL.
func Compare(a, b vec.Value) int {
	switch {
	case a.Type.HasInts():
		return cmp.Compare(a.Int, b.Int)
	case a.Type == vec.Double:
		return Doubles(a.Double, b.Double)
	case a.Type.HasTexts():
		return strings.Compare(a.Text, b.Text)
	}
	return calendar.Compare(a.Span, b.Span)
}
