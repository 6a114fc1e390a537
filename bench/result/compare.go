package result

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Noise is how far two runs of the same thing lie apart on one machine, as a ratio: nothing is
// called better or worse within it.
const Noise = 1.1

// Compare writes two documents side by side: what was not alike in their settings, then each
// figure of merit with its ratio B/A. A figure that one of them lacks has no ratio.
func Compare(out io.Writer, nameA string, a *Document, nameB string, b *Document) error {
	fa, fb := flatten(a), flatten(b)
	if err := context(out, nameA, fa, nameB, fb); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "figure\t%s\t%s\tB/A\t\n", "A", "B")
	for _, path := range union(fa, fb) {
		va, inA := fa.get(path)
		vb, inB := fb.get(path)
		better := va.better
		if !inA {
			better = vb.better
		}
		if better == "" {
			continue
		}
		ratio, verdict := judge(va, inA, vb, inB, better)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", path, show(va, inA), show(vb, inB), ratio, verdict)
	}
	return w.Flush()
}

// context names the runs, and what differs in their machines, workloads and settings.
func context(out io.Writer, nameA string, a figures, nameB string, b figures) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tA\tB\n\t%s\t%s\n", nameA, nameB)
	for _, path := range union(a, b) {
		section, _, _ := strings.Cut(path, ".")
		switch section {
		case "program", "command", "started", "elapsed_s", "interrupted", "machine", "workload", "setup":
		default:
			continue
		}
		va, inA := a.get(path)
		vb, inB := b.get(path)
		if ta, tb := show(va, inA), show(vb, inB); ta != tb {
			fmt.Fprintf(w, "%s\t%s\t%s\n", path, ta, tb)
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func judge(a figure, inA bool, b figure, inB bool, better string) (ratio, verdict string) {
	if !inA || !inB {
		return "-", ""
	}
	x, y := a.number, b.number
	if x == y {
		return "1.00", ""
	}
	if x == 0 {
		return "-", map[bool]string{true: "better", false: "worse"}[(y > x) == (better == "more")]
	}
	r := y / x
	ratio = strconv.FormatFloat(r, 'f', 2, 64)
	switch {
	case r < Noise && r > 1/Noise:
		return ratio, ""
	case (r > 1) == (better == "more"):
		return ratio, "better"
	}
	return ratio, "worse"
}

// figure is a value of a document.
type figure struct {
	number float64
	text   string // instead of a number
	better string
}

// figures are a document's values by path, in its order. Entries of lists are named by their
// keys: roles[writer].cpu_s. The samples of each second are left out.
type figures struct {
	order  []string
	values map[string]figure
}

func (f figures) get(path string) (figure, bool) {
	v, ok := f.values[path]
	return v, ok
}

func flatten(d *Document) figures {
	f := figures{values: map[string]figure{}}
	f.add("", "", reflect.ValueOf(*d))
	return f
}

func (f *figures) add(path, better string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			f.add(path, better, v.Elem())
		}
	case isSection(v.Type()):
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name := jsonName(field)
			if path != "" {
				name = path + "." + name
			}
			f.add(name, field.Tag.Get("better"), v.Field(i))
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			if key := keyOf(v.Index(i)); key != "" {
				f.add(path+"["+key+"]", "", v.Index(i))
			}
		}
	case v.Kind() == reflect.Slice: // texts of notes: for the reader of one document
	case v.Kind() == reflect.Map:
		for _, k := range sortedKeys(v) {
			f.add(path+"."+k.String(), "", v.MapIndex(k))
		}
	default:
		f.order = append(f.order, path)
		f.values[path] = scalar(v, better)
	}
}

func scalar(v reflect.Value, better string) figure {
	switch {
	case v.CanInt():
		return figure{number: float64(v.Int()), better: better}
	case v.CanUint():
		return figure{number: float64(v.Uint()), better: better}
	case v.CanFloat():
		return figure{number: v.Float(), better: better}
	}
	if t, ok := v.Interface().(time.Time); ok {
		return figure{text: t.UTC().Format(time.RFC3339)}
	}
	return figure{text: fmt.Sprint(v.Interface())}
}

// keyOf is the value of the field that names an entry of a list.
func keyOf(v reflect.Value) string {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("key") == "true" {
			return v.Field(i).String()
		}
	}
	return ""
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// union is the paths of both; those that B alone has stand at the end.
func union(a, b figures) []string {
	paths := append([]string(nil), a.order...)
	for _, p := range b.order {
		if _, both := a.values[p]; !both {
			paths = append(paths, p)
		}
	}
	return paths
}

func show(f figure, there bool) string {
	switch {
	case !there:
		return "-"
	case f.text != "":
		return f.text
	}
	return Number(f.number)
}

// Number is v with three digits that matter, and K, M, G or T for thousands.
func Number(v float64) string {
	abs := math.Abs(v)
	for _, unit := range []struct {
		from   float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "K"}} {
		if abs >= unit.from {
			divisor := unit.from
			if unit.letter == "K" {
				divisor = 1e3
			}
			return digits(v/divisor) + unit.letter
		}
	}
	return digits(v)
}

func digits(v float64) string {
	abs := math.Abs(v)
	switch {
	case v == 0 || abs >= 1000:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	case abs >= 1e-4:
		places := max(0, 2-int(math.Floor(math.Log10(abs))))
		text := strconv.FormatFloat(v, 'f', places, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
