package jsonpath

import (
	"math"
	"strconv"
	"strings"
)

// Min is the normal form of a good value, as AppendMin writes it: the text itself where that is it.
func Min(raw string) string {
	switch c := raw[0]; {
	case c == '"' && strings.IndexByte(raw, '\\') < 0, c == 't', c == 'f', c == 'n',
		(c == '-' || c >= '0' && c <= '9') && strings.IndexAny(raw, ".eE") < 0 && raw != "-0":
		return raw
	}
	return string(AppendMin(nil, raw))
}

// AppendMin writes a good value in its normal form: without white space, strings with the escapes that they need alone,
// numbers that a BIGINT or a DOUBLE holds in their shortest form, with a point or an exponent if they had one.
func AppendMin(dst []byte, raw string) []byte {
	r := scanner{s: raw}
	r.space()
	return r.appendMin(dst)
}

// appendMin writes the value at which it is, which was checked before.
func (r *scanner) appendMin(dst []byte) []byte {
	c := r.s[r.i]
	if c != '{' && c != '[' {
		start := r.i
		if r.value(0) != nil {
			return dst
		}
		return appendScalar(dst, r.s[start:r.i])
	}
	r.i++
	dst = append(dst, c)
	for first := true; ; first = false {
		if more, err := r.next(first, c == '{'); err != nil || !more {
			return append(dst, c+2) // the bracket that closes it
		}
		if !first {
			dst = append(dst, ',')
		}
		if c == '{' {
			key, err := r.rawKey()
			if err != nil {
				return dst
			}
			dst = append(appendScalar(dst, key), ':')
		}
		dst = r.appendMin(dst)
	}
}

func appendScalar(dst []byte, raw string) []byte {
	switch raw[0] {
	case '"':
		if strings.IndexByte(raw, '\\') < 0 {
			return append(dst, raw...)
		}
		return AppendQuoted(dst, Unquote(raw))
	case 't', 'f', 'n':
		return append(dst, raw...)
	}
	if strings.IndexAny(raw, ".eE") < 0 {
		if raw == "-0" {
			return append(dst, '0')
		}
		return append(dst, raw...)
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return append(dst, raw...) // beyond DOUBLE
	}
	return AppendDouble(dst, f)
}

// AppendDouble writes a DOUBLE in its shortest form, always with a point or an exponent. What is not finite becomes a
// string, because JSON has no number for it.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	start := len(dst)
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// The exponent without a plus and zeros.
		e := start + strings.IndexByte(string(dst[start:]), 'e') + 1
		n, _ := strconv.Atoi(string(dst[e:]))
		return strconv.AppendInt(dst[:e], int64(n), 10)
	}
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if strings.IndexByte(string(dst[start:]), '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendQuoted writes a text as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\b':
			dst = append(dst, 'b')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			const digits = "0123456789ABCDEF"
			dst = append(dst, 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
