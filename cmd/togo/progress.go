package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/togodb/togo/query/scan"
)

// progress says on a terminal, on one line that it takes away again, how far a query is.
type progress struct {
	end  chan struct{}
	done chan struct{}
	once sync.Once
}

// startProgress begins after a moment, so that short queries show nothing. What is no terminal gets nothing.
func startProgress(out *os.File, s *scan.Stats) *progress {
	p := &progress{end: make(chan struct{}), done: make(chan struct{})}
	if out == nil || !isTerminal(out) {
		close(p.done)
		return p
	}
	go p.run(out, s)
	return p
}

// stop returns when the line is gone.
func (p *progress) stop() {
	p.once.Do(func() { close(p.end) })
	<-p.done
}

func (p *progress) run(out *os.File, s *scan.Stats) {
	defer close(p.done)
	start := time.Now()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-p.end:
			if shown {
				fmt.Fprint(out, "\r\033[K")
			}
			return
		case <-tick.C:
			shown = true
			fmt.Fprint(out, "\r\033[K", progressLine(time.Since(start), s))
		}
	}
}

// progressLine is what is known; a server tells nothing until the end.
func progressLine(took time.Duration, s *scan.Stats) string {
	line := fmt.Sprintf("%.1f s", took.Seconds())
	total := s.Fragments.Load()
	if total == 0 {
		return line
	}
	done := s.PrunedByTime.Load() + s.PrunedByRange.Load() + s.AnsweredByMeta.Load() + s.Read.Load()
	return line + fmt.Sprintf("  %d of %d files  %d rows  %.1f MB", done, total, s.Rows.Load(), float64(s.StoreBytes.Load()+s.CacheBytes.Load())/1e6)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
