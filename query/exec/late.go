package exec

import (
	"slices"

	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// late is how the rows of ORDER BY ... LIMIT are kept: the keys, and the columns that the select list reads. The list itself is
// computed for the rows of the answer alone, so that what it costs, and whether it is an error, does not depend on the order in
// which rows come.
type late struct {
	keys  []expr.Expr
	order []rows.Key // columns of keys
	slots []int      // of the input, kept behind the keys
	types []vec.Type // of the keys and the slots
	width int        // of the input, as far as it is kept
}

// newLate is nil for a plan that has not both ORDER BY and LIMIT, or has DISTINCT.
func newLate(p *Plan) *late {
	if p.distinct || len(p.order) == 0 || p.first() < 0 {
		return nil
	}
	l := &late{}
	for i, k := range p.order {
		l.keys = append(l.keys, p.project[k.Column])
		k.Column = i
		l.order = append(l.order, k)
	}
	of := map[int]vec.Type{}
	for _, e := range p.project[:len(p.Outputs)] {
		slotTypes(e, of)
	}
	for slot := range of {
		l.slots = append(l.slots, slot)
	}
	slices.Sort(l.slots)
	l.types = types(l.keys)
	for _, slot := range l.slots {
		l.types = append(l.types, of[slot])
		l.width = slot + 1
	}
	return l
}

// slotTypes adds the slots that an expression reads.
func slotTypes(e expr.Expr, to map[int]vec.Type) {
	if c, ok := e.(*expr.Column); ok {
		to[c.Slot] = c.T
	}
	for _, c := range e.Children() {
		slotTypes(c, to)
	}
}

// add keeps rows of which no more than limit are before them so far.
func (l *late) add(w *tailWorker, b *vec.Batch) error {
	first, err := l.keys[0].Eval(w.scratch, b)
	if err != nil {
		return err
	}
	sel, all := w.sorter.Candidates(first, b.Len)
	if !all {
		if len(sel) == 0 {
			return nil
		}
		b, first = b.Gather(sel), first.Gather(sel)
	}
	rest, err := evalAll(l.keys[1:], w.scratch, b)
	if err != nil {
		return err
	}
	cols := append([]*vec.Vector{first}, rest...)
	for _, slot := range l.slots {
		cols = append(cols, b.Cols[slot])
	}
	return w.sorter.Add(cols, b.Len)
}

// input is a batch of kept rows, as the select list reads them.
func (l *late) input(cols []*vec.Vector, n int) *vec.Batch {
	b := &vec.Batch{Len: n, Cols: make([]*vec.Vector, l.width)}
	for i, slot := range l.slots {
		b.Cols[slot] = cols[len(l.keys)+i]
	}
	return b
}
