package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	if r.err == nil && (n > 0 && b&15 != kind || n > uint64(len(r.b)-r.at)) {
		r.err = errors.New("a list of another type, or longer than its bytes")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}
