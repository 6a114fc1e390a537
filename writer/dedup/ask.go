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
	// manyRuns read from one part: reading the part is cheaper.
	manyRuns = 8
)

// ask settles an id that the resident tables cannot: by the filters of the parts
// that its tenant's unit does not cover, or by loads.
func (ix *Index) ask(b *bucket, tenant event.TenantID, id *event.Hash, payload uint32) Verdict {
	p := b.probes[*id]
	if p != nil && p.found {
		ix.stats.ColdHits++
		return compare(p.payload, payload)
	}
	u := ix.unitOf(b, tenant)
	u.asks++
	if u.asks == ix.cfg.HotChecks {
		ix.warm(u)
	}
	if !ix.gather(u, p, id) {
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
	if ix.gather(u, p, &p.id) {
		ix.wait(b, u, p)
	}
	ix.enforce()
}

// gather fills ix.needs with the parts that may hold the id for all that is in memory.
func (ix *Index) gather(u *unit, p *probe, id *event.Hash) (any bool) {
	ix.needs = ix.needs[:0]
	for slot, part := range u.b.parts {
		if part == nil || u.covered.has(slot) || (p != nil && p.absent.has(slot)) {
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
			ix.wantPart(part, u.tenant).add(waiter{p, part})
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

// wantPart wants the part or its head.
func (ix *Index) wantPart(p *part, tenant event.TenantID) *load {
	if p.seg.load != nil {
		return p.seg.load
	}
	if p.load != nil {
		return p.load
	}
	roomy := !p.headOnly && p.b.ids*idBytes <= ix.cfg.BudgetBytes/2
	switch {
	case roomy && p.seg.bytes <= ix.cfg.SmallReadBytes:
		p.seg.load = ix.enqueue(&load{purpose: PurposeSegment, seg: p.seg, tenant: tenant, length: p.seg.bytes})
		return p.seg.load
	case roomy && (p.at.Length <= ix.cfg.SmallReadBytes || ix.isLive(p.b)) && p.at.Length <= ix.cfg.MaxReadBytes:
		return ix.wantWhole(p, tenant)
	}
	return ix.wantHead(p, tenant, idseg.HeadReadBytes(p.at))
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
	u := p.b.units[pr.tenant]
	hot := u != nil && u.resident && u.asks >= ix.cfg.HotChecks && ix.fits(u, run.IDs)
	switch {
	case p.runReads >= manyRuns && !p.headOnly && p.at.Length <= ix.cfg.MaxReadBytes && p.b.ids*idBytes <= ix.cfg.BudgetBytes/2:
		if p.load == nil {
			p.runReads = 0
			ix.wantWhole(p, pr.tenant)
		}
		p.load.add(w)
	case run.Length <= ix.cfg.SmallReadBytes || (run.Length <= ix.cfg.MaxReadBytes && (hot || len(p.blocks) >= manyBlocks)):
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
	room := ix.cfg.TenantQuotaBytes - u.bytes
	for slot, p := range u.b.parts {
		if p == nil || p.head == nil || u.covered.has(slot) || p.load != nil || p.seg.load != nil || p.runs[u.tenant] != nil {
			continue
		}
		r, ok := p.head.Run(u.tenant)
		if !ok {
			ix.cover(u, slot) // no ids of the tenant: nothing is missing
			continue
		}
		if room -= r.IDs * idBytes; room < 0 {
			return
		}
		if r.Length <= ix.cfg.MaxReadBytes && ix.fits(u, r.IDs) {
			ix.wantRun(p, u.tenant, r)
		}
	}
}
