package fragment

import (
	"unicode/utf8"
)

// appendString appends a JSON string with the text s, which is valid UTF-8.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendCompact appends good JSON without the white space between its tokens, and if
// asked with half surrogate pairs replaced by U+FFFD (engines refuse the escapes).
func appendCompact(dst, text []byte, replaceHalves bool) []byte {
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := stringEnd(text, i)
			if replaceHalves {
				dst = appendWhole(dst, text[i:end])
			} else {
				dst = append(dst, text[i:end]...)
			}
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd is behind the closing quote of the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// appendWhole appends a JSON string with each escape of half a surrogate pair replaced.
func appendWhole(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			dst = append(dst, text[i])
			i++
			continue
		}
		if text[i+1] != 'u' {
			dst = append(dst, text[i], text[i+1])
			i += 2
			continue
		}
		n := 6
		r := hex4(text[i+2:])
		switch {
		case 0xD800 <= r && r < 0xDC00 && i+12 <= len(text) && text[i+6] == '\\' && text[i+7] == 'u' &&
			hex4(text[i+8:]) >= 0xDC00 && hex4(text[i+8:]) < 0xE000:
			n = 12
			dst = append(dst, text[i:i+n]...)
		case 0xD800 <= r && r < 0xE000:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = append(dst, text[i:i+n]...)
		}
		i += n
	}
	return dst
}

func hex4(text []byte) (n rune) {
	for _, c := range text[:4] {
		switch {
		case c <= '9':
			n = n<<4 | rune(c-'0')
		default:
			n = n<<4 | rune(c|0x20-'a'+10)
		}
	}
	return n
}
