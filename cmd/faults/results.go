package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build, with more words behind it
	Test       string
	Output     string
	Elapsed    float64 // in seconds
}

// outcome is what became of one test with all its subtests.
type outcome struct {
	action  string // pass, fail, skip; empty: it never ended
	skipped int    // subtests, which want a server that is not there
	elapsed time.Duration
	output  strings.Builder
}

// results are outcomes by package folder and test; the output of a package that is of no test is under
// the test "".
type results map[place]*outcome

func (r results) at(p place) *outcome {
	if r[p] == nil {
		r[p] = &outcome{}
	}
	return r[p]
}

// read takes one run's events. A package's folder is its import path without the given prefix, joined to
// the folder of the module.
func (r results) read(in io.Reader, dirOf func(pkg string) string) error {
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("output of go test: %w", err)
		}
		if e.Package == "" {
			e.Package, _, _ = strings.Cut(e.ImportPath, " ")
		}
		name, _, sub := strings.Cut(e.Test, "/")
		o := r.at(place{dirOf(e.Package), name})
		switch e.Action {
		case "output", "build-output":
			o.output.WriteString(e.Output)
		case "pass", "fail", "skip":
			if !sub {
				o.action = e.Action
			} else if e.Action == "skip" {
				o.skipped++
			}
		}
		if !sub && e.Elapsed > 0 {
			o.elapsed = time.Duration(e.Elapsed * float64(time.Second))
		}
	}
}

// row is a line of the table.
type row struct {
	kind
	result  string
	tests   int
	skipped int // subtests
	elapsed time.Duration
	places  []string // folders
	bad     []place  // tests that did not pass
}

// table says what became of each kind. Tests of left out folders (other modules that cannot be built here) count as
// neither passed nor failed, as long as the kind has others.
func table(kinds []kind, tests []place, r results, leftOut func(dir string) bool) (rows []row) {
	for _, k := range kinds {
		w := row{kind: k}
		for _, p := range tests {
			if id, _ := kindOf(kinds, p.name); id != k.id || leftOut(p.dir) {
				continue
			}
			w.tests++
			w.places = appendNew(w.places, p.dir)
			if o := r[p]; o == nil || o.action != "pass" {
				w.bad = append(w.bad, p)
			} else {
				w.elapsed += o.elapsed
				w.skipped += o.skipped
			}
		}
		switch {
		case len(w.bad) > 0:
			w.result = "FAIL"
		case k.absent != "":
			w.result = "absent"
		case w.tests == 0:
			w.result = "FAIL"
		default:
			w.result = "pass"
		}
		rows = append(rows, w)
	}
	return rows
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// write prints the table and what failed; it returns how many kinds failed and are absent.
func write(out io.Writer, rows []row, r results) (failed, absent int, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		where := fmt.Sprintf("%s (%d, %s)", strings.Join(row.places, " "), row.tests, row.elapsed.Round(10*time.Millisecond))
		if row.skipped > 0 {
			where += fmt.Sprintf(", without %d on servers that are not here", row.skipped)
		}
		if row.yet != "" {
			where += "; not there yet: " + row.yet
		}
		switch row.result {
		case "FAIL":
			failed++
			if row.tests == 0 {
				where = "no test"
			}
		case "absent":
			absent++
			where = "not there yet: " + row.absent
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.id, row.result, row.tried, where)
	}
	if err := w.Flush(); err != nil {
		return failed, absent, err
	}
	for _, row := range rows {
		for _, p := range row.bad {
			fmt.Fprintf(out, "\n--- %s: %s/%s: %s\n", row.id, p.dir, p.name, verdict(r[p]))
			for _, q := range []place{p, {p.dir, ""}} { // what the package says, too, where a test never ended
				if o := r[q]; o != nil && (q == p || r[p] == nil || r[p].action == "") {
					fmt.Fprint(out, tail(o.output.String()))
				}
			}
		}
	}
	return failed, absent, nil
}

func verdict(o *outcome) string {
	if o == nil || o.action == "" {
		return "did not run to its end"
	}
	return o.action
}

// tail bounds the output that is shown of a test.
func tail(s string) string {
	const most = 16 << 10
	if len(s) > most {
		return "[...]" + s[len(s)-most:]
	}
	return s
}
