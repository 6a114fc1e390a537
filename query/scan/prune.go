package scan

import (
	"bytes"
	"slices"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// rowRange is rows of a row group.
type rowRange struct{ from, to int }

// prune sets the windows that column index and Bloom filters leave; false: no row is left.
func (g *rowGroup) prune() (bool, error) {
	runs := []rowRange{{0, int(g.meta.Rows)}}
	if !g.run.r.NoPruning && len(g.stages) > 0 {
		if err := g.file.indexes(g.run); err != nil {
			return false, err
		}
		for i := range g.stages {
			var err error
			if runs, err = g.byPages(&g.stages[i], runs); err != nil || len(runs) == 0 {
				return false, err
			}
		}
		for i := range g.stages {
			if has, err := g.byFilter(&g.stages[i]); err != nil || !has {
				return false, err
			}
		}
	}
	g.memory = g.run.spares.list(int(g.meta.Rows))
	g.windows = windowsOf(runs, g.memory)
	return true, nil
}

// byPages takes out the rows of pages of which the column index says that the condition is TRUE for none.
func (g *rowGroup) byPages(s *stage, runs []rowRange) ([]rowRange, error) {
	if len(s.slots) != 1 || g.file.slots[s.slots[0]].column < 0 || !g.file.known.sure {
		return runs, nil
	}
	slot := s.slots[0]
	b := &g.file.slots[slot]
	c := g.chunk(b.column)
	if err := g.index([]*chunk{c}, nil); err != nil || len(c.pages) < 2 || c.meta.ColumnIndex.Len() == 0 {
		return runs, err
	}
	bounds, err := parquetfile.ReadColumnIndex(&c.column.Field, g.file.known.index.part(c.meta.ColumnIndex), len(c.pages))
	if err != nil {
		return nil, c.fail(err)
	}
	typ := g.run.plan.columns[slot].Type
	var kept []rowRange
	for i := range c.pages {
		p := &c.pages[i]
		of := b.ofPages(typ, c.column, int64(p.Rows), bounds[i])
		if g.run.plan.judge(g.run.r, s, func(int) expr.Bounds { return of }) == expr.Never {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].to == p.First {
			kept[n-1].to += p.Rows
		} else {
			kept = append(kept, rowRange{p.First, p.First + p.Rows})
		}
	}
	return both(runs, kept), nil
}

// both are the rows of two lists of runs.
func both(a, b []rowRange) []rowRange {
	var out []rowRange
	for len(a) > 0 && len(b) > 0 {
		if from, to := max(a[0].from, b[0].from), min(a[0].to, b[0].to); from < to {
			out = append(out, rowRange{from, to})
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// mostValues bounds how many values a Bloom filter is asked for: of more, one is taken to be there.
const mostValues = 64

// byFilter tells whether a Bloom filter has one of the values that the condition needs.
func (g *rowGroup) byFilter(s *stage) (bool, error) {
	if s.cond == nil {
		return true, nil
	}
	for _, slot := range s.slots {
		column := g.file.slots[slot].column
		if column < 0 || g.meta.Chunks[column].Bloom.Len() == 0 {
			continue
		}
		values, ok := expr.Values(s.cond, slot)
		if !ok || len(values) > mostValues {
			continue
		}
		c := &g.meta.Chunks[column]
		filter, err := g.filterOf(c)
		if err != nil {
			return false, err
		}
		if filter != nil && !slices.ContainsFunc(values, func(v vec.Value) bool { return filter.Has(v.Text) }) {
			return false, nil
		}
	}
	return true, nil
}

func (g *rowGroup) filterOf(c *fragment.Chunk) (*parquetfile.Filter, error) {
	if k := g.run.footers.get(place{g.file.Key, c.Bloom.From}); k != nil {
		return k.filter, nil
	}
	p := g.file.tail
	if !p.has(c.Bloom) {
		var err error
		if p, err = g.run.get(g.file.Fragment, c.Bloom.From, c.Bloom.Len()); err != nil {
			return nil, err
		}
	}
	filter, err := g.file.footer.Filter(g.file.Key, c, bytes.Clone(p.part(c.Bloom)))
	if err == nil && filter != nil {
		g.run.footers.put(&known{place: place{g.file.Key, c.Bloom.From}, filter: filter, filterBytes: c.Bloom.Len()})
	}
	return filter, err
}

// entries are what a condition on one column says of the entries of its dictionary.
type entries struct {
	decided bool    // no row is left, or all are
	by      []uint8 // by code: 1 if it is TRUE; nil: rows are asked
	null    uint8   // of a NULL
}

// firstBytes is from how many bytes of pages on a dictionary is read before them, as it may spare them.
const firstBytes = 256 << 10

// entries asks a condition once for each entry of a dictionary.
func (g *rowGroup) entries(s *stage) (entries, error) {
	if s.cond == nil || len(s.slots) != 1 || g.run.r.NoDictionaries || g.file.slots[s.slots[0]].column < 0 || g.file.slots[s.slots[0]].nanos >= 0 {
		return entries{}, nil
	}
	c := g.chunk(g.file.slots[s.slots[0]].column)
	if !c.coded() {
		return entries{}, nil
	}
	if c.meta.To-c.meta.Data < firstBytes {
		if err := g.fetch(s.slots); err != nil {
			return entries{}, err
		}
	} else if err := g.read(g.wantDictionary(c, nil)); err != nil {
		return entries{}, err
	}
	var t entries
	err := g.run.work(func(worker int) error {
		if err := c.open(); err != nil {
			return err
		}
		if c.dict.Len > g.left() {
			return nil
		}
		t = ask(g.run.scratches[worker], s, c.dict, len(g.slots))
		return nil
	})
	if err != nil || t.by == nil {
		return t, err
	}
	some, all := slices.Contains(t.by, 1), !slices.Contains(t.by, 0)
	if c.meta.Nulls > 0 {
		some, all = some || t.null == 1, all && t.null == 1
	}
	if t.decided = !some || all; !some {
		g.windows = nil
	}
	return t, nil
}

// ask evaluates the condition for each entry, and for NULL. An error may be one of an entry that no row has which is left: then
// nothing is known.
func ask(scratch *expr.Scratch, s *stage, dict *vec.Vector, slots int) entries {
	in := &vec.Batch{Len: dict.Len, Cols: make([]*vec.Vector, slots)}
	in.Cols[s.slots[0]] = dict
	t := entries{by: make([]uint8, dict.Len)}
	codes, some := among(s, dict)
	if some {
		in.Cols[s.slots[0]] = pickTexts(dict, codes)
		in.Len = len(codes)
	}
	if in.Len > 0 {
		scratch.Begin()
		v, err := s.cond.Eval(scratch, in)
		if err != nil {
			return entries{}
		}
		for i := range in.Len {
			if some {
				t.by[codes[i]] = truth(v, i)
			} else {
				t.by[i] = truth(v, i)
			}
		}
	}
	in.Len = 1
	in.Cols[s.slots[0]] = vec.Constant(dict.Type, vec.Value{}, 1)
	scratch.Begin()
	v, err := s.cond.Eval(scratch, in)
	if err != nil {
		return entries{}
	}
	t.null = truth(v, 0)
	return t
}

// among are the entries that a condition may be TRUE for where it needs one of a few texts: of a dictionary of thousands the others need not
// be asked for. false: it may be TRUE for any.
func among(s *stage, dict *vec.Vector) (codes []int32, some bool) {
	if s.fails || dict.Type != vec.Text {
		return nil, false
	}
	values, ok := expr.Values(s.cond, s.slots[0])
	if !ok || len(values) > 4 {
		return nil, false
	}
	for _, v := range values {
		for code, text := range dict.Texts {
			if text == v.Text {
				codes = append(codes, int32(code))
			}
		}
	}
	return codes, true
}

func pickTexts(dict *vec.Vector, codes []int32) *vec.Vector {
	out := &vec.Vector{Type: dict.Type, Len: len(codes), Texts: make([]string, len(codes))}
	pick(out.Texts, dict.Texts, codes, 0)
	return out
}

func truth(v *vec.Vector, i int) uint8 {
	if v.IsNull(i) || v.Values().Ints[v.Index(i)] == 0 {
		return 0
	}
	return 1
}

// left is how many rows of the row group are.
func (g *rowGroup) left() int {
	n := 0
	for i := range g.windows {
		n += g.windows[i].left()
	}
	return n
}
