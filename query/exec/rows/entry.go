package rows

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/togodb/togo/query/vec"
)

// entry is a row with the leading bits of its first key.
type entry struct {
	key  uint64
	row  int32
	rank int8 // where NULL stands
}

// ranked orders by rank and key at once, but for the key's lowest two bits: what is not equal may become so.
func (e entry) ranked() uint64 { return uint64(e.rank+1)<<62 | e.key>>2 }

// AppendRanks appends a number for each row of v: in the order of the numbers stand the rows, but that rows of which one is before
// the other may have the same.
func AppendRanks(to []uint64, v *vec.Vector, k Key) []uint64 {
	entries := make([]entry, v.Len)
	lead(v.Flat(), k, entries)
	for _, e := range entries {
		to = append(to, e.ranked())
	}
	return to
}

// stopEvery is after how many steps long work asks whether it is still wanted.
const stopEvery = 1 << 14

// sortEntries sorts by rank and key, and where these are equal by the rows. It ends early, with the entries in any order, once stopped
// is an error, which it returns.
func sortEntries(entries []entry, less func(a, b int32) int, stopped func() error) error {
	steps := 0
	var err error
	within := func(a, b int32) int {
		if steps++; steps%stopEvery == 0 && err == nil {
			err = stopped()
		}
		if err != nil {
			return 0 // what is equal is soon sorted
		}
		return less(a, b)
	}
	if len(entries) < radixFrom {
		slices.SortFunc(entries, func(a, b entry) int {
			switch {
			case a.rank != b.rank:
				return int(a.rank) - int(b.rank)
			case a.key < b.key:
				return -1
			case a.key > b.key:
				return 1
			}
			return within(a.row, b.row)
		})
		return err
	}
	if err := radix(entries, stopped); err != nil {
		return err
	}
	for from := 0; from < len(entries) && err == nil; {
		to := from + 1
		for to < len(entries) && entries[to].key == entries[from].key && entries[to].rank == entries[from].rank {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(entries[from:to], func(a, b entry) int { return within(a.row, b.row) })
		}
		from = to
	}
	return err
}

// radixFrom is from how many entries on sorting by digits is faster than by comparison.
const radixFrom = 2048

// radix sorts by rank and key, byte by byte from the lowest; bytes that are the same in all entries cost nothing.
func radix(entries []entry, stopped func() error) error {
	var counts [9][256]int
	for _, e := range entries {
		for d := range 8 {
			counts[d][byte(e.key>>(8*d))]++
		}
		counts[8][byte(e.rank+1)]++
	}
	from, to := entries, make([]entry, len(entries))
	for d := range counts {
		c := &counts[d]
		digit := func(e entry) byte { return byte(e.key >> (8 * d)) }
		if d == 8 {
			digit = func(e entry) byte { return byte(e.rank + 1) }
		}
		if c[digit(from[0])] == len(entries) {
			continue
		}
		if err := stopped(); err != nil {
			return err
		}
		at := 0
		for i, n := range c {
			c[i], at = at, at+n
		}
		if d == 8 {
			for _, e := range from {
				i := byte(e.rank + 1)
				to[c[i]] = e
				c[i]++
			}
		} else {
			for _, e := range from {
				i := byte(e.key >> (8 * d))
				to[c[i]] = e
				c[i]++
			}
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
	return nil
}

// lead fills the entries: their keys order as the values do, or leave equal what is not.
func lead(v *vec.Vector, k Key, entries []entry) {
	flip := uint64(0)
	if k.Desc {
		flip = math.MaxUint64
	}
	rank := int8(1)
	if k.NullsFirst {
		rank = -1
	}
	for i := range entries {
		e := &entries[i]
		e.row = int32(i)
		if v.IsNull(i) {
			e.rank = rank
			continue
		}
		switch {
		case v.Ints != nil:
			e.key = uint64(v.Ints[i]) ^ 1<<63
		case v.Doubles != nil:
			e.key = doubleBits(v.Doubles[i])
		case v.Texts != nil:
			e.key = prefix(v.Texts[i])
		}
		e.key ^= flip
	}
}

// doubleBits order as doubles do: NaN is above all others, -0 is 0.
func doubleBits(f float64) uint64 {
	switch b := math.Float64bits(f); {
	case f != f:
		return math.MaxUint64
	case f == 0:
		return 1 << 63
	case b>>63 == 1:
		return ^b
	default:
		return b | 1<<63
	}
}

func prefix(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}
