package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/togodb/togo/query/funcs"
	"github.com/togodb/togo/query/vec"
)

// unasked are functions that the generator does not call by their types alone: they have templates, as some of their texts are units, zones,
// formats or patterns; or they give another answer each time, or one that is large.
var unasked = regexp.MustCompile(`^(date_?part|date_?diff|date_?sub|date_?trunc|strftime|(try_)?strptime|regexp_.*|timezone|printf|format|random|now|today|current_.*|get_current.*|transaction_.*|[lr]pad|repeat|factorial|round.*|trunc|json_keys|make_timestamptz|make_timestamp_ns|lgamma|reverse|timezone_.*|typeof|uuid.*|gen_.*|[^a-z].*)$`)

var kindsOf = map[vec.Type]kind{vec.Bool: kBool, vec.Int: kInt, vec.Double: kDouble, vec.Text: kText, vec.JSON: kJSON, vec.TimestampTZ: kTime, vec.Timestamp: kWall, vec.Date: kDate, vec.Interval: kSpan}

// ofLibrary are templates of all functions of Togo's library that DuckDB has by the same name for the same types. What it has not
// is returned beside them.
func ofLibrary(d *duck) (out []template, unknown []string) {
	names := map[string]bool{}
	l := funcs.Library()
	for name := range l {
		names[name] = true
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range names {
			if !yield(n) {
				return
			}
		}
	}) {
		for _, f := range l[name] {
			k, ok := kindsOf[f.Out]
			if !ok || f.Variadic || f.Volatile || f.OutOf != nil || unasked.MatchString(name) {
				continue
			}
			forms := 0
			for _, o := range l[name] {
				if len(o.Args) == len(f.Args) {
					forms++
				}
			}
			t := template{k: k, auto: true, forms: forms}
			var places []string
			for i, a := range f.Args {
				ak, known := kindsOf[a]
				ok = ok && known && !(strings.HasPrefix(name, "time_bucket") && a == vec.Text) && !(strings.HasPrefix(name, "make_timestamptz") && a == vec.Text)
				t.args += string(ak)
				places = append(places, fmt.Sprint("$", i+1))
			}
			if !ok {
				continue
			}
			t.t = name + "(" + strings.Join(places, ", ") + ")"
			if d.takes(&t) {
				out = append(out, t)
			} else {
				unknown = append(unknown, t.t+" of "+t.args)
			}
		}
	}
	return out, unknown
}

var nullOf = map[byte]string{'b': "NULL::BOOLEAN", 'i': "NULL::BIGINT", 'd': "NULL::DOUBLE", 's': "NULL::VARCHAR", 'j': "NULL::JSON", 't': "NULL::TIMESTAMPTZ", 'w': "NULL::TIMESTAMP", 'a': "NULL::DATE", 'v': "NULL::INTERVAL"}

// takes asks DuckDB whether it has the function: for the types as they are, or with numbers of 32 bits.
func (d *duck) takes(t *template) bool {
	for _, number := range []string{"", "::INTEGER"} {
		var args []string
		format := t.t
		for i := range len(t.args) {
			args = append(args, nullOf[t.args[i]])
			if t.args[i] == 'i' && number != "" {
				place := fmt.Sprint("$", i+1)
				format = strings.Replace(format, place, "("+place+")"+number, 1)
			}
		}
		if d.exec("SELECT "+fill(format, args)) == nil {
			if number != "" {
				t.d = format
			}
			return true
		}
	}
	return false
}
