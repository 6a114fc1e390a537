package eventtime

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event/jsonscan"
	"pgregory.net/rapid"
)

func at(ns int64) time.Time { return time.Unix(0, ns).UTC() }
func show(ns int64) string  { return at(ns).Format(time.RFC3339Nano) }

func TestParseRules(t *testing.T) {
	const num, str = jsonscan.Number, jsonscan.String
	tests := []struct {
		kind jsonscan.Kind
		text string
		unit Unit
		want string // RFC 3339, or early, late, none
	}{
		// Numbers by magnitude and by name, as numbers and as strings.
		{num, "1710667613", "", "2024-03-17T09:26:53Z"},
		{num, "1710667613589", "", "2024-03-17T09:26:53.589Z"},
		{num, "1710667613589793", "", "2024-03-17T09:26:53.589793Z"},
		{num, "1710667613589793238", "", "2024-03-17T09:26:53.589793238Z"},
		{str, "1710667613", "", "2024-03-17T09:26:53Z"},
		{str, "1710667613589", "", "2024-03-17T09:26:53.589Z"},
		{str, "001710667613589793", "", "2024-03-17T09:26:53.589793Z"},
		{num, "1710667613", "ms", "1970-01-20T19:11:07.613Z"},
		{num, "1710667613", "us", "1970-01-01T00:28:30.667613Z"},
		{str, "1710667613", "ns", "1970-01-01T00:00:01.710667613Z"},
		{num, "1710667613589", "s", "late"},
		{num, "-1710667613589", "s", "early"},
		{num, "99999999999", "", "late"}, // still seconds
		{num, "100000000000", "", "1973-03-03T09:46:40Z"},
		{num, "99999999999999", "", "late"},
		{num, "100000000000000", "", "1973-03-03T09:46:40Z"},
		{num, "99999999999999999", "", "late"},
		{num, "100000000000000000", "", "1973-03-03T09:46:40Z"},
		{str, "20240317", "", "1970-08-23T06:18:37Z"},
		// Edges.
		{num, "0", "", "1970-01-01T00:00:00Z"},
		{num, "-0", "", "1970-01-01T00:00:00Z"},
		{num, "0.0e5", "", "1970-01-01T00:00:00Z"},
		{num, "-1", "", "1969-12-31T23:59:59Z"},
		{num, "9223372036854775807", "", "2262-04-11T23:47:16.854775807Z"},
		{num, "9223372036854775808", "", "late"},
		{num, "-9223372036854775808", "", "1677-09-21T00:12:43.145224192Z"},
		{num, "-9223372036854775809", "", "early"},
		{num, "18446744073709551616", "ns", "late"},
		{num, "1e400", "", "late"},
		{num, "-1e400", "", "early"},
		{num, "1e-400", "", "1970-01-01T00:00:00Z"},
		{num, "1e99999999999999999999", "", "late"},
		// Float seconds, exactly; finer than a nanosecond is cut off towards zero.
		{num, "1710667613.589793238", "", "2024-03-17T09:26:53.589793238Z"},
		{num, "1710667613.5897932389999", "", "2024-03-17T09:26:53.589793238Z"},
		{num, "1.710667613589793238e9", "", "2024-03-17T09:26:53.589793238Z"},
		{num, "171066761358979323800E-11", "", "2024-03-17T09:26:53.589793238Z"},
		{num, "-0.5", "", "1969-12-31T23:59:59.5Z"},
		{num, "-0.0000000019", "", "1969-12-31T23:59:59.999999999Z"},
		{num, "1710667613589.25", "ms", "2024-03-17T09:26:53.58925Z"},
		{str, "1584032397.003000", "", "2020-03-12T16:59:57.003Z"},
		{str, "1.5e-00000000000001", "", "1970-01-01T00:00:00.15Z"},
		// RFC 3339.
		{str, "2024-03-17T09:26:53Z", "", "2024-03-17T09:26:53Z"},
		{str, "2024-03-17T09:26:53Z", "ms", "2024-03-17T09:26:53Z"},
		{str, "2024-03-17t09:26:53z", "", "2024-03-17T09:26:53Z"},
		{str, "2024-03-17 09:26:53.5", "", "2024-03-17T09:26:53.5Z"},
		{str, "2024-03-17T09:26:53,25+01:00", "", "2024-03-17T08:26:53.25Z"},
		{str, "2024-03-17T09:26:53.1234567+0100", "", "2024-03-17T08:26:53.1234567Z"},
		{str, "2024-03-17T09:26:53 -05", "", "2024-03-17T14:26:53Z"},
		{str, "2024-03-17T09:26:53.12345678999Z", "", "2024-03-17T09:26:53.123456789Z"},
		{str, "2024-02-29T23:59:60Z", "", "2024-03-01T00:00:00Z"},
		{str, "2016-12-31T23:59:60.5Z", "", "2017-01-01T00:00:00.5Z"},
		{str, "2000-02-29T12:00:00Z", "", "2000-02-29T12:00:00Z"},
		{str, "2106-02-07T06:28:16Z", "", "2106-02-07T06:28:16Z"},
		{str, "1969-12-31T23:59:59.999999999Z", "", "1969-12-31T23:59:59.999999999Z"},
		{str, "0001-01-01T00:00:00Z", "", "early"},
		{str, "0000-01-01T00:00:00+23:59", "", "early"},
		{str, "9999-12-31T23:59:59.999Z", "", "late"},
		{str, "1677-09-21T00:12:43.145224192Z", "", "1677-09-21T00:12:43.145224192Z"},
		{str, "1677-09-21T00:12:43.145224191Z", "", "early"},
		{str, "2262-04-11T23:47:16.854775807Z", "", "2262-04-11T23:47:16.854775807Z"},
		{str, "2262-04-11T23:47:16.854775808Z", "", "late"},
		// No times.
		{str, "", "", "none"}, {str, " ", "", "none"}, {str, "-", "", "none"}, {str, ".5", "", "none"}, {str, "5.", "", "none"},
		{str, "1e", "", "none"}, {str, "1e+", "", "none"}, {str, "1x", "", "none"}, {str, "0x10", "", "none"}, {str, "1.2.3", "", "none"},
		{str, "NaN", "", "none"}, {str, "+5", "", "none"}, {str, " 5", "", "none"}, {str, "yesterday at about noon", "", "none"},
		{str, "2024-03-17", "", "none"}, {str, "2024-03-17T09:26Z", "", "none"}, {str, "2023-02-29T00:00:00Z", "", "none"},
		{str, "1900-02-29T00:00:00Z", "", "none"}, {str, "2024-13-01T00:00:00Z", "", "none"}, {str, "2024-00-01T00:00:00Z", "", "none"},
		{str, "2024-01-00T00:00:00Z", "", "none"}, {str, "2024-04-31T00:00:00Z", "", "none"}, {str, "2024-01-01T24:00:00Z", "", "none"},
		{str, "2024-01-01T00:60:00Z", "", "none"}, {str, "2024-01-01T00:00:61Z", "", "none"}, {str, "2024-01-01T00:00:00.Z", "", "none"},
		{str, "2024-01-01T00:00:00+24:00", "", "none"}, {str, "2024-01-01T00:00:00+01:60", "", "none"}, {str, "2024-01-01T00:00:00+1", "", "none"},
		{str, "2024-01-01T00:00:00 ", "", "none"}, {str, "2024-01-01T00:00:00Z ", "", "none"}, {str, "2024-01-01T00:00:00+01-00", "", "none"},
		{str, "2019-10-15T07:06:31.000000+0100 garbage", "", "none"}, {str, "Dec 2, 2021 10:11:27 PM", "", "none"},
		{str, "2024-01-01X00:00:00Z", "", "none"}, {str, "2024/01/01T00:00:00Z", "", "none"}, {str, "20x4-01-01T00:00:00Z", "", "none"},
		{jsonscan.Bool, "true", "", "none"}, {jsonscan.Null, "null", "", "none"}, {jsonscan.Array, "[1]", "", "none"}, {jsonscan.Object, "", "", "none"},
	}
	for _, test := range tests {
		got, err := Parse(test.kind, []byte(test.text), test.unit)
		say := show(got)
		switch {
		case errors.Is(err, ErrNoTime):
			say = "none"
		case errors.Is(err, ErrTooEarly):
			say = "early"
		case errors.Is(err, ErrTooLate):
			say = "late"
		}
		if want := test.want; say != want {
			t.Errorf("%q unit %q: got %s, want %s", test.text, test.unit, say, want)
		}
	}
}

