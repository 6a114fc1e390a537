package agg

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// wide is a sum of 128 bits with how many values it has.
type wide struct {
	hi int64
	lo uint64
	n  int64
}

func (w *wide) add(x int64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, uint64(x), 0)
	w.hi += x>>63 + int64(carry)
}

// fits tells that the sum is an int64.
func (w *wide) fits() bool { return w.hi == int64(w.lo)>>63 }

func (w *wide) float() float64 {
	if w.fits() {
		return float64(int64(w.lo))
	}
	return float64(w.hi)*(1<<32)*(1<<32) + float64(w.lo)
}

// sumInts is sum and avg of integers, and avg of times.
type sumInts struct {
	sums  []wide
	avg   bool
	out   vec.Type // Int for sum; Double or a time for avg
	meter *memory.Meter
}

func (s *sumInts) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if s.sums, err = grow(s.sums, total, wide{}, 24, s.meter); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0].Flat()
	switch {
	case groups == nil && v.Nulls == nil:
		sum := s.sums[0]
		for _, x := range v.Ints {
			sum.add(x)
		}
		sum.n += int64(n)
		s.sums[0] = sum
	case v.Nulls == nil:
		for i, g := range groups {
			sum := &s.sums[g]
			sum.add(v.Ints[i])
			sum.n++
		}
	default:
		for i, null := range v.Nulls {
			if !null {
				sum := &s.sums[group(groups, i)]
				sum.add(v.Ints[i])
				sum.n++
			}
		}
	}
	return nil
}

func (s *sumInts) Merge(other State, to []uint32, total int) (err error) {
	if s.sums, err = grow(s.sums, total, wide{}, 24, s.meter); err != nil {
		return err
	}
	for g, from := range other.(*sumInts).sums {
		sum := &s.sums[to[g]]
		var carry uint64
		sum.lo, carry = bits.Add64(sum.lo, from.lo, 0)
		sum.hi += from.hi + int64(carry)
		sum.n += from.n
	}
	return nil
}

func (s *sumInts) Result(from, to, total int) (_ *vec.Vector, err error) {
	if s.sums, err = grow(s.sums, total, wide{}, 24, s.meter); err != nil {
		return nil, err
	}
	out := vec.Nulls(s.out, to-from)
	for i := range out.Nulls {
		sum := &s.sums[from+i]
		if sum.n == 0 {
			continue
		}
		out.Nulls[i] = false
		switch {
		case s.avg && s.out == vec.Double:
			out.Doubles[i] = sum.float() / float64(sum.n)
		case s.avg:
			out.Ints[i] = sum.quotient()
		case !sum.fits():
			return nil, fail.New(fail.OutOfRange, "sum: the result is beyond the range of BIGINT; sum CAST(... AS DOUBLE) instead")
		default:
			out.Ints[i] = int64(sum.lo)
		}
	}
	return out, nil
}

// quotient is the sum divided by n, towards zero.
func (w *wide) quotient() int64 {
	if w.fits() {
		return int64(w.lo) / w.n
	}
	sum := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	sum.Add(sum, new(big.Int).SetUint64(w.lo))
	return sum.Quo(sum, big.NewInt(w.n)).Int64()
}

// exact is a sum of doubles with what rounding has lost of it.
type exact struct {
	sum, lost float64
	n         int64
}

func (e *exact) add(x float64) {
	t := e.sum + x
	z := t - e.sum
	e.lost += (e.sum - (t - z)) + (x - z)
	e.sum = t
}

// addAll adds values in four sums beside each other, as none has to wait for another.
func (e *exact) addAll(values []float64) {
	n := int64(len(values))
	var b, c, d exact
	a := *e
	for len(values) >= 4 {
		a.add(values[0])
		b.add(values[1])
		c.add(values[2])
		d.add(values[3])
		values = values[4:]
	}
	for _, x := range values {
		a.add(x)
	}
	for _, o := range []exact{b, c, d} {
		a.add(o.sum)
		a.lost += o.lost
	}
	a.n += n
	*e = a
}

