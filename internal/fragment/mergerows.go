package fragment

import (
	"fmt"
	"math"
	"sort"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// rowGroup is one of the outputs, as its order says.
type rowGroup struct {
	runs   []run
	rows   int
	parts  []part // by input that has rows in it
	min    event.Timestamp
	max    event.Timestamp
	first  []byte // leading values of the first row and of the last, as in prefixes
	last   []byte
	expect float64 // bytes, by the sizes of the inputs
	raw    float64
	ends   bool // the file
}

// part is the rows of an input in a row group, but for those below the floor.
type part struct {
	in   *mergeInput
	kept []keptRows
	rows int
}

// keptRows are rows [from, to) of an input; at is how many of the part's come before.
type keptRows struct {
	from, to int64
	at       int
}

func partOf(in *mergeInput, from, to int64, below [][2]int64) part {
	p := part{in: in}
	for _, b := range append(below, [2]int64{to, to}) {
		if b[0] > from {
			p.kept = append(p.kept, keptRows{from, b[0], p.rows})
			p.rows += int(b[0] - from)
		}
		from = b[1]
	}
	return p
}

// cursors is a heap, the least row first.
type cursors []*keyCursor

// sift puts the cursor at i in its place among those below it.
func (h cursors) sift(i int) {
	c := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(c) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = c
}

// second is the cursor with the least row but for the first.
func (h cursors) second() *keyCursor {
	switch {
	case len(h) < 2:
		return nil
	case len(h) > 2 && h[2].before(h[1]):
		return h[2]
	}
	return h[1]
}

// merge writes the rows of sorted inputs.
func (m *merger) merge() error {
	all := make([]*keyCursor, len(m.inputs))
	var h cursors
	for i, in := range m.inputs {
		all[i] = m.newCursor(in)
		some, err := all[i].settle()
		if err != nil {
			return err
		}
		if some {
			h = append(h, all[i])
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sift(i)
	}
	for len(h) > 0 {
		g, err := m.order(&h)
		if err != nil {
			return err
		}
		for _, c := range all {
			to := c.row + int64(c.at)
			if to > c.in.ordered {
				g.parts = append(g.parts, partOf(c.in, c.in.ordered, to, c.below))
				c.in.ordered, c.below = to, nil
			}
		}
		if err := m.copyRows(g); err != nil {
			return err
		}
	}
	return m.endFile()
}

// order finds the next row group's rows.
func (m *merger) order(h *cursors) (*rowGroup, error) {
	g := &rowGroup{runs: m.runs[:0], min: math.MaxInt64, max: math.MinInt64}
	defer func() { m.runs = g.runs }()
	plan := m.planFile()
	for len(*h) > 0 && g.rows < parquetfile.RowGroupRows && g.raw < float64(m.spec.MemoryBytes) {
		c := (*h)[0]
		if g.rows > 0 && plan.cut(g.expect, string(c.prefix[:c.lead]) != string(g.last)) {
			g.ends = true
			return g, nil
		}
		if g.rows == 0 {
			g.first = append(g.first, c.prefix[:c.lead]...)
		}
		g.last = append(g.last[:0], c.prefix[:c.lead]...)
		n := min(c.runTo(h.second())-c.at, parquetfile.RowGroupRows-g.rows)
		r, least, largest, err := c.take(n)
		if err != nil {
			return nil, err
		}
		g.add(r)
		g.min, g.max = min(g.min, least), max(g.max, largest)
		some, err := c.settle()
		if err != nil {
			return nil, err
		}
		if !some {
			(*h)[0] = (*h)[len(*h)-1]
			*h = (*h)[:len(*h)-1]
		}
		if len(*h) > 0 {
			h.sift(0)
		}
	}
	if len(*h) > 0 {
		c := (*h)[0]
		g.ends = plan.cut(g.expect, string(c.prefix[:c.lead]) != string(g.last))
	}
	return g, nil
}

func (g *rowGroup) add(r run) {
	g.rows += int(r.rows)
	g.expect += float64(r.rows) * r.in.rowBytes
	group := r.in.groupOf(r.from)
	g.raw += float64(r.rows) * float64(group.raw) / float64(group.rows)
	if n := len(g.runs); n > 0 {
		if last := &g.runs[n-1]; last.in == r.in && last.from+last.rows == r.from {
			last.rows += r.rows
			return
		}
	}
	g.runs = append(g.runs, r)
}

// copyRows writes a row group and checks it.
func (m *merger) copyRows(g *rowGroup) error {
	m.startSums(g)
	if err := m.startFile(g); err != nil {
		return err
	}
	w := m.file.w
	w.StartRowGroup()
	order := m.inFileOrder(g)
	for column := range min(aheadColumns, len(m.columns)) {
		m.readAhead(g, column)
	}
	for column := range m.columns {
		m.readAhead(g, column+aheadColumns)
		gathered, err := m.collects(g, column)
		switch {
		case err != nil:
		case gathered:
			err = m.collect(g, column, order)
		default:
			err = m.copyRuns(g, column)
		}
		if err != nil {
			return err
		}
		for i := range g.parts {
			if s := g.parts[i].in.streams[column]; s != nil {
				s.settle()
			}
		}
	}
	return m.endRows(g)
}

// inFileOrder gives for each row of the row group its place among the rows of the parts, one
// part after the other.
func (m *merger) inFileOrder(g *rowGroup) []int32 {
	next := make([]int32, len(m.inputs))
	at := int32(0)
	for i := range g.parts {
		next[g.parts[i].in.n] = at
		at += int32(g.parts[i].rows)
	}
	m.order32 = grown(m.order32, g.rows)
	out := m.order32[:0]
	for _, r := range g.runs {
		n := &next[r.in.n]
		for range r.rows {
			out = append(out, *n)
			*n++
		}
	}
	return out
}

// dictionaryShare is the part of the memory (one in so many) that the dictionaries of a column may have in all if
// their values are to be gathered in one of the output.
const dictionaryShare = 4

// collects tells whether a column of the row group is small enough to be collected before
// it is put in order, which is faster than run by run: numbers, and codes of
// dictionaries that are together a part of the memory. Of others as many values could be
// gathered as all of them have.
func (m *merger) collects(g *rowGroup, column int) (bool, error) {
	if m.runsOf != nil {
		return false, nil
	}
	if !m.columns[column].Kind.Text() {
		return true, nil
	}
	room := m.spec.MemoryBytes / dictionaryShare
	for i := range g.parts {
		s := g.parts[i].in.streams[column]
		if s == nil || g.parts[i].rows == 0 {
			continue
		}
		if err := s.load(); err != nil {
			return false, err
		}
		if room -= s.page.DictionaryBytes(); !s.page.Coded() || room < 0 {
			return false, nil
		}
	}
	return true, nil
}

// collect copies a column: all rows of a part after those of the part before, then in order.
func (m *merger) collect(g *rowGroup, column int, order []int32) error {
	out := m.file.w.Chunk(column)
	for i := range g.parts {
		p := &g.parts[i]
		s := p.in.streams[column]
		if s == nil {
			out.CollectEmpty(p.rows)
			continue
		}
		err := s.rows(p, func(page *parquetfile.Page, n int) error {
			out.Collect(page, n)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if m.orderOf != nil {
		order = m.orderOf(column, order)
	}
	return out.CloseInOrder(order)
}

// copyRuns copies a column run by run.
func (m *merger) copyRuns(g *rowGroup, column int) error {
	out := m.file.w.Chunk(column)
	runs := g.runs
	if m.runsOf != nil {
		runs = m.runsOf(column, runs)
	}
	for _, r := range runs {
		s := r.in.streams[column]
		if s == nil {
			if err := out.AddEmpty(int(r.rows)); err != nil {
				return err
			}
			continue
		}
		var err error
		if s.page != nil && !s.fresh && int64(s.page.Left()) >= r.rows && s.row() == r.from {
			err = out.Add(s.page, int(r.rows)) // as most runs are
		} else {
			err = s.copyTo(out, r)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// rows calls f for the rows of a part, page by page; f takes the n next ones.
func (s *stream) rows(p *part, f func(page *parquetfile.Page, n int) error) error {
	for _, k := range p.kept {
		for at := k.from; at < k.to; {
			if err := s.ready(); err != nil {
				return err
			}
			if skip := at - s.row(); skip > 0 {
				s.page.Skip(int(min(skip, int64(s.page.Left()))))
				continue
			}
			n := int(min(k.to-at, int64(s.page.Left())))
			if err := f(s.page, n); err != nil {
				return err
			}
			at += int64(n)
		}
	}
	return nil
}

// copyTo adds a run of rows, after those that are left out before it.
func (s *stream) copyTo(out *parquetfile.ChunkWriter, r run) error {
	for left := r.rows; left > 0; {
		if err := s.ready(); err != nil {
			return err
		}
		skip := r.from + r.rows - left - s.row()
		if skip < 0 {
			return fmt.Errorf("%w: row %d of column %q in %s is copied again", ErrMergeDiffers, r.from, s.field.Name, s.in.key)
		}
		if skip > 0 {
			s.page.Skip(int(min(skip, int64(s.page.Left()))))
			continue
		}
		n := int(min(left, int64(s.page.Left())))
		if err := out.Add(s.page, n); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// hash adds the rows of the page at hand to the input's sums, as far as they are of the
// row group and were not added before. It goes by where pages lie, and knows
// nothing of the order in which rows are copied.
func (s *stream) hash() {
	part := &s.m.parts[s.in.n]
	low, high := max(s.first, s.hashed), s.first+int64(s.page.Rows)
	i := sort.Search(len(part.kept), func(i int) bool { return part.kept[i].to > low })
	for ; i < len(part.kept) && part.kept[i].from < high; i++ {
		k := &part.kept[i]
		from, to := max(low, k.from), min(high, k.to)
		at := k.at + int(from-k.from)
		s.page.Hashes(s.m.sumsIn[s.in.n][at:at+int(to-from)], int(from-s.first), s.seed)
		s.hashed = to
	}
}
