package rows

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// randomValue is one of a column, among them what sorts hard: NULL, NaN, both zeros, texts that share their first bytes.
func randomValue(r *rand.Rand, t vec.Type) vec.Value {
	v := vec.Value{Type: t}
	if r.IntN(6) == 0 {
		return vec.Value{}
	}
	switch t {
	case vec.Int:
		v.Int = []int64{r.Int64N(10) - 5, math.MinInt64, math.MaxInt64, r.Int64()}[r.IntN(4)]
	case vec.Double:
		v.Double = []float64{float64(r.IntN(5)) - 2, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), r.NormFloat64()}[r.IntN(6)]
	case vec.Text:
		v.Text = []string{"", "a", "samelong", "samelongb", "samelonga", "\x00", fmt.Sprint(r.IntN(100))}[r.IntN(7)]
	case vec.Interval:
		v.Span = vec.Span{Months: r.Int32N(3), Days: r.Int32N(90), Nanos: r.Int64N(3) * 86400e9}
	}
	return v
}

// compare is an oracle that shares nothing with the sorter.
func compare(a, b vec.Value, k Key) int {
	switch {
	case a.Type == vec.Null && b.Type == vec.Null:
		return 0
	case a.Type == vec.Null:
		if k.NullsFirst {
			return -1
		}
		return 1
	case b.Type == vec.Null:
		return -compare(b, a, k)
	}
	days := func(s vec.Span) int64 { return (int64(s.Months)*30+int64(s.Days))*86400e9 + s.Nanos }
	c := cmp.Or(cmp.Compare(a.Int, b.Int), cmp.Compare(a.Text, b.Text), cmp.Compare(days(a.Span), days(b.Span)))
	if a.Type == vec.Double {
		switch an, bn := math.IsNaN(a.Double), math.IsNaN(b.Double); {
		case an && bn:
			c = 0
		case an:
			c = 1
		case bn:
			c = -1
		default:
			c = cmp.Compare(a.Double, b.Double)
		}
	}
	if k.Desc {
		return -c
	}
	return c
}

func TestRowsComeInOrder(t *testing.T) {
	all := []vec.Type{vec.Int, vec.Double, vec.Text, vec.Interval}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		types := make([]vec.Type, 2+r.IntN(3))
		for i := range types {
			types[i] = all[r.IntN(len(all))]
		}
		keys := make([]Key, 1+r.IntN(len(types)))
		for i := range keys {
			keys[i] = Key{Column: r.IntN(len(types)), Desc: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}
		}
		limit := -1
		if r.IntN(2) == 0 {
			limit = r.IntN(200)
		}
		account := memory.NewAccount(0)
		sorters := []*Sorter{NewSorter(types, keys, limit, account.Meter()), NewSorter(types, keys, limit, account.Meter())}
		var want [][]vec.Value
		batch := 1 + r.IntN(5000)
		for range 1 + r.IntN(6) {
			n := r.IntN(batch)
			cols := make([]*vec.Vector, len(types))
			for i, ty := range types {
				cols[i] = vec.Nulls(ty, n)
			}
			for i := range n {
				row := make([]vec.Value, len(types))
				for c, ty := range types {
					row[c] = randomValue(r, ty)
					if row[c].Type != vec.Null {
						cols[c].Nulls[i] = false
						cols[c].Set(i, row[c])
					}
				}
				want = append(want, row)
			}
			s := sorters[r.IntN(2)]
			if sel, all := s.Candidates(cols[keys[0].Column], n); !all {
				for i := range cols {
					cols[i] = cols[i].Gather(sel)
				}
				n = len(sel)
			}
			if err := s.Add(cols, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := sorters[0].Merge(sorters[1]); err != nil {
			t.Fatal(err)
		}
		order := func(a, b []vec.Value) int {
			for _, k := range keys {
				if c := compare(a[k.Column], b[k.Column], k); c != 0 {
					return c
				}
			}
			return 0
		}
		slices.SortStableFunc(want, order)
		if limit >= 0 {
			want = want[:min(limit, len(want))]
		}
		skip := r.IntN(3)
		want = want[min(skip, len(want)):]
		at := 0
		err := sorters[0].Rows(skip, 100, func(cols []*vec.Vector, n int) error {
			for i := range n {
				row := make([]vec.Value, len(cols))
				for c := range cols {
					row[c] = cols[c].At(i)
				}
				if at >= len(want) || order(row, want[at]) != 0 {
					t.Fatalf("seed %d: row %d of %d is %v", seed, at, len(want), row)
				}
				at++
			}
			return nil
		})
		if err != nil || at != len(want) {
			t.Fatalf("seed %d: %d rows of %d, %v", seed, at, len(want), err)
		}
	}
}

func TestTheFirstRowsAloneAreKept(t *testing.T) {
	account := memory.NewAccount(2 << 20)
	s := NewSorter([]vec.Type{vec.Int, vec.Text}, []Key{{Column: 0}}, 10, account.Meter())
	v, text := vec.New(vec.Int, 1000), vec.New(vec.Text, 1000)
	for n := range 500 {
		for i := range v.Ints {
			v.Ints[i] = int64(-n*1000 - i)
			text.Texts[i] = fmt.Sprintf("%0100d", i)
		}
		if err := s.Add([]*vec.Vector{v, text}, 1000); err != nil {
			t.Fatalf("after %d rows: %v", n*1000, err)
		}
	}
	if last, ok := s.Last(); !ok || last.Int > -499_000 {
		t.Errorf("the last of the first is %v, %v", last, ok)
	}
	if s.Len() > 300 {
		t.Errorf("%d rows are kept", s.Len())
	}
}

func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		n := 1 + r.IntN(300)
		values := make([]int, n)
		for i := range values {
			values[i] = r.IntN(1 + r.IntN(300))
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		k := r.IntN(n)
		Pick(values, k)
		if values[k] != sorted[k] || k > 0 && slices.Max(values[:k]) > values[k] || slices.Min(values[k:]) < values[k] {
			t.Fatalf("the value at %d of %d is %d, want %d", k, n, values[k], sorted[k])
		}
	}
}

