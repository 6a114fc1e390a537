package scale

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/result/plot"
)

// Encode is the report's JSON.
func (r *Report) Encode() ([]byte, error) {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	return append(body, '\n'), nil
}

// Print writes the report for people, and a last line, RESULT, for programs.
func (r *Report) Print(out io.Writer) error {
	n := result.Number
	fmt.Fprintf(out, "%d tenants on %d shards, %d days kept, %d tenants moved a day; %d processes of each role\n%s, %d cores, load before %s\n\n",
		r.Tenants, r.Shards, r.RetentionDays, r.MovesPerDay, r.Processes, r.Machine.CPU, r.Machine.Cores, n(r.Machine.LoadBefore))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := r.Placements
	fmt.Fprintln(w, "PLACEMENTS\t")
	fmt.Fprintf(w, "table in memory\t%sB\n", n(float64(p.MemoryBytes)))
	fmt.Fprintf(w, "start\t%s ms CPU, %d requests, %sB\n", n(p.StartCPUMs), p.StartRequests, n(float64(p.StartBytes)))
	fmt.Fprintf(w, "checkpoint, every 100 versions\t%s ms CPU, %sB\n", n(p.CheckpointCPUMs), n(float64(p.CheckpointBytes)))
	fmt.Fprintf(w, "raise of the horizon, once a minute\t%s us CPU\n", n(p.ExtendCPUUs))
	fmt.Fprintf(w, "look-up of an event's shard\t%s ns as traffic asks, %s ns all tenants in turn\n\n", n(p.LookupHotNs), n(p.LookupColdNs))
	row := func(title string, value func(Growth) string) {
		fmt.Fprint(w, title)
		for _, g := range r.Growth {
			fmt.Fprint(w, "\t", value(g))
		}
		fmt.Fprintln(w)
	}
	row("ONE SHARD'S LOG, days of history", func(g Growth) string { return n(float64(g.Days)) })
	row("live fragments", func(g Growth) string { return n(float64(g.Fragments)) })
	row("state in memory: bytes", func(g Growth) string { return n(float64(g.MemoryBytes)) })
	row("start: ms CPU", func(g Growth) string { return n(g.StartCPUMs) })
	row("start: requests", func(g Growth) string { return n(float64(g.StartRequests)) })
	row("start: bytes", func(g Growth) string { return n(float64(g.StartBytes)) })
	row("commit: us CPU that it waits", func(g Growth) string { return n(g.CommitCPUUs) })
	row("commit: fragments", func(g Growth) string { return n(g.FragmentsPerCommit) })
	row("record: requests, checkpoints included", func(g Growth) string { return n(g.RecordRequests) })
	row("record: bytes, checkpoints included", func(g Growth) string { return n(g.RecordBytes) })
	row("checkpoint: ms CPU, mean", func(g Growth) string { return n(g.CheckpointCPUMs) })
	row("checkpoint: ms CPU, longest", func(g Growth) string { return n(g.CheckpointMaxCPUMs) })
	row("files of a tenant's day: us CPU", func(g Growth) string { return n(g.LookupCPUUs) })
	row("picker over all buckets: ms CPU", func(g Growth) string { return n(g.PickCPUMs) })
	row("drop of an hour by retention: ms CPU", func(g Growth) string {
		if g.Expired == 0 {
			return "-"
		}
		return n(g.ExpireCPUMs)
	})
	fmt.Fprintln(w)
	r.printVolumes(w)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "WALLS, at the most events a day and all of the history\there\tlimit\troom")
	for _, wall := range r.Walls {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", wall.What, n(wall.Value), n(wall.Limit), n(wall.Headroom))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	first, last := r.Growth[0], r.Growth[len(r.Growth)-1]
	v := r.Volumes[len(r.Volumes)-1]
	_, err := fmt.Fprintf(out, "\nThe first wall: %s. What moves it: %s.\n\nRESULT tenants=%d shards=%d days=%d table_bytes=%d table_start_ms=%.3g lookup_ns=%.3g state_bytes=%d start_ms=%.3g start_requests=%d commit_us_first=%.3g commit_us_last=%.3g record_bytes_first=%.0f record_bytes_last=%.0f dollars_month=%.0f dollars_per_million=%.3g wall_room=%.3g\n",
		r.Walls[0].What, r.Walls[0].Remedy, r.Tenants, r.Shards, r.RetentionDays, r.Placements.MemoryBytes, r.Placements.StartCPUMs, r.Placements.LookupHotNs,
		last.MemoryBytes, last.StartCPUMs, last.StartRequests, first.CommitCPUUs, last.CommitCPUUs, first.RecordBytes, last.RecordBytes, v.DollarsMonth, v.DollarsPerMillion, r.Walls[0].Headroom)
	return err
}

