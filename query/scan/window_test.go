package scan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/togodb/togo/query/vec"
)

// A window that is whole goes another way than one of which rows are gone already; both keep the same rows.
func TestKeepCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		n, from := 1+r.IntN(1000), r.IntN(100)
		v := &vec.Vector{Type: vec.Text, Len: n, Dict: &vec.Vector{Type: vec.Text, Len: 4, Texts: []string{"a", "b", "c", "d"}}}
		for len(v.Codes) < n {
			code := int32(r.IntN(4))
			for range min(1+r.IntN([]int{2, 400, 1000}[r.IntN(3)]), n-len(v.Codes)) {
				v.Codes = append(v.Codes, code)
			}
		}
		if r.IntN(4) == 0 {
			v.Nulls = make([]bool, n)
			for i := range v.Nulls {
				v.Nulls[i] = r.IntN(2) == 0
			}
		}
		truth := &entries{by: make([]uint8, 4), null: uint8(r.IntN(2))}
		for i := range truth.by {
			truth.by[i] = uint8(r.IntN(2))
		}
		var want []int32
		for i, code := range v.Codes {
			if keep := truth.by[code]; keep == 1 && !v.IsNull(i) || v.IsNull(i) && truth.null == 1 {
				want = append(want, int32(from+i))
			}
		}
		for _, listed := range []bool{false, true} {
			w := window{from: from, to: from + n, memory: make([]int32, n)}
			if listed {
				w.all()
			}
			w.keepCodes(v, truth)
			if got := w.left(); got != len(want) {
				t.Fatalf("%d rows are left, not %d", got, len(want))
			}
			if !slices.Equal(w.all(), want) {
				t.Fatalf("other rows are left")
			}
		}
	}
}