func TestSortingStops(t *testing.T) {
	gone := errors.New("gone")
	for _, n := range []int{radixFrom - 1, 100_000} {
		for asked := range 3 {
			entries := make([]entry, n)
			for i := range entries {
				entries[i].row = int32(i)
			}
			asks := 0
			err := sortEntries(entries, func(a, b int32) int { return cmp.Compare(a*7919%1000, b*7919%1000) }, func() error {
				if asks++; asks > asked {
					return gone
				}
				return nil
			})
			if small := n < radixFrom; !errors.Is(err, gone) && !(small && err == nil) || asks > asked+1 {
				t.Errorf("%d entries: %v after it was asked %d times", n, err, asks)
			}
		}
	}
}

// TestStoredTextsOfDictionaries: texts are copied whatever the dictionary's size, and what is accounted does not grow with the
// number of dictionaries.
func TestStoredTextsOfDictionaries(t *testing.T) {
	account := memory.NewAccount(0)
	s := NewStore([]vec.Type{vec.Text}, account.Meter())
	var want []string
	for n := range 60 {
		dict := vec.New(vec.Text, []int{10, 1000, 20_000}[n%3])
		for i := range dict.Texts {
			dict.Texts[i] = fmt.Sprintf("%d of %d", i, n)
		}
		dict.Nulls = nil
		v := &vec.Vector{Type: vec.Text, Len: 500, Codes: make([]int32, 500), Dict: dict, Nulls: make([]bool, 500)}
		for i := range v.Codes {
			v.Codes[i], v.Nulls[i] = int32(i*i%dict.Len), i%7 == 0
			if v.Nulls[i] {
				want = append(want, "NULL")
			} else {
				want = append(want, strings.Clone(dict.Texts[v.Codes[i]]))
			}
		}
		if err := s.Append([]*vec.Vector{v}, 500); err != nil {
			t.Fatal(err)
		}
		for i := range dict.Texts {
			dict.Texts[i] = "gone"
		}
	}
	for i, v := range s.Columns()[0].Texts {
		if s.Columns()[0].IsNull(i) {
			v = "NULL"
		}
		if v != want[i] {
			t.Fatalf("row %d is %s, want %s", i, v, want[i])
		}
	}
	if used := account.Used(); used > 4<<20 {
		t.Errorf("%d bytes for %d rows", used, len(want))
	}
}
