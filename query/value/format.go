package value

import (
	"math"
	"strconv"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// Format is a value's text, as CAST to VARCHAR gives it; of NULL "NULL".
func Format(v vec.Value) string {
	if v.Type.HasTexts() && v.Type != vec.Blob {
		return v.Text
	}
	return string(AppendFormat(nil, v))
}

// AppendFormat appends Format.
func AppendFormat(dst []byte, v vec.Value) []byte {
	switch v.Type {
	case vec.Bool:
		return strconv.AppendBool(dst, v.Int != 0)
	case vec.Int:
		return strconv.AppendInt(dst, v.Int, 10)
	case vec.Double:
		return appendDouble(dst, v.Double)
	case vec.Text, vec.JSON:
		return append(dst, v.Text...)
	case vec.Blob:
		return appendBlob(dst, v.Text)
	case vec.Timestamp:
		return calendar.AppendTimestamp(dst, v.Int)
	case vec.TimestampTZ:
		return calendar.AppendTimestampTZ(dst, v.Int)
	case vec.Date:
		return calendar.AppendDate(dst, v.Int)
	case vec.Interval:
		return calendar.AppendInterval(dst, v.Span)
	}
	return append(dst, "NULL"...)
}

// appendDouble has a point or an exponent always.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// AppendPlainDouble is a double as JSON has it: shortest, without a point where it is whole.
func AppendPlainDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return appendDouble(dst, f)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

func appendBlob(dst []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		if c >= 32 && c <= 126 && c != '\\' && c != '\'' && c != '"' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		}
	}
	return dst
}