var wideZone = regexp.MustCompile(`[+-](24:?..|..:?60)$`)

func TestParseAgreesWithTimeParse(t *testing.T) {
	layouts := []string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02T15:04:05-07:00", "2006-01-02T15:04:05-0700"}
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(rapid.Int64Range(-63e9, 255e9).Draw(t, "s"), 0).
			In(time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "zone")))
		text := start.Format(rapid.SampledFrom(layouts).Draw(t, "layout"))
		if f := rapid.StringMatching(`([.,][0-9]{1,12})?`).Draw(t, "fraction"); f != "" {
			text = text[:19] + f + text[19:]
		}
		if rapid.Bool().Draw(t, "bend") { // most such texts are no times
			b := []byte(text)
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789:-+.TZ/")).Draw(t, "byte")
			text = string(b)
		}
		got, err := Parse(jsonscan.String, []byte(text), Auto)
		for _, layout := range layouts {
			want, wantErr := time.Parse(layout, text)
			if wantErr != nil {
				continue
			}
			if wideZone.MatchString(text) {
				return // time.Parse takes +24:00 and +00:60
			}
			switch {
			case want.Before(at(math.MinInt64)):
				if !errors.Is(err, ErrTooEarly) {
					t.Fatalf("%q: %v %v, want too early", text, got, err)
				}
			case want.After(at(math.MaxInt64)):
				if !errors.Is(err, ErrTooLate) {
					t.Fatalf("%q: %v %v, want too late", text, got, err)
				}
			case err != nil || !at(got).Equal(want):
				t.Fatalf("%q: %v %v, want %v", text, got, err, want)
			}
			return
		}
		if err == nil && text[17:19] != "60" {
			for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05-07", "2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05-07",
				"2006-01-02T15:04:05 Z0700", "2006-01-02 15:04:05 Z0700", "2006-01-02T15:04:05 Z07:00", "2006-01-02 15:04:05 Z07:00"} {
				if want, err := time.Parse(layout, text); err == nil && at(got).Equal(want) {
					return
				}
			}
			t.Fatalf("%q: got %v, time.Parse refuses it", text, got)
		}
	})
}

