package scan

import (
	"fmt"
	"slices"
	"sync"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// plan is what a request asks for, in the order in which it is done.
type plan struct {
	columns []Column
	stages  []stage
	output  []int
	last    []int // by slot: the last stage that uses it; len(stages) is the output, -1 none
}

// stage is a condition with the slots that it reads.
type stage struct {
	cond  expr.Expr // nil: the floor
	slots []int
}

func newPlan(r *Request) *plan {
	p := &plan{columns: r.Columns, output: r.Output}
	if r.Kind == fragment.Events && r.Floor > minTime {
		slot := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == Timestamp })
		if slot < 0 {
			slot = len(r.Columns)
			p.columns = append(slices.Clip(r.Columns), Column{Timestamp, vec.TimestampTZ})
		}
		p.stages = append(p.stages, stage{nil, []int{slot}})
	}
	for _, cond := range r.Filter {
		p.stages = append(p.stages, stage{cond, slotsOf(cond, nil)})
	}
	p.last = make([]int, len(p.columns))
	for i := range p.last {
		p.last[i] = -1
	}
	for i, s := range p.stages {
		for _, slot := range s.slots {
			p.last[slot] = i
		}
	}
	for _, slot := range p.output {
		p.last[slot] = len(p.stages)
	}
	return p
}

const minTime = event.Timestamp(-1 << 63)

// slotsOf adds the slots that an expression reads.
func slotsOf(e expr.Expr, slots []int) []int {
	if c, ok := e.(*expr.Column); ok && !slices.Contains(slots, c.Slot) {
		return append(slots, c.Slot)
	}
	for _, child := range e.Children() {
		slots = slotsOf(child, slots)
	}
	return slots
}

// opened is a fragment with its footer.
type opened struct {
	*Fragment
	footer *fragment.Footer
	tail   piece
	slots  []binding
	sent   []int // columns that events are spelled from

	once  sync.Once
	index piece // all indexes of the file
	err   error
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

// bind finds the columns of a file for each slot.
func (x *run) bind(f *Fragment, footer *fragment.Footer, tail piece) (*opened, error) {
	o := &opened{Fragment: f, footer: footer, tail: tail, slots: make([]binding, len(x.plan.columns)), sent: footer.SentColumns()}
	for slot, c := range x.plan.columns {
		b := binding{column: footer.Column(c.Name), nanos: -1}
		switch {
		case c.Name == Event && x.r.Kind == fragment.Events:
			b = binding{column: -1, nanos: -1, event: true}
		case c.Name == Timestamp:
			b.nanos = footer.Nanos()
		}
		if b.column >= 0 {
			if t := types[footer.Columns[b.column].Kind]; t != c.Type && !(t.HasTexts() && c.Type.HasTexts()) {
				return nil, fmt.Errorf("%w: %s: column %q is %v, not %v", fragment.ErrCorrupt, f.Key, c.Name, t, c.Type)
			}
		}
		o.slots[slot] = b
	}
	return o, nil
}
