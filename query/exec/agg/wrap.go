package agg

import (
	"github.com/togodb/togo/query/exec/keys"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// step is how many kept rows are given on at once.
const step = 4096

// Distinct is an aggregate of the distinct values of its argument. grouped is false if all rows are of group 0.
func Distinct(of func(*memory.Meter) State, t vec.Type, grouped bool) func(*memory.Meter) State {
	return func(m *memory.Meter) State {
		d := &distinct{of: of, values: keys.NewInterner(t, m), meter: m}
		if grouped {
			d.members = keys.NewMembers(m)
		}
		return d
	}
}

type distinct struct {
	of      func(*memory.Meter) State
	values  *keys.Interner
	members *keys.Members // the values of each group; nil: there is one group, which has all
	ids     []uint32
	meter   *memory.Meter
	done    State
}

func (d *distinct) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if cap(d.ids) < n {
		d.ids = make([]uint32, n)
	}
	ids := d.ids[:n]
	if err := d.values.IDs(args[0], ids); err != nil {
		return err
	}
	if d.members == nil {
		return nil
	}
	return d.members.Add(groups, ids)
}

func (d *distinct) Merge(other State, to []uint32, total int) error {
	o := other.(*distinct)
	return o.each(func(groups []uint32, v *vec.Vector) error {
		for i, g := range groups {
			groups[i] = to[g]
		}
		return d.Add(groups, v.Len, []*vec.Vector{v}, total)
	})
}

// each gives the distinct values with their groups.
func (d *distinct) each(f func(groups []uint32, v *vec.Vector) error) error {
	if d.members != nil {
		return d.members.Each(func(groups, ids []uint32) error { return f(groups, d.values.Gather(ids)) })
	}
	n := d.values.Len()
	for from := 0; from < n; from += step {
		if err := d.meter.Stopped(); err != nil {
			return err
		}
		ids := make([]uint32, min(step, n-from))
		for i := range ids {
			ids[i] = uint32(from + i)
		}
		if err := f(nil, d.values.Gather(ids)); err != nil {
			return err
		}
	}
	return nil
}

func (d *distinct) Result(from, to, total int) (*vec.Vector, error) {
	if d.done == nil {
		d.done = d.of(d.meter)
		err := d.each(func(groups []uint32, v *vec.Vector) error { return d.done.Add(groups, v.Len, []*vec.Vector{v}, total) })
		if err != nil {
			return nil, err
		}
	}
	return d.done.Result(from, to, total)
}

// Sorted is an aggregate whose rows come in an order. Its Add takes columns of the types: the aggregate's own arguments, args of them,
// and what else is sorted by.
func Sorted(of func(*memory.Meter) State, types []vec.Type, args int, order []rows.Key) func(*memory.Meter) State {
	types = append([]vec.Type{vec.Int}, types...)
	by := make([]rows.Key, len(order))
	for i, k := range order {
		k.Column++ // the first column is the group
		by[i] = k
	}
	return func(m *memory.Meter) State {
		return &sorted{of: of, sorter: rows.NewSorter(types, by, -1, m), args: args, meter: m}
	}
}

type sorted struct {
	of     func(*memory.Meter) State
	sorter *rows.Sorter
	args   int
	meter  *memory.Meter
	done   State
}

func (s *sorted) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	own := vec.Constant(vec.Int, vec.Value{Type: vec.Int}, n)
	if groups != nil {
		own = &vec.Vector{Type: vec.Int, Len: n, Ints: make([]int64, n)}
		for i, g := range groups {
			own.Ints[i] = int64(g)
		}
	}
	return s.sorter.Add(append([]*vec.Vector{own}, args...), n)
}

func (s *sorted) Merge(other State, to []uint32, total int) error {
	return other.(*sorted).sorter.Rows(0, step, func(cols []*vec.Vector, n int) error {
		for i, g := range cols[0].Ints {
			cols[0].Ints[i] = int64(to[g])
		}
		return s.sorter.Add(cols, n)
	})
}

func (s *sorted) Result(from, to, total int) (*vec.Vector, error) {
	if s.done == nil {
		s.done = s.of(s.meter)
		groups := make([]uint32, step)
		err := s.sorter.Rows(0, step, func(cols []*vec.Vector, n int) error {
			for i, g := range cols[0].Ints {
				groups[i] = uint32(g)
			}
			return s.done.Add(groups[:n], n, cols[1:1+s.args], total)
		})
		if err != nil {
			return nil, err
		}
	}
	return s.done.Result(from, to, total)
}
