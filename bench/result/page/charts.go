package page

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/result/plot"
)

// Ingest is events a second over time: sent, stored, dropped as copies.
func Ingest(d *result.Document) plot.Chart {
	title := "Ingest over time"
	if d.Workload.Name != "" {
		title += ": " + d.Workload.Name
	}
	c := chart(title, "events a second",
		overTime(d, "sent", perSecond(func(s result.Second) float64 { return float64(s.Sent) })),
		overTime(d, "stored", perSecond(func(s result.Second) float64 { return float64(s.Stored) })),
		overTime(d, "copies dropped", perSecond(func(s result.Second) float64 { return float64(s.Duplicates) })))
	if len(d.Seconds) > 1 && d.Workload.RatePerS > 0 {
		c.Series = append(c.Series, level("asked for", d, d.Workload.RatePerS))
	}
	return c
}

// charts are those of the page, in its order. Those that the document has no values for are
// left out.
func charts(d *result.Document) []plot.Chart {
	all := []plot.Chart{
		Ingest(d),
		chart("Lag: sent and not yet committed", "events",
			overTime(d, "lag", func(s, _ result.Second) float64 { return float64(s.Lag) })),
		freshness(d),
		chart("CPU time by role", "cores in use", byRole(d, func(s, before result.Second, role string) float64 {
			return rate(s, before, s.CPUS[role])
		})...),
		chart("Resident memory by role", "bytes", byRole(d, func(s, _ result.Second, role string) float64 {
			return float64(s.MemoryBytes[role])
		})...),
		chart("Requests to the store", "requests a second", byKind(d)...),
		chart("Bytes written to the store, and payload bytes sent", "bytes a second",
			overTime(d, "written", perSecond(func(s result.Second) float64 { return float64(s.WrittenBytes) })),
			overTime(d, "sent", perSecond(func(s result.Second) float64 { return float64(s.SentBytes) }))),
		fragments(d),
	}
	return slices.DeleteFunc(all, func(c plot.Chart) bool {
		return !slices.ContainsFunc(c.Series, func(s plot.Series) bool {
			return slices.ContainsFunc(s.Points, func(p plot.Point) bool { return !math.IsNaN(p.Y) })
		})
	})
}

func chart(title, y string, series ...plot.Series) plot.Chart {
	return plot.Chart{Title: title, X: "seconds", Y: y, Series: series, Number: result.Number}
}

// overTime is a line with a point for each sample; value gets the sample and the one before.
func overTime(d *result.Document, name string, value func(s, before result.Second) float64) plot.Series {
	line := plot.Series{Name: name}
	var before result.Second
	for _, s := range d.Seconds {
		line.Points = append(line.Points, plot.Point{X: s.AtS, Y: value(s, before)})
		before = s
	}
	return line
}

func perSecond(count func(result.Second) float64) func(s, before result.Second) float64 {
	return func(s, before result.Second) float64 { return rate(s, before, count(s)) }
}

// rate is a count since the sample before, for a second.
func rate(s, before result.Second, count float64) float64 {
	if s.AtS <= before.AtS {
		return math.NaN()
	}
	return count / (s.AtS - before.AtS)
}

func level(name string, d *result.Document, value float64) plot.Series {
	last := d.Seconds[len(d.Seconds)-1].AtS
	return plot.Series{Name: name, Level: true, Points: []plot.Point{{X: d.Seconds[0].AtS, Y: value}, {X: last, Y: value}}}
}

func freshness(d *result.Document) plot.Chart {
	optional := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	c := chart("Freshness: acknowledged by Kafka until visible to a query", "seconds",
		overTime(d, "median", func(s, _ result.Second) float64 { return optional(s.FreshP50S) }),
		overTime(d, "slowest", func(s, _ result.Second) float64 { return optional(s.FreshMaxS) }))
	if d.Freshness != nil && d.Freshness.LimitS > 0 && len(d.Seconds) > 1 {
		c.Series = append(c.Series, level("flush age + 1 s", d, d.Freshness.LimitS))
	}
	return c
}

func byRole(d *result.Document, value func(s, before result.Second, role string) float64) []plot.Series {
	roles := map[string]bool{}
	for _, s := range d.Seconds {
		for role := range s.CPUS {
			roles[role] = true
		}
		for role := range s.MemoryBytes {
			roles[role] = true
		}
	}
	var lines []plot.Series
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		lines = append(lines, overTime(d, role, func(s, before result.Second) float64 { return value(s, before, role) }))
	}
	return lines
}

func byKind(d *result.Document) []plot.Series {
	kinds := map[string]bool{}
	for _, s := range d.Seconds {
		for kind := range s.Requests {
			kinds[kind] = true
		}
	}
	var lines []plot.Series
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, overTime(d, kind, perSecond(func(s result.Second) float64 { return float64(s.Requests[kind]) })))
	}
	return lines
}

// fragments are the live ones by size; samples without a count are left out.
func fragments(d *result.Document) plot.Chart {
	c := chart("Live fragments by size", "fragments")
	c.Stack = true
	if d.Fragments == nil {
		return c
	}
	for i := range d.Fragments.BySize {
		line := plot.Series{Name: className(d.Fragments.BySize, i)}
		for _, s := range d.Seconds {
			if len(s.Fragments) == len(d.Fragments.BySize) {
				line.Points = append(line.Points, plot.Point{X: s.AtS, Y: float64(s.Fragments[i])})
			}
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// className says which fragments a class has.
func className(classes []result.BySize, i int) string {
	if below := classes[i].BelowBytes; below > 0 {
		return "below " + binary(below)
	}
	if i > 0 {
		return "from " + binary(classes[i-1].BelowBytes)
	}
	return "any size"
}

// binary is a size in KiB, MiB or GiB.
func binary(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<unit.shift {
			return fmt.Sprintf("%s %s", result.Number(float64(n)/float64(int64(1)<<unit.shift)), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
