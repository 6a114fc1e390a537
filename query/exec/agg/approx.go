package agg

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/exec/sketch"
	"github.com/togodb/togo/query/vec"
)

// approxCount is approx_count_distinct.
type approxCount struct {
	of   *sketch.Distinct
	dict *vec.Vector // the dictionary seen last
	seen []bool      // entries of it that are in group 0
}

func (s *approxCount) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := s.of.Grow(total); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0]
	in := v.Values()
	once := groups == nil && v.Dict != nil
	if once && s.dict != v.Dict {
		s.dict, s.seen = v.Dict, make([]bool, v.Dict.Len)
	}
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		at := v.Index(i)
		if once {
			if s.seen[at] {
				continue
			}
			s.seen[at] = true
		}
		if err := s.of.Add(group(groups, i), hash(in, at)); err != nil {
			return err
		}
		if v.Const && groups == nil {
			break
		}
	}
	return nil
}

// hash is the same in every run and process, so that answers are.
func hash(v *vec.Vector, i int) uint64 {
	switch {
	case v.Ints != nil:
		return mix(uint64(v.Ints[i]))
	case v.Doubles != nil:
		f := v.Doubles[i]
		if f == 0 {
			f = 0 // -0 is 0
		}
		if f != f {
			f = math.NaN()
		}
		return mix(math.Float64bits(f))
	case v.Texts != nil:
		return xxh3.HashString(v.Texts[i])
	}
	months, days, nanos := calendar.Normal(v.Intervals[i])
	return mix(uint64(nanos) ^ mix(uint64(days)^mix(uint64(months))))
}

// mix is the finalizer of MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func (s *approxCount) Merge(other State, to []uint32, total int) error {
	if err := s.of.Grow(total); err != nil {
		return err
	}
	return s.of.Merge(other.(*approxCount).of, to)
}

func (s *approxCount) Result(from, to, total int) (*vec.Vector, error) {
	if err := s.of.Grow(total); err != nil {
		return nil, err
	}
	out := vec.New(vec.Int, to-from)
	for i := range out.Ints {
		out.Ints[i] = s.of.Count(from + i)
	}
	return out, nil
}

// approxQuantile is approx_quantile. NaN does not count.
type approxQuantile struct {
	q   float64
	out vec.Type
	of  *sketch.Quantiles
}

func (s *approxQuantile) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := s.of.Grow(total); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0].Flat()
	for i := range n {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		x := 0.0
		if v.Ints != nil {
			x = float64(v.Ints[i])
		} else {
			x = v.Doubles[i]
		}
		if math.IsNaN(x) {
			continue
		}
		if err := s.of.Add(group(groups, i), x); err != nil {
			return err
		}
	}
	return nil
}

func (s *approxQuantile) Merge(other State, to []uint32, total int) error {
	if err := s.of.Grow(total); err != nil {
		return err
	}
	return s.of.Merge(other.(*approxQuantile).of, to)
}

func (s *approxQuantile) Result(from, to, total int) (*vec.Vector, error) {
	if err := s.of.Grow(total); err != nil {
		return nil, err
	}
	out := vec.Nulls(s.out, to-from)
	for i := range out.Nulls {
		x, ok := s.of.Quantile(from+i, s.q)
		switch {
		case !ok:
			continue
		case s.out == vec.Double:
			out.Doubles[i] = x
		default:
			out.Ints[i] = int64(math.Round(x))
		}
		out.Nulls[i] = false
	}
	return out, nil
}
