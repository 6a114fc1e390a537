package jsonscan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// scanner holds the document and the first fault. Its methods take the index where
// they begin and return the index after what they read, or failed.
type scanner struct {
	doc []byte
	err error
}

const failed = -1

func (s *scanner) fail(at int, what string) int {
	if s.err == nil {
		if at >= len(s.doc) {
			at, what = len(s.doc), "unexpected end"
		}
		s.err = &SyntaxError{Offset: at, What: what}
	}
	return failed
}

func (s *scanner) tooDeep() int {
	if s.err == nil {
		s.err = ErrTooDeep
	}
	return failed
}

// at is the byte at i; past the end it is NUL, which stands nowhere outside strings.
func at(doc []byte, i int) byte {
	if uint(i) < uint(len(doc)) {
		return doc[i]
	}
	return 0
}

// space returns the index of the first byte from i on that is not white space.
func space(doc []byte, i int) int {
	if uint(i) < uint(len(doc)) && doc[i] > ' ' {
		return i
	}
	return spaces(doc, i)
}

func spaces(doc []byte, i int) int {
	for i < len(doc) {
		switch doc[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// open finds the document's object and returns the index after its brace. A document
// that is no object is judged whole here.
func (s *scanner) open() int {
	doc := s.doc
	if len(doc) > math.MaxUint32 {
		s.err = &SyntaxError{What: "longer than 4 GiB"}
		return failed
	}
	i := 0
	if len(doc) >= 3 && doc[0] == 0xEF && doc[1] == 0xBB && doc[2] == 0xBF {
		i = 3
	}
	i = space(doc, i)
	if i == len(doc) {
		s.err = ErrEmpty
		return failed
	}
	if doc[i] == '{' {
		return i + 1
	}
	end, kind, _ := s.skip(i, 0)
	if end == failed || s.close(end) == failed {
		return failed
	}
	if s.err = ErrNotObject; kind == Null {
		s.err = ErrEmpty
	}
	return failed
}

// close checks that nothing but white space follows the document.
func (s *scanner) close(i int) int {
	if i = space(s.doc, i); i < len(s.doc) {
		return s.fail(i, "text after the value")
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of x that end a run of plain string text: quote, backslash,
// control characters and bytes of 0x80 and above. The xor by 2 swaps quote and space, so
// that one subtraction finds the quote with the control characters. The lowest mark is
// exact; marks above it may be false, by the borrow of the subtraction.
func special(x uint64) uint64 {
	low := (x ^ 2*ones) - ('"'-1)*ones
	slash := (x ^ '\\'*ones) - ones
	return (low | slash | x) & highs
}

// str reads a string from the byte after its opening quote to its closing quote, whose
// index it returns.
func (s *scanner) str(start int) (int, Flag) {
	doc := s.doc
	for i := start; i+8 <= len(doc); i += 8 {
		if m := special(binary.LittleEndian.Uint64(doc[i:])); m != 0 {
			if i += bits.TrailingZeros64(m) >> 3; at(doc, i) == '"' {
				return i, 0
			}
			break
		}
	}
	return s.anyString(start)
}

// anyString is str of a string that may have more than plain text.
func (s *scanner) anyString(start int) (int, Flag) {
	doc := s.doc
	i := start
	var flags Flag
	wide := false
	for {
		for i+8 <= len(doc) {
			m := special(binary.LittleEndian.Uint64(doc[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		switch c := at(doc, i); {
		case c == '"':
			if wide && !utf8.Valid(doc[start:i]) {
				return s.badUTF8(start), flags
			}
			return i, flags
		case c == '\\':
			var f Flag
			if i, f = s.escape(i); i == failed {
				return failed, flags
			}
			flags |= f
		case c >= utf8.RuneSelf:
			wide = true
			for i++; i < len(doc) && doc[i] >= utf8.RuneSelf; i++ {
			}
		case c < ' ':
			return s.fail(i, "control character in a string"), flags
		default: // within the last seven bytes of the document
			i++
		}
	}
}

func (s *scanner) badUTF8(i int) int {
	for {
		r, n := utf8.DecodeRune(s.doc[i:])
		if r == utf8.RuneError && n <= 1 {
			return s.fail(i, "invalid UTF-8 in a string")
		}
		i += n
	}
}

// escape reads an escape that begins with the backslash at i; of a surrogate pair both
// halves.
func (s *scanner) escape(i int) (int, Flag) {
	switch at(s.doc, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, Escaped
	case 'u':
	default:
		return s.fail(i+1, "unknown escape"), 0
	}
	r := hex4(s.doc, i+2)
	switch {
	case r < 0:
		return s.fail(i+2, "escape without four hexadecimal digits"), 0
	case r < 0xD800 || r > 0xDFFF:
		return i + 6, Escaped
	case r < 0xDC00 && lowHalf(s.doc, i+6) >= 0:
		return i + 12, Escaped
	}
	return i + 6, Escaped | LoneSurrogate
}

// lowHalf is the second half of a surrogate pair as an escape at i, or -1.
func lowHalf(doc []byte, i int) rune {
	if at(doc, i) == '\\' && at(doc, i+1) == 'u' {
		if r := hex4(doc, i+2); r >= 0xDC00 && r <= 0xDFFF {
			return r
		}
	}
	return -1
}

func hex4(doc []byte, i int) rune {
	if i+4 > len(doc) {
		return -1
	}
	var r rune
	for _, c := range doc[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func digits(doc []byte, i int) int {
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i
}

// number reads a number.
func (s *scanner) number(i int) (int, Flag) {
	doc := s.doc
	if doc[i] == '-' {
		i++
	}
	switch c := at(doc, i); {
	case c == '0':
		i++
	case '1' <= c && c <= '9':
		i = digits(doc, i+1)
	default:
		return s.fail(i, "number without digits"), 0
	}
	flags := Integer
	if at(doc, i) == '.' {
		end := digits(doc, i+1)
		if end == i+1 {
			return s.fail(end, "number without digits after the point"), 0
		}
		i, flags = end, 0
	}
	if at(doc, i)|0x20 == 'e' {
		i++
		if c := at(doc, i); c == '+' || c == '-' {
			i++
		}
		end := digits(doc, i)
		if end == i {
			return s.fail(end, "number without digits in the exponent"), 0
		}
		i, flags = end, 0
	}
	return i, flags
}

func (s *scanner) word(i int, w string) int {
	for j := 0; j < len(w); j++ {
		if at(s.doc, i+j) != w[j] {
			return s.fail(i+j, "neither true, false nor null")
		}
	}
	return i + len(w)
}

// scalar reads a value that is neither object nor array.
func (s *scanner) scalar(i int) (int, Kind, Flag) {
	switch c := at(s.doc, i); {
	case c == '"':
		end, flags := s.str(i + 1)
		if end == failed {
			return failed, String, flags
		}
		return end + 1, String, flags
	case c == '-' || '0' <= c && c <= '9':
		end, flags := s.number(i)
		return end, Number, flags
	case c == 't':
		return s.word(i, "true"), Bool, 0
	case c == 'f':
		return s.word(i, "false"), Bool, 0
	case c == 'n':
		return s.word(i, "null"), Null, 0
	}
	return s.fail(i, "expected a value"), 0, 0
}

// key reads a member's key from its quote at i, and the colon; it returns the key's end
// (its closing quote) and the index of the value.
func (s *scanner) key(i int) (end, value int, flags Flag) {
	if at(s.doc, i) != '"' {
		return failed, s.fail(i, "expected a key"), 0
	}
	doc := s.doc
	// Most keys are plain, and end within eight bytes or sixteen; most values follow at once.
	for end = i + 1; end+8 <= len(doc); end += 8 {
		if m := special(binary.LittleEndian.Uint64(doc[end:])); m != 0 {
			end += bits.TrailingZeros64(m) >> 3
			if end+2 < len(doc) && doc[end] == '"' && doc[end+1] == ':' && doc[end+2] > ' ' {
				return end, end + 2, 0
			}
			break
		}
	}
	if at(doc, end) != '"' {
		if end, flags = s.str(i + 1); end == failed {
			return failed, failed, 0
		}
	}
	i = space(doc, end+1)
	if at(doc, i) != ':' {
		return failed, s.fail(i, "expected a colon"), 0
	}
	return end, space(doc, i+1), flags
}
