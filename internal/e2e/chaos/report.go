package chaos

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// table prints rates and what was done.
func (r *run) table(report Report) {
	took := time.Since(r.began).Seconds()
	fmt.Fprintf(r.Out, "\n%d records in %.0f s, %.0f a second, all pauses included\n\n", report.Records, took, float64(report.Records)/took)
	w := tabwriter.NewWriter(r.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(w, "%d\t\u00a0%s\n", r.counts[name], name)
	}
	r.mu.Unlock()
	troubles, total := r.proxy.Counts()
	for _, t := range slices.Sorted(maps.Keys(troubles)) {
		fmt.Fprintf(w, "%d\t\u00a0store: %s\n", troubles[t], t)
	}
	fmt.Fprintf(w, "%d\t\u00a0store: requests in all\n", total)
	var starting, running int
	for _, n := range r.nodes {
		starting += n.own.starting
		running += n.own.running
	}
	fmt.Fprintf(w, "%d\t\u00a0processes that ended while starting, since a server was not there, and were started again\n", starting)
	fmt.Fprintf(w, "%d\t\u00a0processes that ended by themselves later\n", running)
	w.Flush()
	fmt.Fprintln(r.Out)
}
