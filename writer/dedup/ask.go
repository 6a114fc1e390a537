package dedup

import (
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

const (
	// liveBuckets: the newest bucket and so many before it are taken to be those
	// that nearly all events fall in; events may be some minutes ahead.
	liveBuckets = 2
	// manyBlocks under way of one part: reading all ids of the tenant is cheaper.
	manyBlocks = 16
	// backAgain: so many times as many ids as were demoted of a unit are read by blocks before they are paged
	// in again. If they don't stay, a quarter more is read than without.
	backAgain = 4
	// manyRuns read from one part: reading the part is cheaper.
	manyRuns = 8
)

// ask settles an id that the resident tables cannot: by the filters of the parts
// that its tenant's unit does not cover, or by loads. Where the unit's summary may hold the id, of
// all parts.
func (ix *Index) ask(b *bucket, tenant event.TenantID, id *event.Hash, payload uint32, maybe bool) Verdict {
	p := b.probes[*id]
	if p != nil && p.found {
		ix.stats.ColdHits++
		return compare(p.payload, payload)
	}
	u := ix.unitOf(b, tenant)
	if u.covered.n < b.live {
		u.asks++
		if u.asks == ix.cfg.HotChecks {
			ix.warm(u)
		}
	}
	if !ix.gather(u, p, id, maybe) {
		ix.stats.ColdMisses++
		ix.enforce()
		return VerdictNew
	}
	ix.stats.Waits++
	if p == nil {
		p = &probe{tenant: u.tenant, id: *id}
		b.probes[*id] = p
		ix.probes++
	}
	ix.wait(b, u, p)
	ix.enforce()
	return VerdictWait
}

// askAgain wants what a waiting id needs, after the bucket's parts changed.
func (ix *Index) askAgain(b *bucket, p *probe) {
	if p.found {
		return
	}
	u := ix.unitOf(b, p.tenant)
	if payload, ok := u.table.get(&p.id); ok {
		p.found, p.payload = true, payload
		return
	}
	if ix.gather(u, p, &p.id, u.summary.mayHold(&p.id)) {
		ix.wait(b, u, p)
	}
	ix.enforce()
}

// gather fills ix.needs with the parts that may hold the id for all that is in memory; maybe
// is what the unit's summary says.
func (ix *Index) gather(u *unit, p *probe, id *event.Hash, maybe bool) (any bool) {
	ix.needs = ix.needs[:0]
	for slot, part := range u.b.parts {
		if part == nil || (u.covered.has(slot) && !maybe) || (p != nil && p.absent.has(slot)) {
			continue
		}
		if part.head == nil || !ix.cleared(part, u.tenant, id) {
			ix.needs = append(ix.needs, part)
		}
	}
	return len(ix.needs) > 0
}

// wait makes the probe wait for the parts of ix.needs; the others cannot hold its id.
func (ix *Index) wait(b *bucket, u *unit, p *probe) {
	for slot, part := range b.parts {
		if part != nil && !p.asked.has(slot) {
			p.absent.set(slot)
		}
	}
	for _, part := range ix.needs {
		p.absent.clear(part.slot)
	}
	for _, part := range ix.needs {
		if p.asked.has(part.slot) {
			continue
		}
		if part.head == nil {
			ix.wantPart(part, u).add(waiter{p, part})
		} else {
			ix.wantIDs(part, p)
		}
	}
}

// cleared tells whether the part's resident head shows that the id is not there.
func (ix *Index) cleared(p *part, tenant event.TenantID, id *event.Hash) bool {
	ix.pages.share(&p.page, tenant)
	if !p.head.MayHold(*id) {
		ix.stats.FilterAbsent++
		return true
	}
	if _, ok := p.head.Block(tenant, *id); !ok {
		ix.stats.FilterAbsent++
		return true
	}
	ix.stats.FilterMaybe++
	return false
}

// wantPart wants the part or its head: the part if all of it could stay, if only in summaries. A unit that
// covers it needs the head alone.
func (ix *Index) wantPart(p *part, u *unit) *load {
	if p.seg.load != nil {
		return p.seg.load
	}
	if p.load != nil {
		return p.load
	}
	roomy := ix.roomy(p) && !u.covered.has(p.slot)
	switch {
	case roomy && p.seg.bytes <= ix.cfg.SmallReadBytes:
		p.seg.load = ix.enqueue(&load{purpose: PurposeSegment, seg: p.seg, tenant: u.tenant, length: p.seg.bytes})
		return p.seg.load
	case roomy && (p.at.Length <= ix.cfg.SmallReadBytes || ix.isLive(p.b)) && p.at.Length <= ix.cfg.MaxReadBytes:
		return ix.wantWhole(p, u.tenant)
	}
	return ix.wantHead(p, u.tenant, idseg.HeadReadBytes(p.at))
}

// roomy tells whether all that a part read whole brings could stay, beside the rest of its bucket.
func (ix *Index) roomy(p *part) bool {
	return !p.headOnly && p.b.ids*summaryIDBytes <= ix.cfg.BudgetBytes/2 && ix.roomForSummary(p.at.IDs)
}

func (ix *Index) isLive(b *bucket) bool {
	return b.start >= ix.newest-liveBuckets*ix.cfg.BucketSeconds
}

func (ix *Index) wantWhole(p *part, tenant event.TenantID) *load {
	p.load = ix.enqueue(&load{purpose: PurposePart, seg: p.seg, part: p, tenant: tenant, offset: p.at.Offset, length: p.at.Length})
	return p.load
}

func (ix *Index) wantHead(p *part, tenant event.TenantID, bytes int64) *load {
	p.load = ix.enqueue(&load{purpose: PurposeHead, seg: p.seg, part: p, tenant: tenant, offset: p.at.Offset, length: bytes})
	return p.load
}

// wantIDs makes the probe wait for the exact ids of a part whose head is resident and does not
// clear it.
func (ix *Index) wantIDs(p *part, pr *probe) {
	w := waiter{pr, p}
	if l := p.runs[pr.tenant]; l != nil {
		l.add(w)
		return
	}
	run, ok := p.head.Run(pr.tenant)
	block, maybe := p.head.Block(pr.tenant, pr.id)
	if !ok || !maybe {
		pr.absent.set(p.slot)
		return
	}
	u := ix.unitOf(p.b, pr.tenant)
	switch {
	case u.covered.has(p.slot):
		// A new id hardly ever comes here. Copies do: when blocks of many more ids than were demoted have
		// been read, the exact ids are paged in again, whatever else is demoted for them.
		u.summary.blocks++
		if run.Length <= ix.cfg.MaxReadBytes && u.summary.blocks*idseg.BlockEntries >= backAgain*int64(u.summary.ids) && ix.fits(u, run.IDs*idBytes) {
			ix.wantRun(p, pr.tenant, run).add(w)
		} else {
			ix.wantBlock(p, pr.tenant, block).add(w)
		}
	case p.runReads >= manyRuns && p.at.Length <= ix.cfg.MaxReadBytes && ix.roomy(p):
		if p.load == nil {
			p.runReads = 0
			ix.wantWhole(p, pr.tenant)
		}
		p.load.add(w)
	case run.Length <= ix.cfg.MaxReadBytes && (len(p.blocks) >= manyBlocks || ix.fitsSummary(u, run.IDs) && ix.roomForSummary(run.IDs) && (run.Length <= ix.cfg.SmallReadBytes || u.asks >= ix.cfg.HotChecks)):
		ix.wantRun(p, pr.tenant, run).add(w)
	default:
		ix.wantBlock(p, pr.tenant, block).add(w)
	}
}

func (ix *Index) wantRun(p *part, tenant event.TenantID, r idseg.Range) *load {
	l := ix.idsLoad(PurposeRun, p, tenant, r)
	if p.runs == nil {
		p.runs = make(map[event.TenantID]*load)
	}
	p.runs[tenant] = l
	p.runReads++
	return l
}

func (ix *Index) wantBlock(p *part, tenant event.TenantID, r idseg.Range) *load {
	if l := p.blocks[r.Offset]; l != nil && l.ids == r {
		return l
	}
	l := ix.idsLoad(PurposeBlock, p, tenant, r)
	if p.blocks == nil {
		p.blocks = make(map[int64]*load)
	}
	p.blocks[r.Offset] = l
	return l
}

func (ix *Index) idsLoad(purpose Purpose, p *part, tenant event.TenantID, r idseg.Range) *load {
	return ix.enqueue(&load{purpose: purpose, seg: p.seg, part: p, tenant: tenant, offset: p.at.Offset + r.Offset, length: r.Length, head: p.head, ids: r})
}

// warm wants the tenant's ids of all parts whose filters it had to ask so often.
func (ix *Index) warm(u *unit) {
	var ids int64
	for slot, p := range u.b.parts {
		if p == nil || p.head == nil || u.covered.has(slot) || p.load != nil || p.seg.load != nil || p.runs[u.tenant] != nil {
			continue
		}
		r, ok := p.head.Run(u.tenant)
		if !ok {
			ix.cover(u, slot) // no ids of the tenant: nothing is missing
			continue
		}
		if ids += r.IDs; !ix.fitsSummary(u, ids) || !ix.roomForSummary(ids) {
			return
		}
		if r.Length <= ix.cfg.MaxReadBytes {
			ix.wantRun(p, u.tenant, r)
		}
	}
}
