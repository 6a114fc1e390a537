package scan

import (
	"slices"
	"unsafe"

	"github.com/togodb/togo/query/vec"
)

// gather makes batches of the rows that are left. Windows that are whole are given on as they lie in their pages; of others
// rows are copied, so that batches do not become small and pages need not stay.
type gather struct {
	g      *rowGroup
	worker int
	batch  vec.Batch
	bufs   []buffer // by slot
	rows   int      // that were copied and wait
	text   []byte   // what the copied texts lie in
	bytes  int      // of texts that wait
}

// Rows or bytes of text that wait at most.
const (
	waitRows  = windowRows / 2
	waitBytes = 1 << 20
)

func newGather(g *rowGroup, worker int) *gather {
	return &gather{g: g, worker: worker, batch: vec.Batch{Cols: make([]*vec.Vector, len(g.run.r.Columns))}, bufs: make([]buffer, len(g.slots))}
}

// add gives on the rows of a window that are left, or keeps them for the next batch.
func (o *gather) add(w *window) error {
	n := w.left()
	if w.rows == nil && n > waitRows/8 || n > waitRows {
		if err := o.flush(); err != nil {
			return err
		}
		o.batch.Len = n
		for _, slot := range o.g.run.plan.output {
			v, err := o.g.slots[slot].values(w)
			if err != nil {
				return err
			}
			o.batch.Cols[slot] = constant(v)
		}
		return o.emit()
	}
	w.all() // so that no vector is of one value, which those of other windows are not
	for _, slot := range o.g.run.plan.output {
		v, err := o.g.slots[slot].values(w)
		if err != nil {
			return err
		}
		o.take(&o.bufs[slot], v)
	}
	if o.rows += n; o.rows >= waitRows || o.bytes >= waitBytes {
		return o.flush()
	}
	return nil
}

// constant gives a vector of one value, if v has one value in all rows: that is how columns that the rows are sorted by
// come, and those that are rarely there.
func constant(v *vec.Vector) *vec.Vector {
	n := v.Len
	switch {
	case n == 0 || v.Const:
		return v
	case v.Nulls != nil:
		if !v.Nulls[0] || !v.Nulls[n/2] || slices.Contains(v.Nulls, false) {
			return v
		}
		return vec.Constant(v.Type, vec.Value{}, n)
	case v.Dict == nil || v.Codes[0] != v.Codes[n/2] || !vec.Alike(v.Codes):
		return v
	}
	return vec.Constant(v.Type, v.Dict.At(int(v.Codes[0])), n)
}

// take copies a vector behind what waits.
func (o *gather) take(b *buffer, v *vec.Vector) {
	switch {
	case v.Const: // the column is not in the file
		b.out = *v
		b.out.Len = o.rows + v.Len
		return
	}
	at := b.out.Len
	b.copy(v, 0, v.Len)
	if v.Dict == nil && v.Type.HasTexts() {
		o.keep(b.texts[at:])
	}
}

// keep moves texts into memory of the gather.
func (o *gather) keep(texts []string) {
	for i, t := range texts {
		if len(t) == 0 {
			continue
		}
		if len(o.text)+len(t) > cap(o.text) {
			o.text = make([]byte, 0, max(64<<10, len(t)))
		}
		at := len(o.text)
		o.text = append(o.text, t...)
		texts[i] = unsafe.String(&o.text[at], len(t))
		o.bytes += len(t)
	}
}

// flush gives on what waits.
func (o *gather) flush() error {
	if o.rows == 0 {
		return nil
	}
	o.batch.Len = o.rows
	for _, slot := range o.g.run.plan.output {
		o.batch.Cols[slot] = &o.bufs[slot].out
	}
	err := o.emit()
	o.rows, o.bytes = 0, 0
	o.text = o.text[:0]
	for i := range o.bufs {
		o.bufs[i].reset()
	}
	return err
}

func (o *gather) emit() error {
	o.g.run.stats.RowsOut.Add(int64(o.batch.Len))
	return o.g.run.emit(o.worker, &o.batch)
}
