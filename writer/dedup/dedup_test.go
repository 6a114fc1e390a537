package dedup

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
)

// add stores ids [from, to) of a tenant and bucket: checked, accepted, pending.
func (w *world) add(tenant event.TenantID, bucket int64, from, to int) {
	w.t.Helper()
	for n := from; n < to; n++ {
		if v := w.settle(tenant, bucket, identity(tenant, bucket, n), 7); v != VerdictNew {
			w.t.Fatalf("%s/%d/%d: %v", tenant, bucket, n, v)
		}
	}
}

// store puts ids into a segment behind the index's back, as an earlier owner did.
func (w *world) store(tenant event.TenantID, bucket int64, from, to int) (entries []idseg.Entry) {
	for n := from; n < to; n++ {
		e := idseg.Entry{Tenant: tenant, Bucket: bucket, ID: identity(tenant, bucket, n), Payload: 7}
		w.stored[e.ID] = e.Payload
		entries = append(entries, e)
	}
	return entries
}

// A new id of a cold bucket is pending; all else is evicted; then a copy comes.
func TestFault_pending_evicted(t *testing.T) {
	w := newWorld(t, small(64<<10))
	w.add("a", 600, 0, 100)
	w.commit(100)
	w.restart()
	w.add("a", 600, 100, 101)
	w.evictAll()
	id := identity("a", 600, 100)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictDuplicate)
	mustBe(t, w.ix.Check("a", 600, id, 8), VerdictConflict)
	w.ix.DropBelow(1200)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictDuplicate)
}

// Two equal ids in one record: both are new when checked, one is when accepted.
func TestAcceptAsksPendingAgain(t *testing.T) {
	w := newWorld(t, small(64<<10))
	id := identity("a", 600, 1)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictNew)
	mustBe(t, w.ix.Accept(600, id, 7), VerdictNew)
	mustBe(t, w.ix.Accept(600, id, 7), VerdictDuplicate)
	mustBe(t, w.ix.Accept(600, id, 8), VerdictConflict)
}

// A filter that says "maybe" for every second hash, and hashes that were chosen
// because it says so: slower, never wrong.
func TestFault_filter_as_truth(t *testing.T) {
	cfg := small(256 << 10)
	cfg.SmallReadBytes = 0 // heads and blocks only
	w := newWorld(t, cfg)
	w.format = idseg.Config{FilterBits: 1, FilterHashes: 1}
	w.put(w.store("a", 600, 0, 2000))
	w.put(w.store("z", 600_000, 0, 1)) // the live bucket is elsewhere
	w.restart()
	head, err := idseg.DecodeHead(w.objects["ids/1.ids"][8:])
	if err != nil {
		t.Fatal(err)
	}
	crafted := 0
	for n := 2000; crafted < 500; n++ {
		if id := identity("a", 600, n); head.MayHold(id) {
			crafted++
			mustBe(t, w.settle("a", 600, id, 7), VerdictNew)
		}
	}
	for n := range 500 {
		mustBe(t, w.settle("a", 600, identity("a", 600, n), 7), VerdictDuplicate)
		mustBe(t, w.settle("a", 600, identity("a", 600, n), 8), VerdictConflict)
	}
	if s := w.ix.Stats(); s.FilterFalse == 0 {
		t.Fatalf("no false positive was refuted: %+v", s)
	}
	w.verify()
}

// Copies after an hour, a day and a week, after merges and restarts, the newest first.
func TestFault_old_copy(t *testing.T) {
	w := newWorld(t, small(32<<10))
	const hour = 3600
	times := []int64{0, hour, 24 * hour, 7 * 24 * hour}
	for round := range 10 {
		for _, at := range times {
			w.add("a", at, 20*round, 20*round+20)
		}
		w.commit(len(w.pending))
	}
	check := func() {
		t.Helper()
		for _, at := range slices.Backward(times) {
			for n := range 200 {
				mustBe(t, w.settle("a", at, identity("a", at, n), 7), VerdictDuplicate)
			}
		}
		w.verify()
	}
	check()
	w.merge(w.liveKeys()[:7])
	check()
	w.restart()
	check()
	w.merge(w.liveKeys())
	w.restart()
	check()
}

// A record with ids of many cold buckets is checked as a whole: its ids wait
// together and have verdicts together, though memory takes only a few of them.
func TestRecordOverManyColdBucketsIsSettledTogether(t *testing.T) {
	cfg := small(2 << 10)
	cfg.SmallReadBytes = 100
	w := newWorld(t, cfg)
	w.format = idseg.Config{FilterBits: 1, FilterHashes: 1}
	for bucket := int64(0); bucket < 60_000; bucket += 600 {
		w.put(w.store("a", bucket, 0, 300))
	}
	w.restart()
	for round := 1; ; round++ {
		waits := 0
		for bucket := int64(0); bucket < 60_000; bucket += 600 {
			for _, n := range []int{5, 500} {
				if w.ix.Check("a", bucket, identity("a", bucket, n), 7) == VerdictWait {
					waits++
				}
			}
		}
		if waits == 0 {
			break
		}
		if round == 5 {
			t.Fatalf("%d ids wait after %d rounds", waits, round)
		}
		w.loadAll()
	}
	for bucket := int64(0); bucket < 60_000; bucket += 600 {
		mustBe(t, w.check("a", bucket, identity("a", bucket, 5), 7), VerdictDuplicate)
		mustBe(t, w.check("a", bucket, identity("a", bucket, 500), 7), VerdictNew)
	}
	w.verify()
	if w.ix.Stats().WaitingIDs != 0 {
		t.Fatal("something waits still")
	}
}

