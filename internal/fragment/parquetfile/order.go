package parquetfile

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

func (c *Column) rankText(out []uint32) {
	order := make([]int32, len(c.views))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return bytes.Compare(c.at(c.views[a]), c.at(c.views[b])) })
	rank := make([]uint32, len(c.views))
	r := uint32(0)
	for i, v := range order {
		if i > 0 && !bytes.Equal(c.at(c.views[v]), c.at(c.views[order[i-1]])) {
			r++
		}
		rank[v] = r
	}
	for k := range c.n {
		if c.interned {
			out[c.row(k)] = rank[c.codes[k]]
		} else {
			out[c.row(k)] = rank[k]
		}
	}
}

func (c *Column) rankNumbers(out []uint32) {
	ranks := map[int64]uint32{}
	for _, v := range c.nums {
		ranks[v] = 0
	}
	distinct := make([]int64, 0, len(ranks))
	for v := range ranks {
		distinct = append(distinct, v)
	}
	slices.SortFunc(distinct, c.compareNumbers)
	for r, v := range distinct {
		ranks[v] = uint32(r)
	}
	for k := range c.n {
		out[c.row(k)] = ranks[c.nums[k]]
	}
}

// compareNumbers orders values as the column's kind does; -0 goes before +0.
func (f *Field) compareNumbers(a, b int64) int {
	if f.Kind == Double {
		x, y := math.Float64frombits(uint64(a)), math.Float64frombits(uint64(b))
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// NumberBounds are the least and the largest value of a column of numbers or booleans,
// as AppendInt and its like took them.
func (c *Column) NumberBounds() (least, largest int64, ok bool) {
	for i, v := range c.nums {
		if i == 0 || c.compareNumbers(v, least) < 0 {
			least = v
		}
		if i == 0 || c.compareNumbers(v, largest) > 0 {
			largest = v
		}
	}
	return least, largest, len(c.nums) > 0
}

// TextBounds are the least and the largest value of a byte array column.
func (c *Column) TextBounds() (least, largest []byte, ok bool) {
	for i, v := range c.views {
		b := c.at(v)
		if i == 0 || bytes.Compare(b, least) < 0 {
			least = b
		}
		if i == 0 || bytes.Compare(b, largest) > 0 {
			largest = b
		}
	}
	return least, largest, len(c.views) > 0
}

// CutLower is a prefix of b of at most limit bytes that ends where a code point does: not
// above b.
func CutLower(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	n := limit
	for n > limit-utf8.UTFMax && n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// CutUpper is b if it has at most limit bytes, else a prefix with its last code point (in
// bytes that are not UTF-8: its last byte) raised by one: above b. Where nothing can be
// raised the prefix is longer.
func CutUpper(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	prefix := CutLower(b, limit)
	for end := len(prefix); end > 0; {
		r, n := utf8.DecodeLastRune(b[:end])
		if raised, ok := raise(r, b[end-1], n); ok {
			return append(slices.Clone(b[:end-n]), raised...)
		}
		end -= n
	}
	for end := len(prefix); end < len(b); { // all of it is the highest there is
		r, n := utf8.DecodeRune(b[end:])
		if raised, ok := raise(r, b[end], n); ok {
			return append(slices.Clone(b[:end]), raised...)
		}
		end += n
	}
	return b
}

// raise is the code point after r, or for a byte outside UTF-8 (n is 1) the next byte.
func raise(r rune, b byte, n int) ([]byte, bool) {
	switch {
	case r == utf8.RuneError && n <= 1:
		return []byte{b + 1}, b < 0xFF
	case r == utf8.MaxRune:
		return nil, false
	case r == 0xD7FF:
		return []byte(string(rune(0xE000))), true
	}
	return utf8.AppendRune(nil, r+1), true
}
