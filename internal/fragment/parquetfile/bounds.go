package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// bounds adds a page to the column index and widens the chunk's own bounds.
func (k *chunk) bounds(from, to int, nulls int64, dictionary bool) {
	k.index.NullPages = append(k.index.NullPages, from == to)
	k.index.NullCounts = append(k.index.NullCounts, nulls)
	var least, largest []byte
	if from == to {
		least, largest = []byte{}, []byte{}
	} else if k.c.text() {
		least, largest = k.textBounds(from, to, dictionary)
	} else {
		least, largest = k.numberBounds(from, to)
	}
	k.index.MinValues = append(k.index.MinValues, least)
	k.index.MaxValues = append(k.index.MaxValues, largest)
	if from == to {
		return
	}
	if k.least == nil || k.compare(least, k.least) < 0 {
		k.least = least
	}
	if k.largest == nil || k.compare(largest, k.largest) > 0 {
		k.largest = largest
	}
}

func (k *chunk) textBounds(from, to int, dictionary bool) (least, largest []byte) {
	w, c := k.w, k.c
	last := int32(-1) // sorted pages are long runs of one code
	for i := from; i < to; i++ {
		var b []byte
		if dictionary {
			if w.codes[i] == last {
				continue
			}
			last = w.codes[i]
			b = c.at(c.views[w.dict[last]])
		} else {
			b = c.value(w.values[i])
		}
		if least == nil {
			least, largest = b, b
		} else if bytes.Compare(b, least) < 0 {
			least = b
		} else if bytes.Compare(b, largest) > 0 {
			largest = b
		}
	}
	// Clones that are never nil: nil would leave an empty bound out of the file.
	return append([]byte{}, CutLower(least, BoundBytes)...), append([]byte{}, CutUpper(largest, BoundBytes)...)
}

func (k *chunk) numberBounds(from, to int) (least, largest []byte) {
	w, c := k.w, k.c
	low, high := c.nums[w.values[from]], c.nums[w.values[from]]
	for _, v := range w.values[from+1 : to] {
		n := c.nums[v]
		if c.compareNumbers(n, low) < 0 {
			low = n
		} else if c.compareNumbers(n, high) > 0 {
			high = n
		}
	}
	if c.Kind == Double { // a reader need not tell the zeros apart: bounds hold both
		if math.Float64frombits(uint64(low)) == 0 {
			low = math.MinInt64 // the bits of -0
		}
		if math.Float64frombits(uint64(high)) == 0 {
			high = 0
		}
	}
	return c.plainNumber(low), c.plainNumber(high)
}

func (c *Column) plainNumber(n int64) []byte {
	switch c.Kind {
	case Boolean:
		return []byte{byte(n)}
	case Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n))
}

// compare orders bounds as they stand in the file.
func (k *chunk) compare(a, b []byte) int {
	switch k.c.Kind {
	case Boolean:
		return int(a[0]) - int(b[0])
	case Int32:
		x, y := int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b))
		return k.c.compareNumbers(int64(x), int64(y))
	case Int64, TimestampMicros, Double:
		return k.c.compareNumbers(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	}
	return bytes.Compare(a, b)
}

// boundaryOrder tells whether both lists of bounds ascend, pages without values aside.
func (k *chunk) boundaryOrder() format.BoundaryOrder {
	var least, largest [][]byte
	for i, null := range k.index.NullPages {
		if !null {
			least = append(least, k.index.MinValues[i])
			largest = append(largest, k.index.MaxValues[i])
		}
	}
	if slices.IsSortedFunc(least, k.compare) && slices.IsSortedFunc(largest, k.compare) {
		return format.Ascending
	}
	return format.Unordered
}