// A segment that is not there is never taken for an empty one.
func TestMissingSegmentMeansCatchUp(t *testing.T) {
	w := newWorld(t, small(64<<10))
	w.put(w.store("a", 600, 0, 50))
	w.put(w.store("a", 600, 50, 100))
	w.restart()
	id := identity("a", 600, 60)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	loads := w.ix.Loads()
	if len(loads) != 2 {
		t.Fatalf("loads %+v", loads)
	}
	w.answer(loads[0])
	if err := w.ix.Loaded(loads[1], nil, fmt.Errorf("get %s: %w", loads[1].Key, objstore.ErrNotFound)); !errors.Is(err, ErrCatchUp) || !strings.Contains(err.Error(), loads[1].Key) {
		t.Fatalf("error %v", err)
	}
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	// The log says that both were merged: the id is found in the output.
	w.merge(w.liveKeys())
	mustBe(t, w.settle("a", 600, id, 7), VerdictDuplicate)
	w.verify()
}

// A load that failed is wanted again, with those who wait for it.
func TestFailedLoadIsWantedAgain(t *testing.T) {
	w := newWorld(t, small(64<<10))
	w.put(w.store("a", 600, 0, 50))
	w.restart()
	id := identity("a", 600, 20)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	for range 3 {
		loads := w.ix.Loads()
		if len(loads) != 1 || len(w.ix.Loads()) != 0 {
			t.Fatalf("loads %+v: want one, once", loads)
		}
		if err := w.ix.Loaded(loads[0], nil, errFlaky); err != nil {
			t.Fatal(err)
		}
		mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	}
	w.loadAll()
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictDuplicate)
}

// A segment whose bytes or whose place in the log are not what they were is
// named, and nothing of it is believed.
func TestDamagedSegmentIsCorruption(t *testing.T) {
	w := newWorld(t, small(64<<10))
	ref := w.put(w.store("a", 600, 0, 50))
	other := w.put(w.store("a", 1200, 50, 100)) // as long as ref
	for name, damage := range map[string]func() ([]byte, error){
		"flipped":   func() ([]byte, error) { b := slices.Clone(w.objects[ref.Key]); b[len(b)-3] ^= 1; return b, nil },
		"short":     func() ([]byte, error) { b := w.objects[ref.Key]; return b[:len(b)-1], nil },
		"out of it": func() ([]byte, error) { return nil, objstore.ErrRange },
		"another":   func() ([]byte, error) { return w.objects[other.Key][:ref.Bytes], nil },
	} {
		w.live = map[string]SegmentRef{ref.Key: ref}
		w.restart()
		id := identity("a", 600, 20)
		if v := w.ix.Check("a", 600, id, 7); v != VerdictWait {
			t.Fatalf("%s: %v", name, v)
		}
		data, readErr := damage()
		err := w.ix.Loaded(w.ix.Loads()[0], data, readErr)
		if !errors.Is(err, idseg.ErrCorrupt) {
			t.Fatalf("%s: error %v", name, err)
		}
		mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	}
	if err := New(small(1000)).AddSegment(SegmentRef{Key: "x", Bytes: 10, Buckets: []idseg.Bucket{{Bucket: 0, IDs: 1, Offset: 8, Length: 3}}}); !errors.Is(err, idseg.ErrCorrupt) {
		t.Fatalf("a part beyond the object's end: %v", err)
	}
}

// The answer to a load of a fenced owner's index tells the next one nothing.
func TestAnswersOfAnotherIndexAreIgnored(t *testing.T) {
	w := newWorld(t, small(64<<10))
	w.put(w.store("a", 600, 0, 50))
	w.restart()
	id := identity("a", 600, 20)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	old := w.ix.Loads()[0]
	w.restart()
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	w.answer(old)
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictWait)
	w.loadAll()
	mustBe(t, w.ix.Check("a", 600, id, 7), VerdictDuplicate)
}

// One order of calls gives one order of loads: a simulation's seed repeats.
func TestLoadsAreDeterministic(t *testing.T) {
	run := func() (keys []string) {
		cfg := small(40 << 10)
		cfg.SmallReadBytes = 1000
		w := newWorld(t, cfg)
		r := rand.New(rand.NewPCG(5, 6))
		for step := range 3000 {
			tenant := event.TenantID(fmt.Sprintf("t%d", r.IntN(20)))
			bucket := 600 * r.Int64N(5)
			w.check(tenant, bucket, identity(tenant, bucket, r.IntN(100)), 7)
			if step%50 == 49 {
				for _, l := range w.ix.Loads() {
					keys = append(keys, fmt.Sprint(l.Key, l.Offset, l.Length, l.Purpose))
					w.answer(l)
				}
			}
			if step%100 == 99 {
				w.commit(len(w.pending))
			}
			if step%1000 == 999 {
				w.merge(w.liveKeys())
			}
		}
		return keys
	}
	a, b := run(), run()
	if len(a) == 0 || !slices.Equal(a, b) {
		t.Fatalf("%d and %d loads, which differ", len(a), len(b))
	}
}

func TestConfigIsValidated(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"budget": func(c *Config) { c.BudgetBytes = 0 },
		"quota":  func(c *Config) { c.TenantQuotaBytes = c.BudgetBytes + 1 },
		"bucket": func(c *Config) { c.BucketSeconds = 0 },
		"reads":  func(c *Config) { c.SmallReadBytes = c.MaxReadBytes + 1 },
		"hot":    func(c *Config) { c.HotChecks = 0 },
	} {
		c := DefaultConfig()
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
