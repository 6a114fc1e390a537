package expr

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// TestErrors holds what is refused, where, and the words for it. Columns count from the 1 behind "SELECT ".
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"t = 5":                         "type_mismatch 3: =: t is VARCHAR and 5 is BIGINT: CAST one of them",
		"i = 'x'":                       `invalid_value 5: "x" is not a BIGINT`,
		"i + t":                         "type_mismatch 3: + does not take i (BIGINT) and t (VARCHAR): CAST them to numbers",
		"- t":                           "type_mismatch 1: - takes a number or an INTERVAL; t is VARCHAR: CAST it",
		"i AND b":                       "type_mismatch 1: a condition must be BOOLEAN; i is BIGINT: compare it with something, or CAST it to BOOLEAN",
		"NOT t":                         "type_mismatch 5: a condition must be BOOLEAN; t is VARCHAR: compare it with something, or CAST it to BOOLEAN",
		"i LIKE 'a'":                    "type_mismatch 3: LIKE takes text; i is BIGINT: CAST it to VARCHAR",
		"ts = 'yesterday'":              "invalid_value 6: ",
		"CAST(i AS TIMESTAMP)":          "type_mismatch 1: BIGINT cannot be cast to TIMESTAMP; to_timestamp(seconds) gives a time",
		"CAST(ts AS BIGINT)":            "type_mismatch 1: TIMESTAMPTZ cannot be cast to BIGINT; epoch(time) gives its seconds, epoch_ns(time) its nanoseconds",
		"CAST(i AS UUID)":               "unsupported 11: there is no type UUID; there are BOOLEAN, BIGINT, DOUBLE, VARCHAR, JSON, BLOB, TIMESTAMPTZ, TIMESTAMP, DATE and INTERVAL",
		"(i, t)":                        "type_mismatch 1: a row (a, b, ...) can only be compared with another row, or stand before IN",
		"(i, t) = (1, 2, 3)":            "type_mismatch 8: = compares rows of 2 and 3 values; they must have as many",
		"(i, t) IN (1)":                 "type_mismatch 12: IN compares a row with rows: ((1, 'a'), (2, 'b'))",
		"halve(i)":                      "unknown_function 1: there is no function halve; near it are halved",
		"frobnicate(i)":                 "unknown_function 1: there is no function frobnicate; docs/sql.md lists them",
		"halved(t)":                     "type_mismatch 1: there is no halved(VARCHAR); there is halved(BIGINT): CAST the arguments",
		"halved(i, i)":                  "type_mismatch 1: there is no halved(BIGINT, BIGINT); there is halved(BIGINT): CAST the arguments",
		"halved(DISTINCT i)":            "type_mismatch 1: halved is no aggregate: it takes neither DISTINCT nor ORDER BY nor FILTER",
		"if(i, 1, 2)":                   "type_mismatch 4: a condition must be BOOLEAN; i is BIGINT: compare it with something, or CAST it to BOOLEAN",
		"nullif(i)":                     "type_mismatch 1: nullif takes 2 arguments: nullif(value, what is NULL)",
		"CASE WHEN b THEN 1 ELSE t END": "type_mismatch 1: CASE: 1 is BIGINT and t is VARCHAR: CAST one of them",
		"coalesce(i, t)":                "type_mismatch 1: coalesce: i is BIGINT and t is VARCHAR: CAST one of them",
		"t LIKE 'a' ESCAPE 'xy'":        "invalid_value 3: ESCAPE takes one character, or none",
		"i IN ('a', 2)":                 `invalid_value 7: "a" is not a BIGINT`,
		"nope + 1":                      "unknown_column 1: there is no column nope",
		"9223372036854775807 + i":       "out_of_range 21: 9223372036854775807 + 1 is beyond BIGINT; CAST an operand to DOUBLE",
		"CAST(t AS BIGINT)":             `invalid_value 1: "a" is not a BIGINT; TRY_CAST gives NULL instead`,
		"- (-9223372036854775808 * i)":  "out_of_range 1: -(-9223372036854775808) is beyond BIGINT; CAST it to DOUBLE",
	} {
		e, err := Bind(parse(t, text), wide, testEnv)
		if err == nil {
			in := &vec.Batch{Len: 1}
			for _, c := range wide.columns {
				v := vec.New(c.T, 1)
				switch {
				case c.T.HasInts():
					v.Ints[0] = 1
				case c.T.HasTexts():
					v.Texts[0] = "a"
				}
				in.Cols = append(in.Cols, v)
			}
			_, err = e.Eval(&Scratch{Ctx: context.Background()}, in)
		}
		var f *fail.Error
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := fmt.Sprintf("%s %d: %s", f.Code, f.Column-len("SELECT "), f.Message)
		if text == "ts = 'yesterday'" {
			got = got[:min(len(got), len(want))]
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestMixed holds how a path of several types is read. m has BIGINT, VARCHAR and BOOLEAN columns, n DOUBLE and BIGINT.
func TestMixed(t *testing.T) {
	in := &vec.Batch{Len: 4, Cols: make([]*vec.Vector, len(wide.columns))}
	for i, c := range wide.columns {
		in.Cols[i] = vec.AllNull(c.T, 4)
	}
	num := func(v int64) vec.Value { return vec.Value{Type: vec.Int, Int: v} }
	in.Cols[0] = vec.Of(vec.Int, num(7), vec.Value{}, vec.Value{}, vec.Value{})
	in.Cols[2] = vec.Of(vec.Text, vec.Value{}, vec.Value{Type: vec.Text, Text: "x"}, vec.Value{}, vec.Value{})
	in.Cols[3] = vec.Of(vec.Bool, vec.Value{}, vec.Value{}, truth(true).Value, vec.Value{})
	in.Cols[1] = vec.Of(vec.Double, vec.Value{Type: vec.Double, Double: 2.5}, vec.Value{}, vec.Value{Type: vec.Double, Double: 3}, vec.Value{})
	in.Cols[7] = vec.Of(vec.Int, vec.Value{}, num(4), vec.Value{}, vec.Value{})
	for text, want := range map[string]string{
		"m":                        "VARCHAR 7 x true NULL",
		"m + 1":                    "BIGINT 8 NULL NULL NULL",
		"m = 7":                    "BOOLEAN true NULL NULL NULL",
		"m = '7'":                  "BOOLEAN true false false NULL",
		"m > 2.5":                  "BOOLEAN true NULL NULL NULL",
		"m = t":                    "BOOLEAN NULL true NULL NULL",
		"m LIKE '%e'":              "BOOLEAN false false true NULL",
		"NOT m":                    "BOOLEAN NULL NULL false NULL",
		"m IS NULL":                "BOOLEAN false false false true",
		"m IS NOT NULL":            "BOOLEAN true true true false",
		"m IN (7, 8)":              "BOOLEAN true NULL NULL NULL",
		"m IN ('x', 'true')":       "BOOLEAN false true true NULL",
		"coalesce(m, 'none')":      "VARCHAR 7 x true none",
		"coalesce(m, 0)":           "BIGINT 7 0 0 0",
		"coalesce(m, 0.5)":         "DOUBLE 7.0 0.5 0.5 0.5",
		"TRY_CAST(m AS BIGINT)":    "BIGINT 7 NULL NULL NULL",
		"halved(m)":                "BIGINT 3 NULL NULL NULL",
		"m BETWEEN 1 AND 9":        "BOOLEAN true NULL NULL NULL",
		"m = n":                    "BOOLEAN false NULL NULL NULL",
		"n":                        "DOUBLE 2.5 4.0 3.0 NULL",
		"n + 1":                    "DOUBLE 3.5 5.0 4.0 NULL",
		"n = '4'":                  "BOOLEAN false true false NULL",
		"CAST(n AS VARCHAR)":       "VARCHAR 2.5 4.0 3.0 NULL",
		"m = true":                 "BOOLEAN NULL NULL true NULL",
		"m = b":                    "BOOLEAN NULL NULL true NULL",
		"CAST(m AS BIGINT) = NULL": "BOOLEAN NULL NULL NULL NULL",
		"nullif(m, 7)":             "BIGINT NULL NULL NULL NULL",
		"m IS DISTINCT FROM 7":     "BOOLEAN false true true true",
	} {
		e := bind(t, wide, text)
		got, err := results(e, &Scratch{}, in)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		line := e.Type().String()
		for _, x := range got {
			line += " " + x
		}
		if line != want {
			t.Errorf("%s\n got %s\nwant %s", text, line, want)
		}
	}
	number, err := BindNumber(parse(t, "m"), wide, testEnv)
	if err != nil || number.Type() != vec.Int {
		t.Errorf("m as a number: %v %v", number, err)
	}
	if v := value.Format(vec.Value{Type: vec.Double, Double: 3}); v != "3.0" {
		t.Errorf("3 is %s", v)
	}
}
