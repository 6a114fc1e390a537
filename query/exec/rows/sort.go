package rows

import (
	"slices"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Key is a column to sort by.
type Key struct {
	Column     int
	Desc       bool
	NullsFirst bool
}

// Sorter keeps rows, all or the first of an order.
type Sorter struct {
	types []vec.Type
	keys  []Key
	limit int // how many of the first rows are kept; -1: all
	store *Store
	meter *memory.Meter
	last  []*vec.Vector // a row that those that come must not be behind: the last of limit rows that are kept
}

// NewSorter makes one for rows of these types. limit is how many of the first rows are wanted; -1 is all.
func NewSorter(types []vec.Type, keys []Key, limit int, m *memory.Meter) *Sorter {
	return &Sorter{types: types, keys: keys, limit: limit, store: NewStore(types, m), meter: m}
}

// Len is how many rows are kept now.
func (s *Sorter) Len() int { return s.store.Len() }

// Add copies n rows.
func (s *Sorter) Add(cols []*vec.Vector, n int) error {
	if s.limit == 0 {
		return nil
	}
	if err := s.store.Append(cols, n); err != nil {
		return err
	}
	if s.limit < 0 || s.store.n < s.limit || s.last != nil && s.store.n < 2*s.limit+256 {
		return nil
	}
	return s.prune()
}

// prune leaves the first rows alone.
func (s *Sorter) prune() error {
	order, err := s.order()
	if err != nil {
		return err
	}
	fresh := NewStore(s.types, s.meter)
	first := make([]*vec.Vector, len(s.types))
	for i, v := range s.store.Columns() {
		first[i] = v.Gather(order[:s.limit])
	}
	if err := fresh.Append(first, s.limit); err != nil {
		return err
	}
	s.store.Release()
	s.store = fresh
	s.last = make([]*vec.Vector, len(s.types))
	for i, v := range fresh.Columns() {
		s.last[i] = v.Gather([]int32{int32(s.limit - 1)})
	}
	return nil
}

// Last is the first sort key's value of the last row of limit ones; ok is false while there are fewer.
func (s *Sorter) Last() (v vec.Value, ok bool) {
	if s.last == nil {
		return v, false
	}
	return s.last[s.keys[0].Column].At(0), true
}

// Candidates are the rows that can still be among the first, by the vector of the first key alone; all tells
// that none was left out, and sel is nil.
func (s *Sorter) Candidates(key *vec.Vector, n int) (sel []int32, all bool) {
	switch {
	case s.limit < 0:
		return nil, true
	case s.limit == 0:
		return nil, false
	}
	sel = make([]int32, 0, n)
	if s.last == nil {
		for i := range n {
			sel = append(sel, int32(i))
		}
	} else {
		sel = s.ahead(key, n, sel)
	}
	if len(sel) > 2*s.limit+64 {
		sel = s.first(key, sel)
	}
	if len(sel) == n {
		return nil, true
	}
	return sel, false
}

// ahead appends the rows that are not behind the last one that is kept.
func (s *Sorter) ahead(key *vec.Vector, n int, sel []int32) []int32 {
	k := s.keys[0]
	last := s.last[k.Column]
	behind := 1 // rows that tie with the last one are not better than it, if no other key decides
	if len(s.keys) == 1 {
		behind = 0
	}
	in, lastNull := key.Values(), last.IsNull(0)
	for i := range n {
		if compareNullable(in, key.Index(i), key.IsNull(i), last, 0, lastNull, k) < behind {
			sel = append(sel, int32(i))
		}
	}
	return sel
}

// first leaves of the rows at sel the first limit ones, and those that may tie with them.
func (s *Sorter) first(key *vec.Vector, sel []int32) []int32 {
	ranks := AppendRanks(nil, key.Gather(sel), s.keys[0])
	picked := slices.Clone(ranks)
	Pick(picked, s.limit-1)
	bound := picked[s.limit-1]
	out := sel[:0]
	for i, rank := range ranks {
		if rank <= bound {
			out = append(out, sel[i])
		}
	}
	return out
}

func compareNullable(a *vec.Vector, i int, aNull bool, b *vec.Vector, j int, bNull bool, k Key) int {
	switch {
	case aNull && bNull:
		return 0
	case aNull && k.NullsFirst || bNull && !k.NullsFirst:
		return -1
	case aNull || bNull:
		return 1
	}
	c := Compare(a, i, b, j)
	if k.Desc {
		return -c
	}
	return c
}

// Merge takes over the rows of another sorter of the same kind, which is not used after it.
func (s *Sorter) Merge(other *Sorter) error {
	if other.store.n == 0 {
		return nil
	}
	err := s.Add(other.store.Columns(), other.store.n)
	other.store.Release()
	return err
}

// Rows gives the rows in order, in steps of size, to emit, from the one at skip on.
func (s *Sorter) Rows(skip, size int, emit func(cols []*vec.Vector, n int) error) error {
	order, err := s.order()
	if err != nil {
		return err
	}
	if s.limit >= 0 {
		order = order[:min(len(order), s.limit)]
	}
	columns := s.store.Columns()
	for from := min(skip, len(order)); from < len(order); from += size {
		sel := order[from:min(from+size, len(order))]
		out := make([]*vec.Vector, len(columns))
		for i, v := range columns {
			out[i] = v.Gather(sel)
		}
		if err := emit(out, len(sel)); err != nil {
			return err
		}
	}
	return nil
}

// order is the rows' order.
func (s *Sorter) order() ([]int32, error) {
	n := s.store.n
	if err := s.meter.Take(int64(n) * 20); err != nil {
		return nil, err
	}
	defer s.meter.Give(int64(n) * 20)
	columns := s.store.Columns()
	out := make([]int32, n)
	if len(s.keys) == 0 {
		for i := range out {
			out[i] = int32(i)
		}
		return out, nil
	}
	entries := make([]entry, n)
	lead(columns[s.keys[0].Column], s.keys[0], entries)
	rest := s.keys
	if columns[rest[0].Column].Texts == nil && columns[rest[0].Column].Intervals == nil {
		rest = rest[1:] // the bits decide
	}
	err := sortEntries(entries, func(a, b int32) int {
		for _, k := range rest {
			v := columns[k.Column]
			if c := compareNullable(v, int(a), v.IsNull(int(a)), v, int(b), v.IsNull(int(b)), k); c != 0 {
				return c
			}
		}
		return 0
	}, s.meter.Stopped)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		out[i] = e.row
	}
	return out, nil
}
