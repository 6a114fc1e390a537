package dedup

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// A part is read whole, but no unit of it stays: its tenants must not count as known.
func TestPartWhoseUnitsAllLeaveIsNotKnown(t *testing.T) {
	cfg := small(1 << 20)
	cfg.TenantQuotaBytes = unitBytes + idBytes // what a unit is reckoned to need, and less than it needs
	w := newWorld(t, cfg)
	var entries []idseg.Entry
	for _, tenant := range []event.TenantID{"a", "b", "c"} {
		entries = append(entries, w.store(tenant, 600, 0, 1)...)
	}
	w.put(entries)
	w.restart()
	for _, tenant := range []event.TenantID{"a", "b", "c", "a"} {
		mustBe(t, w.settle(tenant, 600, identity(tenant, 600, 0), 7), VerdictDuplicate)
		w.verify()
	}
}

// An id waits for two parts. Its tenant's ids of the first are paged in by
// another way, the part is merged, all is evicted, and the second part has it
// not: it is a duplicate still.
func TestWaitingIDIsFoundInTableBeforeMerge(t *testing.T) {
	cfg := small(16 << 20)
	cfg.SmallReadBytes, cfg.HotChecks = 1000, 3
	w := newWorld(t, cfg)
	w.put(w.store("a", 600, 0, 600))
	w.put(w.store("a", 600, 1000, 1600))
	w.put(w.store("z", 600_000, 0, 1)) // the live bucket is elsewhere
	w.restart()
	x := identity("a", 600, 5)
	mustBe(t, w.ix.Check("a", 600, x, 7), VerdictWait)
	heads := w.ix.Loads()
	w.answer(heads[0])
	for _, n := range []int{6, 7} {
		mustBe(t, w.ix.Check("a", 600, identity("a", 600, n), 7), VerdictWait)
	}
	run := 0
	for _, l := range w.ix.Loads() {
		if l.Purpose == PurposeRun && l.Key == heads[0].Key {
			run++
			w.answer(l)
		}
	}
	if run != 1 {
		t.Fatalf("%d loads of the tenant's ids: the test shows nothing", run)
	}
	w.merge([]string{heads[0].Key})
	w.evictAll()
	w.answer(heads[1])
	mustBe(t, w.settle("a", 600, x, 7), VerdictDuplicate)
	for _, n := range []int{6, 7} {
		mustBe(t, w.settle("a", 600, identity("a", 600, n), 7), VerdictDuplicate)
	}
	w.verify()
}

// shape of a long walk.
type shape struct {
	tenants, buckets, ids, steps int
	losses                       int // of 10,000 steps, those that evict all, and as many restarts
	verifyEach                   int
}

// Long walks through commits, restarts, merges and evictions, in which slots of
// merged parts are used again, with ids that wait over many of them.
func TestLongWalk(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			cfg := small(1 << (10 + 2*r.IntN(5)))
			cfg.TenantQuotaBytes = cfg.BudgetBytes / (1 + r.Int64N(3))
			cfg.SmallReadBytes = []int64{0, 300, 3000, 64 << 10}[r.IntN(4)]
			cfg.HotChecks = 1 + r.IntN(8)
			cfg.BucketSeconds = 1
			w := newWorld(t, cfg)
			w.format.FilterBits = 1 + r.IntN(10)
			w.walk(r, shape{tenants: 5, buckets: 3, ids: 400, steps: 6000, losses: 40, verifyEach: 8})
		})
	}
}

// Long walks through buckets with more ids than memory takes: what was demoted is asked for
// again, by new ids and by copies, before and after it is paged in again, merged, evicted.
func TestLongWalkUnderPressure(t *testing.T) {
	var s Stats
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			cfg := small(40_000 + r.Int64N(60_000))
			cfg.TenantQuotaBytes = cfg.BudgetBytes / (1 + r.Int64N(2))
			cfg.SmallReadBytes = []int64{0, 3000, 64 << 10}[r.IntN(3)]
			cfg.MaxReadBytes = 64 << 10
			w := newWorld(t, cfg)
			w.format.FilterBits = 2 + r.IntN(10)
			for _, one := range w.walk(r, shape{tenants: 2, buckets: 2, ids: 2500, steps: 20_000, losses: 2, verifyEach: 200}) {
				s.Demotions += one.Demotions
				s.SummaryMaybe += one.SummaryMaybe
				s.ColdHits += one.ColdHits
				s.Loads[PurposeRun] += one.Loads[PurposeRun]
			}
		})
	}
	if t.Logf("%+v", s); s.Demotions < 10_000 || s.SummaryMaybe < 1000 || s.ColdHits < 100 || s.Loads[PurposeRun] == 0 {
		t.Fatal("too little of it happens")
	}
}

// walk answers what came of each index that there was.
func (w *world) walk(r *rand.Rand, s shape) (stats []Stats) {
	for step := range s.steps {
		before := w.ix
		w.step(r, s)
		if step%s.verifyEach == 0 {
			w.verify()
		}
		if w.ix != before || step == s.steps-1 {
			stats = append(stats, before.Stats())
		}
	}
	return stats
}

func (w *world) step(r *rand.Rand, s shape) {
	tenant := event.TenantID(fmt.Sprintf("t%d", r.IntN(s.tenants)))
	bucket := 600 * r.Int64N(int64(s.buckets))
	switch p := r.IntN(10_000); {
	case p < 8000:
		w.check(tenant, bucket, identity(tenant, bucket, r.IntN(s.ids)), uint32(r.IntN(2)))
	case p < 8500:
		w.inFlight = append(w.inFlight, w.ix.Loads()...)
		for i := len(w.inFlight) / 2; i > 0; i-- {
			k := r.IntN(len(w.inFlight))
			l := w.inFlight[k]
			w.inFlight = append(w.inFlight[:k], w.inFlight[k+1:]...)
			w.answer(l)
		}
	case p < 9000 && len(w.pending) > 0:
		w.commit(1 + r.IntN(len(w.pending)))
	case p < 9300 && len(w.live) > 2:
		keys := w.liveKeys()
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		w.merge(keys[:1+r.IntN(len(keys)-1)])
	case p < 9300+s.losses:
		w.evictAll()
	case p >= 9900 && p < 9900+s.losses:
		w.restart()
		w.inFlight = nil
	}
}