func (e *exact) value() float64 {
	if v := e.sum + e.lost; !math.IsNaN(v) {
		return v
	}
	return e.sum // infinite sums lose what is no number
}

// sumDoubles is sum and avg of doubles.
type sumDoubles struct {
	sums  []exact
	avg   bool
	meter *memory.Meter
}

func (s *sumDoubles) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if s.sums, err = grow(s.sums, total, exact{}, 24, s.meter); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0].Flat()
	switch {
	case groups == nil && v.Nulls == nil:
		s.sums[0].addAll(v.Doubles)
	case v.Nulls == nil:
		for i, g := range groups {
			sum := &s.sums[g]
			sum.add(v.Doubles[i])
			sum.n++
		}
	default:
		for i, null := range v.Nulls {
			if !null {
				sum := &s.sums[group(groups, i)]
				sum.add(v.Doubles[i])
				sum.n++
			}
		}
	}
	return nil
}

func (s *sumDoubles) Merge(other State, to []uint32, total int) (err error) {
	if s.sums, err = grow(s.sums, total, exact{}, 24, s.meter); err != nil {
		return err
	}
	for g, from := range other.(*sumDoubles).sums {
		sum := &s.sums[to[g]]
		sum.add(from.sum)
		sum.lost += from.lost
		sum.n += from.n
	}
	return nil
}

func (s *sumDoubles) Result(from, to, total int) (_ *vec.Vector, err error) {
	if s.sums, err = grow(s.sums, total, exact{}, 24, s.meter); err != nil {
		return nil, err
	}
	out := vec.Nulls(vec.Double, to-from)
	for i := range out.Nulls {
		sum := &s.sums[from+i]
		if sum.n == 0 {
			continue
		}
		out.Nulls[i], out.Doubles[i] = false, sum.value()
		if s.avg {
			out.Doubles[i] /= float64(sum.n)
		}
	}
	return out, nil
}

// spread is Welford's: count, mean and the sum of squared distances from it.
type spread struct {
	n        int64
	mean, m2 float64
}

// variance is var_samp, var_pop, stddev_samp and stddev_pop.
type variance struct {
	name       string
	of         []spread
	population bool
	root       bool
	meter      *memory.Meter
}

func (s *variance) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if s.of, err = grow(s.of, total, spread{}, 24, s.meter); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0].Flat()
	for i, x := range v.Doubles {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		w := &s.of[group(groups, i)]
		w.n++
		d := x - w.mean
		w.mean += d / float64(w.n)
		w.m2 += d * (x - w.mean)
	}
	return nil
}

func (s *variance) Merge(other State, to []uint32, total int) (err error) {
	if s.of, err = grow(s.of, total, spread{}, 24, s.meter); err != nil {
		return err
	}
	for g, b := range other.(*variance).of {
		a := &s.of[to[g]]
		switch {
		case b.n == 0:
		case a.n == 0:
			*a = b
		default:
			n := float64(a.n + b.n)
			d := b.mean - a.mean
			a.m2 += b.m2 + d*d*float64(a.n)*float64(b.n)/n
			a.mean += d * float64(b.n) / n
			a.n += b.n
		}
	}
	return nil
}

func (s *variance) Result(from, to, total int) (_ *vec.Vector, err error) {
	if s.of, err = grow(s.of, total, spread{}, 24, s.meter); err != nil {
		return nil, err
	}
	out := vec.Nulls(vec.Double, to-from)
	for i := range out.Nulls {
		w := s.of[from+i]
		n := w.n
		if !s.population {
			n--
		}
		if n < 1 {
			continue
		}
		x := w.m2 / float64(n)
		if s.population && w.n == 1 {
			x = 0
		}
		if s.root {
			x = math.Sqrt(x)
		}
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, fail.New(fail.OutOfRange, "%s: the result is beyond the range of DOUBLE", s.name)
		}
		out.Nulls[i], out.Doubles[i] = false, x
	}
	return out, nil
}
