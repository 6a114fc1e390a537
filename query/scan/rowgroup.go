package scan

import (
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// rowGroup is one of a file, while it is read: conditions one after the other over all of its rows that are left, then what is wanted of
// the rows that passed them all.
type rowGroup struct {
	run     *run
	file    *opened
	meta    *fragment.FileGroup
	stages  []stage     // that are not decided for the whole row group
	time    expr.Bounds // of the event's time, if anybody needs it
	chunks  []*chunk    // by column of the file; nil: not needed so far
	slots   []slot
	later   []int // by slot: how many stages, with the output, still use it
	windows []window
	memory  []int32       // for the rows of windows
	held    int           // bytes of decoded pages
	meter   *memory.Meter // of what was read, dictionaries and decoded pages; nil: nobody counts
	bytes   int64         // in the object that it may read
	need    int64         // memory that this takes, and a page of each column, about
}

func newRowGroup(x *run, o *opened, n int) *rowGroup {
	g := &rowGroup{run: x, file: o, meta: &o.footer.Groups[n]}
	if x.plan.time >= 0 {
		g.time = o.ofGroup(x.plan, g.meta)(x.plan.time)
	}
	for i := range o.slots {
		for _, column := range o.columnsOf(i) {
			c := &g.meta.Chunks[column]
			g.bytes += c.Len()
			g.need += c.Len() + min(3*c.Raw, 3*parquetfile.PageBytes)
		}
	}
	return g
}

// scan reads the row group.
func (g *rowGroup) scan() error {
	if g.beyond() {
		g.pruned()
		return nil
	}
	defer g.close()
	if g.run.r.Memory != nil {
		g.meter = g.run.r.Memory.Meter()
	}
	g.chunks = make([]*chunk, len(g.file.footer.Columns))
	g.slots = make([]slot, len(g.file.slots))
	for i := range g.slots {
		g.slots[i] = slot{g: g, n: i, binding: &g.file.slots[i], typ: g.run.plan.columns[i].Type}
	}
	some, err := g.prune()
	if err != nil {
		return err
	}
	if !some {
		g.pruned()
		return nil
	}
	g.file.read.Store(true)
	g.run.stats.Rows.Add(g.meta.Rows)
	defer g.done()
	return g.rows()
}

// rows reads the rows that pages and filters leave.
func (g *rowGroup) rows() error {
	g.uses()
	if g.run.r.NoLateReading {
		if err := g.fetchAll(); err != nil {
			return err
		}
	}
	stages := inOrder(g.stages, g.cost)
	for i := range stages {
		if err := g.stage(&stages[i]); err != nil || len(g.windows) == 0 {
			return err
		}
	}
	if err := g.top(); err != nil || len(g.windows) == 0 {
		return err
	}
	if err := g.first(); err != nil {
		return err
	}
	g.limit()
	if err := g.fetch(g.run.plan.output); err != nil {
		return err
	}
	return g.run.work(g.give)
}

// uses counts who needs each slot, so that what is decoded stays as long as it is needed again.
func (g *rowGroup) uses() {
	g.later = make([]int, len(g.slots))
	for i := range g.stages {
		for _, n := range g.stages[i].slots {
			g.later[n]++
		}
	}
	for _, n := range g.run.plan.output {
		g.later[n]++
	}
	for _, n := range g.run.plan.first {
		g.later[n]++
	}
	if g.run.r.Top != nil {
		g.later[g.run.plan.time]++
	}
}

// cost is about what a stage reads that no other reads too.
func (g *rowGroup) cost(s *stage) int64 {
	total := int64(0)
	for _, n := range s.slots {
		for _, c := range g.slots[n].chunks(nil) {
			total += c.meta.Raw
		}
	}
	return total
}

func (g *rowGroup) close() {
	for _, c := range g.chunks {
		if c != nil {
			c.close()
		}
	}
	g.run.spares.freeList(g.memory)
	if g.meter != nil {
		g.meter.Release()
	}
	*g = rowGroup{run: g.run, file: g.file, bytes: g.bytes, need: g.need}
}

// take counts memory that the row group has from now on, until it is given back or the row group is done.
func (g *rowGroup) take(n int) error {
	if g.meter == nil {
		return nil
	}
	return g.meter.Take(int64(n))
}

// chunk gives the column's chunk of the row group.
func (g *rowGroup) chunk(column int) *chunk {
	if g.chunks[column] == nil {
		f := &g.file.footer.Columns[column]
		g.chunks[column] = &chunk{g: g, column: f, meta: &g.meta.Chunks[column], typ: types[f.Kind]}
	}
	return g.chunks[column]
}

// stage asks a condition for the rows that are left.
func (g *rowGroup) stage(s *stage) error {
	truth, err := g.entries(s)
	if err != nil {
		return err
	}
	if !truth.decided {
		if err := g.fetch(s.slots); err != nil {
			return err
		}
		err = g.run.work(func(worker int) error { return g.filter(worker, s, truth) })
	}
	for _, n := range s.slots {
		g.later[n]--
	}
	return err
}

// filter keeps the rows for which the condition is TRUE.
func (g *rowGroup) filter(worker int, s *stage, truth entries) error {
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
		switch {
		case s.cond == nil:
			w.keepFrom(in.Cols[s.slots[0]], int64(g.run.r.Floor))
		case truth.by != nil:
			if v := in.Cols[s.slots[0]]; !v.Const {
				w.keepCodes(v, &truth)
			} else if truth.by[g.slots[s.slots[0]].buf.code] == 0 {
				w.rows = []int32{}
			}
		default:
			scratch.Begin()
			v, err := s.cond.Eval(scratch, in)
			if err != nil {
				return err
			}
			w.keep(v)
		}
		for _, n := range s.slots {
			g.slots[n].release(w.to, g.later[n] > 1)
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

// give hands the rows that are left to the reader of the scan.
func (g *rowGroup) give(worker int) error {
	out := newGather(g, worker)
	for i := range g.windows {
		if err := g.run.ctx.Err(); err != nil {
			return err
		}
		w := &g.windows[i]
		if err := out.add(w); err != nil {
			return err
		}
		for _, n := range g.run.plan.output {
			g.slots[n].release(w.to, false)
		}
	}
	return out.flush()
}

// fetchAll reads all that the scan may need.
func (g *rowGroup) fetchAll() error {
	var all []int
	for i, n := range g.later {
		if n > 0 {
			all = append(all, i)
		}
	}
	return g.fetch(all)
}

// want lists the pages of a chunk that have rows which are left, and the dictionary, as far as they are not there.
func (g *rowGroup) want(c *chunk, spans []wanted) []wanted {
	spans = g.wantDictionary(c, spans)
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

func (g *rowGroup) wantDictionary(c *chunk, spans []wanted) []wanted {
	if c.begin(); c.dict == nil && c.coded() {
		return g.add(spans, c, c.span(-1))
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
