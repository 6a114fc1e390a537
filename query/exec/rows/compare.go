package rows

import (
	"strings"

	"github.com/togodb/togo/query/vec"
)

// Compare orders the values at i of a and j of b, flat vectors of one type, neither NULL: as SQL does, NaN above all
// other doubles, text bytewise.
func Compare(a *vec.Vector, i int, b *vec.Vector, j int) int {
	switch {
	case a.Ints != nil:
		return order(a.Ints[i], b.Ints[j])
	case a.Texts != nil:
		return strings.Compare(a.Texts[i], b.Texts[j])
	case a.Doubles != nil:
		return orderDoubles(a.Doubles[i], b.Doubles[j])
	case a.Intervals != nil:
		return orderSpans(a.Intervals[i], b.Intervals[j])
	}
	return 0
}

func order(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func orderDoubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	switch { // at least one is NaN
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

func orderSpans(a, b vec.Span) int {
	const day = 24 * 3600 * 1e9
	days := func(s vec.Span) (int64, int64) {
		d, rest := int64(s.Months)*30+int64(s.Days)+s.Nanos/day, s.Nanos%day
		if rest < 0 {
			d, rest = d-1, rest+day
		}
		return d, rest
	}
	ad, ar := days(a)
	bd, br := days(b)
	if c := order(ad, bd); c != 0 {
		return c
	}
	return order(ar, br)
}

// CompareValues orders two values of one type, NULL among them, as a key does.
func CompareValues(a, b vec.Value, k Key) int {
	of := func(v vec.Value) *vec.Vector { return vec.Constant(v.Type, v, 1) }
	return compareNullable(of(a), 0, a.Type == vec.Null, of(b), 0, b.Type == vec.Null, k)
}
