package scan

import (
	"fmt"
	"slices"

	"github.com/togodb/togo/query/vec"
)

// windowRows is how many rows conditions are asked for at once, and how many a batch has at most.
const windowRows = 4096

// window is a run of rows of a row group of which some are left.
type window struct {
	from, to int
	rows     []int32 // those that are left, ascending; nil: all
	memory   []int32 // for as many rows as it has
}

// windowsOf cuts runs of rows into windows; memory is for all rows of the row group.
func windowsOf(runs []rowRange, memory []int32) []window {
	var out []window
	for _, r := range runs {
		for from := r.from; from < r.to; from += windowRows {
			to := min(from+windowRows, r.to)
			out = append(out, window{from: from, to: to, memory: memory[from:to]})
		}
	}
	return out
}

// left is how many rows are.
func (w *window) left() int {
	if w.rows != nil {
		return len(w.rows)
	}
	return w.to - w.from
}

// part is some of the rows that are left.
func (w *window) part(from, to int) window {
	if w.rows != nil {
		rows := w.rows[from:to]
		return window{from: int(rows[0]), to: int(rows[len(rows)-1]) + 1, rows: rows}
	}
	return window{from: w.from + from, to: w.from + to}
}

// all lists the rows that are left, in memory that may be written over from its start.
func (w *window) all() []int32 {
	if w.rows == nil {
		if w.memory == nil {
			w.memory = make([]int32, w.to-w.from)
		}
		w.rows = w.memory[:w.to-w.from]
		for i := range w.rows {
			w.rows[i] = int32(w.from + i)
		}
	}
	return w.rows
}

// set makes the first n of all the rows that are left.
func (w *window) set(n int) {
	if n == w.to-w.from {
		w.rows = nil
		return
	}
	w.rows = w.rows[:n]
}

// keepFrom keeps the rows whose time is not below the floor.
func (w *window) keepFrom(times *vec.Vector, floor int64) {
	if !times.Const && times.Dict == nil && times.Nulls == nil && slices.Min(times.Ints) >= floor {
		return
	}
	rows, n := w.all(), 0
	at := times.Values().Ints
	for i, row := range rows {
		rows[n] = row
		if at[times.Index(i)] >= floor {
			n++
		}
	}
	w.set(n)
}

// keep keeps the rows for which v, which has an entry for each row that is left, is TRUE.
func (w *window) keep(v *vec.Vector) {
	switch {
	case v.Type == vec.Null || v.Const && v.IsNull(0):
		w.rows = []int32{}
		return
	case v.Type != vec.Bool:
		panic(fmt.Sprintf("scan: a condition of type %v", v.Type))
	case v.Const && v.Ints[0] == 0:
		w.rows = []int32{}
		return
	case v.Const:
		return
	}
	rows, n := w.all(), 0
	switch {
	case v.Dict != nil:
		truth := v.Dict.Ints
		for i, row := range rows {
			rows[n] = row
			if truth[v.Codes[i]] != 0 && (v.Nulls == nil || !v.Nulls[i]) {
				n++
			}
		}
	case v.Nulls != nil:
		for i, row := range rows {
			rows[n] = row
			if v.Ints[i] != 0 && !v.Nulls[i] {
				n++
			}
		}
	default:
		for i, row := range rows {
			rows[n] = row
			n += int(v.Ints[i])
		}
	}
	w.set(n)
}

// anyOf tells whether one of the codes is one of those that by marks.
func anyOf(codes []int32, by []uint8) bool {
	for len(codes) >= 16 {
		some := uint8(0)
		for _, code := range codes[:16] {
			some |= by[code]
		}
		if some != 0 {
			return true
		}
		codes = codes[16:]
	}
	for _, code := range codes {
		if by[code] != 0 {
			return true
		}
	}
	return false
}

// keepCodes keeps the rows whose code is one for which the condition is TRUE.
func (w *window) keepCodes(v *vec.Vector, truth *entries) {
	if w.rows == nil && v.Nulls == nil {
		w.keepBlocks(v.Codes, truth.by)
		return
	}
	by := truth.by
	if v.Nulls == nil && !anyOf(v.Codes, by) {
		w.rows = []int32{}
		return
	}
	rows, n := w.all(), 0
	if v.Nulls == nil {
		for i, row := range rows {
			rows[n] = row
			n += int(by[v.Codes[i]])
		}
	} else {
		for i, row := range rows {
			rows[n] = row
			if v.Nulls[i] {
				n += int(truth.null)
			} else {
				n += int(by[v.Codes[i]])
			}
		}
	}
	w.set(n)
}

// keepBlocks is keepCodes of a whole window without nulls. It counts first: mostly no row is left, or all are.
func (w *window) keepBlocks(codes []int32, by []uint8) {
	n := 0
	for from := 0; from < len(codes); from += vec.Block {
		block := codes[from:min(from+vec.Block, len(codes))]
		if vec.Alike(block) {
			n += int(by[block[0]]) * len(block)
			continue
		}
		for _, code := range block {
			n += int(by[code])
		}
	}
	switch n {
	case 0:
		w.rows = []int32{}
		return
	case len(codes):
		return
	}
	rows := w.memory[:len(codes)]
	n = 0
	for i, code := range codes {
		rows[n] = int32(w.from + i)
		n += int(by[code])
	}
	w.rows = rows[:n]
}
