package placements

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/togodb/togo/internal/event"
)

// memoSlots is how many tenants the default rule remembers the shards of. Without
// it a look-up costs a hash for each default shard. 65,536 pointers are 512 KiB a rule, and
// full of entries about 8 MiB; a tenant that finds its slot taken takes it over.
const memoSlots = 1 << 16

// defaultRule is one entry of the default rule's timeline, shared by all versions
// of the table that hold it.
type defaultRule struct {
	Default
	hasher *event.Hasher
	memo   atomic.Pointer[[memoSlots]atomic.Pointer[memoEntry]]
}

// memoEntry is never changed once it is in a slot.
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
	memo := d.memo.Load()
	if memo == nil {
		d.memo.CompareAndSwap(nil, new([memoSlots]atomic.Pointer[memoEntry]))
		memo = d.memo.Load()
	}
	slot := &memo[h/tenantParts%memoSlots]
	if e := slot.Load(); e != nil && e.tenant == name {
		return e.shards
	}
	// The caller may reuse the memory of the name.
	e := &memoEntry{tenant: event.TenantID(strings.Clone(string(name))), shards: d.rank(name)}
	slot.Store(e)
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
