package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/writer/shard"
)

// nemesis does the faults that are not of one call: to processes, to clocks, to whole
// servers, to Kafka's logs.
type nemesis struct {
	*stream
	w *world
}

func newNemesis(w *world) *nemesis { return &nemesis{w.faults.stream("nemesis"), w} }

// begin strikes again and again, about every `every`.
func (n *nemesis) begin(every time.Duration) {
	n.w.After(delay(n.r, every/10, every*3), func() {
		n.act()
		n.begin(every)
	})
}

// act draws the same numbers whatever comes of them.
func (n *nemesis) act() {
	w, r := n.w, n.r
	n.n++
	pick, kind, d, x := r.IntN(1<<20), r.IntN(100), delay(r, time.Second, 20*time.Minute), r.IntN(1<<20)
	procs := w.processes()
	if len(procs) == 0 {
		return // the store has no placements yet
	}
	p := procs[pick%len(procs)]
	switch {
	case kind < 30:
		if p.Up() && n.strike("kill", "%s, for %s", p.Name, (d/10).Round(time.Millisecond)) {
			p.Kill()
			w.After(d/10, func() { w.restart(p) })
		}
	case kind < 50:
		if p.Up() && n.strike("freeze", "%s, for %s", p.Name, d.Round(time.Millisecond)) {
			p.Freeze(d)
		}
	case kind < 57:
		skews := []time.Duration{-365 * 24 * time.Hour, -3 * time.Hour, -time.Minute, 0, time.Minute, 3 * time.Hour, 365 * 24 * time.Hour}
		if skew := skews[x%len(skews)]; n.strike("clock", "of %s off by %s", p.Name, skew) {
			p.Skew = skew
		}
	case kind < 63:
		of := []string{"store", "kafka"}[x%2]
		if n.strike("down", "%s, for %s", of, (d / 4).Round(time.Millisecond)) {
			n.f.down[of] = w.Now() + d/4
		}
	case kind < 69:
		if wp := w.writers[x%len(w.writers)]; wp.Up() && n.strike("release", "%s", wp.Name) {
			w.release(wp, d/10)
		}
	case kind < 72:
		if n.strike("rebalance", "") {
			w.broker.group.rebalance()
		}
	case kind < 75:
		wp := w.writers[x%len(w.writers)]
		if n.strike("place lost", "the readings of %s", wp.Name) && wp.Up() {
			for _, r := range wp.runners {
				if s := r.session; s != nil && (s.stopped == nil || s.stopped.Reason == shard.Lost) {
					s.reload("the reading has lost its place")
				}
			}
		}
	default:
		n.kafka(x, kind)
	}
}

// kafka elects leaders, and in some seeds lets Kafka lose what it had acknowledged.
func (n *nemesis) kafka(x, kind int) {
	w := n.w
	name := shardTopic
	if x%3 == 0 {
		name = w.plan.intakes[x/3%len(w.plan.intakes)]
	}
	t := w.broker.topics[name]
	at := int32(x / 7 % len(t.parts))
	p := t.parts[at]
	excuse := w.ledger.excuse
	if name == shardTopic {
		excuse = w.ledger.excuseShard
	}
	where := fmt.Sprintf("%s[%d]", name, at)
	lose := int64(x / 11 % 8)
	switch {
	case kind < 81 || !w.plan.kafkaLoses: // a clean election: a new leader with the whole log
		if n.strike("election", "%s", where) {
			p.elect(p.end)
		}
	case kind < 88:
		if cut := max(p.start, p.end-lose); n.strike("history cut", "%s from %d to %d", where, p.end, cut) {
			excuse(t, at, p.elect(cut), "history cut")
		}
	case kind < 95:
		start := min(p.end, p.start+2*lose)
		if x%2 == 0 {
			start = max(p.start, p.end-lose/2) // ahead of the readers
		}
		if n.strike("retention", "%s starts at %d", where, start) {
			excuse(t, at, p.expire(start), "retention")
		}
	default:
		if n.strike("recreated", "topic %s", name) {
			for i, old := range t.parts {
				excuse(t, int32(i), old.records, "topic recreated")
			}
			w.broker.recreate(t)
		}
	}
}

// release has a writer give its shards up in good order, as at a restart.
func (w *world) release(p *writerProcess, patience time.Duration) {
	for _, r := range p.runners {
		r.leaving = true
	}
	w.After(patience, func() {
		if p.Up() {
			p.Kill()
		}
		w.After(time.Second, func() { w.restart(p.Process) })
	})
}

// processes are all that can be killed.
func (w *world) processes() []*loop.Process {
	var out []*loop.Process
	for _, r := range w.routers {
		out = append(out, r.Process)
	}
	for _, p := range w.writers {
		out = append(out, p.Process)
	}
	for _, p := range w.compacts {
		out = append(out, p.Process)
	}
	return out
}

// restart starts a process that was killed.
func (w *world) restart(p *loop.Process) {
	if p.Up() {
		return
	}
	w.Note("start %s", p.Name)
	if i := slices.IndexFunc(w.routers, func(r *routerProcess) bool { return r.Process == p }); i >= 0 {
		w.startRouter(w.routers[i])
		return
	}
	for _, wp := range w.writers {
		if wp.Process == p {
			w.startWriter(wp)
		}
	}
	for _, c := range w.compacts {
		if c.Process == p {
			w.startCompactor(c)
		}
	}
}
