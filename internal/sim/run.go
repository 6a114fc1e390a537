package sim

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/writer/shard"
)

type kafkaTP = kafka.TopicPartition

// Options of a run.
type Options struct {
	Seed  uint64
	Trace io.Writer // gets a line for everything that happens; nil: nobody does

	// Only, if not nil, lets just these of the seed's faults happen.
	Only map[string]bool
	// MaxEvents is after how many records no more are sent; 0: the seed decides.
	MaxEvents int
	// Crash has a process crash at one call.
	Crash *Crash

	plan   func(*plan)
	broken string // a kind of fault that is called a failure, to try what is done with one
}

func (o *Options) without(id string) bool { return o.Only != nil && !o.Only[id] }

// Result is what came of a run.
type Result struct {
	Seed    uint64
	Failure string // empty: every promise was kept
	Faults  []Fault
	Hash    uint64 // of everything that happened
	Steps   int64
	Calls   []Call         // of a run with a Crash, in their order
	Took    time.Duration  // simulated
	Answers map[string]int // to the calls of store and Kafka, by class: ok, 404, 409, 412, 500, 503, ...
	Tally   Tally
	Records map[string]int // of all shard logs, by kind; "phantom": of a freed position; "trim": base markers
}

// drainLimit is the simulated time in which everything that was sent must be stored
// once nothing goes wrong any more: longer than every pause, back-off and reclaim together.
const drainLimit = time.Hour

// Run runs one seed to its end.
func Run(opt Options) (res Result) {
	w := newWorld(opt)
	defer func() {
		if r := recover(); r != nil {
			w.fail("panic: %v\n%s", r, debug.Stack())
		}
		w.tally.Sent = len(w.ledger.sent)
		res = Result{Seed: opt.Seed, Failure: w.failure, Faults: w.faults.list, Hash: w.Hash(), Steps: w.Steps(), Calls: w.calls, Took: w.Now(), Answers: w.answers, Tally: w.tally, Records: w.watch.counts()}
		w.end()
	}()
	w.populate()
	w.run()
	return res
}

// run lets traffic and faults go on for a while, now and then to a point where
// everything must be stored.
func (w *world) run() {
	events := w.plan.events
	if w.plan.faultEvery > 0 {
		newNemesis(w).begin(w.plan.faultEvery)
	}
	rounds := w.plan.quietPoints + 1
	for round := range rounds {
		w.faults.calm = false
		if w.operator != nil {
			w.operator.idle = false
		}
		w.traffic.left = events / rounds
		if round == 0 {
			w.traffic.left += events % rounds
		}
		w.traffic.begin(w.plan.eventEvery)
		for w.traffic.left > 0 && w.failure == "" {
			w.Step(w.Now() + time.Hour)
		}
		w.until(w.Now() + time.Minute)
		w.quiet(round == rounds-1)
		if w.failure != "" {
			return
		}
	}
}

func (w *world) until(end time.Duration) {
	for w.failure == "" && w.Step(end) {
	}
}

// quiet ends all faults, waits until everything is stored, and compares.
func (w *world) quiet(last bool) {
	w.faults.calm = true
	clear(w.faults.down)
	for w.operator == nil && w.failure == "" {
		w.until(w.Now() + time.Minute) // the store's first table is being made
	}
	w.operator.idle = true
	w.operator.Thaw()
	for _, p := range w.processes() {
		p.Thaw()
		p.Skew = 0
		if !p.Up() {
			w.restart(p)
		}
	}
	rejoined := false
	for begin := w.Now(); w.failure == ""; {
		if !rejoined && w.Now()-begin > drainLimit/2 {
			// A stale commit may have moved the group's position back: the next owner of
			// the partition reads from there.
			rejoined = true
			for _, r := range w.routers {
				r.Kill()
				w.restart(r.Process)
			}
		}
		if w.Now()-begin >= drainLimit {
			w.fail("not everything was stored within %s without faults: %s", drainLimit, strings.Join(w.undone(), "; "))
			return
		}
		w.until(w.Now() + 5*time.Second)
		if len(w.undone()) == 0 {
			break
		}
	}
	if w.failure == "" {
		w.check()
	}
	if w.failure == "" && last && len(w.compacts) > 0 {
		w.settle()
	}
}

