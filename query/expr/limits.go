package expr

import (
	"context"
	"math"

	"github.com/togodb/togo/query/vec"
)

// Limits gives the lowest and the highest value that a column can have in rows where it is not NULL and the condition is TRUE, as far as Judge can tell:
// low > high if there is none, the whole range of int64 if it says nothing of the column, or if the values are not in Ints. Once
// ctx has ended the range is as narrow as it is by then.
func Limits(ctx context.Context, e Expr, slot int) (low, high int64) {
	t := vec.Null
	walk(e, func(e Expr) {
		if c, ok := e.(*Column); ok && c.Slot == slot {
			t = c.T
		}
	})
	never := func(low, high int64) bool {
		return ctx.Err() == nil && Judge(e, func(s int) Bounds {
			if s != slot || !t.HasInts() {
				return Bounds{Rows: 1, Nulls: -1}
			}
			value := vec.Value{Type: t}
			b := Bounds{Rows: 2, Known: true, Min: value, Max: value}
			b.Min.Int, b.Max.Int = low, high
			return b
		}) == Never
	}
	if never(math.MinInt64, math.MaxInt64) {
		return 0, -1
	}
	// The further a range reaches, the less it is surely without a match.
	low = search(func(v int64) bool { return !never(math.MinInt64, v) })
	high = -1 - search(func(v int64) bool { return !never(-1-v, math.MaxInt64) })
	return low, high
}

// search is the lowest value for which f, once true always true, is true.
func search(f func(int64) bool) int64 {
	// Bit by bit, counted from the lowest.
	var at uint64
	signed := func(v uint64) int64 { return int64(v ^ 1<<63) }
	for bit := uint64(1) << 63; bit != 0; bit >>= 1 {
		if !f(signed(at | (bit - 1))) {
			at |= bit
		}
	}
	return signed(at)
}
