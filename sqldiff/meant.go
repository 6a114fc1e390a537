package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/vec"
)

// meant are the differences between the two engines that are there on purpose. Where they can be told by an answer, match does; the others are
// kept out by how a query is spelled for DuckDB.
var meant = []struct {
	name, reason string
	match        func(p *pair, want, got *answer.Answer) bool
}{
	{
		"an error that need not come", "a value that cannot be had is an error where a row needs it. Which rows need it depends on what is computed first: the engines differ, so over a table an error of one alone is not compared. Without a table all is computed by both, and it is",
		func(p *pair, want, got *answer.Answer) bool {
			one := got.Error
			if one == "" {
				one = want.Error
			}
			return (want.Error == "") != (got.Error == "") && ofValue.MatchString(one) && lazy.MatchString(p.D)
		},
	},
	{
		"times out of range", "a time is 64 bits of nanoseconds in Togo, of microseconds in DuckDB: what lies outside of 1677 to 2262 is an error, and there is no infinite time",
		func(_ *pair, want, got *answer.Answer) bool {
			return strings.Contains(got.Error, "nanoseconds in 64 bits hold") || want.Error == "" && strings.Contains(fmt.Sprint(want.Rows), " t-1000") || strings.Contains(fmt.Sprint(want.Rows), "[t-1000")
		},
	},
	{
		"not in DuckDB", "what DuckDB says that it does not implement, as a time_bucket of days and hours",
		func(_ *pair, want, got *answer.Answer) bool {
			return got.Error == "" && strings.HasPrefix(want.Error, "Not implemented Error")
		},
	},
	{
		"smaller integers", "sign() and others are integers of 8 or 32 bits in DuckDB, which a text constant is cast to",
		func(_ *pair, want, got *answer.Answer) bool {
			return got.Error == "" && strings.HasPrefix(want.Error, "Conversion Error: Could not convert string") && strings.Contains(want.Error, "to INT")
		},
	},
	{
		"sum beyond BIGINT", "sum of BIGINT is BIGINT in Togo and HUGEINT in DuckDB: what does not fit is an error here",
		func(_ *pair, want, got *answer.Answer) bool {
			if !strings.Contains(got.Error, "out_of_range") {
				return false
			}
			for _, r := range want.Rows {
				for _, c := range r {
					if c[0] == 'i' && beyondInt64(string(c[1:])) {
						return true
					}
				}
			}
			return false
		},
	},
	{
		"nanoseconds of intervals", "an INTERVAL has nanoseconds in Togo and microseconds in DuckDB: to_milliseconds(121.6501) keeps its last digit",
		func(p *pair, want, got *answer.Answer) bool {
			return want.Error == "" && got.Error == "" && answer.Difference(want, withCells(got, toMicros), p.rules) == ""
		},
	},
	{
		"trigonometry near zero", "cos of about pi/2 is the difference of two numbers that are nearly equal: its last digits are those of the library that computes it",
		func(p *pair, want, got *answer.Answer) bool {
			return want.Error == "" && got.Error == "" && angles.MatchString(p.D) && answer.Difference(withCells(want, toPlaces), withCells(got, toPlaces), p.rules) == ""
		},
	},
	{"numbers with a dot", "1.5 is a DOUBLE in Togo and a DECIMAL in DuckDB: DuckDB is given '1.5'::DOUBLE", nil},
	{"whole numbers", "every whole number is a BIGINT in Togo; a small one is an INTEGER of 32 bits in DuckDB, which overflows earlier: DuckDB is given (1)::BIGINT", nil},
	{"nanoseconds", "TIMESTAMPTZ has nanoseconds in Togo and microseconds in DuckDB: DuckDB is given TIMESTAMP_NS where times have them, and functions that take it down to microseconds are not asked", nil},
	{"a time as text beside a constant", "DuckDB's optimizer makes t <= 'main' of t::VARCHAR <= 'main', and of a constant that is no time NULL: it is given t::VARCHAR || ''", nil},
	{"text of JSON", "white space between the tokens of a JSON value and the order of keys are not compared", nil},
}

// lazy tells queries of which a part may not be computed: over a table, and where something decides before.
var lazy = regexp.MustCompile(` FROM events|NULL|TRY_CAST|CASE|coalesce|nullif|if\(| AND | OR | IN |try_|json_`)

// ofValue tells errors that come from a value and not from the text of a query.
var ofValue = regexp.MustCompile(`^(invalid_value:|out_of_range:|Conversion Error|Out of Range Error|Invalid Input Error|Not implemented Error)`)

func beyondInt64(digits string) bool {
	neg := strings.HasPrefix(digits, "-")
	digits, most := strings.TrimPrefix(digits, "-"), "9223372036854775807"
	if neg {
		most = "9223372036854775808"
	}
	return len(digits) > len(most) || len(digits) == len(most) && digits > most
}

var angles = regexp.MustCompile(`\b(sin|cos|tan|cot)\(`)

// withCells is an answer with its cells changed.
func withCells(a *answer.Answer, change func(answer.Cell) answer.Cell) *answer.Answer {
	out := *a
	out.Rows = make([]answer.Row, len(a.Rows))
	for i, r := range a.Rows {
		out.Rows[i] = slices.Clone(r)
		for j, c := range r {
			out.Rows[i][j] = change(c)
		}
	}
	return &out
}

// toMicros takes an interval to microseconds as DuckDB takes numbers to them: to the nearest.
func toMicros(c answer.Cell) answer.Cell {
	var s vec.Span
	if _, err := fmt.Sscanf(string(c), "v%d %d %d", &s.Months, &s.Days, &s.Nanos); err != nil {
		return c
	}
	s.Nanos = int64(time.Duration(s.Nanos).Round(time.Microsecond))
	return answer.Interval(s)
}

// toPlaces takes a number below 1 to 14 places behind the point.
func toPlaces(c answer.Cell) answer.Cell {
	if f, err := strconv.ParseFloat(strings.TrimPrefix(string(c), "d"), 64); c[0] == 'd' && err == nil && math.Abs(f) < 1 {
		return answer.Double(math.Round(f*1e14) / 1e14)
	}
	return c
}

// isMeant names the difference on purpose that this is, or "".
func isMeant(p *pair, want, got *answer.Answer) string {
	for _, m := range meant {
		if m.match != nil && m.match(p, want, got) {
			return m.name
		}
	}
	return ""
}
