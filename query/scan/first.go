package scan

import (
	"slices"

	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// first keeps the first rows by Request.First, before the other columns are read.
func (g *rowGroup) first() error {
	first := g.run.r.First
	if first == nil || g.run.r.NoPruning {
		return nil
	}
	left := 0
	for i := range g.windows {
		left += g.windows[i].left()
	}
	slots := g.run.plan.first
	if left > first.Rows {
		if err := g.fetch(slots); err != nil {
			return err
		}
		if err := g.run.work(g.keepRanked); err != nil {
			return err
		}
	}
	for _, n := range slots {
		g.later[n]--
	}
	return nil
}

// keepRanked keeps the rows whose ranks are among the first.
func (g *rowGroup) keepRanked(worker int) error {
	var ranks []uint64
	slots := g.run.plan.first
	in := &vec.Batch{Cols: make([]*vec.Vector, len(g.slots))}
	for i := range g.windows {
		w := &g.windows[i]
		in.Len = w.left()
		for _, n := range slots {
			v, err := g.slots[n].values(w)
			if err != nil {
				return err
			}
			in.Cols[n] = v
		}
		scratch := g.run.scratches[worker]
		scratch.Begin()
		v, err := g.run.r.First.By.Eval(scratch, in)
		if err != nil {
			return err
		}
		ranks = rows.AppendRanks(ranks, v, g.run.r.First.Key)
		for _, n := range slots {
			g.slots[n].release(w.to, g.later[n] > 1)
		}
	}
	for _, n := range slots {
		g.slots[n].rewind()
	}
	sorted := slices.Clone(ranks)
	rows.Pick(sorted, g.run.r.First.Rows-1)
	g.keepUpTo(ranks, sorted[g.run.r.First.Rows-1])
	return nil
}

// keepUpTo keeps the rows whose rank, in the order of the windows, is not above the bound.
func (g *rowGroup) keepUpTo(ranks []uint64, bound uint64) {
	kept := g.windows[:0]
	for _, w := range g.windows {
		all, n := w.all(), 0
		for i, row := range all {
			all[n] = row
			if ranks[i] <= bound {
				n++
			}
		}
		ranks = ranks[len(all):]
		if w.set(n); n > 0 {
			kept = append(kept, w)
		}
	}
	g.windows = kept
}
