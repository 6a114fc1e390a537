package text

import (
	"math"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func hashes() []*expr.Func {
	return []*expr.Func{{Name: "hash", Args: []vec.Type{expr.Any, expr.Any}, Variadic: true, Out: num, Example: "hash('a') % 100 < 100",
		Doc:  "A number from 0 on by the values of the arguments, always the same one: to take a part of all rows, as hash(id) % 100 = 0.",
		Eval: hash}}
}

// hash is FNV-1a over the arguments' values, and stirred, so that its lowest bits are as good as all.
func hash(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
	return each.Rows(s, num, args, n, func(i int) (int64, error) {
		h := uint64(14695981039346656037)
		for _, a := range args {
			at, of := a.Index(i), a.Values()
			switch {
			case a.Type.HasInts():
				h = add8(h, uint64(of.Ints[at]))
			case a.Type == vec.Double:
				f := of.Doubles[at]
				if f == 0 || math.IsNaN(f) {
					f = math.Abs(f) // one zero, and one NaN
				}
				h = add8(h, math.Float64bits(f))
			case a.Type.HasTexts():
				t := of.Texts[at]
				for k := 0; k < len(t); k++ {
					h = (h ^ uint64(t[k])) * 1099511628211
				}
				h = add8(h, uint64(len(t)))
			case a.Type == vec.Interval:
				months, days, nanos := calendar.Normal(of.Intervals[at])
				h = add8(add8(add8(h, uint64(months)), uint64(days)), uint64(nanos))
			}
		}
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
		h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
		return int64((h ^ h>>33) >> 1), nil
	})
}

func add8(h, x uint64) uint64 {
	for range 8 {
		h = (h ^ x&255) * 1099511628211
		x >>= 8
	}
	return h
}
