package dedup

import (
	"encoding/binary"
	"fmt"
	"math"
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

// A bucket that fills with four times the ids that the budget holds exactly, beside the same with
// room for all: 200 tenants, of whom the larger send most; commits of 50,000; 2% of the events
// are copies of one of the last 100,000, and one in 500 of any; segments are merged by eights.
func BenchmarkPressure(b *testing.B) {
	const ids = 4_000_000
	for _, size := range []struct {
		name   string
		budget int64
	}{{"all", 1 << 30}, {"quarter", ids * idBytes / 4}} {
		b.Run(size.name, func(b *testing.B) {
			budget := size.budget
			var s Stats
			m := cpu.Start(b)
			for range b.N {
				m.Stop()
				f := &flood{b: b, m: m, segments: make(map[string]*floodSegment)}
				f.cfg = DefaultConfig()
				f.cfg.BudgetBytes, f.cfg.TenantQuotaBytes = budget, budget/2
				f.ix = New(f.cfg)
				m.Start()
				f.fill(ids)
				s = f.ix.Stats()
				if f.peak > budget {
					b.Fatalf("%d bytes were paged in, the budget is %d", f.peak, budget)
				}
			}
			m.PerEvent(b.N * ids)
			var reads uint64
			for _, n := range s.Loads {
				reads += n
			}
			b.ReportMetric(float64(reads)/(ids/1000), "reads/1000ids")
			b.ReportMetric(float64(s.LoadBytes)/(ids/1000), "read-bytes/1000ids")
			b.ReportMetric(float64(s.PagedBytes)/ids, "bytes/id")
		})
	}
}

// flood fills a bucket. The n-th id is made of n alone.
type flood struct {
	b        *testing.B
	m        *cpu.Meter
	cfg      Config
	ix       *Index
	segments map[string]*floodSegment
	young    [3][]string // segments by how often they were merged
	peak     int64       // of what was paged in
}

type floodSegment struct {
	entries []idseg.Entry
	body    []byte
}

const floodBucket = 600

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (f *flood) entry(n int) idseg.Entry {
	e := idseg.Entry{Bucket: floodBucket, Payload: uint32(n)}
	a := mix(uint64(n) + 0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(e.ID[:8], a)
	binary.BigEndian.PutUint64(e.ID[8:], mix(a+1))
	u := float64(mix(a+2)>>11) / (1 << 53)
	e.Tenant = floodTenants[int(math.Pow(float64(len(floodTenants)), u))-1]
	return e
}

var floodTenants = func() (names [200]event.TenantID) {
	for i := range names {
		names[i] = event.TenantID(fmt.Sprintf("tenant-%d", i))
	}
	return names
}()

func (f *flood) fill(ids int) {
	const commit, near = 50_000, 100_000
	r := rand.New(rand.NewPCG(6, 6))
	for first := 0; first < ids; first += commit {
		f.m.Stop()
		fresh := make([]idseg.Entry, 0, commit)
		var copies []idseg.Entry
		for n := first; n < first+commit; n++ {
			fresh = append(fresh, f.entry(n))
			if first > near && r.IntN(50) == 0 {
				copies = append(copies, f.entry(n-1-r.IntN(near)))
			}
			if first > 0 && r.IntN(500) == 0 {
				copies = append(copies, f.entry(r.IntN(first)))
			}
		}
		seg, ref := f.segment(fmt.Sprint("c", first), fresh)
		f.m.Start()
		for i := range fresh {
			f.settle(&fresh[i], i)
		}
		for i := range copies {
			f.settle(&copies[i], -1)
		}
		if err := f.ix.Confirm(seg.entries, ref); err != nil {
			f.b.Fatal(err)
		}
		f.merge(0, ref.Key)
		f.peak = max(f.peak, f.ix.pages.bytes)
	}
}

// settle asks for an id that is new, or a copy.
func (f *flood) settle(e *idseg.Entry, fresh int) {
	for range 4 {
		switch v := f.ix.Check(e.Tenant, e.Bucket, e.ID, e.Payload); {
		case v == VerdictNew && fresh >= 0:
			f.ix.Accept(e.Bucket, e.ID, e.Payload)
			return
		case v == VerdictDuplicate && fresh < 0:
			f.ix.Forget(e.Bucket, e.ID)
			return
		case v != VerdictWait:
			f.b.Fatalf("%v", v)
		}
		for _, l := range f.ix.Loads() {
			body := f.segments[l.Key].body
			if err := f.ix.Loaded(l, body[l.Offset:l.Offset+l.Length], nil); err != nil {
				f.b.Fatal(err)
			}
		}
	}
	f.b.Fatal("no verdict")
}

func (f *flood) segment(key string, entries []idseg.Entry) (*floodSegment, SegmentRef) {
	body, buckets, err := idseg.Encode(entries, idseg.DefaultConfig())
	if err != nil {
		f.b.Fatal(err)
	}
	s := &floodSegment{entries, body}
	f.segments[key] = s
	return s, SegmentRef{Key: key, Bytes: int64(len(body)), Buckets: buckets}
}

// merge adds a segment, and makes one of eight that were merged as often.
func (f *flood) merge(level int, key string) {
	f.young[level] = append(f.young[level], key)
	if len(f.young[level]) < 8 || level+1 == len(f.young) {
		return
	}
	f.m.Stop()
	removed := f.young[level]
	f.young[level] = nil
	var entries []idseg.Entry
	for _, k := range removed {
		entries = append(entries, f.segments[k].entries...)
		delete(f.segments, k)
	}
	_, ref := f.segment(fmt.Sprint("m", level, key), entries)
	f.m.Start()
	if err := f.ix.Replace(removed, []SegmentRef{ref}); err != nil {
		f.b.Fatal(err)
	}
	f.merge(level+1, ref.Key)
}
