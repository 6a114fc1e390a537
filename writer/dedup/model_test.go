package dedup

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
)

// Whatever is paged, merged, delayed, reordered, refused or restarted: every
// verdict is the one of a plain map.
func TestNeverAWrongVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.BudgetBytes = rapid.SampledFrom([]int64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20}).Draw(t, "budget")
		cfg.TenantQuotaBytes = cfg.BudgetBytes / rapid.Int64Range(1, 4).Draw(t, "quota")
		cfg.SmallReadBytes = rapid.SampledFrom([]int64{0, 200, 2000, 64 << 10}).Draw(t, "small reads")
		cfg.MaxReadBytes = max(cfg.SmallReadBytes, rapid.SampledFrom([]int64{1, 1000, 1 << 20}).Draw(t, "max reads"))
		cfg.HotChecks = rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "hot")
		cfg.BucketSeconds = rapid.SampledFrom([]int64{1, 600}).Draw(t, "bucket seconds")
		m := &machine{world: newWorld(t, cfg)}
		m.format = rapid.SampledFrom([]idseg.Config{idseg.DefaultConfig(), {FilterBits: 1, FilterHashes: 1}, {FilterBits: 2, FilterHashes: 2}}).Draw(t, "filter")
		t.Repeat(rapid.StateMachineActions(m))
		m.finish(t)
	})
}

type machine struct {
	*world
	waiting []idseg.Entry
	floor   int64
}

func (m *machine) draw(t *rapid.T) idseg.Entry {
	e := idseg.Entry{
		Tenant:  event.TenantID(rapid.SampledFrom([]string{"a", "bb", "ccc"}).Draw(t, "tenant")),
		Bucket:  600 * rapid.Int64Range(m.floor, max(m.floor, 3)).Draw(t, "bucket"),
		Payload: rapid.Uint32Range(0, 1).Draw(t, "payload"),
	}
	n := rapid.IntRange(0, 60).Draw(t, "n")
	e.ID = identity(e.Tenant, e.Bucket, n)
	return e
}

func (m *machine) Ask(t *rapid.T) { m.step(m.draw(t)) }

func (m *machine) Recheck(t *rapid.T) {
	if len(m.waiting) == 0 {
		t.Skip("none waits")
	}
	i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "which")
	e := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.step(e)
}

func (m *machine) step(e idseg.Entry) {
	if m.check(e.Tenant, e.Bucket, e.ID, e.Payload) == VerdictWait {
		m.waiting = append(m.waiting, e)
	}
}

// Bulk gives a tenant more ids than a block holds.
func (m *machine) Bulk(t *rapid.T) {
	e := m.draw(t)
	if len(m.stored)+len(m.pending) > 3000 {
		t.Skip("enough")
	}
	begin := 1000 * rapid.IntRange(1, 3).Draw(t, "begin")
	for n := begin; n < begin+400; n++ {
		m.settle(e.Tenant, e.Bucket, identity(e.Tenant, e.Bucket, n), 0)
	}
}

func (m *machine) Commit(t *rapid.T) {
	if len(m.pending) == 0 {
		t.Skip("nothing pending")
	}
	m.commit(rapid.IntRange(1, len(m.pending)).Draw(t, "n"))
}

func (m *machine) HandOut(t *rapid.T) { m.inFlight = append(m.inFlight, m.ix.Loads()...) }

func (m *machine) Answer(t *rapid.T) {
	if len(m.inFlight) == 0 {
		t.Skip("no load under way")
	}
	i := rapid.IntRange(0, len(m.inFlight)-1).Draw(t, "which")
	l := m.inFlight[i]
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	_, live := m.live[l.Key]
	var err, want error
	switch rapid.SampledFrom([]string{"ok", "ok", "ok", "twice", "error", "missing", "damaged", "short"}).Draw(t, "how") {
	case "ok":
		err = m.ix.Loaded(l, m.read(l), nil)
	case "twice":
		data := m.read(l)
		err = errors.Join(m.ix.Loaded(l, data, nil), m.ix.Loaded(l, data, nil))
	case "error":
		err = m.ix.Loaded(l, nil, errFlaky)
	case "missing":
		err, want = m.ix.Loaded(l, nil, fmt.Errorf("get: %w", objstore.ErrNotFound)), ErrCatchUp
	case "damaged":
		data := m.read(l)
		if l.Purpose != PurposeSegment && l.Purpose != PurposeHead {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "byte")]++
			want = idseg.ErrCorrupt
		}
		err = m.ix.Loaded(l, data, nil)
	case "short":
		data := m.read(l)
		err, want = m.ix.Loaded(l, data[:len(data)-1], nil), idseg.ErrCorrupt
	}
	if err != nil && !errors.Is(err, want) && !(want == idseg.ErrCorrupt && errors.Is(err, idseg.ErrNewerFormat)) {
		t.Fatalf("loaded %+v (live %v): %v", l, live, err)
	}
	if err != nil && !live {
		t.Fatalf("loaded %+v, which is not live: %v", l, err)
	}
}

func (m *machine) Merge(t *rapid.T) {
	keys := m.liveKeys()
	if len(keys) < 2 {
		t.Skip("too few segments")
	}
	m.target = rapid.SampledFrom([]int64{1, 2000, 1 << 30}).Draw(t, "target")
	begin := rapid.IntRange(0, len(keys)-2).Draw(t, "begin")
	m.merge(keys[begin:rapid.IntRange(begin+1, len(keys)).Draw(t, "end")])
}

func (m *machine) Restart(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "rarely") > 0 {
		t.Skip("not now")
	}
	m.restart()
	m.waiting = nil
	m.ix.DropBelow(m.floor * 600)
}

func (m *machine) EvictAll(t *rapid.T) { m.evictAll() }

func (m *machine) DropBelow(t *rapid.T) {
	if m.floor == 3 || rapid.IntRange(0, 5).Draw(t, "rarely") > 0 {
		t.Skip("not now")
	}
	m.floor++
	m.ix.DropBelow(m.floor * 600)
	m.waiting = slices.DeleteFunc(m.waiting, func(e idseg.Entry) bool { return e.Bucket < m.floor*600 })
	m.pending = slices.DeleteFunc(m.pending, func(e idseg.Entry) bool { return e.Bucket < m.floor*600 })
	for key, entries := range m.contents {
		if !slices.ContainsFunc(entries, func(e idseg.Entry) bool { return e.Bucket >= m.floor*600 }) {
			delete(m.live, key)
			delete(m.contents, key)
			continue
		}
		// The log's state names the buckets that are kept only.
		ref := m.live[key]
		ref.Buckets = slices.DeleteFunc(slices.Clone(ref.Buckets), func(b idseg.Bucket) bool { return b.Bucket < m.floor*600 })
		m.live[key] = ref
		m.contents[key] = slices.DeleteFunc(slices.Clone(entries), func(e idseg.Entry) bool { return e.Bucket < m.floor*600 })
	}
}

// Check is called by rapid between all actions.
func (m *machine) Check(*rapid.T) { m.verify() }

// finish settles all that waits, and everything that was ever stored.
func (m *machine) finish(t *rapid.T) {
	for _, e := range m.waiting {
		m.settle(e.Tenant, e.Bucket, e.ID, e.Payload)
	}
	for _, entries := range m.contents {
		for _, e := range entries {
			m.settle(e.Tenant, e.Bucket, e.ID, e.Payload)
		}
	}
	m.verify()
	if m.ix.probes != 0 {
		t.Fatalf("%d probes left", m.ix.probes)
	}
}
