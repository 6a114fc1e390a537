// Package kernel holds the loops over values that operators are made of.
package kernel

import (
	"cmp"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// Comparison is one of the six; the zero one is none.
type Comparison uint8

const (
	Eq Comparison = iota + 1
	Ne
	Lt
	Le
	Gt
	Ge
)

// Comparisons are those of SQL, by name.
var Comparisons = map[string]Comparison{"=": Eq, "<>": Ne, "!=": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge}

// String is the name in SQL.
func (c Comparison) String() string { return [...]string{"", "=", "<>", "<", "<=", ">", ">="}[c] }

// Mirrored is the Comparison with its sides changed.
func (c Comparison) Mirrored() Comparison { return [...]Comparison{0, Eq, Ne, Gt, Ge, Lt, Le}[c] }

// Inverse is the Comparison's negation.
func (c Comparison) Inverse() Comparison { return [...]Comparison{0, Ne, Eq, Ge, Gt, Le, Lt}[c] }

// Holds tells whether the comparison is true of a three-way result.
func (c Comparison) Holds(order int) bool {
	switch c {
	case Eq:
		return order == 0
	case Ne:
		return order != 0
	case Lt:
		return order < 0
	case Le:
		return order <= 0
	case Gt:
		return order > 0
	}
	return order >= 0
}

// Compare compares n rows of two vectors of type t, flat or constant, in which NULLs may be; of them the result is any.
func Compare(c Comparison, t vec.Type, l, r *vec.Vector, n int) *vec.Vector {
	out := vec.New(vec.Bool, n)
	switch {
	case t.HasInts():
		compareOrdered(c, out.Ints, l.Ints, l.Const, r.Ints, r.Const)
	case t.HasTexts():
		compareOrdered(c, out.Ints, l.Texts, l.Const, r.Texts, r.Const)
	case t == vec.Double:
		compareDoubles(c, out.Ints, l.Doubles, l.Const, r.Doubles, r.Const)
	case t == vec.Interval:
		for i := range out.Ints {
			out.Ints[i] = bit(c.Holds(calendar.Compare(l.Intervals[at(l, i)], r.Intervals[at(r, i)])))
		}
	}
	return out
}

// at is the index of row i in a flat or constant vector.
func at(v *vec.Vector, i int) int {
	if v.Const {
		return 0
	}
	return i
}

func compareOrdered[T int64 | string](c Comparison, out []int64, l []T, lConst bool, r []T, rConst bool) {
	switch {
	case rConst && !lConst:
		compareWith(c, out, l[:len(out)], r[0])
	case lConst && !rConst:
		compareWith(c.Mirrored(), out, r[:len(out)], l[0])
	case lConst:
		fillBits(out, c.Holds(cmp.Compare(l[0], r[0])))
	default:
		comparePairs(c, out, l[:len(out)], r[:len(out)])
	}
}

func fillBits(out []int64, b bool) {
	for i := range out {
		out[i] = bit(b)
	}
}

func compareWith[T int64 | string](c Comparison, out []int64, l []T, r T) {
	switch c {
	case Eq:
		for i, x := range l {
			out[i] = bit(x == r)
		}
	case Ne:
		for i, x := range l {
			out[i] = bit(x != r)
		}
	case Lt:
		for i, x := range l {
			out[i] = bit(x < r)
		}
	case Le:
		for i, x := range l {
			out[i] = bit(x <= r)
		}
	case Gt:
		for i, x := range l {
			out[i] = bit(x > r)
		}
	case Ge:
		for i, x := range l {
			out[i] = bit(x >= r)
		}
	}
}

func comparePairs[T int64 | string](c Comparison, out []int64, l, r []T) {
	switch c {
	case Eq:
		for i, x := range l {
			out[i] = bit(x == r[i])
		}
	case Ne:
		for i, x := range l {
			out[i] = bit(x != r[i])
		}
	case Lt:
		for i, x := range l {
			out[i] = bit(x < r[i])
		}
	case Le:
		for i, x := range l {
			out[i] = bit(x <= r[i])
		}
	case Gt:
		for i, x := range l {
			out[i] = bit(x > r[i])
		}
	case Ge:
		for i, x := range l {
			out[i] = bit(x >= r[i])
		}
	}
}

// compareDoubles puts NaN above all and equal to itself.
func compareDoubles(c Comparison, out []int64, l []float64, lConst bool, r []float64, rConst bool) {
	switch {
	case rConst && !lConst && r[0] == r[0]:
		compareWithDouble(c, out, l[:len(out)], r[0])
	case lConst && !rConst && l[0] == l[0]:
		compareWithDouble(c.Mirrored(), out, r[:len(out)], l[0])
	default:
		li, ri := 1, 1
		if lConst {
			li = 0
		}
		if rConst {
			ri = 0
		}
		for i := range out {
			out[i] = bit(c.Holds(value.Doubles(l[i*li], r[i*ri])))
		}
	}
}

// compareWithDouble compares with what is no NaN; a NaN on the left is above it.
func compareWithDouble(c Comparison, out []int64, l []float64, r float64) {
	switch c {
	case Eq:
		for i, x := range l {
			out[i] = bit(x == r)
		}
	case Ne:
		for i, x := range l {
			out[i] = bit(x != r)
		}
	case Lt:
		for i, x := range l {
			out[i] = bit(x < r)
		}
	case Le:
		for i, x := range l {
			out[i] = bit(x <= r)
		}
	case Gt:
		for i, x := range l {
			out[i] = bit(!(x <= r))
		}
	case Ge:
		for i, x := range l {
			out[i] = bit(!(x < r))
		}
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
