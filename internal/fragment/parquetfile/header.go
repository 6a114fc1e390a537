package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// pageHeader is what a page's header says, of the pages that Writer writes.
type pageHeader struct {
	kind                 format.PageType
	encoding             format.Encoding
	values               int // rows of a data page, entries of a dictionary
	raw, compressed, crc int64
}

// errShort: the bytes end within the header.
var errShort = errors.New("a page's header goes beyond what was read")

// Types of Thrift's compact protocol that headers have.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftStruct = 12
)

// maxHeader bounds the bytes of a page's header: ours have below fifty.
const maxHeader = 128

// headerReader reads Thrift's compact protocol, strictly: integers and structures.
type headerReader struct {
	b   []byte
	at  int
	err error
}

func (r *headerReader) byte() byte {
	if r.at >= len(r.b) {
		if r.err == nil {
			r.err = errShort
		}
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *headerReader) int() int64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Varint(r.b[r.at:])
	if n < 0 {
		r.err = errors.New("a page's header: a number of more than 64 bits")
	} else if n == 0 {
		r.err = errShort
	}
	r.at += max(n, 0)
	return v
}

// fields calls f for each field of a structure.
func (r *headerReader) fields(f func(id int, kind byte)) {
	id := 0
	for r.err == nil {
		b := r.byte()
		if b == 0 {
			return
		}
		if delta := int(b >> 4); delta > 0 {
			id += delta
		} else {
			id = int(r.int())
		}
		f(id, b&15)
	}
}

// statistics passes over those of a page, which Writer leaves empty.
func (r *headerReader) statistics() {
	r.fields(func(id int, kind byte) {
		switch kind {
		case thriftTrue, thriftFalse:
		case thriftI32, thriftI64:
			r.int()
		case thriftBinary:
			n, size := binary.Uvarint(r.b[min(r.at, len(r.b)):])
			if size <= 0 || n > uint64(len(r.b)-r.at-size) {
				r.err = errShort
				return
			}
			r.at += size + int(n)
		default:
			r.unknown(id, kind)
		}
	})
}

func (r *headerReader) unknown(id int, kind byte) {
	if r.err == nil {
		r.err = fmt.Errorf("a page's header has a field %d of type %d that is not ours", id, kind)
	}
}

// appendHeader appends the header of a page, without statistics: the column index has them.
func appendHeader(dst []byte, h pageHeader) []byte {
	const i32 = 1<<4 | thriftI32 // the next field
	number := func(n int64) { dst = binary.AppendVarint(append(dst, i32), n) }
	number(int64(h.kind))
	number(h.raw)
	number(h.compressed)
	number(h.crc)
	if h.kind == format.DictionaryPage {
		dst = append(dst, 3<<4|thriftStruct)
	} else {
		dst = append(dst, 1<<4|thriftStruct)
	}
	number(int64(h.values))
	number(int64(h.encoding))
	if h.kind == format.DataPage {
		number(int64(format.RLE))
		number(int64(format.RLE))
	}
	return append(dst, 0, 0)
}

// parseHeader reads the header at the start of b and gives its length.
func parseHeader(b []byte) (h pageHeader, n int, err error) {
	r := headerReader{b: b[:min(len(b), maxHeader)]}
	kind, parts := int64(-1), 0
	r.fields(func(id int, t byte) {
		switch {
		case id == 1 && t == thriftI32:
			kind = r.int()
		case id == 2 && t == thriftI32:
			h.raw = r.int()
		case id == 3 && t == thriftI32:
			h.compressed = r.int()
		case id == 4 && t == thriftI32:
			h.crc = r.int()
		case id == 5 && t == thriftStruct && kind == int64(format.DataPage), id == 7 && t == thriftStruct && kind == int64(format.DictionaryPage):
			parts++
			h.kind = format.PageType(kind)
			r.fields(h.part(&r))
		default:
			r.unknown(id, t)
		}
	})
	switch {
	case errors.Is(r.err, errShort) && len(b) >= maxHeader:
		return h, 0, errors.New("a page's header of more than 128 bytes")
	case r.err != nil:
		return h, 0, r.err
	case parts != 1:
		return h, 0, fmt.Errorf("a page of type %d with %d headers", kind, parts)
	case h.values < 0 || h.values > MaxPageValues || h.raw < 0 || h.compressed < 0 || max(h.raw, h.compressed) > math.MaxInt32:
		return h, 0, fmt.Errorf("a page of %d values, %d bytes, %d in the file", h.values, h.raw, h.compressed)
	}
	return h, r.at, nil
}

// part reads the header of a data page or of a dictionary.
func (h *pageHeader) part(r *headerReader) func(id int, t byte) {
	return func(id int, t byte) {
		switch {
		case id == 1 && t == thriftI32:
			h.values = int(r.int())
		case id == 2 && t == thriftI32:
			h.encoding = format.Encoding(r.int())
		case (id == 3 || id == 4) && t == thriftI32: // of levels: one is all there is
			if e := r.int(); r.err == nil && format.Encoding(e) != format.RLE {
				r.err = fmt.Errorf("levels of encoding %d", e)
			}
		case id == 5 && t == thriftStruct && h.kind == format.DataPage:
			r.statistics()
		case id == 3 && (t == thriftTrue || t == thriftFalse): // a sorted dictionary or not
		default:
			r.unknown(id, t)
		}
	}
}

// MaxPageValues bounds what a page's header may ask memory for: far above what Writer
// puts into a page or a dictionary.
const MaxPageValues = 1 << 20
