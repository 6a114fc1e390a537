package parquetfile

import (
	"encoding/binary"
	"fmt"
)

// Values are those of a page or of a dictionary: numbers, or byte arrays as plain pages
// have them, each behind its length.
type Values struct {
	nums []int64
	text []byte
	ends []uint32 // of byte arrays: where each ends in text
}

// Text is the k-th byte array.
func (v *Values) Text(k int) []byte {
	from := uint32(4)
	if k > 0 {
		from += v.ends[k-1]
	}
	return v.text[from:v.ends[k]]
}

// start is where the k-th byte array begins in text, with its length.
func (v *Values) start(k int) uint32 {
	if k == 0 {
		return 0
	}
	return v.ends[k-1]
}

// Number is the k-th number, as Column.AppendInt and its like take it.
func (v *Values) Number(k int) int64 { return v.nums[k] }

// plain reads n values of plain encoding, which are all of raw. Byte arrays stay where
// they are.
func (v *Values) plain(f *Field, raw []byte, n int) error {
	width := 8
	switch {
	case f.Kind.Text():
		return v.plainText(raw, n)
	case f.Kind == Boolean:
		if len(raw) != (n+7)/8 {
			return fmt.Errorf("%d booleans in %d bytes", n, len(raw))
		}
		v.nums = grown(v.nums, n)
		for i := range v.nums {
			v.nums[i] = int64(raw[i>>3] >> (i & 7) & 1)
		}
		return nil
	case f.Kind == Int32:
		width = 4
	}
	if len(raw) != n*width {
		return fmt.Errorf("%d numbers of %d bytes in %d bytes", n, width, len(raw))
	}
	v.nums = grown(v.nums, n)
	if width == 4 {
		for i := range v.nums {
			v.nums[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		return nil
	}
	for i := range v.nums {
		v.nums[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return nil
}

func (v *Values) plainText(raw []byte, n int) error {
	if len(raw) < 4*n {
		return fmt.Errorf("%d byte arrays in %d bytes", n, len(raw))
	}
	v.text, v.ends = raw, grown(v.ends, n)
	at := 0
	for i := range v.ends {
		if len(raw)-at < 4 {
			return fmt.Errorf("byte array %d of %d ends beyond its page", i, n)
		}
		size := binary.LittleEndian.Uint32(raw[at:])
		if uint64(size) > uint64(len(raw)-at-4) {
			return fmt.Errorf("byte array %d of %d has %d bytes where %d are left", i, n, size, len(raw)-at-4)
		}
		at += 4 + int(size)
		v.ends[i] = uint32(at)
	}
	if at != len(raw) {
		return fmt.Errorf("%d bytes behind the %d byte arrays of a page", len(raw)-at, n)
	}
	return nil
}
