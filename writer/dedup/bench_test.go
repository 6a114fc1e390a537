package dedup

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

const benchTenants = 20

func benchEntries(r *rand.Rand, bucket int64, n int) []idseg.Entry {
	entries := make([]idseg.Entry, n)
	for i := range entries {
		entries[i] = idseg.Entry{
			Tenant: event.TenantID(fmt.Sprintf("tenant-%d", i*benchTenants/n)),
			Bucket: bucket, ID: randomHash(r), Payload: uint32(i),
		}
	}
	return entries
}

// filled is an index with n resident ids in ten buckets, and those ids.
func filled(b *testing.B, n int) (*Index, []idseg.Entry) {
	cfg := DefaultConfig()
	cfg.BudgetBytes, cfg.TenantQuotaBytes = 1<<30, 1<<30
	ix := New(cfg)
	r := rand.New(rand.NewPCG(1, 1))
	var all []idseg.Entry
	for bucket := range int64(10) {
		for c := range 5 {
			entries := benchEntries(r, bucket*600, n/50)
			for _, e := range entries {
				ix.Accept(e.Bucket, e.ID, e.Payload)
			}
			ref := SegmentRef{Key: fmt.Sprint(bucket, c), Bytes: 1 << 40, Buckets: []idseg.Bucket{{Bucket: bucket * 600, IDs: int64(len(entries)), Offset: 8, Length: int64(len(entries)) * 22}}}
			if err := ix.Confirm(entries, ref); err != nil {
				b.Fatal(err)
			}
			all = append(all, entries...)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return ix, all
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		ix, ids := filled(b, n)
		perID := float64(ix.Bytes()) / float64(ix.Stats().ResidentIDs)
		b.Run(fmt.Sprintf("present/%dM", n/1_000_000), func(b *testing.B) {
			m := cpu.Start(b)
			for i := range b.N {
				e := &ids[i%len(ids)]
				if v := ix.Check(e.Tenant, e.Bucket, e.ID, e.Payload); v != VerdictDuplicate {
					b.Fatal(v)
				}
			}
			m.PerEvent(b.N)
			b.ReportMetric(perID, "bytes/id")
		})
		b.Run(fmt.Sprintf("new/%dM", n/1_000_000), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, 2))
			m := cpu.Start(b)
			for i := range b.N {
				e := &ids[i%len(ids)]
				if v := ix.Check(e.Tenant, e.Bucket, randomHash(r), 0); v != VerdictNew {
					b.Fatal(v)
				}
			}
			m.PerEvent(b.N)
		})
	}
}

// An event's whole way through dedup: checked, accepted, confirmed, in commits of
// 100,000, into an index that holds a million ids already.
func BenchmarkCheckAcceptConfirm(b *testing.B) {
	ix, _ := filled(b, 1_000_000)
	r := rand.New(rand.NewPCG(3, 3))
	const commit = 100_000
	m := cpu.Start(b)
	for i := range b.N {
		m.Stop()
		entries := benchEntries(r, 9*600, commit)
		r.Shuffle(commit, func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		m.Start()
		for j := range entries {
			e := &entries[j]
			if ix.Check(e.Tenant, e.Bucket, e.ID, e.Payload) != VerdictNew {
				b.Fatal("not new")
			}
			ix.Accept(e.Bucket, e.ID, e.Payload)
		}
		ref := SegmentRef{Key: fmt.Sprint("c", i), Bytes: 1 << 40, Buckets: []idseg.Bucket{{Bucket: 9 * 600, IDs: commit, Offset: 8, Length: commit * 22}}}
		if err := ix.Confirm(entries, ref); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N * commit)
}

// Paging in the live bucket after a restart: 30 segments of 20,000 ids.
func BenchmarkPageIn(b *testing.B) {
	const segments, ids = 30, 20_000
	w := newWorld(b, DefaultConfig())
	r := rand.New(rand.NewPCG(4, 4))
	for range segments {
		w.put(benchEntries(r, 600, ids))
	}
	m := cpu.Start(b)
	for range b.N {
		w.restart()
		w.ix.Check("tenant-0", 600, randomHash(r), 0)
		for _, l := range w.ix.Loads() {
			if err := w.ix.Loaded(l, w.objects[l.Key][l.Offset:l.Offset+l.Length], nil); err != nil {
				b.Fatal(err)
			}
		}
		if w.ix.Stats().ResidentIDs != segments*ids {
			b.Fatalf("%+v", w.ix.Stats())
		}
	}
	m.PerEvent(b.N * segments * ids)
	b.ReportMetric(float64(b.N)*segments*ids/b.Elapsed().Seconds(), "ids/s")
}

// A new id in a bucket of which only heads are in memory: 30 filters.
func BenchmarkCheckByFilters(b *testing.B) {
	cfg := DefaultConfig()
	cfg.SmallReadBytes, cfg.HotChecks = 0, 1<<30
	w := newWorld(b, cfg)
	r := rand.New(rand.NewPCG(5, 5))
	for range 30 {
		w.put(benchEntries(r, 600, 10_000))
	}
	w.put(benchEntries(r, 600_000, 20))
	w.restart()
	w.ix.Check("tenant-0", 600, randomHash(r), 0)
	w.loadAll()
	m := cpu.Start(b)
	waits := 0
	for range b.N {
		id := randomHash(r)
		if w.ix.Check("tenant-0", 600, id, 0) == VerdictWait {
			waits++
			w.ix.Loads()
			w.ix.Forget(600, id)
		}
	}
	m.PerEvent(b.N)
	b.ReportMetric(float64(waits)/float64(b.N), "waits/event")
}
