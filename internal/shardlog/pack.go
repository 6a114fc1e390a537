package shardlog

import (
	"encoding/binary"
	"strings"
)

// packRanges is the ranges in one string: a count, then of each the three texts
// with their lengths, and the nulls; all numbers as uvarints.
func packRanges(list []ColumnRange) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	var n [binary.MaxVarintLen64]byte
	number := func(v uint64) { b.Write(n[:binary.PutUvarint(n[:], v)]) }
	number(uint64(len(list)))
	for _, r := range list {
		for _, text := range []string{r.Column, r.Min, r.Max} {
			number(uint64(len(text)))
			b.WriteString(text)
		}
		number(uint64(r.Nulls))
	}
	return strings.Clone(b.String()) // without the builder's spare room
}

// unpackRanges reads what packRanges made; the texts share its memory.
func unpackRanges(packed string) []ColumnRange {
	if packed == "" {
		return nil
	}
	number := func() uint64 {
		var v uint64
		for shift := 0; ; shift += 7 {
			c := packed[0]
			packed = packed[1:]
			v |= uint64(c&0x7f) << shift
			if c < 0x80 {
				return v
			}
		}
	}
	text := func() string {
		n := number()
		out := packed[:n]
		packed = packed[n:]
		return out
	}
	out := make([]ColumnRange, number())
	for i := range out {
		out[i] = ColumnRange{Column: text(), Min: text(), Max: text(), Nulls: int64(number())}
	}
	return out
}
