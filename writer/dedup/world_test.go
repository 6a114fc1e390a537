package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
)

// tb is what tests and rapid's tests have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is an index with the segments that its loads read, and what a plain map
// says of every identity.
type world struct {
	t        tb
	ix       *Index
	cfg      Config
	format   idseg.Config
	objects  map[string][]byte
	live     map[string]SegmentRef
	contents map[string][]idseg.Entry
	stored   map[event.Hash]uint32
	pending  []idseg.Entry
	inFlight []Load
	reads    int
	serial   int
	target   int64 // of merges; 0: idseg's
}

func newWorld(t tb, cfg Config) *world {
	return &world{
		t: t, ix: New(cfg), cfg: cfg, format: idseg.DefaultConfig(),
		objects: map[string][]byte{}, live: map[string]SegmentRef{},
		contents: map[string][]idseg.Entry{}, stored: map[event.Hash]uint32{},
	}
}

// identity is a pseudo-random hash, the same at each call.
func identity(tenant event.TenantID, bucket int64, n int) event.Hash {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s/%d/%d", tenant, bucket, n)
	sum := event.Hash(h.Sum(nil))
	// FNV mixes its upper bits poorly; interpolation wants uniform ones.
	for i := range 8 {
		sum[i] ^= sum[15-i]*167 + byte(n*31)
	}
	return sum
}

func (w *world) oracle(id event.Hash, payload uint32) Verdict {
	if p, ok := w.stored[id]; ok {
		return compare(p, payload)
	}
	for i := range w.pending {
		if w.pending[i].ID == id {
			return compare(w.pending[i].Payload, payload)
		}
	}
	return VerdictNew
}

// check checks, compares with the oracle, and accepts what is new.
func (w *world) check(tenant event.TenantID, bucket int64, id event.Hash, payload uint32) Verdict {
	w.t.Helper()
	got := w.ix.Check(tenant, bucket, id, payload)
	if got == VerdictWait {
		return got
	}
	if want := w.oracle(id, payload); got != want {
		w.t.Fatalf("%s/%d/%x payload %d: %v, want %v", tenant, bucket, id, payload, got, want)
	}
	if got == VerdictNew {
		if again := w.ix.Accept(bucket, id, payload); again != VerdictNew {
			w.t.Fatalf("accept of a new id: %v", again)
		}
		w.pending = append(w.pending, idseg.Entry{Tenant: tenant, Bucket: bucket, ID: id, Payload: payload})
	} else {
		w.ix.Forget(bucket, id)
	}
	return got
}

// settle checks until there is a verdict, doing all loads in between.
func (w *world) settle(tenant event.TenantID, bucket int64, id event.Hash, payload uint32) Verdict {
	w.t.Helper()
	for range 5 { // 3 loads one after the other, and one that was under way
		if v := w.check(tenant, bucket, id, payload); v != VerdictWait {
			return v
		}
		w.loadAll()
	}
	w.t.Fatalf("%s/%d/%x: no verdict after 5 rounds of loads", tenant, bucket, id)
	return 0
}

// loadAll answers one round of loads.
func (w *world) loadAll() {
	w.t.Helper()
	w.inFlight = append(w.inFlight, w.ix.Loads()...)
	for _, l := range w.inFlight {
		w.answer(l)
	}
	w.inFlight = nil
}

func (w *world) read(l Load) []byte {
	w.reads++
	return slices.Clone(w.objects[l.Key][l.Offset : l.Offset+l.Length])
}

func (w *world) answer(l Load) {
	w.t.Helper()
	if err := w.ix.Loaded(l, w.read(l), nil); err != nil {
		w.t.Fatalf("loaded %+v: %v", l, err)
	}
}

func (w *world) put(entries []idseg.Entry) SegmentRef {
	body, buckets, err := idseg.Encode(entries, w.format)
	if err != nil {
		w.t.Fatalf("encode: %v", err)
	}
	w.serial++
	ref := SegmentRef{Key: fmt.Sprintf("ids/%d.ids", w.serial), Bytes: int64(len(body)), Buckets: buckets}
	w.objects[ref.Key], w.live[ref.Key], w.contents[ref.Key] = body, ref, slices.Clone(entries)
	return ref
}

// commit confirms the first n pending ids.
func (w *world) commit(n int) {
	w.t.Helper()
	entries := slices.Clone(w.pending[:n])
	w.pending = slices.Clone(w.pending[n:])
	ref := w.put(entries)
	if err := w.ix.Confirm(entries, ref); err != nil {
		w.t.Fatalf("confirm: %v", err)
	}
	for _, e := range entries {
		w.stored[e.ID] = e.Payload
	}
}

