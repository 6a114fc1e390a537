package dedup

import (
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
)

// Load is a range read that the caller does: GetRange(Key, Offset, Length).
type Load struct {
	Key     string
	Offset  int64
	Length  int64
	Purpose Purpose

	load *load // whose answer it is
}

// Purpose of a load, for metrics and logs.
type Purpose uint8

const (
	PurposeHead    Purpose = iota + 1 // directory and filter of a part
	PurposePart                       // one bucket's part with all tenants
	PurposeSegment                    // a whole small segment
	PurposeRun                        // one tenant's ids in a part
	PurposeBlock                      // the block that may hold one id
)

// load is a read that is wanted or under way.
type load struct {
	ix      *Index
	purpose Purpose
	seg     *segment
	part    *part          // nil for a whole segment
	tenant  event.TenantID // who asked first; for PurposeRun and PurposeBlock the owner of the ids
	offset  int64          // bytes from the object's start
	length  int64
	head    *idseg.Head // of the part, for PurposeRun and PurposeBlock: kept until the answer
	ids     idseg.Range
	waiters []waiter
	handed  bool // out to the caller
	done    bool
}

// waiter is a waiting id and the part that it waits for.
type waiter struct {
	probe *probe
	part  *part
}

// gone tells whether nobody can use the answer any more.
func (l *load) gone() bool {
	if l.part != nil {
		return l.part.gone
	}
	return l.seg.load != l
}

func (ix *Index) enqueue(l *load) *load {
	l.ix = ix
	ix.queue = append(ix.queue, l)
	return l
}

// Loads returns the reads that are wanted and were not handed out yet, in the
// order in which they were asked for. The caller bounds how many are under way.
// For each of them Loaded must be called.
func (ix *Index) Loads() []Load {
	var out []Load
	for _, l := range ix.queue {
		if l.gone() {
			continue
		}
		l.handed = true
		ix.stats.Loads[l.purpose]++
		ix.stats.LoadBytes += l.length
		out = append(out, Load{Key: l.seg.key, Offset: l.offset, Length: l.length, Purpose: l.purpose, load: l})
	}
	ix.queue = ix.queue[:0]
	return out
}

// Loaded brings the answer of a load. After a read error the load is wanted
// again (Loads hands it out once more; the caller paces it) and Loaded returns
// nil, except that objstore.ErrNotFound of a live segment gives ErrCatchUp.
// Damaged or missing bytes give idseg.ErrCorrupt. After either, the next Check asks anew. Answers to
// loads of segments that left meanwhile, or of another Index, are ignored.
func (ix *Index) Loaded(answer Load, data []byte, err error) error {
	l := answer.load
	if l == nil || l.ix != ix || l.done || !l.handed || l.gone() {
		return nil
	}
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		ix.finish(l)
		return fmt.Errorf("%w: %s", ErrCatchUp, l.seg.key)
	case errors.Is(err, objstore.ErrRange):
		ix.finish(l)
		return fmt.Errorf("%w: segment %s ends before byte %d", idseg.ErrCorrupt, l.seg.key, l.offset)
	case err != nil:
		l.handed = false
		ix.stats.LoadErrors++
		ix.queue = append(ix.queue, l)
		return nil
	}
	ix.finish(l)
	if int64(len(data)) != l.length {
		err = fmt.Errorf("%w: %d of %d bytes", idseg.ErrCorrupt, len(data), l.length)
	} else {
		err = ix.answer(l, data)
	}
	if err != nil {
		return fmt.Errorf("dedup: segment %s, bytes [%d, %d): %w", l.seg.key, l.offset, l.offset+l.length, err)
	}
	ix.enforce()
	return nil
}

// finish takes the load out of the places where it stands as under way.
func (ix *Index) finish(l *load) {
	l.done = true
	switch l.purpose {
	case PurposeSegment:
		l.seg.load = nil
	case PurposePart, PurposeHead:
		l.part.load = nil
	case PurposeRun:
		delete(l.part.runs, l.tenant)
	case PurposeBlock:
		delete(l.part.blocks, l.ids.Offset)
	}
	for _, w := range l.waiters {
		if !w.part.gone {
			w.probe.asked.clear(w.part.slot)
		}
	}
}

