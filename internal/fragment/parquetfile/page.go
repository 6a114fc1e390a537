package parquetfile

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Dictionary is that of a column chunk.
type Dictionary struct {
	Values
	hashes  []uint64 // by code
	remap   []int32  // by code: the code + 1 in the chunk that owner writes
	owner   *ChunkWriter
	views   []int32 // by code: the number of the value + 1 in viewsOf, which is not interned
	viewsOf *Column
}

// Kept is the memory of the dictionary's buffers; 0 of none.
func (d *Dictionary) Kept() int64 {
	if d == nil {
		return 0
	}
	return int64(8*cap(d.nums) + cap(d.text) + 4*cap(d.ends) + 8*cap(d.hashes) + 4*cap(d.remap) + 4*cap(d.views))
}

// Trim drops what is made anew when it is needed.
func (d *Dictionary) Trim() {
	if d != nil {
		d.hashes, d.remap, d.owner, d.views, d.viewsOf = nil, nil, nil, nil, nil
	}
}

func (d *Dictionary) len() int { return len(d.nums) + len(d.ends) }

// Page is a decoded data page. Its rows are taken one run after the other.
type Page struct {
	Field  *Field
	Rows   int
	levels []byte // by row, 1 or 0; empty: each row has a value
	count  int    // values
	Values        // unless dict
	codes  []int32
	dict   *Dictionary
	raw    []byte // what text lies in
	nulls  []bool // of Flatten, by row
	texts  []string
	runs   []Run // in the place of codes

	row, value int // of the next one that is not taken
}

// Coded tells that the page's values are codes of a dictionary.
func (p *Page) Coded() bool { return p.dict != nil }

// DictionaryBytes is the memory of the page's dictionary; 0 without one.
func (p *Page) DictionaryBytes() int64 { return p.dict.Kept() }

// Left is how many rows are not taken yet.
func (p *Page) Left() int { return p.Rows - p.row }

// skip takes n rows and tells how many values they have.
func (p *Page) skip(n int) (values int) {
	values = n
	if len(p.levels) > 0 {
		values = bytes.Count(p.levels[p.row:p.row+n], []byte{1})
	}
	p.row += n
	p.value += values
	return values
}

// Skip takes rows without using them.
func (p *Page) Skip(n int) { p.skip(n) }

// Kept is the memory of the page's buffers.
func (p *Page) Kept() int {
	return cap(p.levels) + 8*cap(p.nums) + cap(p.raw) + 4*cap(p.ends) + 4*cap(p.codes) + cap(p.nulls) + 16*cap(p.texts)
}

// Rest is a page of the rows that are not taken, in memory of its own.
func (p *Page) Rest() *Page {
	r := &Page{Field: p.Field, Rows: p.Rows - p.row, count: p.count - p.value, dict: p.dict}
	if len(p.levels) > 0 {
		r.levels = slices.Clone(p.levels[p.row:])
	}
	switch {
	case p.dict != nil:
		r.codes = slices.Clone(p.codes[p.value:])
	case !p.Field.Kind.Text():
		r.nums = slices.Clone(p.nums[p.value:])
	default:
		from := uint32(0)
		if p.value > 0 {
			from = p.ends[p.value-1]
		}
		r.raw = slices.Clone(p.text[from:])
		r.text, r.ends = r.raw, slices.Clone(p.ends[p.value:])
		for i := range r.ends {
			r.ends[i] -= from
		}
	}
	return r
}

// Seed makes the hashes of a column's values its own. Zero is what a zero's hash is
// lowered by: 0, or ZeroAsNull's, so that a zero adds as little as a null.
type Seed struct{ Column, Zero uint64 }

// ZeroAsNull is the seed of a column that is left out where all its values are zero.
func ZeroAsNull(column uint64) Seed { return Seed{column, mix(0, column)} }

