package value

import (
	"math"
	"testing"

	"github.com/togodb/togo/query/vec"
)

// TestTextsReadBack: what Format gives is read back as the same value.
func TestTextsReadBack(t *testing.T) {
	for _, v := range []vec.Value{
		{Type: vec.Bool, Int: 1}, {Type: vec.Int, Int: math.MinInt64}, {Type: vec.Int, Int: math.MaxInt64}, {Type: vec.Double, Double: 0.1}, {Type: vec.Double, Double: 1e300},
		{Type: vec.Double, Double: math.Inf(-1)}, {Type: vec.Double, Double: math.NaN()}, {Type: vec.Double, Double: math.SmallestNonzeroFloat64}, {Type: vec.Blob, Text: "a\x00\\\"é"},
		{Type: vec.TimestampTZ, Int: 1767225600123456789}, {Type: vec.Timestamp, Int: -1}, {Type: vec.Timestamp, Int: math.MaxInt64}, {Type: vec.Date, Int: -1000000}, {Type: vec.Date, Int: 20454},
		{Type: vec.Interval, Span: vec.Span{Months: 14, Days: -3, Nanos: 3723000000001}}, {Type: vec.Interval, Span: vec.Span{Nanos: -1}}, {Type: vec.JSON, Text: `{"a":1}`},
	} {
		text := Format(v)
		got, err := Parse(text, v.Type)
		if err != nil {
			t.Errorf("%s %q: %v", v.Type, text, err)
		} else if Compare(got, v) != 0 {
			t.Errorf("%s %q reads back as %s", v.Type, text, Format(got))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"1", "-1.5e3", "0x1F", "2026-01-01 10:20:30+01", "1 day 2 hours ago", `\xAA`, "true", "99999999999999999999", "1_000", `{"a":1}`} {
		f.Add(text, uint8(vec.Int))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		to := vec.Type(kind%10 + 1)
		v, err := Parse(text, to)
		if err != nil {
			return
		}
		if v.Type != to {
			t.Fatalf("%q is %s, not %s", text, v.Type, to)
		}
		if to == vec.Date && (v.Int > 1<<22 || v.Int < -1<<22) {
			return // years before Christ and beyond 9999 are written in another form
		}
		again, err := Parse(Format(v), to)
		if err != nil || Compare(v, again) != 0 {
			t.Fatalf("%q is %s, which reads back as %s (%v)", text, Format(v), Format(again), err)
		}
	})
}
