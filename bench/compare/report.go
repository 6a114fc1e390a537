package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// line is a step's row of the table.
type line struct {
	name    string
	once    string // what it promises of each event
	figures figures
	whole   bool // it wrote files of all events, which must be there
}

// report is what the steps took.
type report struct {
	*options
	unique, bytes int64 // of the events
	lines         []line
	skipped       []string
	wrong         int // steps that promise each event once, and broke it
}

const (
	exactlyOnce = "each event once, repeats dropped"
	batchOnce   = "repeats of the batch dropped; a batch that fails is the caller's"
)

// all runs the steps one after the other.
func (r *report) all(ctx context.Context) (err error) {
	if r.unique, r.bytes, err = makeData(r.options); err != nil {
		return err
	}
	if err := r.parts(ctx); err != nil {
		return err
	}
	if err := r.step(ctx, "DuckDB, threads: 2", "duckdb 2", 2, batchOnce, true); err != nil {
		return err
	}
	if err := r.embedded(ctx); err != nil {
		return err
	}
	if err := r.limits(ctx); err != nil {
		return err
	}
	return r.servers(ctx)
}

// step runs one in a process of its own.
func (r *report) step(ctx context.Context, name, step string, processors int, once string, whole bool) error {
	if !r.wants(name) {
		return nil
	}
	f, err := r.inChild(ctx, step, processors)
	if err != nil {
		return err
	}
	r.add(line{name, once, f, whole})
	return nil
}

// add takes a step's only run.
func (r *report) add(l line) {
	r.check(l)
	r.show(l)
}

func (r *report) show(l line) {
	fmt.Fprintf(os.Stderr, "%-50s %8.2f us of CPU an event\n", l.name, micros(l.figures.perEvent()))
	r.lines = append(r.lines, l)
}

// check finds out a run that broke its promise.
func (r *report) check(l line) {
	if l.whole && (l.figures.Left != 0 || l.figures.Rows != r.unique) {
		r.wrong++
		fmt.Fprintf(os.Stderr, "%s: %d rows, %d of them repeats, of %d events that differ\n", l.name, l.figures.Rows, l.figures.Left, r.unique)
	}
}

func (r *report) skip(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	r.skipped = append(r.skipped, s)
	fmt.Fprintln(os.Stderr, "skipped:", s)
}

const (
	duckAlone   = "DuckDB, threads: 1"
	routerAlone = "Togo's router, from memory"
	writerAlone = "Togo's writer, from memory"
	parquetOnly = "limit: Parquet by parquet-go, from a struct"
	localPuts   = "limit: files put, local and synced"
	through     = "Togo, Kafka in and between"
	topicReads  = "limit: franz-go reads the topic"
)

// parts are DuckDB on one thread, and Togo's own without Kafka, in turn several times: within minutes a machine
// is faster or slower for all. What counts of each is the run with the median CPU time.
func (r *report) parts(ctx context.Context) error {
	// The writer takes what the router made, and the limits of its files go by how many it made.
	written := r.wants(writerAlone) || r.wants(parquetOnly) || r.wants(localPuts) || r.wants(s3Puts)
	parts := []struct {
		line
		step   string
		wanted bool
	}{
		{line{name: duckAlone, once: batchOnce, whole: true}, "duckdb 1", r.wants(duckAlone)},
		{line{name: routerAlone, once: "a part"}, "route", written || r.wants(routerAlone)},
		{line{name: writerAlone, once: exactlyOnce, whole: true}, "write", written},
	}
	runs := make([][]figures, len(parts))
	for range r.runs {
		for i, p := range parts {
			if !p.wanted {
				continue
			}
			f, err := r.inChild(ctx, p.step, 1)
			if err != nil {
				return err
			}
			p.figures = f
			r.check(p.line)
			runs[i] = append(runs[i], f)
		}
	}
	for i, p := range parts {
		if p.wanted {
			slices.SortFunc(runs[i], func(a, b figures) int { return cmp.Compare(a.CPU, b.CPU) })
			p.figures = runs[i][len(runs[i])/2]
			r.show(p.line)
		}
	}
	if l := r.find(writerAlone); l != nil {
		r.files, r.fileBytes = l.figures.Files, l.figures.Bytes
	}
	return nil
}

