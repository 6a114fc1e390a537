package agg

import (
	"github.com/togodb/togo/query/exec/keys"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// mode is the most frequent value; of several the least.
type mode struct {
	values *keys.Interner
	pairs  *keys.Pairs // group and value
	counts []int64     // by pair
	ids    []uint32
	meter  *memory.Meter
	best   *cells
}

func newMode(t vec.Type, m *memory.Meter) *mode {
	return &mode{values: keys.NewInterner(t, m), pairs: keys.NewPairs(m), meter: m}
}

func (s *mode) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	return s.add(groups, n, args[0], nil)
}

// add adds rows, each of which counts as often as times says; nil: once.
func (s *mode) add(groups []uint32, n int, v *vec.Vector, times []int64) (err error) {
	if cap(s.ids) < n {
		s.ids = make([]uint32, n)
	}
	ids := s.ids[:n]
	if err := s.values.IDs(v, ids); err != nil {
		return err
	}
	if groups == nil {
		groups = make([]uint32, n)
	}
	if err := s.pairs.IDs(groups, ids, ids); err != nil {
		return err
	}
	if s.counts, err = grow(s.counts, s.pairs.Len(), 0, 8, s.meter); err != nil {
		return err
	}
	for i, id := range ids {
		if times == nil {
			s.counts[id]++
		} else {
			s.counts[id] += times[i]
		}
	}
	return nil
}

// each gives the values of the pairs with their groups and counts.
func (s *mode) each(f func(groups []uint32, v *vec.Vector, counts []int64) error) error {
	for from := 0; from < len(s.counts); from += step {
		if err := s.meter.Stopped(); err != nil {
			return err
		}
		n := min(step, len(s.counts)-from)
		groups, ids := make([]uint32, n), make([]uint32, n)
		for i := range ids {
			groups[i], ids[i] = s.pairs.At(uint32(from + i))
		}
		if err := f(groups, s.values.Gather(ids), s.counts[from:from+n]); err != nil {
			return err
		}
	}
	return nil
}

func (s *mode) Merge(other State, to []uint32, total int) error {
	return other.(*mode).each(func(groups []uint32, v *vec.Vector, counts []int64) error {
		for i, g := range groups {
			groups[i] = to[g]
		}
		return s.add(groups, v.Len, v, counts)
	})
}

func (s *mode) Result(from, to, total int) (*vec.Vector, error) {
	if s.best == nil {
		best := &cells{typ: s.values.Type(), meter: s.meter}
		if err := best.grow(total); err != nil {
			return nil, err
		}
		most, err := grow(nil, total, int64(0), 8, s.meter)
		if err != nil {
			return nil, err
		}
		err = s.each(func(groups []uint32, v *vec.Vector, counts []int64) error {
			for i, g := range groups {
				if v.IsNull(i) || counts[i] < most[g] {
					continue
				}
				if counts[i] == most[g] && best.set[g] && rows.Compare(v, i, best.vector(), int(g)) >= 0 {
					continue
				}
				most[g] = counts[i]
				if err := best.put(g, v, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.best = best
	}
	return s.best.result(from, to, total)
}
