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
	kept   []part[T]
	values []T   // after the first Result: all, group by group
	starts []int // and where each group's begin, and the end
	arena  *memory.Arena
	meter  *memory.Meter
}

// part is some values with their groups; without these all are of group 0. Values are kept in parts so that none is moved
// when there are more.
type part[T any] struct {
	values []T
	groups []uint32
}

// partRows is how many values a part has room for; the first ones have less.
const partRows = 64 << 10

func (s *quantile[T]) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if allNull(args[0]) {
		return nil
	}
	v := args[0].Flat()
	to, err := s.room(n, groups != nil)
	if err != nil {
		return err
	}
	switch values := any(&to.values).(type) {
	case *[]int64:
		*values = appendKeys(*values, v)
	case *[]string:
		for i, text := range v.Texts {
			if v.Nulls != nil && v.Nulls[i] {
				continue
			}
			kept, err := s.arena.Keep(text)
			if err != nil {
				return err
			}
			*values = append(*values, kept)
		}
	}
	switch {
	case groups == nil:
	case v.Nulls == nil:
		to.groups = append(to.groups, groups...)
	default:
		for i, g := range groups {
			if !v.Nulls[i] {
				to.groups = append(to.groups, g)
			}
		}
	}
	return nil
}

// valueBytes is what a value takes.
func (s *quantile[T]) valueBytes() int64 {
	if s.in.HasTexts() {
		return 16
	}
	return 8
}

// room is the part to which n more values are added.
func (s *quantile[T]) room(n int, grouped bool) (*part[T], error) {
	if k := len(s.kept); k > 0 && len(s.kept[k-1].values)+n <= cap(s.kept[k-1].values) {
		return &s.kept[k-1], nil
	}
	size := max(n, min(partRows, n<<min(len(s.kept), 16)))
	p, bytes := part[T]{values: make([]T, 0, size)}, s.valueBytes()
	if grouped {
		p.groups = make([]uint32, 0, size)
		bytes += 4
	}
	s.kept = append(s.kept, p)
	return &s.kept[len(s.kept)-1], s.meter.Take(int64(size) * bytes)
}

// appendKeys appends the values that are not NULL: integers, or the keys of doubles.
func appendKeys(to []int64, v *vec.Vector) []int64 {
	switch {
	case v.Type == vec.Double:
		for i, x := range v.Doubles {
			if v.Nulls == nil || !v.Nulls[i] {
				to = append(to, doubleKey(x))
			}
		}
	case v.Nulls == nil:
		to = append(to, v.Ints...)
	default:
		for i, x := range v.Ints {
			if !v.Nulls[i] {
				to = append(to, x)
			}
		}
	}
	return to
}

func (s *quantile[T]) Merge(other State, to []uint32, total int) error {
	for _, p := range other.(*quantile[T]).kept {
		for i, g := range p.groups {
			p.groups[i] = to[g]
		}
		s.kept = append(s.kept, p)
	}
	return nil
}

// arrange puts the values of each group together.
func (s *quantile[T]) arrange(total int) error {
	n := 0
	s.starts = make([]int, total+1)
	for _, p := range s.kept {
		n += len(p.values)
		if p.groups == nil && len(p.values) > 0 {
			s.starts[1] += len(p.values)
		}
		for _, g := range p.groups {
			s.starts[g+1]++
		}
	}
	if err := s.meter.Take(int64(total)*16 + int64(n)*s.valueBytes()); err != nil {
		return err
	}
	for i := 1; i <= total; i++ {
		s.starts[i] += s.starts[i-1]
	}
	s.values = make([]T, n)
	next := slices.Clone(s.starts)
	for k, p := range s.kept {
		if err := s.meter.Stopped(); err != nil {
			return err
		}
		if p.groups == nil {
			next[0] += copy(s.values[next[0]:], p.values)
		}
		for i, g := range p.groups {
			s.values[next[g]] = p.values[i]
			next[g]++
		}
		s.meter.Give(int64(cap(p.values))*s.valueBytes() + int64(cap(p.groups))*4)
		s.kept[k] = part[T]{}
	}
	s.kept = nil
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
