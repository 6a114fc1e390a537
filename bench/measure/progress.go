package measure

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/togodb/togo/bench/result"
)

// hear takes what the generator says, until it ends.
func (r *rig) hear(c *child) {
	dec := json.NewDecoder(c.out)
	for {
		var s Sent
		if dec.Decode(&s) != nil {
			break
		}
		r.mu.Lock()
		r.sent = s
		r.mu.Unlock()
	}
	c.wait()
}

// sayRarely is how often a line of progress is written where it cannot be written over.
const sayRarely = 5

// say writes the line of progress.
func (r *rig) say(s *sampler) {
	if r.Progress == nil {
		return
	}
	last := s.seconds[len(s.seconds)-1]
	line := fmt.Sprintf("%4.0fs  sent %s (%s/s)  stored %s  duplicates %s  behind %s", last.AtS, result.Number(float64(s.sent)),
		result.Number(s.perSecond), result.Number(float64(s.counts["stored"])), result.Number(float64(s.counts["duplicates"])), result.Number(float64(last.Lag)))
	if last.FreshP50S != nil {
		line += fmt.Sprintf("  fresh %.1fs", *last.FreshP50S)
	}
	if cpu := last.CPUS["router"] + last.CPUS["writer"]; cpu > 0 {
		line += fmt.Sprintf("  router+writer %.0f%% CPU, %s", 100*cpu/s.span.Seconds(), mebibytes(last.MemoryBytes["router"]+last.MemoryBytes["writer"]))
	}
	switch {
	case s.judgedS > 0:
		line += "  (the last commits)"
	case r.heard().Done:
		line += "  (the load has ended)"
	}
	switch {
	case r.Rewrite:
		fmt.Fprintf(r.Progress, "\r%s%s", line, strings.Repeat(" ", max(0, r.width-len(line))))
		r.width = len(line)
	case len(s.seconds)%sayRarely == 0:
		fmt.Fprintln(r.Progress, line)
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// since is a time of the run in seconds.
func (r *rig) since(t time.Time) float64 { return t.Sub(r.began).Seconds() }
