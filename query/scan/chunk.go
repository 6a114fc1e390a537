package scan

import (
	"errors"
	"fmt"
	"sort"
	"sync"
	"unsafe"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/vec"
)

// chunk is a column's part of a row group while it is read.
type chunk struct {
	g      *rowGroup
	column *fragment.FileColumn
	meta   *fragment.Chunk
	typ    vec.Type
	pages  []parquetfile.PageSpan
	reader *parquetfile.ChunkReader
	dict   *vec.Vector
	bytes  []piece // what was read, ascending
	live   []*page // by page; nil: not decoded, or given back
	seen   []bool  // by page: it was decoded
	first  int     // pages below were given back
}

// page is a decoded page.
type page struct {
	raw    parquetfile.Page
	values vec.Vector        // of its rows
	runs   []parquetfile.Run // of codes, while values has none
	kept   int               // bytes that were counted for it
}

// run is the code that all of rows [from, to) have; -1: they are not of one run.
func (p *page) run(from, to int) int32 {
	i := sort.Search(len(p.runs), func(i int) bool { return p.runs[i].End > from })
	if i == len(p.runs) || p.runs[i].End < to {
		return -1
	}
	return p.runs[i].Code
}

// expand makes a page of runs one of codes.
func (p *page) expand() *page {
	if p.runs != nil {
		p.values.Codes, p.runs = p.raw.Expand(), nil
	}
	return p
}

// spares keeps the memory of pages that were read, for the next. (A sync.Pool would give it away at each collection, of which a scan of large
// pages has many.)
type spares struct {
	mu    sync.Mutex
	pages []*page
	rows  [][]int32
	bytes int
}

const (
	// keepPage bounds the memory of a page that is used again, keepPages that of all.
	keepPage  = 4 << 20
	keepPages = 64 << 20
	// keepRows bounds how many lists of rows are used again.
	keepRows = 32
)

// page gives one, empty or used.
func (p *spares) page() *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.pages)
	if n == 0 {
		return new(page)
	}
	out := p.pages[n-1]
	p.pages = p.pages[:n-1]
	p.bytes -= out.raw.Kept()
	return out
}

func (p *spares) free(old *page) {
	n := old.raw.Kept()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n <= keepPage && p.bytes+n <= keepPages {
		p.pages, p.bytes = append(p.pages, old), p.bytes+n
	}
}

// list gives memory for n rows.
func (p *spares) list(n int) []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := len(p.rows); k > 0 && cap(p.rows[k-1]) >= n {
		out := p.rows[k-1][:n]
		p.rows = p.rows[:k-1]
		return out
	}
	return make([]int32, n)
}

func (p *spares) freeList(rows []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rows != nil && len(p.rows) < keepRows {
		p.rows = append(p.rows, rows)
	}
}

// fail names the object and the column.
func (c *chunk) fail(err error) error {
	return fmt.Errorf("%w: %s: column %q: %w", fragment.ErrCorrupt, c.g.file.Key, c.column.Name, err)
}

// pageOf is the page that has a row.
func (c *chunk) pageOf(row int) int {
	return sort.Search(len(c.pages), func(i int) bool { return c.pages[i].First > row }) - 1
}

// span is where a page lies, or the dictionary: -1.
func (c *chunk) span(page int) fragment.Span {
	if page < 0 {
		return fragment.Span{From: c.meta.From, To: c.meta.Data}
	}
	p := &c.pages[page]
	return fragment.Span{From: p.Offset, To: p.Offset + p.Bytes}
}

// rows is where all pages of rows lie.
func (c *chunk) rows() fragment.Span { return fragment.Span{From: c.meta.Data, To: c.meta.To} }

// read finds bytes of the chunk among those that were fetched.
func (c *chunk) read(s fragment.Span) []byte {
	for _, p := range c.bytes {
		if p.has(s) {
			return p.part(s)
		}
	}
	if c.g.file.tail.has(s) {
		return c.g.file.tail.part(s)
	}
	panic(fmt.Sprintf("scan: bytes [%d, %d) of column %q of %s were not fetched", s.From, s.To, c.column.Name, c.g.file.Key))
}

// walk finds the pages of a chunk that was read whole.
func (c *chunk) walk() error {
	s := c.rows()
	pages, err := parquetfile.FindPages(c.read(s), s.From, c.g.meta.Rows)
	if err != nil {
		return c.fail(err)
	}
	c.found(pages)
	return nil
}

func (c *chunk) found(pages []parquetfile.PageSpan) {
	c.pages, c.live, c.seen = pages, make([]*page, len(pages)), make([]bool, len(pages))
}

// coded tells that the chunk has a dictionary; then all of its pages have codes.
func (c *chunk) coded() bool { return c.meta.Data > c.meta.From }

// dictionary is a chunk's, as pages are read by it and as values.
type dictionary struct {
	raw    *parquetfile.Dictionary
	values *vec.Vector
}

func (d *dictionary) size() int64 { return d.raw.Kept() + 16*int64(len(d.values.Texts)) }

func (c *chunk) place() place { return place{c.g.file.Key, c.meta.From} }

