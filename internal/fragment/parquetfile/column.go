// Package parquetfile writes flat Parquet files: from whole columns (Write), or as a stream
// from runs of rows of other files' pages (Writer), which it decodes (ChunkReader).
//
// A column is filled in the order in which rows come, and written in the order of a
// permutation of them, so that sorting moves no values. Text columns intern their
// values while they repeat: the interned form is what the file's dictionary needs.
//
// What a file is made of:
//
//  1. Columns are leaves of the root, required or optional, never repeated.
//  2. Pages are version 1, compressed each for itself with zstd, with a CRC. A page ends
//     at PageRows rows or PageBytes bytes, of text that repeats at SmallPageBytes;
//     a value above that has a page that begins with it, so that no other page grows.
//  3. A row group has RowGroupRows rows, or fewer whose values have RowGroupBytes; its
//     columns lie one after the other, each with its dictionary page first, then the row
//     group's Bloom filters.
//  4. Each column has a column index and an offset index. Bounds of byte arrays are cut
//     to BoundBytes: the lower at a code point's end, the upper so too with
//     its last code point raised by one.
//  5. A checksum of the footer stands before it (CheckFooter); those of the indexes and of
//     the Bloom filters are in its metadata (Sums).
//  6. The same columns, permutation and options give the same bytes.
//
// What a ChunkReader is given may be damaged. A page's CRC is checked before it is
// unpacked, what a header says is held against the footer before memory is taken, and
// each count and code against the page's size and its dictionary: damage is an error.
package parquetfile

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"
)

// Kind is a column's physical and logical type.
type Kind uint8

const (
	Boolean         Kind = iota + 1
	Int32                // signed
	Int64                // signed
	TimestampMicros      // UTC
	Double
	String // UTF-8
	JSON   // UTF-8 text of a JSON value
	Bytes
)

// Sizes of a file's parts. Pages are small enough that a look-up of few rows reads
// little, and large enough to compress; row groups suit engines that work on one a
// thread.
const (
	PageRows       = 16 << 10
	PageBytes      = 256 << 10
	SmallPageBytes = 64 << 10
	RowGroupRows   = 128 << 10
	// RowGroupBytes are of byte arrays. A reader that takes whole row groups needs
	// memory for one; one that sorts it anew, for a column of it.
	RowGroupBytes = 64 << 20
	BoundBytes    = 64
)

const (
	// maxInterned bounds the distinct values of a text column that is interned. Beyond,
	// a dictionary takes more from a reader than it saves.
	maxInterned = 64 << 10
	// maxInternedBytes bounds the dictionary's bytes.
	maxInternedBytes = 4 << 20
	// internProbe is how many values a text column takes before it is asked whether
	// interning pays.
	internProbe = 1 << 10
	// Of a column whose values hardly repeat within internProbe: how many repeats tell
	// something, and how many distinct values they must point to at most.
	leastRepeats   = 16
	likelyDistinct = maxInterned / 4
)

// Field is a column's place in the schema.
type Field struct {
	Name     string
	FieldID  int32
	Kind     Kind
	Required bool // every row has a value
	Bloom    bool // of byte arrays alone
}

// Column is one column while it is filled, and its place in the schema.
type Column struct {
	Field

	n    int     // values
	rows []int32 // of each value, ascending; empty while value k is of row k
	nums []int64 // booleans, integers, bits of doubles

	// Of byte arrays: values, or while interned the distinct ones with codes.
	arena    []byte
	views    []view
	codes    []int32
	table    []int32 // open addressing; index + 1 into views
	interned bool
}

type view struct {
	offset uint32
	length uint32
}

// seed is this process's own, so that nobody can send values of one place in all tables.
var seed = Seed{Column: maphash.Bytes(maphash.MakeSeed(), nil)}

// NewColumn is an empty column.
func NewColumn(name string, fieldID int32, kind Kind) *Column {
	c := &Column{Field: Field{Name: name, FieldID: fieldID, Kind: kind}}
	c.interned = c.text()
	return c
}

// Reset empties the column and keeps its memory, up to keepBytes.
func (c *Column) Reset(name string, fieldID int32, kind Kind, keepBytes int) {
	*c = Column{
		Field: Field{Name: name, FieldID: fieldID, Kind: kind},
		rows:  keep(c.rows, keepBytes), nums: keep(c.nums, keepBytes/8),
		arena: keep(c.arena, keepBytes), views: keep(c.views, keepBytes/8),
		codes: keep(c.codes, keepBytes/4), table: keep(c.table, keepBytes/4),
	}
	c.interned = c.text()
}

func keep[T any](s []T, most int) []T {
	if cap(s) > most {
		return nil
	}
	return s[:0]
}

// Text tells that values are byte arrays.
func (k Kind) Text() bool { return k == String || k == JSON || k == Bytes }

func (c *Column) text() bool { return c.Kind.Text() }

// Len is the number of values.
func (c *Column) Len() int { return c.n }

// LastRow is the row of the last value, or -1.
func (c *Column) LastRow() int {
	if c.n == 0 {
		return -1
	}
	return c.row(c.n - 1)
}

// row is the row of the k-th value.
func (c *Column) row(k int) int {
	if len(c.rows) == 0 {
		return k
	}
	return int(c.rows[k])
}

// place counts a value of a row.
func (c *Column) place(row int) {
	if row != c.n || len(c.rows) > 0 {
		if len(c.rows) == 0 {
			for k := range c.n {
				c.rows = append(c.rows, int32(k))
			}
		}
		c.rows = append(c.rows, int32(row))
	}
	c.n++
}

