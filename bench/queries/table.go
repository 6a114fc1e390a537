package main

import (
	"fmt"
	"io"
	"time"
)

// The figures that the queries are held against.
const (
	mostTimes   = 1.2 // of DuckDB's time, for any query
	leastFaster = 5   // times faster, where metadata, order, dictionaries or filters answer
	mostBytes   = 1.3 // of what the needed columns and the footers take
)

// table prints what was measured, for a reader and for the README.
func table(out io.Writer, w *world, lines []line) {
	fmt.Fprintf(out, "%d rows of one tenant out of %d events of %d tenants; CPU time of one query on one thread, the median of several runs\n\n", w.Rows, w.Events, tenants(w.Events))
	fmt.Fprintln(out, "| query | Togo | DuckDB | times faster | goal | first row | cold: read | of what is needed | requests |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---|---:|---:|---:|---:|")
	reached, memory, duckMemory := 0, int64(0), int64(0)
	for _, l := range lines {
		goal, ok := l.goal()
		if ok {
			reached++
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.1f | %s | %s | %s | %s | %d |\n", l.question.Name, short(l.togo.CPU), short(l.duck.CPU), l.faster(), goal,
			short(l.togo.FirstRow), size(l.cold.Bytes), l.share(), l.cold.Requests)
		memory, duckMemory = max(memory, l.togo.Memory), max(duckMemory, l.duck.Memory)
	}
	fmt.Fprintf(out, "\nMost memory of the process over all queries: Togo %s, DuckDB %s.\n", size(memory), size(duckMemory))
	fmt.Fprintf(out, "RESULT queries=%d reached=%d\n", len(lines), reached)
}

// faster is how many times.
func (l *line) faster() float64 { return float64(l.duck.CPU) / float64(max(l.togo.CPU, 1)) }

func (l *line) goal() (text string, reached bool) {
	text, reached = fmt.Sprintf("at least %.2f", 1/mostTimes), l.faster() >= 1/mostTimes
	if l.question.Pruned {
		text, reached = fmt.Sprintf("at least %d", leastFaster), l.faster() >= leastFaster
	}
	if l.duck.Needed > 0 && float64(l.cold.Bytes) > mostBytes*float64(l.duck.Needed) {
		reached = false
	}
	if !reached {
		text += ", missed"
	}
	return text, reached
}

// share is what a cold run reads beside what its columns and the footers take.
func (l *line) share() string {
	if l.duck.Needed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(l.cold.Bytes)/float64(l.duck.Needed))
}

func short(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(d)/1e6)
}

func size(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
