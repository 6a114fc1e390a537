package funcs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// pool are values of a type that functions find hard.
func pool(t vec.Type) []vec.Value {
	var out []vec.Value
	add := func(v vec.Value) { v.Type = t; out = append(out, v) }
	switch t {
	case vec.Bool:
		add(vec.Value{Int: 0})
		add(vec.Value{Int: 1})
	case vec.Int:
		for _, n := range []int64{0, 1, -1, 2, 3, -2, 7, 10, 31, 100, 2026, -18, math.MaxInt64, math.MinInt64, 1 << 40} {
			add(vec.Value{Int: n})
		}
	case vec.Double:
		for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -2.5, 1e-310, 1e300, -7.25, math.Inf(1), math.Inf(-1), math.NaN(), 123456.789} {
			add(vec.Value{Double: f})
		}
	case vec.Text:
		for _, s := range []string{"", "a", "abc", "äöü ß", "hour", "month", "%Y-%m-%d", "2026-01-02", "Europe/Berlin", "i", `{"a": [1, {"b": null}]}`, "[1,2]", "$.a", "(a)(b)?", "a,b,,c", "{} {}", "%s", "\x00\t\\1", "%C3%A4", "YQ==", "6162", strings.Repeat("long ", 30)} {
			add(vec.Value{Text: s})
		}
	case vec.JSON:
		for _, s := range []string{"1", "null", `"a\u00e4"`, `{"a": [1, {"b": 2.50}], "b": true}`, "[ 1 , 2 ]", "[]", "-0", "1e400"} {
			add(vec.Value{Text: s})
		}
	case vec.Blob:
		for _, s := range []string{"", "a", "\x00\xff", "ä"} {
			add(vec.Value{Text: s})
		}
	case vec.TimestampTZ, vec.Timestamp:
		for _, n := range []int64{0, -1, 1, 1774952430123456789, -1774952430123456789, math.MaxInt64, math.MinInt64, 951782400e9} {
			add(vec.Value{Int: n})
		}
	case vec.Date:
		for _, n := range []int64{0, -1, 11016, 20543, -719528, 100000, math.MaxInt32 - 1, math.MinInt32 + 2} {
			add(vec.Value{Int: n})
		}
	case vec.Interval:
		for _, s := range []vec.Span{{}, {Months: 1}, {Days: 1}, {Nanos: 3600e9}, {Months: -13, Days: 40, Nanos: -1}, {Days: 7}, {Nanos: math.MaxInt64}, {Months: math.MaxInt32, Days: math.MinInt32}} {
			add(vec.Value{Span: s})
		}
	}
	return out
}

// coded is a vector in coded form.
func coded(v *vec.Vector) *vec.Vector {
	at := map[string]int32{}
	out := &vec.Vector{Type: v.Type, Len: v.Len, Nulls: v.Nulls, Codes: make([]int32, v.Len)}
	var entries []vec.Value
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		key := fmt.Sprintf("%#v", v.At(i))
		code, ok := at[key]
		if !ok {
			code = int32(len(entries))
			at[key] = code
			entries = append(entries, v.At(i))
		}
		out.Codes[i] = code
	}
	out.Dict = vec.Of(v.Type, entries...)
	return out
}

func show(v *vec.Vector, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	return value.Format(v.At(i))
}

// Every function gives over flat and coded columns with NULLs what it gives for each row by itself.
func TestVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	var names []string
	for name := range Library() {
		names = append(names, name)
	}
	sort.Strings(names)
	checked, evaluated := map[string]bool{}, 0
	for _, name := range names {
		for _, f := range Library()[name] {
			if f.Volatile || len(f.Args) == 0 {
				checked[name] = true
				continue
			}
			for range 12 {
				if n := compareForms(t, rng, f); n > 0 {
					checked[name] = true
					evaluated += n
				}
			}
		}
	}
	for _, name := range names {
		if !checked[name] {
			t.Errorf("%s was never called with success", name)
		}
	}
	if evaluated < 5000 {
		t.Errorf("%d rows", evaluated)
	}
}

// call is a form's call with columns and constants.
func compareForms(t *testing.T, rng *rand.Rand, f *expr.Func) (rows int) {
	t.Helper()
	count := len(f.Args)
	if f.Variadic {
		count += rng.IntN(2)
	}
	var scope columns
	var parts []string
	var flat []*vec.Vector
	const height = 40
	for k := range count {
		at := f.Args[min(k, len(f.Args)-1)]
		if at == expr.Any || at == expr.AnyText {
			at = []vec.Type{vec.Bool, vec.Int, vec.Double, vec.Text, vec.JSON, vec.TimestampTZ, vec.Date, vec.Interval}[rng.IntN(8)]
		}
		values := pool(at)
		name := fmt.Sprintf("c%d", k)
		v := vec.New(at, height)
		constant := rng.IntN(3) == 0 || k == 0 && rng.IntN(2) == 0 && at == vec.Text
		one := values[rng.IntN(len(values))]
		for i := range height {
			switch {
			case !constant && rng.IntN(8) == 0:
				v.SetNull(i)
			case constant:
				v.Set(i, one)
			default:
				v.Set(i, values[rng.IntN(len(values))])
			}
		}
		if constant && at == vec.Text {
			parts = append(parts, "'"+strings.ReplaceAll(one.Text, "'", "''")+"'")
		} else {
			parts = append(parts, name)
		}
		scope = append(scope, &expr.Column{Slot: k, Name: name, T: at})
		flat = append(flat, v)
	}
	text := f.Name + "(" + strings.Join(parts, ", ") + ")"
	if f.Name[0] < 'a' && count == 2 || f.Name == "||" || f.Name == "|" {
		text = parts[0] + " " + f.Name + " " + parts[min(1, count-1)]
	} else if f.Name == "~" {
		text = "~" + parts[0]
	}
	e, err := bind(text, scope)
	if err != nil {
		return 0
	}
	scratch := func() *expr.Scratch { return &expr.Scratch{Ctx: context.Background(), Memo: map[any]any{}} }
	var good []int32
	var want []string
	for i := range height {
		row := &vec.Batch{Len: 1}
		for _, v := range flat {
			row.Cols = append(row.Cols, vec.Of(v.Type, v.At(i)))
		}
		if v, err := e.Eval(scratch(), row); err == nil {
			good, want = append(good, int32(i)), append(want, show(v, 0))
		}
	}
	plain, dict := &vec.Batch{Len: len(good)}, &vec.Batch{Len: len(good)}
	for _, v := range flat {
		g := v.Gather(good)
		plain.Cols, dict.Cols = append(plain.Cols, g), append(dict.Cols, coded(g))
	}
	for form, b := range map[string]*vec.Batch{"flat": plain, "coded": dict} {
		v, err := e.Eval(scratch(), b)
		if err != nil {
			t.Errorf("%s, %s: %v", text, form, err)
			return 0
		}
		for i := range good {
			if got := show(v, i); got != want[i] {
				t.Errorf("%s, %s: row %d is %q, by itself %q", text, form, i, got, want[i])
				return 0
			}
		}
	}
	return len(good)
}
