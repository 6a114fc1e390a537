package placements

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/togodb/togo/internal/event"
)

const (
	// memoSets times memoWays is how many tenants the default rule remembers the
	// shards of; without it a look-up costs a hash for each default shard. It serves 100,000
	// tenants with few losing their place to another. The pointers are 2 MiB a rule
	// that is used, and full of entries it is about 25 MiB.
	memoSets = 1 << 16
	memoWays = 4
)

// memo is a set-associative cache. Readers and writers need no lock: an entry is
// never changed, and an entry lost to another is made again.
type memo [memoSets][memoWays]atomic.Pointer[memoEntry]

// defaultRule is one entry of the default rule's timeline, shared by all versions
// of the table that hold it.
type defaultRule struct {
	Default
	hasher *event.Hasher
	memo   atomic.Pointer[memo]
}

type memoEntry struct {
	tenant event.TenantID
	shards Shards
}

// of returns the tenant's shards, the highest weight first. h is hashTenant of
// the tenant and only picks the slot.
func (d *defaultRule) of(h uint64, name event.TenantID) Shards {
	if len(d.Shards) == 1 {
		return d.Shards
	}
	m := d.memo.Load()
	if m == nil {
		d.memo.CompareAndSwap(nil, new(memo))
		m = d.memo.Load()
	}
	set := &m[h/tenantParts%memoSets]
	free := int(h >> 62) // of a full set, any one goes
	for way := range set {
		e := set[way].Load()
		if e == nil {
			free = way
			break
		}
		if e.tenant == name {
			return e.shards
		}
	}
	// The caller may reuse the memory of the name.
	e := &memoEntry{tenant: event.TenantID(strings.Clone(string(name))), shards: d.rank(name)}
	set[free].Store(e)
	return e.shards
}

// rank picks the Spread shards of the highest weight; of two equal weights the
// smaller shard is first. The order of d.Shards does not matter.
func (d *defaultRule) rank(name event.TenantID) Shards {
	type weighted struct {
		weight uint64
		shard  event.ShardID
	}
	best := make([]weighted, 0, d.Spread+1)
	for _, s := range d.Shards {
		w := weighted{d.hasher.Rendezvous(name, s), s}
		at := len(best)
		for at > 0 && (best[at-1].weight < w.weight || best[at-1].weight == w.weight && best[at-1].shard > w.shard) {
			at--
		}
		if at == d.Spread {
			continue
		}
		best = slices.Insert(best, at, w)
		best = best[:min(len(best), d.Spread)]
	}
	out := make(Shards, len(best))
	for i, b := range best {
		out[i] = b.shard
	}
	return out
}
