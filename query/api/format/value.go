package format

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// appendText is the value of a row that is not NULL, as CSV and tables have it.
func appendText(dst []byte, v *vec.Vector, row int) []byte {
	at, in := v.Index(row), v.Values()
	switch v.Type {
	case vec.Bool:
		return strconv.AppendBool(dst, in.Ints[at] != 0)
	case vec.Int:
		return strconv.AppendInt(dst, in.Ints[at], 10)
	case vec.Double:
		return appendDouble(dst, in.Doubles[at])
	case vec.Text, vec.JSON:
		return append(dst, in.Texts[at]...)
	case vec.Blob:
		return base64.StdEncoding.AppendEncode(dst, []byte(in.Texts[at]))
	case vec.TimestampTZ:
		return time.Unix(0, in.Ints[at]).UTC().AppendFormat(dst, time.RFC3339Nano)
	case vec.Timestamp:
		return time.Unix(0, in.Ints[at]).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999999")
	case vec.Date:
		return calendar.AppendDate(dst, in.Ints[at])
	case vec.Interval:
		return calendar.AppendInterval(dst, in.Intervals[at])
	}
	return dst
}

// Text is the value of a row, as CSV has it; ok is false if it is NULL.
func Text(v *vec.Vector, row int) (text string, ok bool) {
	if v.IsNull(row) {
		return "", false
	}
	return string(appendText(nil, v, row)), true
}

// appendDouble is the shortest form that reads back, as JSON has it; what JSON has not is a word.
func appendDouble(dst []byte, d float64) []byte {
	switch {
	case math.IsNaN(d):
		return append(dst, "NaN"...)
	case math.IsInf(d, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(d, -1):
		return append(dst, "-Infinity"...)
	}
	form := byte('f')
	if abs := math.Abs(d); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, d, form, -1, 64)
}

// appendJSON is the value of any row as a JSON value.
func appendJSON(dst []byte, v *vec.Vector, row int) []byte {
	if v.IsNull(row) {
		return append(dst, "null"...)
	}
	at, in := v.Index(row), v.Values()
	switch v.Type {
	case vec.Bool, vec.Int:
		return appendText(dst, v, row)
	case vec.Double:
		if d := in.Doubles[at]; !math.IsNaN(d) && !math.IsInf(d, 0) {
			return appendDouble(dst, d)
		}
	case vec.Text:
		return appendString(dst, in.Texts[at])
	case vec.JSON:
		return appendValue(dst, in.Texts[at])
	}
	dst = append(dst, '"')
	dst = appendText(dst, v, row)
	return append(dst, '"')
}

// appendValue is a JSON text as a value, on one line; what is none is a string.
func appendValue(dst []byte, text string) []byte {
	if !json.Valid([]byte(text)) {
		return appendString(dst, text)
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if !strings.ContainsAny(text, "\n\r") {
		return append(dst, text...)
	}
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, []byte(text)); err != nil {
		panic("bug: valid JSON that is not: " + err.Error())
	}
	return out.Bytes()
}

const hexDigits = "0123456789abcdef"

// appendString is a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
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
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
