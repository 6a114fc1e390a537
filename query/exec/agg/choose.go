package agg

import (
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// choose is first, last and any_value: the value of one row. Which, the order in which rows come decides.
type choose struct {
	last  bool
	nulls bool // a NULL counts, as for first and last
	seen  []bool
	cells cells
}

func newChoose(t vec.Type, last, nulls bool, m *memory.Meter) *choose {
	return &choose{last: last, nulls: nulls, cells: cells{typ: t, meter: m}}
}

func (c *choose) grow(total int) (err error) {
	if c.seen, err = grow(c.seen, total, false, 1, c.cells.meter); err != nil {
		return err
	}
	return c.cells.grow(total)
}

func (c *choose) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := c.grow(total); err != nil {
		return err
	}
	v := args[0]
	in := v.Values()
	if groups == nil && c.seen[0] && !c.last {
		return nil
	}
	for i := range n {
		g := group(groups, i)
		if c.seen[g] && !c.last {
			continue
		}
		if v.IsNull(i) {
			if c.nulls {
				c.seen[g], c.cells.set[g] = true, false
			}
			continue
		}
		c.seen[g] = true
		if err := c.cells.put(g, in, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *choose) Merge(other State, to []uint32, total int) error {
	if err := c.grow(total); err != nil {
		return err
	}
	o := other.(*choose)
	for g, seen := range o.seen {
		at := to[g]
		if !seen || c.seen[at] {
			continue
		}
		c.seen[at] = true
		if o.cells.set[g] {
			if err := c.cells.put(at, o.cells.vector(), g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *choose) Result(from, to, total int) (*vec.Vector, error) {
	return c.cells.result(from, to, total)
}

// argExtreme is arg_min and arg_max: of the rows with the least or greatest second argument the first one; among several such rows
// the least first argument, so that the order of rows does not matter. Rows in which either is NULL do not count.
type argExtreme struct {
	by    *extreme
	cells cells
}

func newArgExtreme(t, by vec.Type, max bool, m *memory.Meter) *argExtreme {
	return &argExtreme{by: newExtreme(by, max, m), cells: cells{typ: t, meter: m}}
}

func (a *argExtreme) grow(total int) error {
	if err := a.by.values.grow(total); err != nil {
		return err
	}
	return a.cells.grow(total)
}

func (a *argExtreme) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := a.grow(total); err != nil {
		return err
	}
	v, by := args[0], args[1]
	if allNull(v) || allNull(by) {
		return nil
	}
	for i := range n {
		if v.IsNull(i) || by.IsNull(i) {
			continue
		}
		if err := a.offer(group(groups, i), v.Values(), v.Index(i), by.Values(), by.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// offer takes a row if it is better than what group g has.
func (a *argExtreme) offer(g uint32, v *vec.Vector, i int, by *vec.Vector, j int) error {
	if a.cells.set[g] {
		c := rows.Compare(by, j, a.by.values.vector(), int(g))
		if a.by.max {
			c = -c
		}
		if c > 0 || c == 0 && rows.Compare(v, i, a.cells.vector(), int(g)) >= 0 {
			return nil
		}
	}
	if err := a.by.values.put(g, by, j); err != nil {
		return err
	}
	return a.cells.put(g, v, i)
}

func (a *argExtreme) Merge(other State, to []uint32, total int) error {
	if err := a.grow(total); err != nil {
		return err
	}
	o := other.(*argExtreme)
	for g, set := range o.cells.set {
		if !set {
			continue
		}
		if err := a.offer(to[g], o.cells.vector(), g, o.by.values.vector(), g); err != nil {
			return err
		}
	}
	return nil
}

func (a *argExtreme) Result(from, to, total int) (*vec.Vector, error) {
	return a.cells.result(from, to, total)
}
