// Package page shows a result to people: one HTML file with tables and plots, which
// needs no network, no script and no other file, in light and in dark; and the single
// plots as SVG files.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/result/plot"
)

//go:embed page.html
var text string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number":  result.Number,
	"integer": func(n int64) string { return result.Number(float64(n)) },
	"size":    binary,
	"percent": func(share float64) string { return result.Number(100*share) + "%" },
	"optional": func(share *float64) string {
		if share == nil {
			return "-"
		}
		return result.Number(100**share) + "%"
	},
	"over":      func(a, b float64) float64 { return a / b },
	"seconds":   seconds,
	"class":     className,
	"processes": func(m map[string]int) string { return joined(m, " ") },
	"settings":  func(m map[string]string) string { return joined(m, "=") },
	"widthShare": func(share float64) template.CSS {
		return template.CSS(fmt.Sprintf("width:%.1f%%", 100*min(1, max(0, share))))
	},
}).Parse(text))

// HTML is the page of a result.
func HTML(d *result.Document) ([]byte, error) {
	var svgs []template.HTML
	for _, c := range charts(d) {
		svgs = append(svgs, template.HTML(c.SVG())) // escapes by itself
	}
	var b strings.Builder
	err := page.Execute(&b, map[string]any{"D": d, "Charts": svgs, "Style": template.CSS(plot.Style), "Slowest": slowest(d)})
	if err != nil {
		return nil, fmt.Errorf("page of a result: %w", err)
	}
	return []byte(b.String()), nil
}

// slowest is the longest p99 of the queries, to which their bars are drawn.
func slowest(d *result.Document) float64 {
	longest := 0.0
	for _, q := range d.Queries {
		longest = max(longest, q.P99S)
	}
	if longest == 0 {
		return 1
	}
	return longest
}

// seconds is a time in a unit that suits it.
func seconds(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-3:
		return result.Number(s*1e6) + " µs"
	case s < 1:
		return result.Number(s*1e3) + " ms"
	}
	return result.Number(s) + " s"
}

func joined[V any](m map[string]V, between string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s%s%v", k, between, m[k]))
	}
	return strings.Join(parts, ", ")
}
