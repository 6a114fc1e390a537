package dedup

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// A tenant with many times the ids that its quota takes asks the store again and
// again; the others' ids stay where they are.
func TestFault_noisy_tenant(t *testing.T) {
	cfg := DefaultConfig()
	cfg.BudgetBytes, cfg.TenantQuotaBytes = 1<<20, 128<<10
	cfg.SmallReadBytes = 16 << 10
	w := newWorld(t, cfg)
	quiet := []event.TenantID{"q1", "q2", "q3"}
	for bucket := int64(0); bucket < 6000; bucket += 600 {
		entries := w.store("noisy", bucket, 0, 10_000)
		for _, q := range quiet {
			entries = append(entries, w.store(q, bucket, 0, 200)...)
		}
		w.put(entries)
	}
	w.restart()
	askQuiet := func() {
		for bucket := int64(0); bucket < 6000; bucket += 600 {
			for _, q := range quiet {
				for n := range 20 {
					mustBe(t, w.settle(q, bucket, identity(q, bucket, n), 7), VerdictDuplicate)
				}
			}
		}
	}
	askQuiet()
	before := w.reads
	askQuiet()
	if w.reads != before {
		t.Fatalf("the quiet tenants' ids don't stay: %d reads", w.reads-before)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		bucket, n := 600*r.Int64N(10), r.IntN(20_000)
		w.settle("noisy", bucket, identity("noisy", bucket, n), 7)
	}
	if w.reads == before {
		t.Fatal("the noisy tenant paid nothing: the test shows nothing")
	}
	t.Logf("noisy: %d reads for 2000 checks", w.reads-before)
	before = w.reads
	askQuiet()
	if w.reads != before {
		t.Fatalf("the noisy tenant pushed others out: %d reads for them", w.reads-before)
	}
	w.verify()
}

// After a restart the live bucket has a segment for each commit: warming it for
// all tenants costs one read for each, be they small or large.
func TestWarmingTheLiveBucketCostsOneReadASegment(t *testing.T) {
	for name, ids := range map[string]int{"small": 5, "large": 100} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.SmallReadBytes = 64 << 10
			w := newWorld(t, cfg)
			const segments, tenants = 40, 50
			for s := range segments {
				var entries []idseg.Entry
				for i := range tenants {
					tenant := event.TenantID(fmt.Sprintf("tenant-%d", i))
					entries = append(entries, w.store(tenant, 6000, s*ids, s*ids+ids)...)
				}
				w.put(entries)
			}
			w.restart()
			for i := range tenants {
				tenant := event.TenantID(fmt.Sprintf("tenant-%d", i))
				mustBe(t, w.settle(tenant, 6000, identity(tenant, 6000, 1), 7), VerdictDuplicate)
				mustBe(t, w.settle(tenant, 6000, identity(tenant, 6000, 1_000_000), 7), VerdictNew)
			}
			if w.reads != segments {
				t.Fatalf("%d reads for %d segments", w.reads, segments)
			}
			w.verify()
		})
	}
}

// An owner that has seen all of a bucket itself never reads for it.
func TestOwnCommitsNeedNoReads(t *testing.T) {
	w := newWorld(t, small(4<<20))
	for c := range 20 {
		for i := range 30 {
			tenant := event.TenantID(fmt.Sprintf("tenant-%d", i*c%40))
			for n := range 10 {
				if v := w.check(tenant, 600, identity(tenant, 600, c*10+n), 7); v == VerdictWait {
					t.Fatalf("commit %d waits", c)
				}
			}
		}
		w.commit(len(w.pending))
	}
	if l := w.ix.Loads(); len(l) > 0 {
		t.Fatalf("loads %+v", l)
	}
	w.verify()
}

// The heads of parts with more tenants than guessed are read in two steps, and
// many tenants that each want their ids of one part get the part.
func TestManyTenantsInOldParts(t *testing.T) {
	cfg := small(16 << 20)
	cfg.SmallReadBytes = 8 << 10
	w := newWorld(t, cfg)
	var entries []idseg.Entry
	const tenants = 1000
	name := func(i int) event.TenantID { return event.TenantID(fmt.Sprintf("%0100d", i)) }
	for i := range tenants {
		entries = append(entries, w.store(name(i), 600, 0, 10)...)
	}
	w.put(entries)
	w.put(w.store("z", 600_000, 0, 1)) // the live bucket is elsewhere
	w.restart()
	for i := range tenants {
		mustBe(t, w.settle(name(i), 600, identity(name(i), 600, 3), 7), VerdictDuplicate)
		mustBe(t, w.settle(name(i), 600, identity(name(i), 600, 33), 7), VerdictNew)
	}
	s := w.ix.Stats()
	if s.Loads[PurposeHead] != 2 || s.Loads[PurposePart] != 1 || s.Loads[PurposeRun] != manyRuns {
		t.Fatalf("loads by purpose %v", s.Loads)
	}
	w.verify()
}