func (r *Report) printVolumes(w io.Writer) {
	row := func(title string, value func(Volume) float64) {
		fmt.Fprint(w, title)
		for _, v := range r.Volumes {
			fmt.Fprint(w, "\t", result.Number(value(v)))
		}
		fmt.Fprintln(w)
	}
	row("THE WHOLE, events a day", func(v Volume) float64 { return v.EventsPerDay })
	row("a shard's commits an hour", func(v Volume) float64 { return v.CommitsPerHour })
	row("events of a fragment as flushed", func(v Volume) float64 { return v.EventsPerFragment })
	row("written for each byte flushed", func(v Volume) float64 { return v.Amplification })
	row("fragments at rest", func(v Volume) float64 { return v.Fragments })
	row("bytes stored", func(v Volume) float64 { return v.StoredBytes })
	row("bytes stored for an event", func(v Volume) float64 { return v.BytesPerEvent })
	row("requests for a million events", func(v Volume) float64 { return v.RequestsPerMillion })
	row("dollars a month: flushes", func(v Volume) float64 { return v.DollarsFlush })
	row("  merges", func(v Volume) float64 { return v.DollarsMerge })
	row("  shard logs", func(v Volume) float64 { return v.DollarsLog })
	row("  following logs and placements", func(v Volume) float64 { return v.DollarsFollow })
	row("  garbage", func(v Volume) float64 { return v.DollarsCollect })
	row("  storage", func(v Volume) float64 { return v.DollarsStorage })
	row("  all", func(v Volume) float64 { return v.DollarsMonth })
	row("dollars for a million events", func(v Volume) float64 { return v.DollarsPerMillion })
	row("dollars for a tenant and month", func(v Volume) float64 { return v.DollarsTenantMonth })
	fmt.Fprintln(w)
}

// Cost is the plot of dollars a month against events a day.
func (r *Report) Cost() plot.Chart {
	line := func(name string, value func(Volume) float64) plot.Series {
		s := plot.Series{Name: name}
		for _, v := range r.Volumes {
			s.Points = append(s.Points, plot.Point{X: v.EventsPerDay, Y: value(v)})
		}
		return s
	}
	return plot.Chart{
		Title: fmt.Sprintf("Cost against scale: %s tenants, %s shards, %d days kept (model)", result.Number(float64(r.Tenants)), result.Number(float64(r.Shards)), r.RetentionDays),
		X:     "events a day", Y: "dollars a month, list prices", LogX: true, LogY: true, Number: result.Number,
		Series: []plot.Series{
			line("all", func(v Volume) float64 { return v.DollarsMonth }),
			line("flushes", func(v Volume) float64 { return v.DollarsFlush }),
			line("merges", func(v Volume) float64 { return v.DollarsMerge }),
			line("logs", func(v Volume) float64 { return v.DollarsLog }),
			line("following", func(v Volume) float64 { return v.DollarsFollow }),
			line("garbage", func(v Volume) float64 { return v.DollarsCollect }),
			line("storage", func(v Volume) float64 { return v.DollarsStorage }),
		},
	}
}
