package sim

import (
	"time"

	"github.com/togodb/togo/internal/sim/loop"
)

// CrashMode says what happens at the k-th call.
type CrashMode string

// The ways in which a call goes wrong.
const (
	CrashBefore CrashMode = "crash before" // the process dies, and nothing is done
	CrashAfter  CrashMode = "crash after"  // it is done, and the process dies before the answer
	AnswerLost  CrashMode = "answer lost"  // it is done; the process is told of a time-out
	LandsLate   CrashMode = "lands late"   // a write that the process is told has failed is done much later
)

// CrashModes are all of them.
var CrashModes = []CrashMode{CrashBefore, CrashAfter, AnswerLost, LandsLate}

// Crash is one place where a run goes wrong.
type Crash struct {
	K    int // the call, from 1; 0: none
	Mode CrashMode
}

// Call is one call of the store or of Kafka.
type Call struct {
	By     string // the process
	Writes bool
}

// lateBy is how much later the write of LandsLate is done: after retries, and
// after another process has taken over.
const lateBy = 45 * time.Second

// crash counts the call, and says whether its process dies now. do is what is to be done.
func (w *world) crash(c *Crash, p *loop.Process, of, what string, write bool, f *fate, do func() error) bool {
	w.calls = append(w.calls, Call{By: p.Name, Writes: write})
	if len(w.calls) != c.K {
		return false
	}
	w.faults.list = append(w.faults.list, Fault{ID: "crash", At: w.Now(), Kind: string(c.Mode), What: p.Name + " " + of + " " + what})
	w.Note("%s: %s %s %s", c.Mode, p.Name, of, what)
	restart := func() { w.After(time.Second, func() { w.recover(p) }) }
	switch c.Mode {
	case CrashBefore:
		restart()
		return true
	case CrashAfter:
		_ = do()
		restart()
		return true
	case AnswerLost:
		f.after, f.err = timeout, errTimeout
	case LandsLate:
		f.before, f.after, f.err = lateBy, timeout-lateBy, errTimeout
	}
	return false
}

// CrashPoints are all the ways in which the calls of the standard scenario can go wrong;
// only a write can land late. The Result is that of the scenario without any.
func CrashPoints() ([]Crash, Result) {
	res := Run(CrashPlan(Crash{}))
	var points []Crash
	for i, call := range res.Calls {
		for _, mode := range CrashModes {
			if call.Writes || mode != LandsLate {
				points = append(points, Crash{K: i + 1, Mode: mode})
			}
		}
	}
	return points, res
}

// recover starts what died, whatever it is.
func (w *world) recover(p *loop.Process) {
	switch {
	case w.operator != nil && w.operator.Process == p:
		w.operator.again()
	case p.Name == first:
		w.genesis()
	default:
		w.restart(p)
	}
}

// CrashPlan makes a run the standard scenario: no faults of its own, and all that can
// be told apart is in it.
func CrashPlan(c Crash) Options {
	return Options{Seed: 1, Crash: &c, plan: func(p *plan) {
		p.shards, p.maxShards, p.routers, p.writers, p.overlapping = 2, 3, 1, 1, true
		p.intakeParts, p.intakes, p.tenants = 1, []string{"intake"}, []string{"a", "b"}
		p.events, p.eventEvery, p.quietPoints = 40, 500*time.Millisecond, 0
		p.faultRate, p.faultEvery, p.kafkaLoses, p.forgets = 0, 0, false, true
		p.changeEvery = 15 * time.Second
		p.checkpointEvery, p.reclaimAfter = 3, 5*time.Second
		p.shard.FlushAge, p.shard.SmallTenantAge, p.shard.FlushBytes = time.Second, 4*time.Second, 20_000
		p.shard.DedupBytes, p.shard.DedupTenantBytes, p.shard.MaxOpen = 300, 300, 50
		p.router.Linger, p.router.CommitEvery, p.router.BatchEvents = 20*time.Millisecond, time.Second, 5
		p.fetchRecords = 10
		p.compaction.processes, p.compaction.targetBytes, p.compaction.collect = 1, 8_000, 20*time.Second
		c := &p.compaction.config
		c.FanIn, c.Ratio, c.MaxInputs, c.Levels, c.MaxJobBytes = 4, 2, 12, 2, 100_000
		c.QuietAfter, c.QuietNewestAfter, c.Poll, c.JobTimeout = 5*time.Second, 10*time.Second, 5*time.Second, 15*time.Second
		c.ExpireEvery, c.QueryGrace, c.KeepRecords, c.SegmentBytes = 30*time.Second, 20*time.Second, 2, 100_000
	}}
}
