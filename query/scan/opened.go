package scan

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// opened is a fragment whose footer is there.
type opened struct {
	*Fragment
	footer *fragment.Footer
	tail   piece // what was read of the object's end
	slots  []binding
	sent   []int   // columns that events are spelled from
	stages []stage // that are not decided for the whole file

	mu    sync.Mutex
	known *known // with the indexes, once they were needed

	groups atomic.Int64 // that are not done
	read   atomic.Bool  // a row group was not pruned
}

// binding says which columns of a file fill a slot.
type binding struct {
	column int // of the file; -1: it has none, all is NULL
	nanos  int // of a time: the column of its last three digits; -1: none
	event  bool
}

// types are those of the kinds of columns.
var types = map[parquetfile.Kind]vec.Type{
	parquetfile.Boolean: vec.Bool, parquetfile.Int32: vec.Int, parquetfile.Int64: vec.Int, parquetfile.TimestampMicros: vec.TimestampTZ,
	parquetfile.Double: vec.Double, parquetfile.String: vec.Text, parquetfile.JSON: vec.JSON, parquetfile.Bytes: vec.Blob,
}

func double(bits int64) float64 { return math.Float64frombits(uint64(bits)) }

// bind finds the columns of a file for each slot.
func (x *run) bind(f *Fragment, k *known, tail piece) (*opened, error) {
	o := &opened{Fragment: f, footer: k.footer, known: k, tail: tail, slots: make([]binding, len(x.plan.columns))}
	for slot, c := range x.plan.columns {
		b := binding{column: k.footer.Column(c.Name), nanos: -1}
		switch {
		case c.Name == Event && x.r.Kind == fragment.Events:
			b = binding{column: -1, nanos: -1, event: true}
			o.sent = k.footer.SentColumns()
		case c.Name == Timestamp:
			b.nanos = k.footer.Nanos()
		}
		if b.column >= 0 {
			if t := types[k.footer.Columns[b.column].Kind]; t != c.Type {
				return nil, fmt.Errorf("%w: %s: column %q is %v, not %v", fragment.ErrCorrupt, f.Key, c.Name, t, c.Type)
			}
		}
		o.slots[slot] = b
	}
	return o, nil
}

// columnsOf are the columns of the file that a slot reads.
func (o *opened) columnsOf(slot int) []int {
	b := &o.slots[slot]
	switch {
	case b.event:
		return o.sent
	case b.column < 0:
		return nil
	case b.nanos < 0:
		return []int{b.column}
	}
	return []int{b.column, b.nanos}
}

// absent tells that a slot is NULL in all rows.
func (o *opened) absent(slot int) bool { return o.slots[slot].column < 0 && !o.slots[slot].event }

// open puts the row groups of a fragment that may have rows on the list.
func (x *run) open(f *candidate) error {
	var groups []*rowGroup
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.opening--
		x.addGroups(groups)
		x.changed.Broadcast()
	}()
	if f.sure && x.r.Whole != nil {
		taken := false
		err := x.work(func(worker int) error {
			taken = x.r.Whole(worker, &f.Fragment.Fragment)
			return nil
		})
		if taken {
			x.stats.AnsweredByMeta.Add(1)
		}
		if err != nil || taken {
			return err
		}
	}
	r := x.r
	part := len(f.stages) > 0 || r.Top != nil || r.First != nil || r.Rows > 0 // of the rows is wanted
	k, tail, err := x.footer(f.Fragment, part)
	if err != nil {
		return err
	}
	if k.footer.Tenant != x.r.Tenant || k.footer.Kind != x.r.Kind {
		return fmt.Errorf("%w: %s: it does not hold %v of the tenant that it is listed for", fragment.ErrCorrupt, f.Key, x.r.Kind)
	}
	x.stats.Read.Add(1)
	o, err := x.bind(f.Fragment, k, tail)
	if err != nil {
		return err
	}
	if !x.decide(o, f.stages) {
		x.stats.RowGroups.Add(int64(len(k.footer.Groups)))
		x.stats.RowGroupsPruned.Add(int64(len(k.footer.Groups)))
		x.stats.PrunedByFilter.Add(1)
		return nil
	}
	o.groups.Store(int64(len(k.footer.Groups)))
	for i := range k.footer.Groups {
		x.stats.RowGroups.Add(1)
		if g := newRowGroup(x, o, i); g.judge() {
			groups = append(groups, g)
		} else {
			g.pruned()
		}
	}
	return nil
}

// decide sets the stages that are left for a file; false: it has no row for which they are TRUE.
func (x *run) decide(o *opened, stages []stage) bool {
	if x.r.NoPruning {
		o.stages = stages
		return true
	}
	for i := range stages {
		s, decided, truth := stages[i].without(o.absent)
		switch {
		case decided && !truth:
			return false
		case !decided:
			o.stages = append(o.stages, s)
		}
	}
	return true
}

// judge drops the stages that are TRUE for all rows of a row group; false: one is for none.
func (g *rowGroup) judge() bool {
	g.stages = g.file.stages
	if g.run.r.NoPruning {
		return true
	}
	g.stages = nil
	bounds := g.file.ofGroup(g.run.plan, g.meta)
	for i := range g.file.stages {
		s := &g.file.stages[i]
		switch g.run.plan.judge(g.run.r, s, bounds) {
		case expr.Never:
			return false
		case expr.Maybe:
			g.stages = append(g.stages, *s)
		}
	}
	return true
}

// pruned counts a row group that has no row, as far as is known without reading it.
func (g *rowGroup) pruned() {
	g.run.stats.RowGroupsPruned.Add(1)
	g.done()
}

// done counts a row group that is done with.
func (g *rowGroup) done() {
	if g.file.groups.Add(-1) == 0 && !g.file.read.Load() {
		g.run.stats.PrunedByFilter.Add(1)
	}
}