// text takes sixteen bytes at a time into one multiplication.
func (s Seed) text(b []byte) uint64 {
	h := s.Column ^ uint64(len(b))*0x9E3779B97F4A7C15
	for len(b) > 16 {
		h = mix(binary.LittleEndian.Uint64(b)^h, binary.LittleEndian.Uint64(b[8:])^s.Column)
		b = b[16:]
	}
	var x, y uint64
	switch n := len(b); {
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		x = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return mix(x^h, y^s.Column)
}

func (s Seed) number(n int64) uint64 { return mix(uint64(n), s.Column) - s.Zero }

// Hashes adds the hashes of the values of rows [from, from+len(sums)) of the page to
// sums, one a row. A value hashes alike however its page is encoded; a null adds
// nothing. They tell damage and mistakes, not forgery. No row is taken.
func (p *Page) Hashes(sums []uint64, from int, seed Seed) {
	value := from
	var levels []byte
	if len(p.levels) > 0 {
		value = bytes.Count(p.levels[:from], []byte{1})
		levels = p.levels[from : from+len(sums)]
	}
	values := len(sums)
	if levels != nil {
		values = bytes.Count(levels, []byte{1})
	}
	var hash func(i int) uint64
	switch {
	case p.dict != nil:
		coded, codes := p.dict.hashesOf(p.Field, seed), p.codes[value:value+values]
		if levels == nil {
			for i, code := range codes {
				sums[i] += coded[code]
			}
			return
		}
		hash = func(i int) uint64 { return coded[codes[i]] }
	case p.Field.Kind.Text():
		if levels == nil {
			for i := range sums {
				sums[i] += seed.text(p.Text(value + i))
			}
			return
		}
		hash = func(i int) uint64 { return seed.text(p.Text(value + i)) }
	default:
		nums := p.nums[value : value+values]
		if levels == nil {
			for i, n := range nums {
				sums[i] += seed.number(n)
			}
			return
		}
		hash = func(i int) uint64 { return seed.number(nums[i]) }
	}
	next := 0
	for i, level := range levels {
		if level == 1 {
			sums[i] += hash(next)
			next++
		}
	}
}

func (d *Dictionary) hashesOf(f *Field, seed Seed) []uint64 {
	if d.hashes == nil {
		d.hashes = make([]uint64, d.len())
		for i := range d.hashes {
			if f.Kind.Text() {
				d.hashes[i] = seed.text(d.Text(i))
			} else {
				d.hashes[i] = seed.number(d.nums[i])
			}
		}
	}
	return d.hashes
}

// Peek is the value of the i-th row that is not taken.
func (p *Page) Peek(i int) (number int64, text []byte, ok bool) {
	value := p.value + i
	if len(p.levels) > 0 {
		if p.levels[p.row+i] == 0 {
			return 0, nil, false
		}
		value = p.value + bytes.Count(p.levels[p.row:p.row+i], []byte{1})
	}
	switch {
	case p.dict != nil && p.Field.Kind.Text():
		return 0, p.dict.Text(int(p.codes[value])), true
	case p.dict != nil:
		return p.dict.nums[p.codes[value]], nil, true
	case p.Field.Kind.Text():
		return 0, p.Text(value), true
	}
	return p.nums[value], nil, true
}

// Changes marks those of the next rows that have another value than the row before, the
// first aside.
func (p *Page) Changes(changed []byte) {
	value := p.value - 1
	for i := range changed {
		has := len(p.levels) == 0 || p.levels[p.row+i] == 1
		if has {
			value++
		}
		if i == 0 {
			continue
		}
		had := len(p.levels) == 0 || p.levels[p.row+i-1] == 1
		switch {
		case has != had:
			changed[i] = 1
		case !has:
		case p.dict != nil:
			if p.codes[value] != p.codes[value-1] {
				changed[i] = 1
			}
		case p.Field.Kind.Text():
			if !bytes.Equal(p.Text(value), p.Text(value-1)) {
				changed[i] = 1
			}
		default:
			if p.nums[value] != p.nums[value-1] {
				changed[i] = 1
			}
		}
	}
}

// Numbers gives the numbers of the next rows of a column without nulls.
func (p *Page) Numbers(out []int64) {
	if p.dict == nil {
		copy(out, p.nums[p.value:])
		return
	}
	for i, code := range p.codes[p.value : p.value+len(out)] {
		out[i] = p.dict.nums[code]
	}
}