// Size estimates the memory of the column's values.
func (c *Column) Size() int {
	return 4*len(c.rows) + 8*len(c.nums) + len(c.arena) + 8*len(c.views) + 4*len(c.codes) + 4*len(c.table)
}

// Kept is the memory that the column's buffers hold, filled or not.
func (c *Column) Kept() int {
	return 4*cap(c.rows) + 8*cap(c.nums) + cap(c.arena) + 8*cap(c.views) + 4*cap(c.codes) + 4*cap(c.table)
}

// AppendInt adds a value for a row behind all rows so far.
func (c *Column) AppendInt(row int, v int64) {
	c.place(row)
	c.nums = append(c.nums, v)
}

// AppendBool adds a value for a row behind all rows so far.
func (c *Column) AppendBool(row int, v bool) {
	n := int64(0)
	if v {
		n = 1
	}
	c.AppendInt(row, n)
}

// AppendDouble adds a value for a row behind all rows so far.
func (c *Column) AppendDouble(row int, v float64) { c.AppendInt(row, int64(math.Float64bits(v))) }

// AppendBytes adds a value for a row behind all rows so far, and copies it.
func (c *Column) AppendBytes(row int, v []byte) {
	c.place(row)
	if !c.interned {
		c.push(v)
		return
	}
	c.codes = append(c.codes, c.internValue(v))
	if len(c.codes) == internProbe && !c.mayPay() || c.tooMany() {
		c.spread()
	}
}

// internValue is the code of a value, which is a new one if it is not known.
func (c *Column) internValue(v []byte) int32 {
	if len(c.views)*2 >= len(c.table) {
		c.grow()
	}
	mask := len(c.table) - 1
	i := int(seed.text(v)) & mask
	for c.table[i] != 0 {
		if known := c.table[i] - 1; bytes.Equal(c.at(c.views[known]), v) {
			return known
		}
		i = (i + 1) & mask
	}
	c.push(v)
	c.table[i] = int32(len(c.views))
	return int32(len(c.views) - 1)
}

// tooMany tells that a dictionary would take more from a reader than it saves.
func (c *Column) tooMany() bool { return len(c.views) > maxInterned || len(c.arena) > maxInternedBytes }

// pays tells that values repeat enough for a dictionary.
func (c *Column) pays() bool { return len(c.views)*2 <= len(c.codes) }

// mayPay tells that values repeat enough, or are so few that many more rows will repeat
// them: of N equally likely ones, n rows have about n*n/2N repeats.
func (c *Column) mayPay() bool {
	n := len(c.codes)
	repeats := n - len(c.views)
	return c.pays() || repeats >= leastRepeats && n*n/(2*repeats) <= likelyDistinct
}

func (c *Column) push(v []byte) {
	if uint64(len(c.arena)+len(v)) > math.MaxUint32 {
		panic("parquetfile: a column of more than 4 GiB; fragments are bounded far below")
	}
	c.views = append(c.views, view{uint32(len(c.arena)), uint32(len(v))})
	c.arena = append(c.arena, v...)
}

func (c *Column) at(v view) []byte { return c.arena[v.offset : v.offset+v.length] }

// grow doubles the table.
func (c *Column) grow() {
	n := max(64, 2*len(c.table))
	if cap(c.table) >= n {
		c.table = c.table[:n]
		clear(c.table)
	} else {
		c.table = make([]int32, n)
	}
	for k, v := range c.views {
		i := int(seed.text(c.at(v))) & (n - 1)
		for c.table[i] != 0 {
			i = (i + 1) & (n - 1)
		}
		c.table[i] = int32(k + 1)
	}
}

// spread ends interning: from now on each value stands for itself.
func (c *Column) spread() {
	distinct := len(c.views)
	c.views = slices.Grow(c.views, len(c.codes)-distinct)[:len(c.codes)]
	// From behind: codes are below their own index or equal to it, so what a step
	// overwrites is not read again.
	for i := len(c.codes) - 1; i >= 0; i-- {
		c.views[i] = c.views[c.codes[i]]
	}
	c.codes, c.table, c.interned = c.codes[:0], c.table[:0], false
}

// value is the k-th value of a byte array column.
func (c *Column) value(k int32) []byte {
	if c.interned {
		k = c.codes[k]
	}
	return c.at(c.views[k])
}

// At is the value of a row: a number as AppendInt took it, or a byte array's bytes.
func (c *Column) At(row int) (number int64, text []byte, ok bool) {
	k := row
	if len(c.rows) > 0 {
		if k, ok = slices.BinarySearch(c.rows, int32(row)); !ok {
			return 0, nil, false
		}
	} else if row >= c.n {
		return 0, nil, false
	}
	if c.text() {
		return 0, c.value(int32(k)), true
	}
	return c.nums[k], nil, true
}

// places fills pos, as long as the file has rows, with the index of each row's value or
// -1. A column with a value in every row gives nil: a row's value has the row's index.
func (c *Column) places(pos []int32) []int32 {
	if c.n == len(pos) {
		return nil
	}
	for i := range pos {
		pos[i] = -1
	}
	for k := range c.n {
		pos[c.row(k)] = int32(k)
	}
	return pos
}

// Ranks gives each row's rank among the column's distinct values in ascending order,
// from 0; rows without a value get missing.
func (c *Column) Ranks(rows int, missing uint32) []uint32 {
	out := make([]uint32, rows)
	for i := range out {
		out[i] = missing
	}
	if c.text() {
		c.rankText(out)
	} else {
		c.rankNumbers(out)
	}
	return out
}