func (w *world) liveKeys() []string {
	keys := make([]string, 0, len(w.live))
	for k := range w.live {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// merge replaces segments by those that a real merge makes of them, cut at the world's
// target.
func (w *world) merge(keys []string) {
	w.t.Helper()
	var entries []idseg.Entry
	var inputs []idseg.MergeInput
	for _, k := range keys {
		entries = append(entries, w.contents[k]...)
		inputs = append(inputs, idseg.MergeInput{Key: k, Bytes: w.live[k].Bytes, Buckets: w.live[k].Buckets})
		delete(w.live, k)
		delete(w.contents, k)
	}
	store := objstore.NewMemory()
	for key, body := range w.objects {
		if err := store.Put(context.Background(), key, body); err != nil {
			w.t.Fatalf("put: %v", err)
		}
	}
	var bodies []*bytes.Buffer
	spec := idseg.MergeSpec{Below: math.MinInt64, TargetBytes: w.target, Filter: w.format}
	merged, err := idseg.Merge(context.Background(), store, inputs, spec, func(int) (io.Writer, error) {
		bodies = append(bodies, new(bytes.Buffer))
		return bodies[len(bodies)-1], nil
	})
	if err != nil {
		w.t.Fatalf("merge: %v", err)
	}
	var refs []SegmentRef
	for i, seg := range merged.Segments {
		w.serial++
		ref := SegmentRef{Key: fmt.Sprintf("ids/%d.ids", w.serial), Bytes: seg.Bytes, Buckets: seg.Buckets}
		w.objects[ref.Key], w.live[ref.Key] = bodies[i].Bytes(), ref
		w.contents[ref.Key] = slices.DeleteFunc(slices.Clone(entries), func(e idseg.Entry) bool {
			return !slices.ContainsFunc(seg.Buckets, func(b idseg.Bucket) bool { return b.Bucket == e.Bucket })
		})
		refs = append(refs, ref)
	}
	if err := w.ix.Replace(keys, refs); err != nil {
		w.t.Fatalf("replace: %v", err)
	}
}

// restart begins anew from the live segments alone.
func (w *world) restart() {
	w.t.Helper()
	w.ix = New(w.cfg)
	for _, k := range w.liveKeys() {
		if err := w.ix.AddSegment(w.live[k]); err != nil {
			w.t.Fatalf("add: %v", err)
		}
	}
	w.pending = nil
}

// evictAll pages everything out.
func (w *world) evictAll() {
	budget := w.ix.pages.budget
	w.ix.pages.budget = -1
	w.ix.enforce()
	w.ix.pages.budget = budget
}

// verify checks the index's own invariants against the contents of the segments.
func (w *world) verify() {
	w.t.Helper()
	ix := w.ix
	if ix.pages.bytes > w.cfg.BudgetBytes {
		w.t.Fatalf("%d bytes paged in, the budget is %d", ix.pages.bytes, w.cfg.BudgetBytes)
	}
	charged := map[event.TenantID]int64{}
	var total, resident, summary int64
	probes := 0
	for _, b := range ix.buckets {
		probes += len(b.probes)
		live := 0
		for _, p := range b.parts {
			if p == nil {
				continue
			}
			live++
			if p.resident {
				total += p.head.MemoryBytes()
				if p.account != nil {
					charged[p.account.tenant] += p.head.MemoryBytes()
				}
			}
			w.verifyCoverage(b, p)
		}
		if live != b.live {
			w.t.Fatalf("bucket %d: %d parts, counted %d", b.start, live, b.live)
		}
		for _, u := range b.units {
			if u.resident {
				bytes := unitBytes + u.table.bytes + u.summary.bytes + int64(len(u.covered.words))*8
				charged[u.tenant] += bytes
				total += bytes
				resident += int64(u.table.len)
				summary += int64(u.summary.ids)
			} else {
				total += unitBytes
			}
		}
	}
	if total != ix.pages.bytes || resident != ix.stats.ResidentIDs || summary != ix.stats.SummaryIDs || probes != ix.probes {
		w.t.Fatalf("books: %d bytes, %d ids, %d in summaries, %d probes; found %d, %d, %d, %d",
			ix.pages.bytes, ix.stats.ResidentIDs, ix.stats.SummaryIDs, ix.probes, total, resident, summary, probes)
	}
	for tenant, a := range ix.pages.accounts {
		if a.bytes != charged[tenant] || a.bytes > w.cfg.TenantQuotaBytes {
			w.t.Fatalf("tenant %s: charged %d, found %d, quota %d", tenant, a.bytes, charged[tenant], w.cfg.TenantQuotaBytes)
		}
	}
}

// verifyCoverage: what units and bucket claim of a part is true.
func (w *world) verifyCoverage(b *bucket, p *part) {
	w.t.Helper()
	for _, e := range w.contents[p.seg.key] {
		if e.Bucket != b.start {
			continue
		}
		u := b.units[e.Tenant]
		if u == nil && b.known.has(p.slot) {
			w.t.Fatalf("bucket %d: part %s counts as known, but not its tenant %s", b.start, p.seg.key, e.Tenant)
		}
		if u != nil && u.covered.has(p.slot) {
			if _, ok := u.table.get(&e.ID); !ok && !u.summary.mayHold(&e.ID) {
				w.t.Fatalf("bucket %d: %s covers part %s, but lacks %x", b.start, e.Tenant, p.seg.key, e.ID)
			}
		}
	}
}

var errFlaky = errors.New("connection reset")

func small(budget int64) Config {
	c := DefaultConfig()
	c.BudgetBytes, c.TenantQuotaBytes = budget, budget
	return c
}

func mustBe(t *testing.T, got, want Verdict) {
	t.Helper()
	if got != want {
		t.Fatalf("verdict %v, want %v", got, want)
	}
}
