package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/togodb/togo/query/exec/keys"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// batchRows is how many rows the batches have that are made here.
const batchRows = 2048

// errEnough ends a scan of which no more is needed.
var errEnough = errors.New("exec: enough")

// tail makes the answer of rows: it computes the select list, and does DISTINCT, ORDER BY and LIMIT.
type tail struct {
	p       *Plan
	ctx     context.Context
	limits  Limits
	out     func(*vec.Batch) error
	top     *scan.Top
	late    *late // nil: the select list is computed as rows come
	workers []*tailWorker

	mu      sync.Mutex
	last    *vec.Value // the first key's value of the last row that any worker keeps, once it keeps enough
	skipped int64      // of OFFSET
	sent    int64
}

// tailWorker is one worker's part.
type tailWorker struct {
	scratch *expr.Scratch
	meter   *memory.Meter
	groups  *keys.Groups // of DISTINCT
	sorter  *rows.Sorter // of ORDER BY; with DISTINCT that of worker 0 alone
	ids     []uint32
}

func newTail(ctx context.Context, p *Plan, account *memory.Account, limits Limits, workers int, out func(*vec.Batch) error) *tail {
	t := &tail{p: p, ctx: ctx, limits: limits, out: out, late: newLate(p)}
	for i := range workers {
		w := &tailWorker{scratch: &expr.Scratch{Ctx: ctx, Memo: map[any]any{}}, meter: account.Meter()}
		if p.distinct {
			w.groups = keys.NewGroups(types(p.project), w.meter)
		}
		switch {
		case t.late != nil:
			w.sorter = rows.NewSorter(t.late.types, t.late.order, int(p.first()), w.meter)
		case len(p.order) > 0 && !p.distinct:
			w.sorter = rows.NewSorter(types(p.project), p.order, -1, w.meter)
		case len(p.order) > 0 && i == 0:
			w.sorter = rows.NewSorter(types(p.after), p.order, int(p.first()), w.meter)
		}
		t.workers = append(t.workers, w)
	}
	return t
}

// add takes rows of one worker.
func (t *tail) add(worker int, b *vec.Batch) error {
	p, w := t.p, t.workers[worker]
	w.scratch.Begin()
	if p.limit == 0 {
		return errEnough
	}
	if t.late != nil {
		err := t.late.add(w, b)
		t.bound(w)
		return err
	}
	if first := p.first(); w.groups == nil && w.sorter == nil && first >= 0 && int64(b.Len) > first {
		b = b.Slice(0, int(first)) // no more are of the answer, and what is computed of them is nobody's
	}
	cols, err := evalAll(p.project, w.scratch, b)
	if err != nil {
		return err
	}
	switch {
	case w.groups != nil:
		return t.addDistinct(w, cols, b.Len)
	case w.sorter != nil:
		if err := w.sorter.Add(cols, b.Len); err != nil {
			return err
		}
		return t.tooMany(int64(w.sorter.Len()))
	}
	return t.emit(cols, b.Len)
}

func (t *tail) addDistinct(w *tailWorker, cols []*vec.Vector, n int) error {
	if cap(w.ids) < n {
		w.ids = make([]uint32, n)
	}
	if err := w.groups.IDs(cols, w.ids[:n]); err != nil {
		return err
	}
	have := int64(w.groups.Len())
	if first := t.p.first(); first >= 0 && have >= first && len(t.p.order) == 0 {
		return errEnough
	}
	return t.tooMany(have)
}

// tooMany is an error if n rows that are kept are more than the answer may have.
func (t *tail) tooMany(n int64) error {
	if t.limits.Rows > 0 && t.p.limit < 0 && n-t.p.offset > t.limits.Rows {
		return fail.New(fail.TooLarge, "the answer has more than %d rows, the limit; add a LIMIT, or page by (timestamp, id)", t.limits.Rows)
	}
	return nil
}

// bound tells the scan what is still wanted.
func (t *tail) bound(w *tailWorker) {
	if t.top == nil && t.p.edge == nil {
		return
	}
	last, ok := w.sorter.Last()
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.p.order[0]
	if t.last != nil && rows.CompareValues(last, *t.last, k) >= 0 {
		return
	}
	t.last = &last
	if t.p.edge != nil {
		t.p.edge.Move(last)
	}
	if t.top != nil {
		t.top.Bound.Store(last.Int)
		t.top.Full.Store(true)
	}
}

// emit gives rows of the answer out, from any worker.
func (t *tail) emit(cols []*vec.Vector, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := int(min(int64(n), t.p.offset-t.skipped))
	t.skipped += int64(from)
	to := n
	if left := t.p.limit - t.sent; t.p.limit >= 0 && int64(to-from) > left {
		to = from + int(left)
	}
	if to > from {
		b := &vec.Batch{Len: n, Cols: cols[:len(t.p.Outputs)]}
		if from > 0 || to < n {
			b = b.Slice(from, to)
		}
		t.sent += int64(b.Len)
		if t.limits.Rows > 0 && t.sent > t.limits.Rows {
			return fail.New(fail.TooLarge, "the answer has more than %d rows, the limit; add a LIMIT, or page by (timestamp, id)", t.limits.Rows)
		}
		if err := t.out(b); err != nil {
			return err
		}
	}
	if t.p.limit >= 0 && t.sent >= t.p.limit {
		return errEnough
	}
	return t.ctx.Err()
}

// finish gives out what had to wait for all rows.
func (t *tail) finish() error {
	first := t.workers[0]
	for _, w := range t.workers[1:] {
		if w.groups != nil {
			if _, err := first.groups.Merge(w.groups); err != nil {
				return err
			}
		}
		if w.sorter != nil {
			if err := first.sorter.Merge(w.sorter); err != nil {
				return err
			}
		}
		if err := t.ctx.Err(); err != nil {
			return err
		}
	}
	if first.groups != nil {
		if err := t.distinctRows(first); err != nil {
			return err
		}
	}
	if first.sorter == nil {
		return nil
	}
	t.skipped = t.p.offset
	return first.sorter.Rows(int(t.p.offset), batchRows, func(cols []*vec.Vector, n int) error {
		if t.late != nil {
			first.scratch.Begin()
			var err error
			if cols, err = evalAll(t.p.project[:len(t.p.Outputs)], first.scratch, t.late.input(cols, n)); err != nil {
				return err
			}
		}
		return t.emit(cols, n)
	})
}

// distinctRows gives the distinct rows on, to be sorted or out.
func (t *tail) distinctRows(w *tailWorker) error {
	n := w.groups.Len()
	for from := 0; from < n; from += batchRows {
		to := min(from+batchRows, n)
		cols := w.groups.Rows(from, to)
		if w.sorter == nil {
			if err := t.emit(cols, to-from); err != nil {
				return err
			}
			continue
		}
		w.scratch.Begin()
		all, err := evalAll(t.p.after, w.scratch, &vec.Batch{Len: to - from, Cols: cols})
		if err != nil {
			return err
		}
		if err := w.sorter.Add(all, to-from); err != nil {
			return err
		}
		if err := t.tooMany(int64(w.sorter.Len())); err != nil {
			return err
		}
	}
	return nil
}
