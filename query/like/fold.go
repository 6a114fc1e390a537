package like

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unsafe"
)

// matchFolded matches the texts in lower case.
func (p *Pattern) matchFolded(texts []string, nulls []bool, out []int64) {
	var buf []byte
	middle, contains := "", false
	if len(p.parts) == 3 && p.parts[0].empty() && p.parts[2].empty() && p.parts[1].any == nil {
		middle, contains = p.parts[1].text, true
	}
	for i, t := range texts {
		if nulls != nil && nulls[i] {
			continue
		}
		var low string
		if low, buf = lower(t, buf); contains {
			out[i] = bit(strings.Contains(low, middle))
		} else {
			out[i] = bit(p.matches(low))
		}
	}
}

func (q part) empty() bool { return q.any == nil && q.text == "" }

// lower gives a text in lower case, letter by letter, which is valid until buf is used again.
func lower(t string, buf []byte) (string, []byte) {
	if cap(buf) < len(t)+8 {
		buf = make([]byte, 2*len(t)+64)
	}
	buf = buf[:len(t)]
	if !lowerASCII(buf, t) {
		return strings.Map(unicode.ToLower, t), buf
	}
	return unsafe.String(unsafe.SliceData(buf), len(buf)), buf
}

// lowerASCII writes t in lower case, eight bytes at a time; false if not all of it is ASCII.
func lowerASCII(dst []byte, t string) bool {
	const (
		high = 0x8080808080808080
		ones = 0x0101010101010101
	)
	src := unsafe.Slice(unsafe.StringData(t), len(t))
	i := 0
	for ; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		if x&high != 0 {
			return false
		}
		// The high bit of each byte that is from A to Z.
		upper := (x + (0x80-'A')*ones) &^ (x + (0x80-'Z'-1)*ones) & high
		binary.LittleEndian.PutUint64(dst[i:], x|upper>>2)
	}
	for ; i < len(src); i++ {
		c := src[i]
		if c >= 0x80 {
			return false
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst[i] = c
	}
	return true
}
