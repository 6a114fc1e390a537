package dedup

import (
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// commitGroup is what a commit has of one tenant in one bucket.
type commitGroup struct {
	bucket   int64
	tenant   event.TenantID
	ids      int64
	admitted *unit // that takes the ids; nil: they don't fit
}

// Confirm says that the commit that stores the entries (all of them pending) in
// the segment ref is confirmed by the log. It makes the segment known: no
// AddSegment for it. The ids are pending no longer, and become resident.
func (ix *Index) Confirm(entries []idseg.Entry, ref SegmentRef) error {
	groups, of := groupCommit(entries)
	if err := checkCommit(groups, ref); err != nil {
		return err
	}
	seg, err := ix.addSegment(ref)
	if err != nil {
		return err
	}
	ix.makeRoom(int64(len(entries)) * comingIDBytes)
	for i := range groups {
		ix.admit(&groups[i])
	}
	for i := range entries {
		e := &entries[i]
		if p, ok := ix.pending.remove(&e.ID); !ok || p != e.Payload {
			panic(fmt.Sprintf("dedup: commit %s holds id %x of %s in bucket %d, which was not accepted", ref.Key, e.ID, e.Tenant, e.Bucket))
		}
		if u := groups[of[i]].admitted; u != nil && u.table.put(&e.ID, e.Payload) {
			ix.stats.ResidentIDs++
		}
	}
	refused := make(map[*unit]bool)
	for i := range groups {
		g := &groups[i]
		if u := g.admitted; u != nil {
			ix.recharge(u)
		} else {
			refused[ix.buckets[g.bucket].units[g.tenant]] = true
		}
	}
	for _, p := range seg.parts {
		for _, u := range p.b.units {
			if u.resident && !refused[u] {
				ix.cover(u, p.slot)
			}
		}
		p.b.known.set(p.slot)
	}
	ix.enforce()
	return nil
}

// groupCommit returns the groups in the order of their first entries and, for
// each entry, the index of its group.
func groupCommit(entries []idseg.Entry) (groups []commitGroup, of []uint32) {
	type key struct {
		bucket int64
		tenant event.TenantID
	}
	index := make(map[key]uint32)
	of = make([]uint32, len(entries))
	var last key
	for i := range entries {
		k := key{entries[i].Bucket, entries[i].Tenant}
		if i > 0 && k == last {
			of[i] = of[i-1]
		} else if g, ok := index[k]; ok {
			of[i] = g
		} else {
			of[i] = uint32(len(groups))
			index[k] = of[i]
			groups = append(groups, commitGroup{bucket: k.bucket, tenant: k.tenant})
		}
		last = k
		groups[of[i]].ids++
	}
	return groups, of
}

// checkCommit finds a segment that is not the commit's, before anything is changed.
func checkCommit(groups []commitGroup, ref SegmentRef) error {
	ids := make(map[int64]int64)
	for _, g := range groups {
		ids[g.bucket] += g.ids
	}
	for _, at := range ref.Buckets {
		if ids[at.Bucket] != at.IDs {
			return fmt.Errorf("dedup: segment %s says %d ids in bucket %d, the commit has %d", ref.Key, at.IDs, at.Bucket, ids[at.Bucket])
		}
	}
	if len(ids) != len(ref.Buckets) {
		return fmt.Errorf("dedup: segment %s has %d buckets, the commit %d", ref.Key, len(ref.Buckets), len(ids))
	}
	return nil
}

// admit chooses the unit that takes the group's ids. One that would grow beyond
// the quota demotes what it has, for the newest ids are the likeliest to be sent again; if
// its summary is too large, too, it begins anew.
func (ix *Index) admit(g *commitGroup) {
	u := ix.unitOf(ix.buckets[g.bucket], g.tenant)
	ix.pages.touch(&u.page)
	for u.table.len > 0 && !ix.fits(u, g.ids*idBytes) {
		ix.demote(u)
	}
	if u.summary.ids > 0 && !ix.fits(u, g.ids*idBytes) {
		ix.stats.UnitEvictions++
		ix.forget(u)
		ix.recharge(u)
	}
	if ix.fits(u, g.ids*idBytes) {
		g.admitted = u
	}
}