// embedded runs the program, and the consumer alone, with Togo's own broker.
func (r *report) embedded(ctx context.Context) (err error) {
	if !r.wants(through) && !r.wants(topicReads) {
		return nil
	}
	addr, stop, err := r.startBroker(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := stop(); err == nil {
			err = e
		}
	}()
	if err := produce(ctx, r.options, addr); err != nil {
		return fmt.Errorf("fill the topic: %w", err)
	}
	r.broker = addr
	if err := r.step(ctx, topicReads, "consume", runtime.NumCPU(), "", false); err != nil {
		return err
	}
	if !r.wants(through) {
		return nil
	}
	f, err := program(ctx, r.options, "embedded", addr, "")
	if err != nil {
		return err
	}
	if err := f.readTogo(ctx, filepath.Join(r.dir, "embedded", "store")); err != nil {
		return err
	}
	r.add(line{through, exactlyOnce, f, true})
	return nil
}

// limits are one step each.
func (r *report) limits(ctx context.Context) error {
	for _, l := range [][2]string{
		{"limit: JSON parsed, Togo's scanner", "parse"},
		{"limit: JSON parsed, buger/jsonparser", "jsonparser"},
		{parquetOnly, "columns"},
		{localPuts, "put"},
	} {
		if err := r.step(ctx, l[0], l[1], 1, "", false); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) find(name string) *line {
	for i := range r.lines {
		if strings.HasPrefix(r.lines[i].name, name) {
			return &r.lines[i]
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// per is one step's CPU time an event in microseconds, 0 if it was not run.
func (r *report) per(name string) float64 {
	l := r.find(name)
	if l == nil {
		return 0
	}
	return micros(l.figures.perEvent())
}

// print writes the table, and a last line for programs.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d events of %d bytes, %.1f%% repeats\n\n", r.events, r.bytes/int64(max(1, r.events)),
		100*float64(int64(r.events)-r.unique)/float64(max(1, r.events)))
	duck := r.per(duckAlone)
	fmt.Fprintln(w, "| what | CPU s, a million events | of DuckDB's | events/s | peak memory | promise | repeats left | files | bytes an event |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---|---:|---:|---:|")
	for _, l := range r.lines {
		f := l.figures
		times, left, files, size := "", "", "", ""
		if duck > 0 {
			times = fmt.Sprintf("%.2f", micros(f.perEvent())/duck)
		}
		if f.Rows > 0 {
			left, files, size = fmt.Sprint(f.Left), fmt.Sprint(f.Files), fmt.Sprintf("%.0f", float64(f.Bytes)/float64(f.Rows))
		}
		fmt.Fprintf(w, "| %s | %.2f | %s | %s | %d MiB | %s | %s | %s | %s |\n", l.name, micros(f.perEvent()), times,
			thousands(float64(f.Events)/f.Wall.Seconds()), f.Memory>>20, l.once, left, files, size)
	}
	fmt.Fprintln(w)
	for _, s := range r.skipped {
		fmt.Fprintln(w, "Skipped:", s)
	}
	sum := r.per("limit: franz-go") + min(r.per("limit: JSON parsed, Togo"), r.per("limit: JSON parsed, buger")) + r.per("limit: Parquet") + r.per("limit: files")
	fmt.Fprintf(w, "RESULT events=%d duckdb_us=%.2f writer_us=%.2f through_us=%.2f limits_us=%.2f writer/duckdb=%.2f through/duckdb=%.2f through/limits=%.2f skipped=%d wrong=%d\n",
		r.events, duck, r.per(writerAlone), r.per(through), sum, ratio(r.per(writerAlone), duck), ratio(r.per(through), duck), ratio(r.per(through), sum),
		len(r.skipped), r.wrong)
}

// ratio is 0 where one of the two was not measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// thousands is a number with commas.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
