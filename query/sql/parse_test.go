package sql

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/togodb/togo/query/fail"
)

// again reads what a statement is written as, and compares the trees without their places.
func again(t testing.TB, s *Statement) {
	t.Helper()
	back, err := Parse(s.String())
	if err != nil {
		t.Fatalf("%.300s: does not read back: %v", s, err)
	}
	clearPlaces(reflect.ValueOf(s))
	clearPlaces(reflect.ValueOf(back))
	if !reflect.DeepEqual(s, back) {
		t.Fatalf("%.300s: reads back as another tree: %.300s", s, back)
	}
}

// clearPlaces sets every Pos in a tree to none.
func clearPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			clearPlaces(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clearPlaces(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			clearPlaces(v.Field(i))
		}
	}
}

func TestParse(t *testing.T) {
	for _, file := range []string{"accepted", "refused"} {
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			s, err := Parse(d.Input)
			if (err != nil) != (file == "refused") {
				t.Errorf("%s: %s: %v", d.Pos, d.Input, err)
			}
			if err == nil {
				text := s.String()
				again(t, s)
				return text
			}
			var e *fail.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s: %v is no *fail.Error", d.Pos, err)
			}
			if e.Line == 0 || e.Column == 0 {
				t.Errorf("%s: the error has no place", d.Pos)
			}
			return string(e.Code) + ": " + e.Error()
		})
	}
}

func TestPlaces(t *testing.T) {
	s, err := Parse("SELECT 'ü', a\n  + b AS x\nFROM events\nWHERE f(\n\tc)")
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string][2]fail.Placed{
		"the sum":    {s.Select.Items[1].Expr, Pos{2, 3}},
		"the item":   {s.Select.Items[1], Pos{1, 13}},
		"the table":  {s.Select.From, Pos{3, 6}},
		"the call":   {s.Select.Where, Pos{4, 7}},
		"an operand": {s.Select.Where.(*Call).Args[0], Pos{5, 2}},
	} {
		line, column := at[0].Place()
		if (Pos{line, column}) != at[1] {
			t.Errorf("%s is at %d:%d, not at %v", what, line, column, at[1])
		}
	}
}

func TestLimits(t *testing.T) {
	list := func(n int) string { return "SELECT a IN (1" + strings.Repeat(", 1", n-1) + ")" }
	deep := func(n int) string { return "SELECT " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	for text, ok := range map[string]bool{
		list(19_000): true,
		list(20_000): false,
		"SELECT " + strings.Repeat("a,", 40_000) + "a": false,
		deep(150):     true,
		deep(201):     false,
		deep(100_000): false,
		"SELECT " + strings.Repeat(" -", 150) + "a":                            true,
		"SELECT " + strings.Repeat("NOT ", 250) + "a":                          false,
		"SELECT " + strings.Repeat("f(", 250) + "a" + strings.Repeat(")", 250): false,
		"SELECT " + strings.Repeat("CASE WHEN ", 20_000):                       false,
		"SELECT a" + strings.Repeat("::INT", 5_000):                            false,
		"SELECT a" + strings.Repeat(" + a", 9_000):                             true,
		"SELECT a" + strings.Repeat(" + a", 11_000):                            false,
		"SELECT '" + strings.Repeat("x", maxText) + "'":                        false,
		"SELECT '" + strings.Repeat("x", maxText-20) + "'":                     true,
	} {
		s, err := Parse(text)
		switch {
		case ok && err != nil:
			t.Errorf("%.40s...: %v", text, err)
		case ok:
			again(t, s)
		case fail.CodeOf(err) != fail.TooLarge:
			t.Errorf("%.40s...: not refused as too large: %v", text, err)
		}
	}
}
