package agg

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// fraction is which quantile is asked for: that of the ascending order, or with desc of the descending one.
type fraction struct {
	q    float64
	desc bool
	// exact is q as it was written, num / den; den is 0 if it has too many digits.
	num, den int64
}

func newFraction(q float64) fraction {
	f := fraction{q: math.Abs(q), desc: math.Signbit(q)}
	if r, ok := new(big.Rat).SetString(strconv.FormatFloat(f.q, 'f', -1, 64)); ok && r.Num().IsInt64() && r.Denom().IsInt64() && r.Denom().Int64() <= 1_000_000_000 {
		f.num, f.den = r.Num().Int64(), r.Denom().Int64()
	}
	return f
}

// index is the place of the quantile among n values in its order, as DuckDB counts: without loss where q is a short decimal.
func (f fraction) index(n int) int {
	floor := int(math.Floor(float64(n) - float64(n)*f.q))
	if f.den > 0 && n < math.MaxInt64/1_000_000_000 {
		floor = int((int64(n)*f.den - int64(n)*f.num) / f.den)
	}
	at := max(1, n-floor) - 1
	if f.desc {
		return n - 1 - at
	}
	return at
}

// between is where a quantile lies among n ascending values: after the one at low, by part of the way to the one at high.
func (f fraction) between(n int) (low, high int, part float64) {
	q := f.q
	if f.desc {
		q = 1 - q
	}
	at := float64(n-1) * q
	low, high = int(math.Floor(at)), int(math.Ceil(at))
	return low, high, at - float64(low)
}

// quantile is quantile_cont and quantile_disc: it keeps all values. T is int64 for numbers (doubles as keys that
// order as they do) and times, or string.
type quantile[T cmp.Ordered] struct {
	f      fraction
	disc   bool
	in     vec.Type
	out    vec.Type
	groups []uint32 // of the values, nil: all are of group 0
	values []T
	starts []int // after the first Result: where each group's values begin, and the end
	arena  *memory.Arena
	meter  *memory.Meter
}

func (s *quantile[T]) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if allNull(args[0]) {
		return nil
	}
	v := args[0].Flat()
	if err := s.room(n, groups != nil); err != nil {
		return err
	}
	for i := range n {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		x, err := s.keyOf(v, i)
		if err != nil {
			return err
		}
		s.values = append(s.values, x)
		if groups != nil {
			s.groups = append(s.groups, groups[i])
		}
	}
	return nil
}

// keyOf is the value at i as it is kept.
func (s *quantile[T]) keyOf(v *vec.Vector, i int) (T, error) {
	var x any
	switch {
	case s.in == vec.Double:
		x = doubleKey(v.Doubles[i])
	case s.in.HasInts():
		x = v.Ints[i]
	default:
		kept, err := s.arena.Keep(v.Texts[i])
		if err != nil {
			return *new(T), err
		}
		x = kept
	}
	return x.(T), nil
}

func (s *quantile[T]) room(n int, grouped bool) error {
	size := int64(8)
	if !s.in.HasInts() && s.in != vec.Double {
		size = 16
	}
	if have := cap(s.values); len(s.values)+n > have {
		more := max(len(s.values)+n, have+have/2)
		if err := s.meter.Take(int64(more-have) * size); err != nil {
			return err
		}
		s.values = slices.Grow(s.values, more-len(s.values))
	}
	if have := cap(s.groups); grouped && len(s.groups)+n > have {
		more := max(len(s.groups)+n, have+have/2)
		if err := s.meter.Take(int64(more-have) * 4); err != nil {
			return err
		}
		s.groups = slices.Grow(s.groups, more-len(s.groups))
	}
	return nil
}

func (s *quantile[T]) Merge(other State, to []uint32, total int) error {
	o := other.(*quantile[T])
	if err := s.room(len(o.values), o.groups != nil); err != nil {
		return err
	}
	s.values = append(s.values, o.values...)
	for _, g := range o.groups {
		s.groups = append(s.groups, to[g])
	}
	return nil
}

// arrange puts the values of each group together.
func (s *quantile[T]) arrange(total int) error {
	s.starts = make([]int, total+1)
	if s.groups == nil {
		for i := 1; i <= total; i++ {
			s.starts[i] = len(s.values)
		}
		return nil
	}
	if err := s.meter.Take(int64(total)*8 + int64(len(s.values))*16); err != nil {
		return err
	}
	for _, g := range s.groups {
		s.starts[g+1]++
	}
	for i := 1; i <= total; i++ {
		s.starts[i] += s.starts[i-1]
	}
	next := slices.Clone(s.starts)
	sorted := make([]T, len(s.values))
	for i, g := range s.groups {
		if i%(1<<20) == 0 {
			if err := s.meter.Stopped(); err != nil {
				return err
			}
		}
		sorted[next[g]] = s.values[i]
		next[g]++
	}
	s.values, s.groups = sorted, nil
	return nil
}

func (s *quantile[T]) Result(from, to, total int) (*vec.Vector, error) {
	if s.starts == nil {
		if err := s.arrange(total); err != nil {
			return nil, err
		}
	}
	out := vec.Nulls(s.out, to-from)
	for i := range out.Nulls {
		values := s.values[s.starts[from+i]:s.starts[from+i+1]]
		if len(values) == 0 {
			continue
		}
		out.Nulls[i] = false
		if s.disc {
			at := s.f.index(len(values))
			rows.Pick(values, at)
			s.set(out, i, values[at])
			continue
		}
		low, high, part := s.f.between(len(values))
		rows.Pick(values, low)
		next := values[low]
		if high > low {
			next = slices.Min(values[high:])
		}
		s.setBetween(out, i, values[low], next, part)
	}
	return out, nil
}

func (s *quantile[T]) set(out *vec.Vector, i int, x T) {
	switch x := any(x).(type) {
	case string:
		out.Texts[i] = x
	case int64:
		if s.in == vec.Double {
			out.Doubles[i] = keyDouble(x)
		} else {
			out.Ints[i] = x
		}
	}
}

func (s *quantile[T]) setBetween(out *vec.Vector, i int, a, b T, part float64) {
	low, high := any(a).(int64), any(b).(int64)
	switch {
	case s.in == vec.Double:
		out.Doubles[i] = blend(keyDouble(low), keyDouble(high), part)
	case s.out == vec.Double:
		out.Doubles[i] = blend(float64(low), float64(high), part)
	default:
		out.Ints[i] = low + int64(math.Round(part*float64(high-low)))
	}
}

func blend(a, b, part float64) float64 {
	if part == 0 || a == b {
		return a
	}
	return a*(1-part) + b*part
}

// doubleKey orders as doubles do, NaN above all.
func doubleKey(f float64) int64 {
	if f != f {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(f))
	if b < 0 {
		b ^= math.MaxInt64
	}
	return b
}

func keyDouble(k int64) float64 {
	if k == math.MaxInt64 {
		return math.NaN()
	}
	if k < 0 {
		k ^= math.MaxInt64
	}
	return math.Float64frombits(uint64(k))
}
