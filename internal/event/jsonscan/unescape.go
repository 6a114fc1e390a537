package jsonscan

import (
	"bytes"
	"unicode/utf8"
)

// AppendUnescaped appends the text of a string whose escapes are untouched (Raw of a
// String) and that a reader of this package has accepted; half a surrogate pair becomes
// U+FFFD.
func AppendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		n := 2
		switch c := raw[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(raw, i+2)
			n = 6
			if r >= 0xD800 && r <= 0xDFFF {
				low := lowHalf(raw, i+6)
				if r < 0xDC00 && low >= 0 {
					r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
					n = 12
				} else {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		raw = raw[i+n:]
	}
}
