package fragment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// fullSortKey is a sort key, nil for DefaultSortKey, ended by the event's time.
func fullSortKey(key []string) []string {
	if key == nil {
		key = DefaultSortKey
	}
	for i, name := range key {
		if name == colTimestamp { // what stands behind it only parts equal times
			return key[: i+1 : i+1]
		}
	}
	return append(slices.Clone(key), colTimestamp)
}

// sortKey is the input's sort key. Letters have no attributes, so that all keys order
// them alike; one name for it keeps them from being taken for sorted otherwise.
func sortKey(in *Input) []string {
	if in.Kind == DeadLetters {
		return fullSortKey(nil)
	}
	return fullSortKey(in.SortKey)
}

// ofPath lists the columns of a path in this file by field id, which is
// the order of b.filled once it is sorted.
func (b *builder) ofPath(path string) []*filledColumn {
	var out []*filledColumn
	for _, f := range b.filled {
		if f.Path == path {
			out = append(out, f)
		}
	}
	return out
}

// sortedBy names the file's columns that its rows are sorted by: for each path of the
// key all of its columns by field id, each with nulls last, then the time. A
// column that a file has not is null in all of its rows, so the order of files with
// different columns is one and the same.
func (b *builder) sortedBy(key []string) []string {
	var out []string
	for _, path := range key[:len(key)-1] {
		for _, f := range b.ofPath(path) {
			out = append(out, f.known.Name)
		}
	}
	out = append(out, colTimestamp)
	if b.anyNanos {
		out = append(out, colNanos)
	}
	return out
}

// order is the rows' order by the key, then by time to the nanosecond, then as they came.
func (b *builder) order(key []string) []int32 {
	rows := len(b.in.Rows)
	type sortable struct {
		rank uint64 // of the key's values before the time
		time int64
		row  int32
	}
	list := make([]sortable, rows)
	for i := range list {
		list[i] = sortable{time: int64(b.in.Rows[i].Timestamp), row: int32(i)}
	}
	parts := 0
	for _, path := range key[:len(key)-1] {
		var columns []*parquetfile.Column
		for _, f := range b.ofPath(path) {
			columns = append(columns, f.data)
		}
		ranks := pathRanks(columns, rows)
		if ranks == nil {
			continue
		}
		if parts++; parts > 2 { // make room: ranks of ranks
			distinct := make([]uint64, rows)
			for i := range list {
				distinct[i] = list[i].rank
			}
			slices.Sort(distinct)
			distinct = slices.Compact(distinct)
			for i := range list {
				r, _ := slices.BinarySearch(distinct, list[i].rank)
				list[i].rank = uint64(r)
			}
		}
		for i, r := range ranks {
			list[i].rank = list[i].rank<<32 | uint64(r)
		}
	}
	slices.SortFunc(list, func(x, y sortable) int {
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		if x.time != y.time {
			return cmp.Compare(x.time, y.time)
		}
		return cmp.Compare(x.row, y.row)
	})
	out := make([]int32, rows)
	for i := range list {
		out[i] = list[i].row
	}
	return out
}

// ranges bounds the columns of the sort key's paths, whatever their type.
func (b *builder) ranges(key []string) []Range {
	var out []Range
	for _, name := range key {
		if name == colTimestamp {
			continue // File.Min and File.Max
		}
		for _, f := range b.filled {
			if f.Path == name {
				out = append(out, b.rangeOf(f))
			}
		}
		for _, known := range b.known.OfPath(name) {
			if !slices.ContainsFunc(out, func(r Range) bool { return r.Column == known.Name }) {
				out = append(out, Range{Column: known.Name, Nulls: int64(len(b.in.Rows))})
			}
		}
	}
	return out
}

func (b *builder) rangeOf(f *filledColumn) Range {
	r := Range{Column: f.known.Name, Nulls: int64(len(b.in.Rows) - f.data.Len())}
	if f.Type == String || f.Type == JSON {
		least, largest, _ := f.data.TextBounds()
		r.Min = string(parquetfile.CutLower(least, MaxRangeBytes))
		r.Max = string(parquetfile.CutUpper(largest, MaxRangeBytes))
		return r
	}
	least, largest, _ := f.data.NumberBounds()
	r.Min, r.Max = numberText(f.Type, least), numberText(f.Type, largest)
	return r
}

func numberText(t Type, n int64) string {
	switch t {
	case Boolean:
		return strconv.FormatBool(n != 0)
	case Double:
		return string(appendDouble(nil, math.Float64frombits(uint64(n))))
	}
	return strconv.FormatInt(n, 10)
}