// begin makes the chunk's reader, with the dictionary if that is kept.
func (c *chunk) begin() {
	if c.reader != nil {
		return
	}
	c.reader = parquetfile.NewChunkReader(&c.column.Field, c.meta.Raw)
	if !c.g.run.r.NoDictionaries {
		c.reader.KeepRuns()
	}
	if !c.coded() {
		return
	}
	if k := c.g.run.dicts.get(c.place()); k != nil {
		c.reader.SetDictionary(k.dict.raw)
		c.dict = k.dict.values
	}
}

// open reads the chunk's dictionary, if it has one.
func (c *chunk) open() error {
	c.begin()
	if !c.coded() || c.dict != nil {
		return nil
	}
	if p, err := c.reader.Read(c.read(c.span(-1)), nil); err != nil || p != nil {
		return c.fail(errors.Join(err, errors.New("its first page is to be a dictionary")))
	}
	d := c.reader.Dictionary()
	c.dict = &vec.Vector{Type: c.typ, Len: d.Len()}
	if c.column.Kind.Text() {
		c.dict.Texts = d.Texts()
	} else {
		c.setNumbers(c.dict, d.Numbers())
	}
	kept := &dictionary{d, c.dict}
	c.g.run.dicts.put(&known{place: c.place(), dict: kept})
	return c.g.take(int(kept.size()))
}

// setNumbers makes numbers, as files have them, the values of a vector. They are changed in place.
func (c *chunk) setNumbers(v *vec.Vector, numbers []int64) {
	switch c.column.Kind {
	case parquetfile.Double:
		v.Doubles = unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(numbers))), len(numbers))
	case parquetfile.TimestampMicros:
		for i := range numbers { // near the ends of int64 only the nanoseconds bring it back into its range
			numbers[i] *= 1000
		}
		v.Ints = numbers
	default:
		v.Ints = numbers
	}
}

// fill makes v the values of a page.
func (c *chunk) fill(v *vec.Vector, f parquetfile.Flat, rows int) {
	*v = vec.Vector{Type: c.typ, Len: rows, Nulls: f.Nulls}
	switch {
	case f.Runs != nil:
		v.Dict = c.dict
	case f.Codes == nil && c.column.Kind.Text():
		v.Texts = f.Texts
	case f.Codes == nil:
		c.setNumbers(v, f.Numbers)
	case c.dict.Len == 0: // all rows are null
		c.blank(v)
	case c.g.run.r.NoDictionaries:
		c.spell(v, f.Codes)
	default:
		v.Codes, v.Dict = f.Codes, c.dict
	}
}

// blank gives a vector of nulls any values.
func (c *chunk) blank(v *vec.Vector) {
	switch {
	case c.typ.HasTexts():
		v.Texts = make([]string, v.Len)
	case c.typ == vec.Double:
		v.Doubles = make([]float64, v.Len)
	default:
		v.Ints = make([]int64, v.Len)
	}
}

// spell puts the dictionary's values in the place of codes.
func (c *chunk) spell(v *vec.Vector, codes []int32) {
	c.blank(v)
	switch {
	case v.Texts != nil:
		for i, code := range codes {
			v.Texts[i] = c.dict.Texts[code]
		}
	case v.Doubles != nil:
		for i, code := range codes {
			v.Doubles[i] = c.dict.Doubles[code]
		}
	default:
		for i, code := range codes {
			v.Ints[i] = c.dict.Ints[code]
		}
	}
}

// decode makes page i live.
func (c *chunk) decode(i int) (*page, error) {
	if p := c.live[i]; p != nil {
		return p, nil
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	p := c.g.run.spares.page()
	got, err := c.reader.Read(c.read(c.span(i)), &p.raw)
	if err == nil && got != nil && got.Coded() != c.coded() {
		err = fmt.Errorf("page %d has codes: %t, and there is a dictionary: %t", i, got.Coded(), c.coded())
	}
	if err == nil && (got == nil || got.Rows != c.pages[i].Rows) {
		err = fmt.Errorf("page %d has not the %d rows that the offset index says", i, c.pages[i].Rows)
	}
	if err != nil {
		c.g.run.spares.free(p)
		return nil, c.fail(err)
	}
	c.g.run.stats.Pages.Add(1)
	f := p.raw.Flatten()
	p.runs = f.Runs
	c.fill(&p.values, f, got.Rows)
	c.live[i], c.seen[i] = p, true
	p.kept = p.raw.Kept()
	c.g.held += p.kept
	return p, c.g.take(p.kept)
}

// release gives back the pages that end at or before a row.
func (c *chunk) release(row int) {
	for ; c.first < len(c.pages) && c.pages[c.first].First+c.pages[c.first].Rows <= row; c.first++ {
		c.drop(c.first)
	}
}

func (c *chunk) drop(i int) {
	if c.live[i] != nil {
		c.g.held -= c.live[i].kept
		if c.g.meter != nil {
			c.g.meter.Give(int64(c.live[i].kept))
		}
		c.g.run.spares.free(c.live[i])
		c.live[i] = nil
	}
}

// rewind makes the chunk ready to be read from its first row again.
func (c *chunk) rewind() { c.first = 0 }

// close gives all pages back.
func (c *chunk) close() {
	for i := range c.live {
		c.drop(i)
		if !c.seen[i] {
			c.g.run.stats.PagesPruned.Add(1)
		}
	}
}
