package fragment

import (
	"cmp"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// slice is rows of an input that are sorted anew together: as many as a row group of the
// output has, and no more than fit into memory column by column.
type slice struct {
	part part
	rows []int32 // of the slice, in their new order
	time []int64
}

// resort sorts a single input anew, slice by slice, each to an output of its own.
func (m *merger) resort() error {
	in := m.inputs[0]
	times := m.newCursor(in)
	times.paths = nil // the time alone
	for in.ordered < in.info.Rows {
		s, err := m.slice(times)
		if err != nil {
			return err
		}
		if s.part.rows == 0 {
			continue
		}
		if err := m.copySlice(s); err != nil {
			return err
		}
	}
	return nil
}

// slice finds the rows of the next slice. Those below the floor are left out.
func (m *merger) slice(c *keyCursor) (*slice, error) {
	in := m.inputs[0]
	from, kept, raw := in.ordered, 0, 0.0
	var s slice
	var below [][2]int64
	for kept < parquetfile.RowGroupRows && raw < float64(m.spec.MemoryBytes)/2 {
		if c.at == c.n {
			if err := c.fill(); err != nil {
				return nil, err
			}
			if c.n == 0 {
				break
			}
		}
		row := c.row + int64(c.at)
		if t := c.time[c.at]; t >= int64(m.spec.Floor) {
			s.time = append(s.time, t)
			group := in.groupOf(row)
			raw += float64(group.raw) / float64(group.rows)
			kept++
		} else {
			m.result.RowsBelow++
			if n := len(below); n > 0 && below[n-1][1] == row {
				below[n-1][1]++
			} else {
				below = append(below, [2]int64{row, row + 1})
			}
		}
		c.at++
		in.ordered = row + 1
	}
	s.part = partOf(in, from, in.ordered, below)
	return &s, nil
}

// copySlice sorts a slice's rows and writes them, column by column.
func (m *merger) copySlice(s *slice) error {
	in := m.inputs[0]
	held := map[int]*parquetfile.Column{} // columns of the sort key
	g := &rowGroup{rows: s.part.rows, parts: []part{s.part}, ends: true, min: event.Timestamp(slices.Min(s.time)), max: event.Timestamp(slices.Max(s.time))}
	m.startSums(g)
	for _, columns := range m.byPath {
		for _, column := range columns {
			c, err := in.streams[column].slice(&s.part)
			if err != nil {
				return err
			}
			held[column] = c
		}
	}
	order := m.sliceOrder(s, held)
	g.first = m.leadOf(held, int(order[0]))
	g.last = m.leadOf(held, int(order[len(order)-1]))
	if err := m.startFile(g); err != nil {
		return err
	}
	w := m.file.w
	w.StartRowGroup()
	for column := range m.columns {
		c := held[column]
		if c == nil {
			var err error
			if c, err = in.streams[column].slice(&s.part); err != nil {
				return err
			}
		}
		if err := w.Column(column, c, order, len(order)); err != nil {
			return err
		}
		in.streams[column].settle()
	}
	return m.endRows(g)
}

// slice reads the rows of a slice; the hashes of their values go to the input's sums.
func (s *stream) slice(p *part) (*parquetfile.Column, error) {
	c := parquetfile.NewColumn(s.field.Name, s.field.FieldID, s.field.Kind)
	c.Field = *s.field
	row := 0
	err := s.rows(p, func(page *parquetfile.Page, n int) error {
		c.AppendPage(row, page, n)
		row += n
		return nil
	})
	return c, err
}

// sliceOrder sorts the rows of a slice as a writer sorts those of a fragment.
func (m *merger) sliceOrder(s *slice, held map[int]*parquetfile.Column) []int32 {
	var ranks [][]uint32
	for _, columns := range m.byPath {
		var of []*parquetfile.Column
		for _, column := range columns {
			of = append(of, held[column])
		}
		if r := pathRanks(of, len(s.time)); r != nil {
			ranks = append(ranks, r)
		}
	}
	order := make([]int32, len(s.time))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		for _, r := range ranks {
			if r[a] != r[b] {
				return cmp.Compare(r[a], r[b])
			}
		}
		if s.time[a] != s.time[b] {
			return cmp.Compare(s.time[a], s.time[b])
		}
		return cmp.Compare(a, b)
	})
	return order
}

// leadOf is the prefix of a row of a slice, of its leading paths alone.
func (m *merger) leadOf(held map[int]*parquetfile.Column, row int) (prefix []byte) {
	for i := range keyPaths(m.key, m.spec.KeyColumns) {
		at := len(prefix)
		for _, column := range m.byPath[i] {
			if number, text, ok := held[column].At(row); ok {
				prefix = appendPrefix(prefix, &m.columns[column].Field, number, text)
				break
			}
		}
		if len(prefix) == at {
			prefix = appendPrefix(prefix, nil, 0, nil)
		}
	}
	return prefix
}
