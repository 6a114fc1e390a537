package scan

import (
	"math"
	"slices"
)

// beyond tells that no row of the row group can still be among the first of Top.
func (g *rowGroup) beyond() bool {
	top := g.run.r.Top
	switch {
	case top == nil || g.run.r.NoPruning || !top.Full.Load() || !g.time.Known:
		return false
	case top.Descending:
		return g.time.Max.Int < top.Bound.Load()
	}
	return g.time.Min.Int > top.Bound.Load()
}

// top keeps the rows that can still be among the first: those up to Top's bound, and of these the first of the row group, with all
// that are as late as the last of them.
func (g *rowGroup) top() error {
	top := g.run.r.Top
	if top == nil || g.run.r.NoPruning {
		return nil
	}
	slot := g.run.plan.time
	if err := g.fetch([]int{slot}); err != nil {
		return err
	}
	err := g.run.work(func(int) error {
		var times []int64
		for i := range g.windows {
			w := &g.windows[i]
			v, err := g.slots[slot].values(w)
			if err != nil {
				return err
			}
			in := v.Values().Ints
			for k := range w.left() {
				times = append(times, in[v.Index(k)])
			}
			g.slots[slot].release(w.to, g.later[slot] > 1)
		}
		g.slots[slot].rewind()
		g.keepFirst(times)
		return nil
	})
	g.later[slot]--
	return err
}

// keepFirst keeps the rows of the first times; they stand in the order of the windows.
func (g *rowGroup) keepFirst(times []int64) {
	top := g.run.r.Top
	if top.Descending {
		for i := range times {
			times[i] = ^times[i] // turns the order around, without an overflow
		}
	}
	bound := int64(math.MaxInt64)
	if top.Full.Load() {
		bound = top.Bound.Load()
		if top.Descending {
			bound = ^bound
		}
	}
	if n := top.Rows; n > 0 && n < len(times) {
		bound = min(bound, nth(times, n-1))
	}
	kept := g.windows[:0]
	for _, w := range g.windows {
		rows, n := w.all(), 0
		for i, row := range rows {
			rows[n] = row
			if times[i] <= bound {
				n++
			}
		}
		times = times[len(rows):]
		if w.set(n); n > 0 {
			kept = append(kept, w)
		}
	}
	g.windows = kept
}

// nth is the value that would stand at k if times were sorted. k is small beside them: what cannot be among the first k+1 is passed over.
func nth(times []int64, k int) int64 {
	kept := make([]int64, 0, min(2*(k+1)+1024, len(times)+1))
	bound := int64(math.MaxInt64)
	for _, t := range times {
		if t > bound {
			continue
		}
		if kept = append(kept, t); len(kept) == cap(kept) {
			slices.Sort(kept)
			kept = kept[:k+1]
			bound = kept[k]
		}
	}
	slices.Sort(kept)
	return kept[k]
}

// limit keeps no more rows than the request wants at all.
func (g *rowGroup) limit() {
	left := g.run.r.Rows
	if left <= 0 {
		return
	}
	for i := range g.windows {
		w := &g.windows[i]
		if n := w.left(); n < left {
			left -= n
			continue
		}
		w.cut(left)
		g.windows = g.windows[:i+1]
		return
	}
}

// cut keeps the first n of the rows that are left.
func (w *window) cut(n int) {
	if w.rows == nil {
		w.to = w.from + n
		return
	}
	w.rows = w.rows[:n]
}
