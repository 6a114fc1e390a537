package scan

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// TestFirstRowsOfAnOrder: the first rows by any column are among those that come, and not many more.
func TestFirstRowsOfAnOrder(t *testing.T) {
	s := newStore(t, 11, 300, 9000, 4000)
	for _, name := range []string{"duration", "service", "message", "n", "ok", "big"} {
		for _, where := range []string{"true", "status >= 204"} {
			for _, k := range []rows.Key{{}, {Desc: true}, {NullsFirst: true}, {Desc: true, NullsFirst: true}} {
				everything := s.keys(t, s.request().where(t, where), name, k, nil)
				for _, n := range []int{1, 100} {
					r := s.request().where(t, where)
					slot := r.slot(name)
					by := &expr.Column{Slot: slot, Name: name, T: r.Columns[slot].Type}
					edge := &expr.Edge{Desc: k.Desc, NullsFirst: k.NullsFirst}
					r.First = &First{By: by, Key: k, Rows: n}
					r.Filter = append(r.Filter, &expr.Ahead{X: by, Edge: edge})
					got := s.keys(t, r, name, k, func(sorted []vec.Value) {
						if len(sorted) >= n {
							edge.Move(sorted[n-1])
						}
					})
					want := everything[:min(n, len(everything))]
					if len(got) < len(want) || !slices.EqualFunc(got[:len(want)], want, func(a, b vec.Value) bool { return order(a, b, k) == 0 }) {
						t.Fatalf("%s %+v where %s: the first %d are others", name, k, where, n)
					}
					if name == "n" && len(got) > 6*n+20 {
						t.Errorf("%s %+v where %s: %d rows came for %d", name, k, where, len(got), n)
					}
				}
			}
		}
	}
}

// keys are the values of a column in the rows that a scan gives, in order; seen is told of them as they come.
func (s *store) keys(t *testing.T, r *Request, name string, k rows.Key, seen func([]vec.Value)) []vec.Value {
	t.Helper()
	var mu sync.Mutex
	var out []vec.Value
	r.Output = []int{r.slot(name)}
	err := NewScanner(s, Config{}).Scan(t.Context(), r, 2, func(_ int, b *vec.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range b.Len {
			v := b.Cols[r.slot(name)].At(i)
			v.Text = strings.Clone(v.Text) // the batch's memory is used again
			out = append(out, v)
		}
		if seen != nil {
			slices.SortFunc(out, func(a, b vec.Value) int { return order(a, b, k) })
			seen(out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b vec.Value) int { return order(a, b, k) })
	return out
}

// order is that of the key, in its plainest form.
func order(a, b vec.Value, k rows.Key) int {
	aNull, bNull := a.Type == vec.Null, b.Type == vec.Null
	switch {
	case aNull && bNull:
		return 0
	case aNull != bNull:
		if aNull == k.NullsFirst {
			return -1
		}
		return 1
	case k.Desc:
		return value.Compare(b, a)
	}
	return value.Compare(a, b)
}
