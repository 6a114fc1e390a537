package scan

import (
	"github.com/togodb/togo/query/vec"
)

// slot gives the values of a request's column.
type slot struct {
	g *rowGroup
	n int
	*binding
	typ   vec.Type
	buf   buffer
	spell *speller
}

// chunks adds those that the slot reads.
func (s *slot) chunks(out []*chunk) []*chunk {
	for _, column := range s.g.file.columnsOf(s.n) {
		out = append(out, s.g.chunk(column))
	}
	return out
}

// values gives the slot's values for the rows of a window that are left. They are valid until the next call, and until release.
func (s *slot) values(w *window) (*vec.Vector, error) {
	switch {
	case s.binding.event:
		return s.events(w)
	case s.column < 0:
		return vec.Constant(s.typ, vec.Value{}, w.left()), nil
	}
	v, err := s.g.chunk(s.column).values(w, &s.buf)
	if err != nil || s.nanos < 0 {
		return v, err
	}
	var more buffer
	nanos, err := s.g.chunk(s.nanos).values(w, &more)
	if err != nil {
		return nil, err
	}
	return addNanos(v, nanos), nil
}

// addNanos gives micros*1000 + nanos.
func addNanos(times, nanos *vec.Vector) *vec.Vector {
	out := &vec.Vector{Type: times.Type, Len: times.Len, Nulls: times.Nulls, Ints: make([]int64, times.Len)}
	t, n := times.Values().Ints, nanos.Values().Ints
	for i := range out.Ints {
		out.Ints[i] = t[times.Index(i)] + n[nanos.Index(i)]
	}
	return out
}

// mostHeld bounds the decoded pages of a row group that wait until they are used again; beyond, they are decoded again.
const mostHeld = 32 << 20

// release gives pages below a row back, unless they are used again.
func (s *slot) release(row int, again bool) {
	if again && s.g.held < mostHeld {
		return
	}
	for _, c := range s.chunks(nil) {
		c.release(row)
	}
}

// rewind makes the slot ready to be read from the first row on.
func (s *slot) rewind() {
	for _, c := range s.chunks(nil) {
		c.rewind()
	}
}

// values gives the chunk's values for the rows of a window that are left.
func (c *chunk) values(w *window, b *buffer) (*vec.Vector, error) {
	first := c.pageOf(w.from)
	if w.rows == nil && c.pages[first].First+c.pages[first].Rows >= w.to {
		p, err := c.decode(first)
		if err != nil {
			return nil, err
		}
		from, to := w.from-c.pages[first].First, w.to-c.pages[first].First
		if p.runs != nil {
			if b.code = p.run(from, to); b.code >= 0 {
				return vec.Constant(c.typ, c.dict.At(int(b.code)), to-from), nil
			}
		}
		slice(&b.out, &p.expand().values, from, to)
		return &b.out, nil
	}
	b.reset()
	rows := w.rows
	for i := first; i < len(c.pages) && c.pages[i].First < w.to; i++ {
		begin, end := c.pages[i].First, c.pages[i].First+c.pages[i].Rows
		n := 0
		if w.rows == nil {
			n = min(end, w.to) - max(begin, w.from)
		} else {
			for n < len(rows) && int(rows[n]) < end {
				n++
			}
		}
		if n == 0 {
			continue
		}
		p, err := c.decode(i)
		if err != nil {
			return nil, err
		}
		p.expand()
		if w.rows == nil {
			b.copy(&p.values, max(begin, w.from)-begin, n)
		} else {
			b.pick(&p.values, rows[:n], int32(begin))
			rows = rows[n:]
		}
	}
	return &b.out, nil
}
