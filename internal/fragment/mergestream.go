package fragment

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// stream reads one column of an input from its first row to its last, page by page.
type stream struct {
	m      *merger
	in     *mergeInput
	column int // of the file
	field  *parquetfile.Field
	seed   parquetfile.Seed
	allow  int64 // bytes that it may hold between row groups

	group  int   // the next row group to open
	left   int64 // rows of the open chunk in pages that were not read
	end    int64 // of the open chunk, in the object
	limit  int64 // bytes of the open chunk, unpacked
	start  int64 // of the open chunk
	reader *parquetfile.ChunkReader

	buf   []byte // bytes of the object from at on
	at    int64
	next  int64 // where the page after the one at hand begins
	page  *parquetfile.Page
	first int64    // the row that the page at hand begins with
	whole struct { // the page at hand as it stands in the object
		at    int64
		first int64
		rows  int64
	}
	ahead *reading // under way, with bytes for this stream
	taken int      // rows of a page that was dropped that are taken; it begins at next

	hashed int64 // rows below have been added to the input's sums
	fresh  bool  // the page at hand may have rows that were not
}

func newStream(m *merger, in *mergeInput, column int, c *mergeColumn) *stream {
	return &stream{m: m, in: in, column: column, field: &c.Field, seed: c.seed, allow: 256 << 10}
}

// row is the next row that is not taken.
func (s *stream) row() int64 {
	if s.page == nil {
		return s.first + int64(s.taken)
	}
	return s.first + int64(s.page.Rows-s.page.Left())
}

// fail names the input and the column.
func (s *stream) fail(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var of *InputError
	if errors.As(err, &of) {
		return err
	}
	return &InputError{s.in.key, fmt.Errorf("%w: %s: column %q: %w", ErrCorrupt, s.in.key, s.field.Name, err)}
}

// load makes sure that the page at hand has rows that are not taken.
func (s *stream) load() error {
	for s.page == nil || s.page.Left() == 0 {
		if err := s.readPage(); err != nil {
			return s.fail(err)
		}
	}
	return nil
}

// ready is load for copying: the rows at hand are in the input's sums.
func (s *stream) ready() error {
	if s.page == nil || s.page.Left() == 0 {
		if err := s.load(); err != nil {
			return err
		}
	}
	if s.fresh {
		s.hash()
		s.fresh = false
	}
	return nil
}

// readPage reads the next page of rows.
func (s *stream) readPage() error {
	if s.page != nil {
		s.first += int64(s.page.Rows)
		s.m.recycle(s.page)
		s.page = nil
	}
	if s.left == 0 {
		if err := s.openChunk(); err != nil {
			return err
		}
	}
	if s.reader == nil {
		if err := s.readDictionary(); err != nil {
			return err
		}
	}
	for {
		b, err := s.pageBytes()
		if err != nil {
			return err
		}
		into := s.m.freshPage()
		page, err := s.reader.Read(b, into)
		if page == nil {
			s.m.recycle(into)
		}
		if err != nil {
			return err
		}
		at := s.next
		s.next += int64(len(b))
		if page == nil { // a dictionary
			continue
		}
		s.whole.at, s.whole.first, s.whole.rows = at, s.first, int64(page.Rows)
		if int64(page.Rows) > s.left || page.Rows == 0 || s.taken > page.Rows {
			s.m.recycle(page)
			return fmt.Errorf("a page of %d rows where the row group has %d left", page.Rows, s.left)
		}
		s.left -= int64(page.Rows)
		page.Skip(s.taken)
		s.page, s.taken, s.fresh = page, 0, true
		if s.left == 0 && s.next != s.end {
			return fmt.Errorf("%d bytes behind the pages of a row group", s.end-s.next)
		}
		return nil
	}
}

func (s *stream) openChunk() error {
	if s.group == len(s.in.groups) {
		return errors.New("fewer values than rows")
	}
	g := &s.in.groups[s.group]
	c := g.chunks[s.column]
	s.group++
	s.left, s.start, s.end, s.limit, s.next = g.rows, c.from, c.to, c.raw, c.from
	s.reader = parquetfile.NewChunkReader(s.field, c.raw)
	return nil
}