// A tenant that asks often gets its ids of the bucket.
func TestHotTenantIsPagedIn(t *testing.T) {
	cfg := small(16 << 20)
	cfg.SmallReadBytes = 1000
	w := newWorld(t, cfg)
	w.put(w.store("a", 600, 0, 5000))
	w.put(w.store("z", 600_000, 0, 1))
	w.restart()
	for n := range 200 {
		mustBe(t, w.settle("a", 600, identity("a", 600, n), 7), VerdictDuplicate)
	}
	s := w.ix.Stats()
	if s.Loads[PurposeRun] != 1 || s.Loads[PurposeBlock] >= uint64(cfg.HotChecks) || s.ResidentIDs != 5000 {
		t.Fatalf("stats %+v", s)
	}
}

// Bytes is what the heap holds, with many tenants and buckets, within a tenth.
func TestBytesAreTrue(t *testing.T) {
	for name, shape := range map[string]struct{ tenants, buckets, ids int }{
		"few large":  {4, 10, 5000},
		"many small": {500, 10, 40},
	} {
		t.Run(name, func(t *testing.T) {
			before := heapBytes()
			ix := New(DefaultConfig())
			r := rand.New(rand.NewPCG(1, 2))
			for b := range shape.buckets {
				var entries []idseg.Entry
				for i := range shape.tenants {
					tenant := event.TenantID(fmt.Sprintf("tenant-%d", i))
					for range shape.ids {
						e := idseg.Entry{Tenant: tenant, Bucket: int64(b) * 600, ID: randomHash(r)}
						ix.Accept(e.Bucket, e.ID, 0)
						entries = append(entries, e)
					}
				}
				body, buckets, err := idseg.Encode(entries, idseg.DefaultConfig())
				if err != nil {
					t.Fatal(err)
				}
				if err := ix.Confirm(entries, SegmentRef{Key: fmt.Sprint(b), Bytes: int64(len(body)), Buckets: buckets}); err != nil {
					t.Fatal(err)
				}
			}
			grown, said := heapBytes()-before, ix.Bytes()
			ids := ix.Stats().ResidentIDs
			t.Logf("heap %d, said %d: %.1f bytes an id of %d", grown, said, float64(said)/float64(ids), ids)
			if d := float64(grown-said) / float64(grown); d > 0.1 || d < -0.1 {
				t.Errorf("heap grew by %d, Bytes says %d", grown, said)
			}
			runtime.KeepAlive(ix)
		})
	}
}

// A tenant that has ids in one of many segments is warm when they were read: it is
// in none of the others, and they are not read for it again.
func TestTenantOfOneSegmentIsWarm(t *testing.T) {
	for name, cfg := range map[string]Config{"whole": small(16 << 20), "heads": {BudgetBytes: 16 << 20, TenantQuotaBytes: 16 << 20, BucketSeconds: 600, SmallReadBytes: 0, MaxReadBytes: 1, HotChecks: 64}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cfg)
			const segments = 20
			for s := range segments {
				entries := w.store("large", 600, s*100, s*100+100)
				if s == 3 {
					entries = append(entries, w.store("tiny", 600, 0, 1)...)
				}
				w.put(entries)
			}
			w.restart()
			mustBe(t, w.settle("tiny", 600, identity("tiny", 600, 1), 7), VerdictNew)
			before := w.reads
			for n := range 100 {
				mustBe(t, w.settle("tiny", 600, identity("tiny", 600, 2+n), 7), VerdictNew)
			}
			if w.reads != before {
				t.Fatalf("%d reads for 100 ids of a tenant whose segment was read", w.reads-before)
			}
			if u := w.ix.buckets[600].units["tiny"]; name == "whole" && u.covered.n != segments {
				t.Fatalf("%d of %d segments are covered", u.covered.n, segments)
			}
			w.verify()
		})
	}
}
