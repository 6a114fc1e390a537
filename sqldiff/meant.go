package main

import (
	"strings"

	"github.com/togodb/togo/query/queryset/answer"
)

// meant are the differences between the two engines that are there on purpose. Where they can be told by an answer, match does; the others are
// kept out by how a query is spelled for DuckDB.
var meant = []struct {
	name, reason string
	match        func(want, got *answer.Answer) bool
}{
	{
		"sum beyond BIGINT", "sum of BIGINT is BIGINT in Togo and HUGEINT in DuckDB: what does not fit is an error here",
		func(want, got *answer.Answer) bool {
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
	{"numbers with a dot", "1.5 is a DOUBLE in Togo and a DECIMAL in DuckDB: DuckDB is given '1.5'::DOUBLE", nil},
	{"whole numbers", "every whole number is a BIGINT in Togo; a small one is an INTEGER of 32 bits in DuckDB, which overflows earlier: DuckDB is given (1)::BIGINT", nil},
	{"nanoseconds", "TIMESTAMPTZ has nanoseconds in Togo and microseconds in DuckDB: DuckDB is given TIMESTAMP_NS where times have them, and functions that take it down to microseconds are not asked", nil},
	{"text of JSON", "white space between the tokens of a JSON value and the order of keys are not compared", nil},
}

func beyondInt64(digits string) bool {
	neg := strings.HasPrefix(digits, "-")
	digits, most := strings.TrimPrefix(digits, "-"), "9223372036854775807"
	if neg {
		most = "9223372036854775808"
	}
	return len(digits) > len(most) || len(digits) == len(most) && digits > most
}

// isMeant names the difference on purpose that this is, or "".
func isMeant(want, got *answer.Answer) string {
	for _, m := range meant {
		if m.match != nil && m.match(want, got) {
			return m.name
		}
	}
	return ""
}