// readDictionary reads again the dictionary of the open chunk, which was dropped.
func (s *stream) readDictionary() error {
	next := s.next
	s.reader, s.next = parquetfile.NewChunkReader(s.field, s.limit), s.start
	b, err := s.pageBytes()
	if err == nil {
		_, err = s.reader.Read(b, nil)
	}
	s.next = next
	return err
}

// settle gives memory back, down to what the stream may hold until the next row group: first
// the rows that are taken, then the decoded page, then the bytes read ahead, at last the
// dictionary. What is dropped is decoded or read again.
func (s *stream) settle() {
	if s.page != nil && s.page.Left() == 0 {
		s.first += int64(s.page.Rows)
		s.m.recycle(s.page)
		s.page = nil
	}
	dictionary := int64(0)
	if s.reader != nil {
		s.reader.Dictionary().Trim()
		dictionary = s.reader.Dictionary().Kept()
	}
	if s.page != nil && s.page.Left() < s.page.Rows {
		whole, row := s.page, s.row()
		s.page, s.first = whole.Rest(), row
		s.m.recycle(whole)
	}
	if s.in.body != nil {
		s.buf = nil
	}
	keep := s.next
	if s.page != nil {
		keep = s.whole.at
	}
	if keep > s.at && keep <= s.at+int64(len(s.buf)) {
		if rest := s.buf[keep-s.at:]; len(rest) < cap(s.buf)/2 {
			s.buf, s.at = append([]byte(nil), rest...), keep
		}
	}
	if s.page != nil && int64(s.page.Kept()+cap(s.buf))+dictionary > s.allow {
		s.taken, s.left, s.next = int(s.row()-s.whole.first), s.left+s.whole.rows, s.whole.at
		s.first, s.page = s.whole.first, nil
	}
	if int64(cap(s.buf))+dictionary > s.allow {
		s.buf = nil
	}
	if dictionary > s.allow {
		s.reader = nil
	}
}

// pageBytes are the page's that begins at next, read if they are not there.
func (s *stream) pageBytes() ([]byte, error) {
	for want := int64(0); ; {
		have := s.held()
		n, err := s.reader.PageBytes(have)
		if err != nil {
			return nil, err
		}
		if n > 0 && n <= len(have) {
			return have[:n], nil
		}
		if int64(len(have)) >= s.end-s.next || int64(n) > s.end-s.next {
			return nil, fmt.Errorf("a page goes beyond its column: %d bytes at %d of %d", n, s.next, s.end)
		}
		want = max(want, int64(n), s.window())
		if err := s.fetch(min(want, s.end-s.next)); err != nil {
			return nil, err
		}
	}
}

// window is how much is read at once.
func (s *stream) window() int64 { return max(s.allow/2, minRange) }

// minRange is the least that is read at once.
const minRange = 4 << 10

// held is what is in memory of the bytes from next on, to the chunk's end.
func (s *stream) held() []byte {
	if s.next < s.at || s.next > s.at+int64(len(s.buf)) {
		return nil
	}
	have := s.buf[s.next-s.at:]
	return have[:min(int64(len(have)), s.end-s.next)]
}

// fetch makes n bytes from next on be there.
func (s *stream) fetch(n int64) error {
	if s.ahead != nil { // it may hold them, or more of them
		return s.m.arrive(s.ahead)
	}
	have := s.held()
	from := s.next + int64(len(have))
	f := s.m.plan(s, s.group-1, from, s.next+n)
	if len(have) > 0 {
		f.before = have
	}
	s.m.start(f, false)
	return s.m.arrive(f)
}

// freshPage and recycle keep pages' memory for the next ones, up to a share of the merge's.
func (m *merger) freshPage() *parquetfile.Page {
	if n := len(m.pages); n > 0 {
		p := m.pages[n-1]
		m.pages = m.pages[:n-1]
		m.keptBytes -= int64(p.Kept())
		return p
	}
	return &parquetfile.Page{}
}

func (m *merger) recycle(p *parquetfile.Page) {
	n := int64(p.Kept())
	if n <= 3*parquetfile.PageBytes && m.keptBytes+n <= m.spec.MemoryBytes/16 {
		m.pages, m.keptBytes = append(m.pages, p), m.keptBytes+n
	}
}
