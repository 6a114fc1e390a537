package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// textError says that a text is no value of a type.
func textError(text string, t vec.Type, hint string) error {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	if hint != "" {
		hint = ": " + hint
	}
	return fmt.Errorf("%q is not a %s%s", text, t, hint)
}

// Parse is CAST of text to a type. Its error says what is wrong with the text.
func Parse(text string, t vec.Type) (vec.Value, error) {
	v := vec.Value{Type: t}
	var err error
	switch t {
	case vec.Bool:
		v.Int, err = parseBool(text)
	case vec.Int:
		v.Int, err = parseInt(text)
	case vec.Double:
		v.Double, err = parseDouble(text)
	case vec.Text:
		v.Text = text
	case vec.JSON:
		if v.Text = text; !json.Valid([]byte(text)) {
			err = textError(text, t, "it is not valid JSON")
		}
	case vec.Blob:
		v.Text, err = parseBlob(text)
	case vec.Date:
		v.Int, err = calendar.ParseDate(text)
	case vec.Timestamp:
		v.Int, err = calendar.ParseTimestamp(text)
	case vec.TimestampTZ:
		v.Int, err = calendar.ParseTimestampTZ(text)
	case vec.Interval:
		v.Span, err = calendar.ParseInterval(text)
	}
	if err != nil {
		return vec.Value{}, err
	}
	return v, nil
}

func parseBool(text string) (int64, error) {
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y", "1":
		return 1, nil
	case "false", "f", "no", "n", "0":
		return 0, nil
	}
	return 0, textError(text, vec.Bool, "true, false, t, f, yes, no, y, n, 1 and 0 are")
}

const blanks = " \t\n\v\f\r"

// parseInt takes decimal fractions, which it rounds half away from zero, exponents, 0x and 0b, and _ between digits.
func parseInt(text string) (int64, error) {
	s := strings.Trim(text, blanks)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	wrong := textError(text, vec.Int, "")
	s, ok := withoutUnderscores(s)
	if !ok || s == "" {
		return 0, wrong
	}
	if len(s) > 2 && s[0] == '0' && strings.ContainsRune("xXbB", rune(s[1])) {
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return 0, wrong
		}
		return n, nil
	}
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	digits, point, ok := decimal(s)
	if !ok {
		return 0, wrong
	}
	whole, ok := roundDigits(digits, point)
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if !ok || whole > limit {
		return 0, textError(text, vec.Int, "it is beyond its range")
	}
	if negative {
		return int64(-whole), nil
	}
	return int64(whole), nil
}

// withoutUnderscores takes single _ between digits out.
func withoutUnderscores(s string) (string, bool) {
	if !strings.Contains(s, "_") {
		return s, true
	}
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// decimal splits an unsigned decimal number into its digits and where among them its point is.
func decimal(s string) (digits string, point int, ok bool) {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > 400 || e < -400 {
			return "", 0, false
		}
		mantissa, exponent = s[:i], e
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits = before + after
	if digits == "" {
		return "", 0, false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return "", 0, false
		}
	}
	return digits, len(before) + exponent, true
}

func roundDigits(digits string, point int) (uint64, bool) {
	n := uint64(0)
	for i := range max(point, 0) {
		d := uint64(0)
		if i < len(digits) {
			d = uint64(digits[i] - '0')
		}
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if point >= 0 && point < len(digits) && digits[point] >= '5' {
		n++
	}
	return n, true
}

func parseDouble(text string) (float64, error) {
	s := strings.Trim(text, blanks)
	s, ok := withoutUnderscores(s)
	if !ok || strings.ContainsAny(s, "xXpP") {
		return 0, textError(text, vec.Double, "")
	}
	if strings.EqualFold(s, "-nan") || strings.EqualFold(s, "+nan") {
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, textError(text, vec.Double, "")
	}
	return f, nil
}

// parseBlob takes ASCII, and \xAA for other bytes.
func parseBlob(text string) (string, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			if i+3 >= len(text) || text[i+1] != 'x' {
				return "", textError(text, vec.Blob, `write \ as \x5C`)
			}
			n, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
			if err != nil {
				return "", textError(text, vec.Blob, `\x takes two hexadecimal digits`)
			}
			out, i = append(out, byte(n)), i+3
		case c > 126:
			return "", textError(text, vec.Blob, `write bytes that are not ASCII as \xAA; encode(text) gives a text's bytes`)
		default:
			out = append(out, c)
		}
	}
	return string(out), nil
}
