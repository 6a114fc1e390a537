package fragment

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// A key's text stands for the values that a row has for the leading paths of the sort
// key. Texts of one tenant and one sort key compare bytewise as rows do, whatever
// columns their files have; equal texts of different rows are possible. Parts are joined
// by a space; each is
//
//	~                     no value: sorts last
//	<id>=<value>          the field id of the value's column and the value
//
// The id is in hex behind its number of digits (264 for 100). A boolean is 0 or 1, a
// number 16 hex digits of its order-preserved bits. Text keeps its bytes from " to };
// those below are ! with two hex digits, those above ~ with two. Text of more than
// MaxRangeBytes is cut there and ends in +, and the key's text with it: what would
// follow parts only rows that differ in what was cut.

const (
	keySeparator = ' ' // below every character of a part
	keyNull      = '~' // above every digit
	keyCut       = '+' // above the separator
)

// keyValue is the value that a row has for a path.
type keyValue struct {
	fieldID int32 // 0: none
	kind    parquetfile.Kind
	number  int64 // as parquetfile.Column.AppendInt and its like take it
	text    []byte
}

// appendSpan appends the text of a key's values.
func appendSpan(dst []byte, values []keyValue) []byte {
	for i := range values {
		if i > 0 {
			dst = append(dst, keySeparator)
		}
		cut := false
		if dst, cut = values[i].append(dst); cut {
			break
		}
	}
	return dst
}

func (v *keyValue) append(dst []byte) (_ []byte, cut bool) {
	if v.fieldID == 0 {
		return append(dst, keyNull), false
	}
	id := strconv.FormatUint(uint64(uint32(v.fieldID)), 16)
	dst = append(append(append(dst, '0'+byte(len(id))), id...), '=')
	switch {
	case v.kind == parquetfile.Boolean:
		return append(dst, '0'+byte(v.number&1)), false
	case v.kind.Text():
		return appendKeyText(dst, v.text)
	}
	return appendHex(dst, orderedBits(v.kind, v.number), 16), false
}

// orderedBits are bits that compare as the numbers do.
func orderedBits(kind parquetfile.Kind, n int64) uint64 {
	if kind == parquetfile.Double && n < 0 {
		return ^uint64(n)
	}
	return uint64(n) ^ 1<<63
}

func appendKeyText(dst, text []byte) (_ []byte, cut bool) {
	if cut = len(text) > MaxRangeBytes; cut {
		text = text[:MaxRangeBytes]
	}
	for _, c := range text {
		switch {
		case c <= '!':
			dst = appendHex(append(dst, '!'), uint64(c), 2)
		case c >= '~':
			dst = appendHex(append(dst, '~'), uint64(c), 2)
		default:
			dst = append(dst, c)
		}
	}
	if cut {
		dst = append(dst, keyCut)
	}
	return dst, cut
}

func appendHex(dst []byte, n uint64, digits int) []byte {
	for digits--; digits >= 0; digits-- {
		dst = append(dst, "0123456789abcdef"[n>>(4*digits)&15])
	}
	return dst
}

// keyPaths are the paths of a full sort key whose values a key's text has: the first
// columns of them (0: all), without timestamp.
func keyPaths(key []string, columns int) []string {
	key = key[:len(key)-1] // timestamp is last
	if columns > 0 && columns < len(key) {
		return key[:columns]
	}
	return key
}

// SortKeyText is a sort key as commit records have it: its paths with timestamp at the
// end, joined by commas; "" for DefaultSortKey and for nil, which stands for it.
func SortKeyText(key []string) string {
	text := strings.Join(fullSortKey(key), ",")
	if text == defaultSortKeyText {
		return ""
	}
	return text
}

var defaultSortKeyText = strings.Join(fullSortKey(nil), ",")

// keyText is the text of the key of a row.
func (b *builder) keyText(paths []string, row int) string {
	values := make([]keyValue, len(paths))
	for i, path := range paths {
		for _, f := range b.ofPath(path) {
			v := keyValue{fieldID: f.known.FieldID, kind: f.data.Kind}
			var ok bool
			if v.number, v.text, ok = f.data.At(row); ok {
				values[i] = v
				break
			}
		}
	}
	return string(appendSpan(nil, values))
}

// noRank is the rank of rows without a value.
const noRank = math.MaxUint32

// pathRanks gives each row's rank by a path: by the first of the path's columns, which
// are in the order of their field ids, that has a value in the row, then by the
// value. nil if there are no columns.
func pathRanks(columns []*parquetfile.Column, rows int) []uint32 {
	var out []uint32
	base := uint32(0)
	for _, c := range columns {
		ranks := c.Ranks(rows, noRank)
		next := base
		if out == nil {
			out = slices.Repeat([]uint32{noRank}, rows)
		}
		for i, r := range ranks {
			if r != noRank && out[i] == noRank {
				out[i] = base + r
				next = max(next, base+r+1)
			}
		}
		base = next
	}
	return out
}
