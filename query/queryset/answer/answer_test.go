package answer

import (
	"math"
	"testing"

	"github.com/togodb/togo/query/vec"
)

func rows(list ...Row) *Answer { return &Answer{Rows: list} }

func of(n int) *int { return &n }

func TestDifference(t *testing.T) {
	for name, c := range map[string]struct {
		a, b  *Answer
		rules Rules
		same  bool
	}{
		"order":                {rows(Row{"i1"}, Row{"i2"}), rows(Row{"i2"}, Row{"i1"}), Rules{}, true},
		"order wanted":         {rows(Row{"i1"}, Row{"i2"}), rows(Row{"i2"}, Row{"i1"}), Rules{Ordered: true}, false},
		"count":                {rows(Row{"i1"}), rows(Row{"i1"}, Row{"i1"}), Rules{}, false},
		"multiset":             {rows(Row{"i1"}, Row{"i1"}, Row{"i2"}), rows(Row{"i1"}, Row{"i2"}, Row{"i2"}), Rules{}, false},
		"null":                 {rows(Row{Null}), rows(Row{"i0"}), Rules{}, false},
		"type":                 {rows(Row{"i1"}), rows(Row{"d1"}), Rules{}, false},
		"text and json":        {rows(Row{`s"a"`}), rows(Row{`j"a"`}), Rules{}, false},
		"near":                 {rows(Row{"d0.30000000000000004"}), rows(Row{"d0.3"}), Rules{}, true},
		"not near":             {rows(Row{"d0.30000001"}), rows(Row{"d0.3"}), Rules{}, false},
		"infinite":             {rows(Row{Double(math.Inf(1))}), rows(Row{"d1e308"}), Rules{}, false},
		"nan":                  {rows(Row{Double(math.NaN())}), rows(Row{Double(math.NaN())}), Rules{}, true},
		"nan and null":         {rows(Row{Double(math.NaN())}), rows(Row{Null}), Rules{}, false},
		"loose":                {rows(Row{"i100"}), rows(Row{"i110"}), Rules{Loose: map[int]float64{0: 0.2}}, true},
		"too loose":            {rows(Row{"i100"}), rows(Row{"i150"}), Rules{Loose: map[int]float64{0: 0.2}}, false},
		"loose null":           {rows(Row{"i100"}), rows(Row{Null}), Rules{Loose: map[int]float64{0: 0.2}}, false},
		"both fail":            {&Answer{Error: "a"}, &Answer{Error: "b"}, Rules{}, true},
		"one fails":            {rows(), &Answer{Error: "b"}, Rules{}, false},
		"the other fails":      {&Answer{Error: "b"}, rows(), Rules{}, false},
		"swapped by little":    {rows(Row{"d1", "d5"}, Row{"d1.0000000000000002", "d4"}), rows(Row{"d1", "d4"}, Row{"d1.0000000000000002", "d5"}), Rules{}, true},
		"some":                 {rows(Row{"i1"}, Row{"i1"}, Row{"i2"}), rows(Row{"i2"}, Row{"i1"}), Rules{Some: of(2)}, true},
		"some too few":         {rows(Row{"i1"}, Row{"i1"}, Row{"i2"}), rows(Row{"i1"}), Rules{Some: of(2)}, false},
		"some too often":       {rows(Row{"i1"}, Row{"i2"}, Row{"i3"}), rows(Row{"i1"}, Row{"i1"}), Rules{Some: of(2)}, false},
		"some behind others":   {rows(Row{"i1"}, Row{"i2"}, Row{"i3"}), rows(Row{"i2"}), Rules{Some: of(5), Skip: 2}, true},
		"some of those before": {rows(Row{"i1"}, Row{"i2"}, Row{"i3"}), rows(Row{"i2"}, Row{"i1"}), Rules{Some: of(5), Skip: 2}, false},
		"some of fewer":        {rows(Row{"i1"}), rows(Row{"i1"}), Rules{Some: of(2)}, true},
	} {
		if got := Difference(c.a, c.b, c.rules); got == "" != c.same {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestCells(t *testing.T) {
	for want, v := range map[Cell]vec.Value{
		"n": {}, "b1": {Type: vec.Bool, Int: 1}, "i-5": {Type: vec.Int, Int: -5}, "d-0": {Type: vec.Double, Double: math.Copysign(0, -1)}, "sx": {Type: vec.Text, Text: "x"},
		`j{"a":15e-1,"b":[],"c":[1e400,1e1,-0,0,7]}`: {Type: vec.JSON, Text: `{"b": [], "c": [1.0E400,10,-0.0,0e5,0.7e+1], "a": 1.50}`}, "x00ff": {Type: vec.Blob, Text: "\x00\xff"}, "t7": {Type: vec.TimestampTZ, Int: 7},
		"a7": {Type: vec.Date, Int: 7}, "v1 2 3": {Type: vec.Interval, Span: vec.Span{Months: 1, Days: 2, Nanos: 3}},
	} {
		if got := Of(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
