package sql

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape reads the inside of e'...'. wrong says what is wrong, or is "".
func unescape(s string) (out, wrong string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			i++ // of two
			b.WriteByte('\'')
		case c != '\\':
			b.WriteByte(c)
		default:
			n, wrong := escape(&b, s[i+1:])
			if wrong != "" {
				return "", wrong
			}
			i += n
		}
	}
	if !utf8.ValidString(b.String()) || strings.IndexByte(b.String(), 0) >= 0 {
		return "", "the escapes of this text make no UTF-8, or the character NUL"
	}
	return b.String(), ""
}

// escape writes what stands behind a backslash, and gives its length.
func escape(b *strings.Builder, s string) (n int, wrong string) {
	simple := map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	length := map[byte]int{'x': 2, 'u': 4, 'U': 8}
	c := s[0]
	switch {
	case simple[c] != 0:
		b.WriteByte(simple[c])
		return 1, ""
	case length[c] > 0:
		end := 1
		for end < len(s) && end <= length[c] && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
			end++
		}
		code, err := strconv.ParseUint(s[1:end], 16, 32)
		if err != nil || c != 'x' && (end != length[c]+1 || !utf8.ValidRune(rune(code))) {
			return 0, "\\" + string(c) + " has no number behind it: write \\x41, \\u0041 or \\U00000041"
		}
		if c == 'x' {
			b.WriteByte(byte(code))
		} else {
			b.WriteRune(rune(code))
		}
		return end, ""
	case c >= '0' && c <= '7':
		end := 1
		for end < len(s) && end < 3 && s[end] >= '0' && s[end] <= '7' {
			end++
		}
		code, _ := strconv.ParseUint(s[:end], 8, 16)
		b.WriteByte(byte(code))
		return end, ""
	}
	_, width := utf8.DecodeRuneInString(s)
	b.WriteString(s[:width])
	return width, ""
}
