package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// PageSpan is where a page of rows lies.
type PageSpan struct {
	Offset      int64 // in the object, of its header
	Bytes       int64 // with its header
	First, Rows int   // in the row group
}

// ReadOffsetIndex reads the offset index of a column chunk whose pages of rows fill [from, to) of the object and hold rows
// rows. It has no checksum; that its pages fill both without a gap is checked, and the pages themselves
// say how many rows they have, so damage shows when a page is read.
func ReadOffsetIndex(b []byte, from, to, rows int64) ([]PageSpan, error) {
	r := headerReader{b: b}
	var out []PageSpan
	r.fields(func(id int, t byte) {
		if id != 1 || t != thriftList {
			r.unknown(id, t)
			return
		}
		n := r.list(thriftStruct)
		out = make([]PageSpan, n)
		for i := range out {
			p := &out[i]
			r.fields(func(id int, t byte) {
				switch {
				case id == 1 && t == thriftI64:
					p.Offset = r.int()
				case id == 2 && t == thriftI32:
					p.Bytes = r.int()
				case id == 3 && t == thriftI64:
					p.First = int(r.int())
				default:
					r.unknown(id, t)
				}
			})
		}
	})
	if r.err != nil {
		return nil, fmt.Errorf("offset index: %w", r.err)
	}
	at, row := from, 0
	for i := range out {
		p := &out[i]
		end := int(rows)
		if i+1 < len(out) {
			end = out[i+1].First
		}
		if p.Offset != at || p.Bytes <= 0 || p.First != row || end <= row || end > int(rows) {
			return nil, fmt.Errorf("offset index: page %d of %d bytes at %d begins with row %d, where byte %d and row %d are due", i, p.Bytes, p.Offset, p.First, at, row)
		}
		p.Rows = end - p.First
		at, row = at+p.Bytes, end
	}
	if at != to || row != int(rows) {
		return nil, fmt.Errorf("offset index: pages end at byte %d and row %d, where the column chunk ends at %d and %d", at, row, to, rows)
	}
	return out, nil
}

// FindPages finds the pages of rows of a column chunk, which b is and lies at an offset of the object, by their headers. They hold rows rows.
func FindPages(b []byte, offset, rows int64) ([]PageSpan, error) {
	var out []PageSpan
	row := 0
	for len(b) > 0 {
		h, n, err := parseHeader(b)
		if err != nil {
			return nil, err
		}
		size := int64(n) + h.compressed
		if h.kind != format.DataPage || h.values == 0 || int64(row+h.values) > rows || size > int64(len(b)) {
			return nil, fmt.Errorf("a %v of %d rows and %d bytes, where %d rows and %d bytes are left", h.kind, h.values, size, rows-int64(row), len(b))
		}
		out = append(out, PageSpan{Offset: offset, Bytes: size, First: row, Rows: h.values})
		b, offset, row = b[size:], offset+size, row+h.values
	}
	if int64(row) != rows {
		return nil, fmt.Errorf("pages of %d rows in a row group of %d", row, rows)
	}
	return out, nil
}

const thriftList = 9

// list reads the head of a list of a type, of no more elements than bytes are left.
func (r *headerReader) list(kind byte) int {
	b := r.byte()
	n := uint64(b >> 4)
	if n == 15 {
		var size int
		n, size = binary.Uvarint(r.b[min(r.at, len(r.b)):])
		if size <= 0 {
			r.err = errShort
			return 0
		}
		r.at += size
	}
	if kind == thriftTrue && b&15 == thriftFalse { // either stands for booleans
		b--
	}
	if r.err == nil && (n > 0 && b&15 != kind || n > uint64(len(r.b)-r.at)) {
		r.err = errors.New("a list of another type, or longer than its bytes")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// PageBounds are what the column index says of a page's values, as Bounds do.
type PageBounds struct {
	Nulls          int64
	Least, Largest []byte // nil: no row has a value
}

// ReadColumnIndex reads the column index of a column chunk with this many pages. Its checksum is compared before.
func ReadColumnIndex(f *Field, b []byte, pages int) ([]PageBounds, error) {
	r := headerReader{b: b}
	out := make([]PageBounds, pages)
	empty := make([]bool, pages)
	parts := 0
	list := func(kind byte, each func(i int)) {
		parts++
		n := r.list(kind)
		if r.err == nil && n != pages {
			r.err = fmt.Errorf("%d entries for %d pages", n, pages)
		}
		for i := 0; i < n && r.err == nil; i++ {
			each(i)
		}
	}
	r.fields(func(id int, t byte) {
		switch {
		case id == 1 && t == thriftList:
			list(thriftTrue, func(i int) { empty[i] = r.byte() == thriftTrue })
		case id == 2 && t == thriftList:
			list(thriftBinary, func(i int) { out[i].Least = r.bytes() })
		case id == 3 && t == thriftList:
			list(thriftBinary, func(i int) { out[i].Largest = r.bytes() })
		case id == 4 && t == thriftI32:
			r.int()
		case id == 5 && t == thriftList:
			list(thriftI64, func(i int) { out[i].Nulls = r.int() })
		default:
			r.unknown(id, t)
		}
	})
	if r.err == nil && parts != 4 {
		r.err = fmt.Errorf("%d lists", parts)
	}
	for i := range out {
		if empty[i] {
			out[i].Least, out[i].Largest = nil, nil
		} else if size := f.BoundBytes(); r.err == nil && size > 0 && (len(out[i].Least) != size || len(out[i].Largest) != size) {
			r.err = fmt.Errorf("bounds of %d and %d bytes", len(out[i].Least), len(out[i].Largest))
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("column index: %w", r.err)
	}
	return out, nil
}

// BoundBytes is the size of a bound of numbers; 0 for byte arrays.
func (f *Field) BoundBytes() int {
	switch {
	case f.Kind.Text():
		return 0
	case f.Kind == Boolean:
		return 1
	case f.Kind == Int32:
		return 4
	}
	return 8
}

// bytes reads a byte array, which is never nil and lies in the index.
func (r *headerReader) bytes() []byte {
	n, size := binary.Uvarint(r.b[min(r.at, len(r.b)):])
	if r.err == nil && (size <= 0 || n > uint64(len(r.b)-r.at-size)) {
		r.err = errShort
	}
	if r.err != nil {
		return []byte{}
	}
	r.at += size + int(n)
	return r.b[r.at-int(n) : r.at : r.at]
}

// Number is a bound of a column of numbers, as Column.AppendInt and its like take them.
func Number(bound []byte) int64 {
	switch len(bound) {
	case 1:
		return int64(bound[0])
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(bound)))
	}
	return int64(binary.LittleEndian.Uint64(bound))
}
