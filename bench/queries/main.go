// Queries measures twelve queries that people run on logs, by Togo and by DuckDB with read_parquet on exactly the tenant's files: a day of
// one tenant's events (2 million of 10 million, 25 columns, 200 tenants in the store) as they lie after compaction.
//
// Each engine is a process of its own on one thread, both on one processor; their runs take turns, and the median of the runs' CPU
// time counts, what earlier runs left to the garbage collector included. Both keep what they may: DuckDB the files' metadata, Togo footers and its cache on disk. Answers are compared. Cold runs of
// Togo say how many bytes it asks the store for, beside what the needed columns and the footers take.
//
// It is a module of its own, because DuckDB needs cgo and the program must not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	events := flag.Int("events", 10_000_000, "in the store, a fifth of them the large tenant's")
	dir := flag.String("dir", filepath.Join(cache, "togo-bench"), "keeps the store between runs (about 3 GB)")
	runs := flag.Int("runs", 15, "of each query by each engine, after one that warms up")
	only := flag.String("only", "", "queries whose name contains this")
	processor := flag.Int("processor", 0, "both engines run on this one; -1: on any")
	profile := flag.String("profile", "", "a file for Togo's CPU profile")
	engine := flag.String("child", "", "used by the program itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *events, *engine, options{*runs, *processor, *only, *profile}); err != nil {
		fmt.Fprintln(os.Stderr, "queries:", err)
		os.Exit(1)
	}
}

type options struct {
	runs, processor int
	only, profile   string
}

func run(ctx context.Context, dir string, events int, engine string, o options) error {
	w, err := open(ctx, dir, events)
	if err != nil {
		return err
	}
	if engine != "" {
		return serve(ctx, w, engine, o.profile)
	}
	lines, err := compare(w, o)
	if err != nil {
		return err
	}
	table(os.Stdout, w, lines)
	for _, l := range lines {
		if !l.same {
			return fmt.Errorf("%s: the answers differ:\n  togo:   %s\n  duckdb: %s", l.question.Name, shown(l.togo.Rows), shown(l.duck.Rows))
		}
	}
	return nil
}

// shown are the first rows of an answer.
func shown(rows []string) string {
	return fmt.Sprintf("%d rows: %s", len(rows), strings.Join(rows[:min(3, len(rows))], "; "))
}

// line is what was measured of one query.
type line struct {
	question         *question
	togo, duck, cold result
	same             bool
}

// compare runs all queries, the engines in turn.
func compare(w *world, o options) (lines []line, err error) {
	var engines [2]*child
	for i, name := range []string{"togo", "duckdb"} {
		if engines[i], err = start(w, name, o); err != nil {
			return nil, err
		}
		defer func() {
			if stopped := engines[i].stop(); err == nil {
				err = stopped
			}
		}()
	}
	for i := range queries {
		if !strings.Contains(queries[i].Name, o.only) {
			continue
		}
		l := line{question: &queries[i]}
		if l.cold, err = engines[0].ask(order{Query: i, Cold: true}); err != nil {
			return nil, err
		}
		for run := range o.runs + 1 {
			for e, best := range []*result{&l.togo, &l.duck} {
				r, err := engines[e].ask(order{Query: i})
				if err != nil {
					return nil, err
				}
				if run > 0 {
					best.take(r)
				}
			}
		}
		l.same = same(l.question, l.togo.Rows, l.duck.Rows)
		lines = append(lines, l)
		fmt.Fprintf(os.Stderr, "%-30s togo %v, duckdb %v\n", l.question.Name, l.togo.CPU, l.duck.CPU)
	}
	return lines, nil
}

// take keeps the times of another run.
func (r *result) take(next result) {
	r.runs = append(r.runs, next)
	r.Rows, r.Needed, r.Memory = next.Rows, next.Needed, max(r.Memory, next.Memory)
	r.CPU, r.Wall, r.FirstRow = r.median(func(o *result) time.Duration { return o.CPU }), r.median(func(o *result) time.Duration { return o.Wall }),
		r.median(func(o *result) time.Duration { return o.FirstRow })
}

func (r *result) median(of func(*result) time.Duration) time.Duration {
	var all []time.Duration
	for i := range r.runs {
		all = append(all, of(&r.runs[i]))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
