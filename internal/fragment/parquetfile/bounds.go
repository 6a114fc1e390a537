package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// bounds adds a page to the column index and widens the chunk's own bounds.
func (k *chunk) bounds(null bool, nulls int64, least, largest []byte) {
	if null {
		least, largest = []byte{}, []byte{}
	}
	k.index.NullPages = append(k.index.NullPages, null)
	k.index.NullCounts = append(k.index.NullCounts, nulls)
	k.index.MinValues = append(k.index.MinValues, least)
	k.index.MaxValues = append(k.index.MaxValues, largest)
	if null {
		return
	}
	if k.least == nil || k.f.compareBounds(least, k.least) < 0 {
		k.least = least
	}
	if k.largest == nil || k.f.compareBounds(largest, k.largest) > 0 {
		k.largest = largest
	}
}

// cutLeast and cutLargest are clones that are never nil: nil would leave an empty bound
// out of the file.
func cutLeast(b []byte) []byte   { return append([]byte{}, CutLower(b, BoundBytes)...) }
func cutLargest(b []byte) []byte { return append([]byte{}, CutUpper(b, BoundBytes)...) }

// numberBounds are the bounds of a page's values; nil if it has none.
func (k *chunk) numberBounds(nums []int64) (least, largest []byte) {
	if len(nums) == 0 {
		return nil, nil
	}
	low, high := nums[0], nums[0]
	if k.f.Kind == Double {
		for _, n := range nums[1:] {
			if k.f.compareNumbers(n, low) < 0 {
				low = n
			} else if k.f.compareNumbers(n, high) > 0 {
				high = n
			}
		}
		// A reader need not tell the zeros apart: bounds hold both.
		if math.Float64frombits(uint64(low)) == 0 {
			low = math.MinInt64 // the bits of -0
		}
		if math.Float64frombits(uint64(high)) == 0 {
			high = 0
		}
	} else {
		for _, n := range nums[1:] {
			low, high = min(low, n), max(high, n)
		}
	}
	return k.f.plainNumber(low), k.f.plainNumber(high)
}

func (f *Field) plainNumber(n int64) []byte {
	switch f.Kind {
	case Boolean:
		return []byte{byte(n)}
	case Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n))
}

// compareBounds orders bounds as they stand in the file.
func (f *Field) compareBounds(a, b []byte) int {
	switch f.Kind {
	case Boolean:
		return int(a[0]) - int(b[0])
	case Int32:
		x, y := int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b))
		return f.compareNumbers(int64(x), int64(y))
	case Int64, TimestampMicros, Double:
		return f.compareNumbers(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	}
	return bytes.Compare(a, b)
}

// boundaryOrder tells whether both lists of bounds ascend, pages without values aside.
func (k *chunk) boundaryOrder() format.BoundaryOrder {
	if len(k.index.NullPages) == 1 {
		return format.Ascending
	}
	var least, largest [][]byte
	for i, null := range k.index.NullPages {
		if !null {
			least = append(least, k.index.MinValues[i])
			largest = append(largest, k.index.MaxValues[i])
		}
	}
	if slices.IsSortedFunc(least, k.f.compareBounds) && slices.IsSortedFunc(largest, k.f.compareBounds) {
		return format.Ascending
	}
	return format.Unordered
}

// Bounds are those of a column's values, as pages have them: byte arrays cut to
// BoundBytes. Least is nil if there is none.
type Bounds struct {
	Least, Largest []byte
	Nulls          int64
	field          *Field
}

// Bounds are those of a column in the last row group.
func (w *Writer) Bounds(column int) Bounds {
	s := &w.groups[len(w.groups)-1].Columns[column].MetaData.Statistics
	return Bounds{s.MinValue, s.MaxValue, s.NullCount, &w.fields[column]}
}

// Widen takes in the bounds of other values of the column.
func (b *Bounds) Widen(c Bounds) {
	b.field = c.field
	b.Nulls += c.Nulls
	if c.Least == nil {
		return
	}
	if b.Least == nil || c.field.compareBounds(c.Least, b.Least) < 0 {
		b.Least = c.Least
	}
	if b.Largest == nil || c.field.compareBounds(c.Largest, b.Largest) > 0 {
		b.Largest = c.Largest
	}
}

// Numbers are the bounds of numbers, as Column.AppendInt and its like take them.
func (b *Bounds) Numbers() (least, largest int64) {
	return Number(b.Least), Number(b.Largest)
}
