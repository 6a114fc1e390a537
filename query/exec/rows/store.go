// Package rows keeps rows and sorts them.
package rows

import (
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Store keeps copies of rows, column by column.
type Store struct {
	columns []column
	n       int
	meter   *memory.Meter // its own
}

type column struct {
	values vec.Vector
	arena  *memory.Arena
	// The texts of the dictionary that was seen last, as they were kept; copied by entry.
	dict *vec.Vector
	kept []string
	have []bool
}

// NewStore makes one for columns of these types.
func NewStore(types []vec.Type, m *memory.Meter) *Store {
	s := &Store{meter: m.Sibling(), columns: make([]column, len(types))}
	for i, t := range types {
		s.columns[i] = column{values: vec.Vector{Type: t}, arena: memory.NewArena(s.meter)}
	}
	return s
}

// Len is how many rows there are.
func (s *Store) Len() int { return s.n }

// Release gives the memory back.
func (s *Store) Release() {
	s.meter.Release()
	s.columns = nil
}

// Append copies n rows.
func (s *Store) Append(cols []*vec.Vector, n int) error {
	for i := range s.columns {
		if err := s.columns[i].append(cols[i], s.n, n, s.meter); err != nil {
			return err
		}
	}
	s.n += n
	return nil
}

// Columns are the rows as flat vectors, valid until the next Append.
func (s *Store) Columns() []*vec.Vector {
	out := make([]*vec.Vector, len(s.columns))
	for i := range s.columns {
		v := s.columns[i].values
		v.Len = s.n
		out[i] = &v
	}
	return out
}

// extend makes room for n more entries.
func extend[T any](s []T, n int, size int64, m *memory.Meter) ([]T, error) {
	if len(s)+n <= cap(s) {
		return s, nil
	}
	more := max(len(s)+n, 2*cap(s))
	if err := m.Take(int64(more-cap(s)) * size); err != nil {
		return s, err
	}
	longer := make([]T, len(s), more)
	copy(longer, s)
	return longer, nil
}

func (c *column) append(v *vec.Vector, have, n int, m *memory.Meter) (err error) {
	out := &c.values
	if out.Type == vec.Null || n == 0 {
		return nil
	}
	if err := c.nulls(v, have, n, m); err != nil {
		return err
	}
	if v.Type.HasTexts() {
		return c.texts(v, n, m)
	}
	if v.Type == vec.Null {
		v = vec.Nulls(out.Type, n)
		if out.Type.HasTexts() {
			return c.texts(v, n, m)
		}
	}
	f := v.Flat()
	switch {
	case out.Type.HasInts():
		if out.Ints, err = extend(out.Ints, n, 8, m); err == nil {
			out.Ints = append(out.Ints, f.Ints...)
		}
	case out.Type == vec.Double:
		if out.Doubles, err = extend(out.Doubles, n, 8, m); err == nil {
			out.Doubles = append(out.Doubles, f.Doubles...)
		}
	case out.Type == vec.Interval:
		if out.Intervals, err = extend(out.Intervals, n, 16, m); err == nil {
			out.Intervals = append(out.Intervals, f.Intervals...)
		}
	}
	return err
}

// nulls appends which rows are NULL.
func (c *column) nulls(v *vec.Vector, have, n int, m *memory.Meter) (err error) {
	out := &c.values
	if out.Nulls == nil && v.Nulls == nil && v.Type != vec.Null {
		return nil
	}
	if out.Nulls, err = extend(out.Nulls, have+n-len(out.Nulls), 1, m); err != nil {
		return err
	}
	for len(out.Nulls) < have {
		out.Nulls = append(out.Nulls, false)
	}
	for i := range n {
		out.Nulls = append(out.Nulls, v.IsNull(i))
	}
	return nil
}

// A dictionary's texts are copied by entry if it has no more entries than manyRows for each row that comes.
const (
	manyRows   = 4
	entryBytes = 17
)

func (c *column) texts(v *vec.Vector, n int, m *memory.Meter) (err error) {
	out := &c.values
	if out.Texts, err = extend(out.Texts, n, 16, m); err != nil {
		return err
	}
	if v.Const {
		kept := ""
		if !v.IsNull(0) {
			if kept, err = c.arena.Keep(v.Texts[0]); err != nil {
				return err
			}
		}
		for range n {
			out.Texts = append(out.Texts, kept)
		}
		return nil
	}
	if v.Dict != nil && c.dict != v.Dict && v.Dict.Len <= manyRows*n {
		m.Give(int64(len(c.kept)) * entryBytes)
		c.dict, c.kept, c.have = v.Dict, make([]string, v.Dict.Len), make([]bool, v.Dict.Len)
		if err := m.Take(int64(v.Dict.Len) * entryBytes); err != nil {
			return err
		}
	}
	for i := range n {
		kept := ""
		switch {
		case v.Nulls != nil && v.Nulls[i]:
		case v.Dict == nil:
			kept, err = c.arena.Keep(v.Texts[i])
		case v.Dict != c.dict: // few rows of a large dictionary
			kept, err = c.arena.Keep(v.Dict.Texts[v.Codes[i]])
		case c.have[v.Codes[i]]:
			kept = c.kept[v.Codes[i]]
		default:
			kept, err = c.arena.Keep(v.Dict.Texts[v.Codes[i]])
			c.kept[v.Codes[i]], c.have[v.Codes[i]] = kept, true
		}
		if err != nil {
			return err
		}
		out.Texts = append(out.Texts, kept)
	}
	return nil
}