// settle waits until compaction has nothing to do any more: then what is stored is the same as
// before, and the store holds nothing that nobody names. It begins when everything is stored.
func (w *world) settle() {
	c := w.plan.compaction.config
	rest := max(c.QuietNewestAfter, c.ExpireEvery) + 4*c.Poll
	for begin := w.Now(); w.failure == ""; {
		w.until(w.Now() + 10*time.Second)
		var at time.Duration
		for _, p := range w.compacts {
			at = max(at, p.restless)
		}
		garbage, open := w.watch.garbage(), 0
		for _, l := range w.watch.logs {
			open += len(l.jobs)
		}
		if w.Now()-at >= rest && len(garbage) == 0 && open == 0 {
			break
		}
		if w.Now()-begin >= settleLimit {
			w.fail("compaction has not come to rest within %s without faults: last at %s, %d open merges, garbage: %q", settleLimit, at, open, garbage)
		}
	}
	if w.failure == "" {
		w.check()
	}
}

// settleLimit is longer than every time-out, grace and late write together.
const settleLimit = 2 * time.Hour

// undone says what is sent and not stored.
func (w *world) undone() []string {
	var out []string
	for _, name := range w.plan.intakes {
		t := w.broker.topics[name]
		for p, part := range t.parts {
			c, ok := w.broker.group.committed[kafkaTP{Topic: name, Partition: int32(p)}]
			if part.readable() < part.end || part.end > part.start && (!ok || c.topic != t.id || c.Offset < part.end || t.check(int32(p), c.Position) != nil) {
				out = append(out, fmt.Sprintf("%s[%d]: committed %d of %d", name, p, c.Offset, part.end))
			}
		}
	}
	t := w.broker.topics[shardTopic]
	for p, part := range t.parts {
		s, known := w.watch.log(event.ShardID(p)).state.SourceOf(shardlog.SourceFrom(t.source(int32(p))))
		cut := known && t.check(int32(p), kafka.Position{Offset: s.Next, LeaderEpoch: s.LeaderEpoch}) != nil
		if s.Next < part.end && part.end > part.start || len(s.Open) > 0 || cut {
			out = append(out, fmt.Sprintf("shard %d: committed %d of %d, open %v: %s", p, s.Next, part.end, s.Open, w.standing(p)))
		}
	}
	for _, p := range w.writers {
		for _, r := range p.runners {
			if s := r.session; s != nil && s.stopped != nil && s.stopped.Reason == shard.Lost {
				out = append(out, fmt.Sprintf("%s: shard %s: %v", p.Name, r.shard, s.stopped.Err))
			}
		}
	}
	for _, p := range w.routers {
		if p.now != nil && len(p.now.stopped) > 0 {
			out = append(out, fmt.Sprintf("%s: %v", p.Name, p.now.stopped))
		}
	}
	return out
}

// standing is how the writers see a shard.
func (w *world) standing(id int) string {
	var out []string
	for _, p := range w.writers {
		for _, r := range p.runners {
			if int(r.shard) != id {
				continue
			}
			state := "no session"
			if s := r.session; s != nil {
				st := s.core.Status(w.timeOf(p.Process))
				state = fmt.Sprintf("%s %s epoch %d position %d committed %d", st.State, st.Reason, st.Epoch, st.Position, st.Committed)
			}
			out = append(out, p.Name+" "+state)
		}
	}
	return strings.Join(out, ", ")
}

// end lets go of the coroutines that still wait.
func (w *world) end() {
	for _, p := range w.processes() {
		kill(p)
	}
	if w.operator != nil {
		kill(w.operator.Process)
	}
}

// kill ends a process; that a task of it panicked was told already.
func kill(p *loop.Process) {
	defer func() { _ = recover() }()
	p.Kill()
}
