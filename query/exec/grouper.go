package exec

import (
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/exec/keys"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// grouper is what one worker has of the groups.
type grouper struct {
	g       *grouping
	groups  *keys.Groups // nil: there are no keys, and one group
	states  []agg.State
	scratch *expr.Scratch
	ids     []uint32
}

func newGrouper(g *grouping, scratch *expr.Scratch, m *memory.Meter) *grouper {
	out := &grouper{g: g, scratch: scratch}
	if len(g.keys) > 0 {
		out.groups = keys.NewGroups(types(g.keys), m)
	}
	for _, a := range g.aggregates {
		make := a.fn.New
		if len(a.keys) > 0 {
			make = agg.Sorted(make, append(types(a.args), types(a.order)...), len(a.args), a.keys)
		}
		if a.distinct && !a.fn.Once {
			make = agg.Distinct(make, a.args[0].Type(), len(g.keys) > 0)
		}
		out.states = append(out.states, make(m))
	}
	return out
}

// total is how many groups there are.
func (g *grouper) total() int {
	if g.groups == nil {
		return 1
	}
	return g.groups.Len()
}

// add adds the rows of a batch.
func (g *grouper) add(b *vec.Batch) error {
	var ids []uint32
	g.scratch.Begin()
	if g.groups != nil {
		cols, err := evalAll(g.g.keys, g.scratch, b)
		if err != nil {
			return err
		}
		if cap(g.ids) < b.Len {
			g.ids = make([]uint32, b.Len)
		}
		ids = g.ids[:b.Len]
		if err := g.groups.IDs(cols, ids); err != nil {
			return err
		}
	}
	for i := range g.g.aggregates {
		if err := g.aggregate(i, b, ids); err != nil {
			return err
		}
	}
	return nil
}

func (g *grouper) aggregate(i int, b *vec.Batch, ids []uint32) error {
	a := &g.g.aggregates[i]
	g.scratch.Begin()
	if a.filter != nil {
		sel, all, err := selected([]expr.Expr{a.filter}, g.scratch, b)
		if err != nil || !all && len(sel) == 0 {
			return err
		}
		if !all {
			b = b.Gather(sel)
			if ids != nil {
				left := make([]uint32, len(sel))
				for j, at := range sel {
					left[j] = ids[at]
				}
				ids = left
			}
		}
	}
	args, err := evalAll(a.args, g.scratch, b)
	if err != nil {
		return err
	}
	if len(a.order) > 0 {
		order, err := evalAll(a.order, g.scratch, b)
		if err != nil {
			return err
		}
		args = append(args, order...)
	}
	return g.states[i].Add(ids, b.Len, args, g.total())
}

// whole takes a fragment of which nobody reads a row, if all of its rows are surely of one group.
func (g *grouper) whole(f *shardlog.Fragment) (bool, error) {
	least, greatest := vec.Value{Type: vec.TimestampTZ, Int: int64(f.Min)}, vec.Value{Type: vec.TimestampTZ, Int: int64(f.Max)}
	var ids []uint32
	if g.groups != nil {
		cols := make([]*vec.Vector, len(g.g.keys))
		for i, k := range g.g.keys {
			v, ok := expr.Same(k, func(int) expr.Bounds { return expr.Bounds{Rows: f.Rows, Known: true, Min: least, Max: greatest} })
			if !ok {
				return false, nil
			}
			cols[i] = vec.Constant(k.Type(), v, 1)
		}
		ids = make([]uint32, 1)
		if err := g.groups.IDs(cols, ids); err != nil {
			return false, err
		}
	}
	for i, a := range g.g.aggregates {
		var err error
		switch a.name {
		case "count":
			err = agg.CountMore(g.states[i], ids, f.Rows, g.total())
		case "min":
			err = g.states[i].Add(ids, 1, []*vec.Vector{vec.Constant(least.Type, least, 1)}, g.total())
		case "max":
			err = g.states[i].Add(ids, 1, []*vec.Vector{vec.Constant(greatest.Type, greatest, 1)}, g.total())
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// merge takes over another worker's groups.
func (g *grouper) merge(other *grouper) error {
	to := []uint32{0}
	if g.groups != nil {
		var err error
		if to, err = g.groups.Merge(other.groups); err != nil {
			return err
		}
	}
	for i, s := range g.states {
		if err := s.Merge(other.states[i], to, g.total()); err != nil {
			return err
		}
	}
	return nil
}

// batches gives the groups, keys and results, in steps.
func (g *grouper) batches(emit func(*vec.Batch) error) error {
	total := g.total()
	for from := 0; from < total; from += batchRows {
		to := min(from+batchRows, total)
		b := &vec.Batch{Len: to - from}
		if g.groups != nil {
			b.Cols = g.groups.Rows(from, to)
		}
		for _, s := range g.states {
			v, err := s.Result(from, to, total)
			if err != nil {
				return err
			}
			b.Cols = append(b.Cols, v)
		}
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}

func evalAll(list []expr.Expr, s *expr.Scratch, b *vec.Batch) ([]*vec.Vector, error) {
	out := make([]*vec.Vector, len(list))
	for i, e := range list {
		v, err := e.Eval(s, b)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// selected are the rows for which all conditions are TRUE; all tells that these are all rows, and sel is nil.
func selected(conditions []expr.Expr, s *expr.Scratch, b *vec.Batch) (sel []int32, all bool, err error) {
	all = true
	for _, c := range conditions {
		in := b
		if !all {
			in = b.Gather(sel)
		}
		v, err := c.Eval(s, in)
		if err != nil {
			return nil, false, err
		}
		var left []int32
		for i := range in.Len {
			if v.Type == vec.Null || v.IsNull(i) || v.Values().Ints[v.Index(i)] == 0 {
				continue
			}
			at := int32(i)
			if !all {
				at = sel[i]
			}
			left = append(left, at)
		}
		if len(left) == in.Len {
			continue
		}
		sel, all = left, false
		if len(sel) == 0 {
			return nil, false, nil
		}
	}
	return sel, all, nil
}
