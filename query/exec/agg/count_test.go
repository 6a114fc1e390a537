package agg

import (
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/query/exec/memory"
)

// Long runs of one group are counted at once.
func TestCountOfRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	c := &count{meter: memory.NewAccount(0).Meter()}
	want := make([]int64, 6)
	for range 300 {
		var groups []uint32
		for len(groups) < 1000 {
			g := uint32(r.IntN(len(want)))
			for range 1 + r.IntN([]int{3, 300, 900}[r.IntN(3)]) {
				groups = append(groups, g)
				want[g]++
			}
		}
		if err := c.Add(groups, len(groups), nil, len(want)); err != nil {
			t.Fatal(err)
		}
	}
	for g, n := range want {
		if c.n[g] != n {
			t.Errorf("group %d has %d rows, not %d", g, c.n[g], n)
		}
	}
}
