package fragment

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFault_big_numbers(t *testing.T) {
	for text, want := range map[string]Type{
		"0": Int64, "-0": Double, "1": Int64, "-1": Int64, "9007199254740993": Int64,
		"9223372036854775807": Int64, "9223372036854775808": JSON, "-9223372036854775808": Int64, "-9223372036854775809": JSON,
		"18446744073709551615": JSON, "100000000000000000000": Double, "1e400": JSON, "-1e400": JSON, "1e-400": JSON, "1e308": Double,
		"0.1": Double, "0.10000000000000000001": JSON, "0.1000000000000000000000": Double, "1.0": Double, "1e2": Double, "1E+2": Double, "0e0": Double, "0.0": Double, "-0.0": Double,
		"0e999999999999999999999": Double, "5e-324": Double, "4.9e-324": JSON, "1.7976931348623157e308": Double, "1.7976931348623158e308": JSON,
		"3.141592653589793238": JSON, "123456789012345678.5": JSON, "0.30000000000000004": Double, "2.2250738585072011e-308": JSON, "1e99999999999999999999": JSON,
	} {
		n := classify([]byte(text), isInteger(text))
		if n.kind != want {
			t.Errorf("%s goes to %v, want %v", text, n.kind, want)
		}
		if n.kind == Double {
			if back := string(appendDouble(nil, n.f)); !equalNumber(text, back) && text != "0e999999999999999999999" {
				t.Errorf("%s comes back as %s", text, back)
			}
		}
	}
}

func isInteger(text string) bool {
	for _, c := range text {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}

// numberText draws number texts of the JSON grammar.
func numberTexts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})\.[0-9]{1,25}`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,18})?[eE][+-]?[0-9]{1,3}`),
		rapid.Map(rapid.Float64(), func(f float64) string {
			if math.IsInf(f, 0) || math.IsNaN(f) {
				f = 0.5
			}
			return string(appendDouble(nil, f))
		}),
		rapid.SampledFrom([]string{"9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551615", "1e400", "-0", "0", "0.1"}),
	)
}

func TestEveryNumberIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := numberTexts().Draw(t, "number")
		n := classify([]byte(text), isInteger(text))
		if n.kind == Double && !equalNumber(text, string(appendDouble(nil, n.f))) {
			t.Fatalf("%s comes back as %s", text, appendDouble(nil, n.f))
		}
		if n.kind == JSON && isInteger(text) && len(text) < 18 {
			t.Fatalf("%s is kept as text", text)
		}
	})
}

// Every integer that a DOUBLE column takes must come back digit for digit.
func TestIntegersWithinDoubles(t *testing.T) {
	for _, n := range []int64{0, 1, -1, maxExactInteger, -maxExactInteger, maxExactInteger - 1, 123456789012345} {
		if back := string(appendDouble(nil, float64(n))); back != numberText(Int64, n) {
			t.Errorf("%d comes back as %s", n, back)
		}
	}
}
