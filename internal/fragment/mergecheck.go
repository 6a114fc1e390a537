package fragment

import (
	"fmt"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// outputCheck decodes the pages of the row group that is written and adds the hashes of
// their values to a sum for each row.
type outputCheck struct {
	m      *merger
	column int
	rows   int // of the column so far
	reader *parquetfile.ChunkReader
	page   *parquetfile.Page
}

// startSums makes room for the hashes of a row group's rows.
func (m *merger) startSums(g *rowGroup) {
	m.sumsOut = grown(m.sumsOut, g.rows)
	clear(m.sumsOut)
	room := m.sumsRoom[:0]
	clear(m.parts)
	for _, p := range g.parts {
		m.parts[p.in.n] = p
		if len(room)+p.rows > cap(room) {
			room = make([]uint64, 0, max(g.rows, p.rows))
			m.sumsRoom = room
		}
		m.sumsIn[p.in.n] = room[len(room) : len(room)+p.rows : len(room)+p.rows]
		clear(m.sumsIn[p.in.n])
		for _, s := range p.in.streams {
			if s != nil {
				s.fresh = true
			}
		}
		room = room[:len(room)+p.rows]
	}
	m.check.column, m.check.rows = -1, 0
	m.budget()
}

// add takes a page of the output, as its bytes stand there.
func (c *outputCheck) add(column int, page []byte) error {
	if column != c.column {
		if err := c.whole(); err != nil {
			return err
		}
		c.column, c.rows = column, 0
		c.reader = parquetfile.NewChunkReader(&c.m.columns[column].Field, 1<<31)
	}
	p, err := c.reader.Read(page, c.page)
	if err != nil {
		return fmt.Errorf("%w: column %q as written: %w: %s", ErrMergeDiffers, c.m.columns[column].Name, err, c.m.names())
	}
	if p == nil {
		return nil
	}
	c.page = p
	if c.rows+p.Rows > len(c.m.sumsOut) {
		return fmt.Errorf("%w: column %q has more than %d rows: %s", ErrMergeDiffers, c.m.columns[column].Name, len(c.m.sumsOut), c.m.names())
	}
	p.Hashes(c.m.sumsOut[c.rows:c.rows+p.Rows], 0, c.m.columns[column].seed)
	c.rows += p.Rows
	if p.Kept() > 2*parquetfile.PageBytes {
		c.page = nil
	}
	return nil
}

// whole checks that the column at hand has all rows.
func (c *outputCheck) whole() error {
	if c.column >= 0 && c.rows != len(c.m.sumsOut) {
		return fmt.Errorf("%w: column %q has %d rows of %d: %s", ErrMergeDiffers, c.m.columns[c.column].Name, c.rows, len(c.m.sumsOut), c.m.names())
	}
	return nil
}

// endRows compares a row group's rows with those of the inputs.
func (m *merger) endRows(g *rowGroup) error {
	if err := m.check.whole(); err != nil {
		return err
	}
	in, out := sum{}, sum{int64(g.rows), finish(m.sumsOut)}
	for _, p := range g.parts {
		in.rows, in.sum = in.rows+int64(p.rows), in.sum+finish(m.sumsIn[p.in.n])
		if n := p.hashed(); n != len(p.in.columns) {
			return fmt.Errorf("%w: %d columns of %d of %s were read", ErrMergeDiffers, n, len(p.in.columns), p.in.key)
		}
	}
	if in != out {
		return fmt.Errorf("%w: %d rows read (sum %016x), %d written (sum %016x): %s", ErrMergeDiffers, in.rows, in.sum, out.rows, out.sum, m.names())
	}
	m.totalIn = sum{m.totalIn.rows + in.rows, m.totalIn.sum + in.sum}
	m.totalOut = sum{m.totalOut.rows + out.rows, m.totalOut.sum + out.sum}
	return m.file.endRows(g)
}

// hashed counts the columns of which all rows of the part are in the sums.
func (p *part) hashed() (n int) {
	for _, s := range p.in.streams {
		if s != nil && (p.rows == 0 || s.hashed >= p.kept[len(p.kept)-1].to) {
			n++
		}
	}
	return n
}
