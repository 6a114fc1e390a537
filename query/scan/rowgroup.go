package scan

import (
	"fmt"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// windowRows is how many rows conditions are asked for at once, and how many a batch has at most.
const windowRows = 4096

// rowGroup is one of a file, while it is read: conditions one after the other over all of its rows that are left, then what is wanted of
// the rows that passed them all.
type rowGroup struct {
	run     *run
	file    *opened
	meta    *fragment.FileGroup
	chunks  []*chunk // by column of the file; nil: not needed so far
	slots   []*slot
	windows []window
	out     *gather
}

// window is a run of rows of which some are left.
type window struct {
	from, to int
	rows     []int32 // those that are left, ascending; nil: all
}

func (w *window) left() int {
	if w.rows != nil {
		return len(w.rows)
	}
	return w.to - w.from
}

func newRowGroup(x *run, o *opened, n int) *rowGroup {
	g := &rowGroup{run: x, file: o, meta: &o.footer.Groups[n], chunks: make([]*chunk, len(o.footer.Columns))}
	for i := range o.slots {
		g.slots = append(g.slots, &slot{g: g, n: i, binding: &o.slots[i], typ: x.plan.columns[i].Type})
	}
	for from := 0; from < int(g.meta.Rows); from += windowRows {
		g.windows = append(g.windows, window{from: from, to: min(from+windowRows, int(g.meta.Rows))})
	}
	return g
}

// scan reads the row group.
func (g *rowGroup) scan() error {
	defer g.close()
	g.run.stats.Rows.Add(g.meta.Rows)
	if g.run.r.NoLateReading {
		if err := g.fetchAll(); err != nil {
			return err
		}
	}
	for i := range g.run.plan.stages {
		if len(g.windows) == 0 {
			return nil
		}
		s := &g.run.plan.stages[i]
		if err := g.fetch(s.slots); err != nil {
			return err
		}
		if err := g.run.work(func(worker int) error { return g.filter(worker, i, s) }); err != nil {
			return err
		}
	}
	if len(g.windows) == 0 {
		return nil
	}
	if err := g.fetch(g.run.plan.output); err != nil {
		return err
	}
	return g.run.work(g.give)
}

func (g *rowGroup) close() {
	for _, c := range g.chunks {
		if c != nil {
			c.close()
		}
	}
	*g = rowGroup{}
}

// chunk gives the column's chunk of the row group.
func (g *rowGroup) chunk(column int) *chunk {
	if g.chunks[column] == nil {
		f := &g.file.footer.Columns[column]
		g.chunks[column] = &chunk{g: g, column: f, meta: &g.meta.Chunks[column], typ: types[f.Kind]}
	}
	return g.chunks[column]
}

// filter asks a stage's condition for the rows that are left.
func (g *rowGroup) filter(worker, number int, s *stage) error {
	scratch := g.run.scratches[worker]
	in := &vec.Batch{Cols: make([]*vec.Vector, len(g.slots))}
	kept := g.windows[:0]
	for _, w := range g.windows {
		if err := g.run.ctx.Err(); err != nil {
			return err
		}
		in.Len = w.left()
		for _, n := range s.slots {
			v, err := g.slots[n].values(&w)
			if err != nil {
				return err
			}
			in.Cols[n] = v
		}
		if s.cond == nil {
			w.keepFrom(in.Cols[s.slots[0]], int64(g.run.r.Floor))
		} else {
			v, err := s.cond.Eval(scratch, in)
			if err != nil {
				return err
			}
			w.keep(v)
		}
		for _, n := range s.slots {
			g.slots[n].release(w.to, g.run.plan.last[n] > number)
		}
		if w.left() > 0 {
			kept = append(kept, w)
		}
	}
	g.windows = kept
	for _, n := range s.slots {
		g.slots[n].rewind()
	}
	return nil
}

// keepFrom keeps the rows whose time is not below the floor.
func (w *window) keepFrom(times *vec.Vector, floor int64) {
	w.shrink(func(i int) bool { return times.Ints[i] >= floor })
}

// keep keeps the rows for which v, which has an entry for each row that is left, is TRUE.
func (w *window) keep(v *vec.Vector) {
	switch {
	case v.Type == vec.Null:
		w.rows = []int32{}
	case v.Type != vec.Bool:
		panic(fmt.Sprintf("scan: a condition of type %v", v.Type))
	case v.Const:
		if v.IsNull(0) || v.Ints[0] == 0 {
			w.rows = []int32{}
		}
	case v.Dict != nil:
		truth := v.Dict.Ints
		w.shrink(func(i int) bool { return truth[v.Codes[i]] != 0 && (v.Nulls == nil || !v.Nulls[i]) })
	case v.Nulls != nil:
		w.shrink(func(i int) bool { return v.Ints[i] != 0 && !v.Nulls[i] })
	default:
		w.shrink(func(i int) bool { return v.Ints[i] != 0 })
	}
}

// shrink keeps those of the rows that are left for which keep tells so.
func (w *window) shrink(keep func(i int) bool) {
	if w.rows != nil {
		n := 0
		for i, row := range w.rows {
			if keep(i) {
				w.rows[n] = row
				n++
			}
		}
		w.rows = w.rows[:n]
		return
	}
	rows := make([]int32, 0, w.to-w.from)
	for i := range w.to - w.from {
		if keep(i) {
			rows = append(rows, int32(w.from+i))
		}
	}
	if len(rows) < w.to-w.from {
		w.rows = rows
	}
}

// give hands the rows that are left to the reader of the scan.
func (g *rowGroup) give(worker int) error {
	g.out = newGather(g, worker)
	for i := range g.windows {
		if err := g.run.ctx.Err(); err != nil {
			return err
		}
		w := &g.windows[i]
		if err := g.out.add(w); err != nil {
			return err
		}
		for _, n := range g.run.plan.output {
			g.slots[n].release(w.to, false)
		}
	}
	return g.out.flush()
}

// fetchAll reads all that the scan may need.
func (g *rowGroup) fetchAll() error {
	var all []int
	for i, last := range g.run.plan.last {
		if last >= 0 {
			all = append(all, i)
		}
	}
	return g.fetch(all)
}

// want lists the pages of a chunk that have rows which are left, and the dictionary, as far as they are not there.
func (g *rowGroup) want(c *chunk, spans []wanted) []wanted {
	if c.bytes == nil && c.meta.Data > c.meta.From {
		spans = g.add(spans, c, c.span(-1))
	}
	next := 0
	for i := range g.windows {
		w := &g.windows[i]
		for p := max(next, c.pageOf(w.from)); p < len(c.pages) && c.pages[p].First < w.to; p++ {
			if w.touches(&c.pages[p]) {
				spans = g.add(spans, c, c.span(p))
				next = p + 1
			}
		}
	}
	return spans
}

// touches tells whether a row of the page is left.
func (w *window) touches(p *parquetfile.PageSpan) bool {
	if w.rows == nil {
		return true
	}
	end := int32(p.First + p.Rows)
	for _, row := range w.rows {
		if row >= int32(p.First) {
			return row < end
		}
	}
	return false
}

func (g *rowGroup) add(spans []wanted, c *chunk, s fragment.Span) []wanted {
	if g.file.tail.has(s) {
		return spans
	}
	for _, p := range c.bytes {
		if p.has(s) {
			return spans
		}
	}
	return append(spans, wanted{s, c})
}

// read counts bytes against the request's bound.
func (x *run) read(n int64) error {
	if most := x.r.MaxBytes; most > 0 && x.bytes.Add(n) > most {
		return fail.New(fail.TooLarge, "the query reads more than %d bytes: ask for a shorter time range or fewer columns, or a condition on the sort key", most)
	}
	return nil
}