func (ix *Index) answer(l *load, data []byte) error {
	switch l.purpose {
	case PurposeSegment:
		for _, p := range append([]*part(nil), l.seg.parts...) {
			if err := ix.partLoaded(l, p, data[p.at.Offset:p.at.Offset+p.at.Length]); err != nil {
				return err
			}
		}
		return nil
	case PurposePart:
		return ix.partLoaded(l, l.part, data)
	case PurposeHead:
		return ix.headLoaded(l, data)
	default:
		return ix.idsLoaded(l, data)
	}
}

// check that a decoded head is the one that the log names.
func (p *part) check(h *idseg.Head) error {
	if h.Bucket != p.at.Bucket || h.IDs != p.at.IDs || h.PartBytes() != p.at.Length {
		return fmt.Errorf("%w: found bucket %d with %d ids in %d bytes, the log says bucket %d with %d ids in %d bytes",
			idseg.ErrCorrupt, h.Bucket, h.IDs, h.PartBytes(), p.at.Bucket, p.at.IDs, p.at.Length)
	}
	return nil
}

// partLoaded answers who waits for the part and pages in all that fits of it.
func (ix *Index) partLoaded(l *load, p *part, data []byte) error {
	decoded, err := idseg.DecodePart(data)
	if err != nil {
		return err
	}
	if err := p.check(decoded.Head); err != nil {
		return err
	}
	for _, w := range l.waiters {
		if w.part == p {
			w.answer(decoded.Of(w.probe.tenant))
		}
	}
	all := true
	b := p.b
	for tenant, ids := range decoded.All() {
		u := ix.unitOf(b, tenant)
		if !u.covered.has(p.slot) && !ix.fold(u, p, ids) {
			all = false
		}
		ix.enforce()
	}
	for tenant, u := range b.units {
		if u.resident && decoded.Of(tenant).Len() == 0 {
			ix.cover(u, p.slot) // no ids of the tenant: nothing is missing
		}
	}
	if !all {
		p.headOnly = true
		ix.keepHead(p, decoded.Head, l.tenant)
	} else if ix.tenantsKnown(b, decoded) {
		b.known.set(p.slot)
	}
	return nil
}

// tenantsKnown tells whether all tenants of the part stand in the bucket's units still.
func (ix *Index) tenantsKnown(b *bucket, p *idseg.Part) bool {
	for tenant := range p.All() {
		if b.units[tenant] == nil {
			return false
		}
	}
	return true
}

func (ix *Index) keepHead(p *part, h *idseg.Head, tenant event.TenantID) {
	if p.resident {
		return
	}
	p.head = h
	ix.pages.attach(&p.page, tenant, h.MemoryBytes())
}

func (ix *Index) headLoaded(l *load, data []byte) error {
	p := l.part
	n, err := idseg.HeadBytes(data)
	if err != nil {
		return err
	}
	if n > l.length && n <= p.at.Length {
		again := ix.wantHead(p, l.tenant, n)
		for _, w := range l.waiters {
			again.add(w)
		}
		return nil
	}
	h, err := idseg.DecodeHead(data)
	if err != nil {
		return err
	}
	if err := p.check(h); err != nil {
		return err
	}
	ix.keepHead(p, h, l.tenant)
	for _, w := range l.waiters {
		if w.probe.done || w.probe.absent.has(p.slot) {
			continue
		}
		if ix.cleared(p, w.probe.tenant, &w.probe.id) {
			w.probe.absent.set(p.slot)
		} else {
			ix.wantIDs(p, w.probe)
		}
	}
	return nil
}

func (ix *Index) idsLoaded(l *load, data []byte) error {
	p := l.part
	ids, err := l.head.Entries(l.ids, data)
	if err != nil {
		return err
	}
	for _, w := range l.waiters {
		w.answer(ids)
		if !w.probe.found {
			ix.stats.FilterFalse++
		}
	}
	if l.purpose == PurposeRun {
		ix.fold(ix.unitOf(p.b, l.tenant), p, ids)
	}
	return nil
}

// answer notes what the ids of the probe's tenant say; they must be all of the
// part that the probe's id can be among.
func (w waiter) answer(ids idseg.Entries) {
	if payload, ok := ids.Find(w.probe.id); ok {
		w.probe.found, w.probe.payload = true, payload
	} else {
		w.probe.absent.set(w.part.slot)
	}
}

func (l *load) add(w waiter) {
	l.waiters = append(l.waiters, w)
	w.probe.asked.set(w.part.slot)
}
