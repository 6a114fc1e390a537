package keys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

func meter() *memory.Meter { return memory.NewAccount(0).Meter() }

// random gives vectors of n rows with values out of a few, in all forms.
func random(r *rand.Rand, t vec.Type, n, distinct int) *vec.Vector {
	values := make([]vec.Value, distinct)
	for i := range values {
		v := vec.Value{Type: t}
		k := r.Int64N(int64(distinct)) - 3
		switch {
		case t == vec.Double:
			v.Double = []float64{float64(k), 0, math.Copysign(0, -1), math.NaN(), math.Inf(1)}[r.IntN(5)]
		case t.HasInts():
			v.Int = k * []int64{1, 5000, math.MaxInt64 / 7919}[r.IntN(3)]
		case t.HasTexts():
			v.Text = []string{"", fmt.Sprint(k), fmt.Sprintf("a longer text %d", k)}[r.IntN(3)]
		case t == vec.Interval:
			v.Span = vec.Span{Months: int32(k % 3), Days: int32(k%2) * 30, Nanos: (k % 4) * 86400e9}
		}
		values[i] = v
	}
	form := r.IntN(4)
	if form == 0 {
		one := values[0]
		if r.IntN(3) == 0 {
			one = vec.Value{}
		}
		return vec.Constant(t, one, n)
	}
	v := vec.Nulls(t, n)
	for i := range n {
		if form == 1 || r.IntN(5) > 0 {
			v.Nulls[i] = false
			v.Set(i, values[r.IntN(distinct)])
		}
	}
	if form == 1 {
		v.Nulls = nil
	}
	if form == 3 && t.HasTexts() {
		return coded(v)
	}
	return v
}

func coded(v *vec.Vector) *vec.Vector {
	out := &vec.Vector{Type: v.Type, Len: v.Len, Nulls: v.Nulls, Codes: make([]int32, v.Len)}
	have := map[string]int32{}
	dict := &vec.Vector{Type: v.Type, Texts: []string{}}
	for i, s := range v.Texts {
		if v.IsNull(i) {
			continue
		}
		if _, ok := have[s]; !ok {
			have[s] = int32(len(dict.Texts))
			dict.Texts = append(dict.Texts, s)
		}
		out.Codes[i] = have[s]
	}
	dict.Len = len(dict.Texts)
	out.Dict = dict
	return out
}

// text is equal for values that SQL takes as equal.
func text(v vec.Value) string {
	switch {
	case v.Type == vec.Null:
		return "NULL"
	case v.Type == vec.Double && v.Double == 0:
		return "0"
	case v.Type == vec.Interval:
		return fmt.Sprint(calendar.Normal(v.Span))
	case v.Type.HasTexts():
		return fmt.Sprintf("%q", v.Text)
	}
	return fmt.Sprint(v.Int, v.Double)
}

func row(cols []*vec.Vector, i int) string {
	out := ""
	for _, c := range cols {
		out += text(c.At(i)) + "|"
	}
	return out
}

var allTypes = []vec.Type{vec.Bool, vec.Int, vec.Double, vec.Text, vec.JSON, vec.Blob, vec.TimestampTZ, vec.Timestamp, vec.Date, vec.Interval}

func TestGroupsAreTheDistinctRows(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		types := make([]vec.Type, 1+r.IntN(4))
		for i := range types {
			types[i] = allTypes[r.IntN(len(allTypes))]
		}
		parts := []*Groups{NewGroups(types, meter()), NewGroups(types, meter())}
		numbers := []map[string]uint32{{}, {}}
		for range 1 + r.IntN(8) {
			p := r.IntN(2)
			n := r.IntN(700)
			cols := make([]*vec.Vector, len(types))
			for i, ty := range types {
				cols[i] = random(r, ty, n, 1+r.IntN(12))
			}
			ids := make([]uint32, n)
			if err := parts[p].IDs(cols, ids); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				k := row(cols, i)
				if have, ok := numbers[p][k]; ok && have != id || !ok && int(id) != len(numbers[p]) {
					t.Fatalf("seed %d: row %s has number %d, had %d (%v) of %d", seed, k, id, have, ok, len(numbers[p]))
				}
				numbers[p][k] = id
			}
			check(t, seed, parts[p], numbers[p])
		}
		to, err := parts[0].Merge(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		for k, id := range numbers[1] {
			if have, ok := numbers[0][k]; ok && have != to[id] {
				t.Fatalf("seed %d: row %s is merged into %d, not %d", seed, k, to[id], have)
			}
			numbers[0][k] = to[id]
		}
		check(t, seed, parts[0], numbers[0])
	}
}

