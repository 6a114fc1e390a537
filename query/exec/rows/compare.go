package rows

import (
	"cmp"
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// Compare orders the values at i of a and j of b, flat vectors of one type, neither NULL, as value.Compare does.
func Compare(a *vec.Vector, i int, b *vec.Vector, j int) int {
	switch {
	case a.Ints != nil:
		return cmp.Compare(a.Ints[i], b.Ints[j])
	case a.Texts != nil:
		return strings.Compare(a.Texts[i], b.Texts[j])
	case a.Doubles != nil:
		return value.Doubles(a.Doubles[i], b.Doubles[j])
	case a.Intervals != nil:
		return calendar.Compare(a.Intervals[i], b.Intervals[j])
	}
	return 0
}

// CompareValues orders two values of one type, NULL among them, as a key does.
func CompareValues(a, b vec.Value, k Key) int {
	of := func(v vec.Value) *vec.Vector { return vec.Constant(v.Type, v, 1) }
	return compareNullable(of(a), 0, a.Type == vec.Null, of(b), 0, b.Type == vec.Null, k)
}
