package scan

import (
	"cmp"
	"slices"
	"sync"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// wanted is bytes that a chunk needs.
type wanted struct {
	fragment.Span
	c *chunk
}

const (
	// gapBytes is how much a read may take along unasked for in one place, to save a request. Of columns that nobody asks for it takes no
	// more than a gapShare-th of the bytes that are wanted, but gapFree in any place.
	gapBytes = 64 << 10
	gapShare = 4
	gapFree  = 4 << 10
	// readBytes is how much one read has at most, but for a page that is larger.
	readBytes = 8 << 20
)

// fetch reads what the rows that are left need of some slots: what lies close together with one request, several requests at a time.
func (g *rowGroup) fetch(slots []int) error {
	var chunks []*chunk
	for _, n := range slots {
		chunks = g.slots[n].chunks(chunks)
	}
	spans, whole := g.unindexed(chunks)
	if err := g.index(chunks, whole); err != nil {
		return err
	}
	for _, c := range chunks {
		if !slices.Contains(whole, c) {
			spans = g.want(c, spans)
		}
	}
	if err := g.read(spans); err != nil {
		return err
	}
	for _, c := range whole {
		if err := c.walk(); err != nil {
			return err
		}
	}
	return nil
}

// unindexed wants chunks whole, of which all is needed: where their pages lie is seen in them, and the indexes, which may be more than a
// column that a question needs, are not read for it.
func (g *rowGroup) unindexed(chunks []*chunk) (spans []wanted, whole []*chunk) {
	if g.file.known.index.data != nil || g.left() != int(g.meta.Rows) {
		return nil, nil
	}
	for _, c := range chunks {
		if c.pages == nil && c.meta.Len() <= readBytes {
			whole = append(whole, c)
			spans = g.wantDictionary(c, spans)
			spans = g.add(spans, c, c.rows())
		}
	}
	return spans, whole
}

// read reads what is wanted.
func (g *rowGroup) read(spans []wanted) error {
	slices.SortFunc(spans, func(a, b wanted) int { return cmp.Compare(a.From, b.From) })
	var reads [][]wanted
	for len(spans) > 0 {
		n, to, others := 1, spans[0].To, int64(0)
		for n < len(spans) && spans[n].To-spans[0].From <= readBytes {
			gap := max(0, spans[n].From-to)
			if spans[n].c != spans[n-1].c {
				others += gap
			}
			if wanted := spans[n].To - spans[0].From - others; gap > gapBytes || gap > gapFree && others > wanted/gapShare {
				break
			}
			to = max(to, spans[n].To)
			n++
		}
		reads = append(reads, spans[:n])
		spans = spans[n:]
	}
	var all int64
	for i := range reads {
		from, to := bounds(reads[i])
		all += to - from
	}
	if err := g.take(int(all)); err != nil {
		return err
	}
	got := make([]piece, len(reads))
	errs := make([]error, len(reads))
	read := func(i int) {
		from, to := bounds(reads[i])
		got[i], errs[i] = g.run.get(g.file.Fragment, from, to-from)
	}
	if len(reads) == 1 {
		read(0)
	} else {
		var running sync.WaitGroup
		for i := range reads {
			running.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						errs[i] = broken(p)
					}
				}()
				read(i)
			})
		}
		running.Wait()
	}
	for i, err := range errs {
		if err != nil {
			return err
		}
		for _, s := range reads[i] {
			if n := len(s.c.bytes); n == 0 || s.c.bytes[n-1].from != got[i].from {
				s.c.bytes = append(s.c.bytes, got[i])
			}
		}
	}
	return nil
}

// bounds are those of one read of spans, which ascend.
func bounds(spans []wanted) (from, to int64) {
	for _, s := range spans {
		to = max(to, s.To)
	}
	return spans[0].From, to
}

// index reads the offset indexes of chunks, but for some.
func (g *rowGroup) index(chunks, but []*chunk) error {
	for _, c := range chunks {
		if c.pages != nil || slices.Contains(but, c) {
			continue
		}
		if err := g.file.indexes(g.run); err != nil {
			return err
		}
		pages, err := parquetfile.ReadOffsetIndex(g.file.known.index.part(c.meta.OffsetIndex), c.meta.Data, c.meta.To, g.meta.Rows)
		if err != nil {
			return c.fail(err)
		}
		c.found(pages)
	}
	return nil
}
