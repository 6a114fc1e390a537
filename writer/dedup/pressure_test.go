package dedup

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

const (
	pressedTenants = 10
	pressedCommit  = 500
	pressedBudget  = 220_000 // some 10,000 exact ids
)

func pressedTenant(n int) event.TenantID {
	return event.TenantID(fmt.Sprintf("t%d", n%pressedTenants))
}

// press commits ids [from, to) of a bucket. None of them waits, nor do the copies of those of the newest commit.
func (w *world) press(bucket int64, from, to int) {
	w.t.Helper()
	for n := from; n < to; n++ {
		if v := w.check(pressedTenant(n), bucket, identity(pressedTenant(n), bucket, n), 7); v != VerdictNew {
			w.t.Fatalf("%d: %v", n, v)
		}
		if (n+1)%pressedCommit > 0 {
			continue
		}
		w.commit(len(w.pending))
		w.verify()
		for c := n + 1 - pressedCommit; c <= n; c++ {
			if v := w.check(pressedTenant(c), bucket, identity(pressedTenant(c), bucket, c), 7); v != VerdictDuplicate {
				w.t.Fatalf("a copy of %d, right after its commit: %v", c, v)
			}
		}
	}
}

// A bucket with three times the ids that the budget holds: new ones are told from memory, and
// so are copies of the newest commit; an older one costs the block that it is in, once the heads are read.
func TestBucketBeyondTheBudgetIsAnsweredFromMemory(t *testing.T) {
	const ids = 30_000
	w := newWorld(t, small(pressedBudget))
	w.press(600, 0, ids/2)
	w.merge(w.liveKeys()[:30])
	w.press(600, ids/2, ids)
	w.merge(w.liveKeys()[:30])
	if s := w.ix.Stats(); w.reads > 0 || s.Demotions == 0 || s.UnitEvictions > 0 {
		t.Fatalf("%d reads, %+v", w.reads, s)
	}
	r := rand.New(rand.NewPCG(1, 1))
	const copies = 400
	for range copies {
		n := r.IntN(ids)
		mustBe(t, w.settle(pressedTenant(n), 600, identity(pressedTenant(n), 600, n), 7), VerdictDuplicate)
	}
	s := w.ix.Stats()
	blocks, others := s.Loads[PurposeBlock], s.Loads[PurposeRun]+s.Loads[PurposePart]+s.Loads[PurposeSegment]
	if s.Loads[PurposeHead] != uint64(s.Parts) || blocks < copies/2 || blocks > copies+copies/4 || others > 5 {
		t.Fatalf("%d parts; loads by purpose %v", s.Parts, s.Loads)
	}
	before := w.reads
	w.press(600, ids, ids+2*pressedCommit)
	if w.reads != before {
		t.Fatalf("new ids cost %d reads", w.reads-before)
	}
	w.verify()
}

// Whoever takes over such a bucket reads each of its parts once.
func TestBucketBeyondTheBudgetIsReadOnceAfterRestart(t *testing.T) {
	const ids = 20_000
	w := newWorld(t, small(pressedBudget))
	w.press(600, 0, ids)
	for len(w.live) > 10 {
		w.merge(w.liveKeys()[:8])
	}
	w.restart()
	for n := ids; n < ids+pressedCommit; n++ {
		mustBe(t, w.settle(pressedTenant(n), 600, identity(pressedTenant(n), 600, n), 7), VerdictNew)
	}
	s := w.ix.Stats()
	if w.reads != len(w.live) || s.SummaryIDs == 0 || s.ResidentIDs == 0 {
		t.Fatalf("%d reads for %d segments: %+v", w.reads, len(w.live), s)
	}
	w.verify()
}

// A tenant sends all of its ids again: after some that were read by blocks the exact ids are
// paged in, and then no copy waits.
func TestExactIDsComeBackForManyCopies(t *testing.T) {
	const ids = 20_000
	w := newWorld(t, small(pressedBudget))
	w.press(600, 0, ids)
	w.merge(w.liveKeys())
	for n := 0; n < ids; n += pressedTenants {
		mustBe(t, w.settle("t0", 600, identity("t0", 600, n), 7), VerdictDuplicate)
	}
	s := w.ix.Stats()
	if s.Loads[PurposeRun] != 1 || w.reads > 2*backAgain*ids/pressedTenants/idseg.BlockEntries {
		t.Fatalf("%d reads, loads by purpose %v", w.reads, s.Loads)
	}
	w.verify()
}

// What nobody asks for any more leaves memory before ids of the newest bucket are demoted.
func TestIdleBucketMakesRoom(t *testing.T) {
	w := newWorld(t, small(pressedBudget))
	w.press(600, 0, 40_000)
	w.press(1200, 0, 3000)
	for range 4 {
		for n := range 3000 {
			mustBe(t, w.check(pressedTenant(n), 1200, identity(pressedTenant(n), 1200, n), 7), VerdictDuplicate)
		}
	}
	w.press(1200, 3000, 8000)
	for tenant, u := range w.ix.buckets[1200].units {
		if u.summary.ids > 0 || u.table.len != 8000/pressedTenants {
			t.Errorf("%s has %d exact ids, and %d in a summary", tenant, u.table.len, u.summary.ids)
		}
	}
}