func check(t *testing.T, seed uint64, g *Groups, numbers map[string]uint32) {
	t.Helper()
	if g.Len() != len(numbers) {
		t.Fatalf("seed %d: %d groups, want %d", seed, g.Len(), len(numbers))
	}
	cols := g.Rows(0, g.Len())
	for i := range g.Len() {
		if id, ok := numbers[row(cols, i)]; !ok || int(id) != i {
			t.Fatalf("seed %d: group %d is %s, which has number %d (%v)", seed, i, row(cols, i), id, ok)
		}
	}
}

func TestMembersAreSets(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := NewMembers(meter())
		want := map[[2]uint32]bool{}
		groups, ids := uint32(1+r.IntN(400)), uint32(1)<<r.IntN(28)
		for range 20 {
			a, b := make([]uint32, 500), make([]uint32, 500)
			for i := range a {
				a[i], b[i] = r.Uint32N(groups), r.Uint32N(ids)
				want[[2]uint32{a[i], b[i]}] = true
			}
			if err := m.Add(a, b); err != nil {
				t.Fatal(err)
			}
		}
		got := map[[2]uint32]bool{}
		err := m.Each(func(groups, ids []uint32) error {
			for i, g := range groups {
				k := [2]uint32{g, ids[i]}
				if got[k] || !want[k] {
					t.Fatalf("seed %d: %v came twice or was never added", seed, k)
				}
				got[k] = true
			}
			return nil
		})
		if err != nil || len(got) != len(want) {
			t.Fatalf("seed %d: %d members of %d, %v", seed, len(got), len(want), err)
		}
		if sparse := m.pairs != nil; sparse && ids <= 1<<10 || !sparse && ids >= 1<<24 && groups > 10 {
			t.Errorf("seed %d: %d groups of numbers up to %d: sparse is %v", seed, groups, ids, sparse)
		}
	}
}

func TestManyValuesAreWithinTheLimitOfMemory(t *testing.T) {
	in := NewInterner(vec.Text, memory.NewAccount(4<<20).Meter())
	v := vec.New(vec.Text, 1000)
	ids := make([]uint32, 1000)
	for n := 0; ; n++ {
		for i := range v.Texts {
			v.Texts[i] = fmt.Sprintf("text %d", n*1000+i)
		}
		err := in.IDs(v, ids)
		if err == nil && n < 200 {
			continue
		}
		// A value takes about 80 bytes here.
		if err == nil || in.Len() < 20_000 || in.Len() > 90_000 {
			t.Fatalf("%d values, error %v", in.Len(), err)
		}
		return
	}
}

// Long runs of one code go another way than mixed rows do; both must number as a flat column does.
func TestRunsOfCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	dict := &vec.Vector{Type: vec.Text, Len: 5, Texts: []string{"a", "b", "", "d", "e"}}
	for range 200 {
		v := &vec.Vector{Type: vec.Text, Dict: dict}
		for len(v.Codes) < 1500 {
			code, n := int32(r.IntN(5)), 1+r.IntN([]int{3, 300, 900}[r.IntN(3)])
			for range n {
				v.Codes = append(v.Codes, code)
			}
		}
		v.Len = len(v.Codes)
		coded, flat := NewInterner(vec.Text, meter()), NewInterner(vec.Text, meter())
		got, want := make([]uint32, v.Len), make([]uint32, v.Len)
		if err := coded.IDs(v, got); err != nil {
			t.Fatal(err)
		}
		if err := flat.IDs(v.Flat(), want); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("row %d has number %d, not %d", i, got[i], want[i])
			}
		}
	}
}

// TestDenseIntegers: integers that come to lie densely keep the numbers that they had.
func TestDenseIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	in := NewInterner(vec.Int, meter())
	want := map[any]uint32{}
	for range 40 {
		v := vec.New(vec.Int, 4096)
		for i := range v.Len {
			switch r.IntN(20) {
			case 0:
				v.SetNull(i)
			case 1:
				v.Ints[i] = -r.Int64N(1000)
			case 2:
				v.Ints[i] = r.Int64()
			default:
				v.Ints[i] = r.Int64N(60_000)
			}
		}
		ids := make([]uint32, v.Len)
		if err := in.IDs(v, ids); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			var key any = v.Ints[i]
			if v.IsNull(i) {
				key = nil
			}
			if have, ok := want[key]; ok && have != id || !ok && int(id) != len(want) {
				t.Fatalf("%v is %d, was %d of %d", key, id, have, len(want))
			}
			want[key] = id
		}
	}
	if len(in.dense) < 60_000 || in.Len() != len(want) {
		t.Errorf("%d are found by index, %d of %d", len(in.dense), in.Len(), len(want))
	}
}
