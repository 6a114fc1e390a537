// Command table reads the output of the module's benchmarks and prints what each step of
// an event's way costs, and the figures that Togo stands by. It ends with one line
// for programs:
//
//	RESULT key=value ...
//
// It fails if a benchmark that it knows is missing from its input, or was named
// otherwise; a figure that is worse than before fails nothing.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	results, err := parse(in)
	if err != nil {
		return err
	}
	p := &printer{results: results}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tCPU ns/event\tallocs/event\tB/event\t")
	for _, s := range steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.title, p.text(s.benchmark, "cpu-ns/event"), p.text(s.benchmark, "allocs/event"),
			p.text(s.benchmark, "B/event"), p.extras(s))
	}
	fmt.Fprintln(w, "\t\t\t\t")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "FIGURE\tmeasured\tgoal")
	for _, f := range figures {
		var parts []string
		for _, v := range f.values {
			parts = append(parts, strings.TrimSpace(p.text(v.benchmark, v.unit)+" "+v.after))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.title, strings.Join(parts, ", "), f.goal)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, "\nRESULT")
	for _, k := range keys {
		fmt.Fprintf(out, " %s=%s", k.key, p.text(k.benchmark, k.unit))
	}
	fmt.Fprintln(out)
	if len(p.missing) > 0 {
		return fmt.Errorf("not among the results: %s", strings.Join(p.missing, ", "))
	}
	return nil
}

// printer looks values up and remembers which are not there.
type printer struct {
	results map[string]result
	missing []string
}

func (p *printer) text(benchmark, unit string) string {
	v, ok := p.results[benchmark][unit]
	if !ok {
		name := benchmark + " (" + unit + ")"
		p.missing = append(p.missing, name)
		return "?"
	}
	return number(v)
}

func (p *printer) extras(s step) string {
	var out []string
	for _, unit := range s.extras {
		out = append(out, p.text(s.benchmark, unit)+" "+unit)
	}
	return strings.Join(out, ", ")
}

// number keeps three digits that matter.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v < 0.005 && v > -0.005:
		return "0"
	}
	return fmt.Sprintf("%.2f", v)
}
