// Package agg holds the aggregates: count, sum, quantiles and so on, over the rows of many groups at once.
//
// What it promises:
//
//  1. A result depends on the rows alone, not on their order or on how they were spread over workers, but for
//     any_value, first, last and string_agg without ORDER BY, which take rows as they come; sums of doubles agree to their last
//     bits; approximations agree within what they state.
//  2. NULL arguments are passed over, but by count(*), first and last.
//  3. A sum that its type cannot hold is an error.
package agg

import (
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// State is one aggregate of all groups, as one worker has it. Groups have numbers from 0; total, which never sinks, is
// how many there are.
type State interface {
	// Add adds n rows. Row i is of the group groups[i]; groups nil: all are of group 0.
	Add(groups []uint32, n int, args []*vec.Vector, total int) error
	// Merge adds what another state of the same aggregate has; its group g is to[g] here. The other is not used after it.
	Merge(other State, to []uint32, total int) error
	// Result is the values of the groups [from, to) of total. After the first call of it nothing is added.
	Result(from, to, total int) (*vec.Vector, error)
}

// grow makes s n long, its new entries fill.
func grow[T any](s []T, n int, fill T, size int64, m *memory.Meter) ([]T, error) {
	if n <= len(s) {
		return s, nil
	}
	if n > cap(s) {
		more := max(n, 2*cap(s))
		if err := m.Take(int64(more-cap(s)) * size); err != nil {
			return s, err
		}
		longer := make([]T, len(s), more)
		copy(longer, s)
		s = longer
	}
	for len(s) < n {
		s = append(s, fill)
	}
	return s, nil
}

// group is row i's.
func group(groups []uint32, i int) uint32 {
	if groups == nil {
		return 0
	}
	return groups[i]
}

// allNull tells that no row of v has a value.
func allNull(v *vec.Vector) bool {
	return v.Type == vec.Null || v.Const && v.Nulls != nil && v.Nulls[0]
}

// count counts the rows in which its argument, if it has one, has a value.
type count struct {
	n     []int64
	meter *memory.Meter
}

func (c *count) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if c.n, err = grow(c.n, total, 0, 8, c.meter); err != nil {
		return err
	}
	var nulls []bool
	if len(args) > 0 {
		if allNull(args[0]) {
			return nil
		}
		if !args[0].Const {
			nulls = args[0].Nulls
		}
	}
	switch {
	case groups == nil && nulls == nil:
		c.n[0] += int64(n)
	case groups == nil:
		for _, null := range nulls {
			if !null {
				c.n[0]++
			}
		}
	case nulls == nil:
		for from := 0; from < n; from += vec.Block {
			block := groups[from:min(from+vec.Block, n)]
			if vec.Alike(block) {
				c.n[block[0]] += int64(len(block))
				continue
			}
			for _, g := range block {
				c.n[g]++
			}
		}
	default:
		for i, g := range groups {
			if !nulls[i] {
				c.n[g]++
			}
		}
	}
	return nil
}

func (c *count) Merge(other State, to []uint32, total int) (err error) {
	if c.n, err = grow(c.n, total, 0, 8, c.meter); err != nil {
		return err
	}
	for g, n := range other.(*count).n {
		c.n[to[g]] += n
	}
	return nil
}

func (c *count) Result(from, to, total int) (_ *vec.Vector, err error) {
	if c.n, err = grow(c.n, total, 0, 8, c.meter); err != nil {
		return nil, err
	}
	return &vec.Vector{Type: vec.Int, Len: to - from, Ints: c.n[from:to:to]}, nil
}

// CountMore adds n rows to count(*)'s state without reading them: to the group that is the only one of groups, or to group 0.
func CountMore(s State, groups []uint32, n int64, total int) (err error) {
	c := s.(*count)
	if c.n, err = grow(c.n, total, 0, 8, c.meter); err == nil {
		c.n[group(groups, 0)] += n
	}
	return err
}

// countIf counts the rows in which its argument is TRUE.
type countIf struct{ count }

func (c *countIf) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if c.n, err = grow(c.n, total, 0, 8, c.meter); err != nil {
		return err
	}
	v := args[0].Flat()
	if v.Type == vec.Null {
		return nil
	}
	for i, x := range v.Ints {
		if v.Nulls == nil || !v.Nulls[i] {
			c.n[group(groups, i)] += x
		}
	}
	return nil
}

func (c *countIf) Merge(other State, to []uint32, total int) error {
	return c.count.Merge(&other.(*countIf).count, to, total)
}
