package fragment

import (
	"bytes"
	"math"
	"strconv"
)

// number says how a JSON number is held.
type number struct {
	kind Type // Int64, Double or JSON (as text)
	i    int64
	f    float64
}

// maxExactInteger is the largest n such that every integer of magnitude up to n is a
// double whose shortest decimal form is that integer.
const maxExactInteger = 1 << 53

// classify takes a number's text, which is good JSON, and finds the type that holds it
// digit for digit.
func classify(text []byte, integer bool) number {
	if integer {
		if i, ok := parseInt(text); ok {
			if i == 0 && text[0] == '-' { // -0 is no integer's text
				return number{kind: Double, f: math.Copysign(0, -1)}
			}
			return number{kind: Int64, i: i}
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return number{kind: JSON}
	}
	d := decimalOf(text)
	// Doubles hold any 15 digits within their normal range.
	if d.significant <= 15 && -290 < d.exponent && d.exponent < 290 {
		return number{kind: Double, f: f}
	}
	var buf [32]byte
	if !sameDecimal(text, strconv.AppendFloat(buf[:0], f, 'e', -1, 64)) {
		return number{kind: JSON}
	}
	return number{kind: Double, f: f}
}

func parseInt(text []byte) (int64, bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 18 {
		i, err := strconv.ParseInt(string(text), 10, 64)
		return i, err == nil
	}
	var n int64
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// decimal is what matters of a number's text: digits without zeros at either end, and
// the power of ten of the first of them. Zero has no digits.
type decimal struct {
	negative    bool
	significant int
	exponent    int64
}

// decimalOf reads a JSON number's text without computing with its digits.
func decimalOf(text []byte) decimal {
	var d decimal
	walkDecimal(text, &d, nil)
	return d
}

// sameDecimal tells that two JSON numbers are the same, sign of zero included.
func sameDecimal(a, b []byte) bool {
	var da, db decimal
	var bufA, bufB [40]byte
	ta := walkDecimal(a, &da, bufA[:0])
	tb := walkDecimal(b, &db, bufB[:0])
	return da == db && bytes.Equal(ta, tb)
}

// walkDecimal fills d and, if digits is not nil, appends the significant digits to it.
func walkDecimal(text []byte, d *decimal, digits []byte) []byte {
	if text[0] == '-' {
		d.negative = true
		text = text[1:]
	}
	exponent := int64(0)
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		exponent = clampedExponent(text[e+1:])
		text = text[:e]
	}
	point := bytes.IndexByte(text, '.')
	whole := len(text)
	if point >= 0 {
		whole = point
	}
	position, zeros := 0, 0 // digits passed; zeros not yet known to lie within
	for i, c := range text {
		if i == point {
			continue
		}
		switch {
		case c != '0':
			if d.significant == 0 {
				d.exponent = exponent + int64(whole-position-1)
				zeros = 0
			}
			if digits != nil {
				for range zeros {
					digits = append(digits, '0')
				}
				digits = append(digits, c)
			}
			d.significant += zeros + 1
			zeros = 0
		case d.significant > 0:
			zeros++
		}
		position++
	}
	return digits
}

// clampedExponent reads an exponent of any length; beyond what any number of our sizes
// can make up for, it only has to stay apart from others, and such numbers are no doubles.
func clampedExponent(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	const limit = 1 << 40
	n := int64(0)
	for _, c := range text {
		if n = n*10 + int64(c-'0'); n > limit {
			n = limit
		}
	}
	if negative {
		return -n
	}
	return n
}

// appendDouble appends the shortest text of a finite double that reads back as it.
func appendDouble(dst []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}