func TestNumbersAgreeWithExactArithmetic(t *testing.T) {
	scale := map[Unit]int64{Seconds: 1e9, Milliseconds: 1e6, Microseconds: 1e3, Nanoseconds: 1}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		unit := rapid.SampledFrom([]Unit{Auto, Seconds, Milliseconds, Microseconds, Nanoseconds}).Draw(t, "unit")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		name := unit
		if unit == Auto {
			abs, limit := new(big.Rat).Abs(exact), new(big.Rat)
			name = Nanoseconds
			for _, step := range []struct {
				below int64
				unit  Unit
			}{{1e17, Microseconds}, {1e14, Milliseconds}, {1e11, Seconds}} {
				if abs.Cmp(limit.SetInt64(step.below)) < 0 {
					name = step.unit
				}
			}
		}
		exact.Mul(exact, new(big.Rat).SetInt64(scale[name]))
		want := new(big.Int).Quo(exact.Num(), exact.Denom()) // towards zero
		got, err := Parse(jsonscan.Number, []byte(text), unit)
		switch {
		case want.IsInt64() && (err != nil || int64(got) != want.Int64()):
			t.Fatalf("%s %s: got %d %v, want %s", text, unit, got, err, want)
		case !want.IsInt64() && want.Sign() < 0 && !errors.Is(err, ErrTooEarly), !want.IsInt64() && want.Sign() > 0 && !errors.Is(err, ErrTooLate):
			t.Fatalf("%s %s: got %d %v, want %s", text, unit, got, err, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2024-03-17T09:26:53.5+01:00", "1710667613.5", "-1e-9", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(jsonscan.String, []byte(s), Auto)
		if err != nil && got != 0 {
			t.Fatal(fmt.Sprint(got, err))
		}
		if err == nil { // a time that was read reads the same when written
			again, err := Parse(jsonscan.String, []byte(show(got)), Auto)
			if err != nil || again != got {
				t.Fatal(s, got, again, err)
			}
		}
	})
}
