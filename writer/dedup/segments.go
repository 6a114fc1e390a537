package dedup

import (
	"bytes"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// segment is a live id segment.
type segment struct {
	key   string
	bytes int64
	parts []*part // those of buckets that are still kept
	load  *load   // of the whole segment, while under way
}

// part is what one segment holds of one bucket.
type part struct {
	page // of head
	seg  *segment
	b    *bucket
	at   idseg.Bucket
	slot int
	gone bool // no longer live
	head *idseg.Head

	load   *load // of the part or its head, while under way
	runs   map[event.TenantID]*load
	blocks map[int64]*load // by offset

	runReads int  // tenants' ids read from it alone
	headOnly bool // somebody's ids did not fit when it was read whole: not again
}

// bucket is an id bucket with live segments.
type bucket struct {
	start     int64
	parts     []*part // by slot; nil where free
	live      int     // parts
	ids       int64   // of all parts
	units     map[event.TenantID]*unit
	residents int   // units that are resident
	known     slots // parts all of whose tenants stand in units, if only as evicted ones
	probes    map[event.Hash]*probe
}

// probe keeps what loads told about a waiting id.
type probe struct {
	tenant  event.TenantID
	id      event.Hash
	absent  slots // parts that have it not, for sure
	asked   slots // parts whose load under way will tell
	found   bool  // it is stored, with payload
	payload uint32
	done    bool // accepted or forgotten
}

const (
	probeBytes = int64(unsafe.Sizeof(probe{})) + 64 // with its place in the map and its slots
	partBytes  = int64(unsafe.Sizeof(part{})) + 48  // with its places in lists
)

// slots is a set of a bucket's parts, by slot.
type slots struct {
	words []uint64
	n     int
}

func (s *slots) has(i int) bool { return i>>6 < len(s.words) && s.words[i>>6]>>(i&63)&1 == 1 }

func (s *slots) set(i int) {
	for i>>6 >= len(s.words) {
		s.words = append(s.words, 0)
	}
	if !s.has(i) {
		s.words[i>>6] |= 1 << (i & 63)
		s.n++
	}
}

func (s *slots) clear(i int) {
	if s.has(i) {
		s.words[i>>6] &^= 1 << (i & 63)
		s.n--
	}
}

func (s *slots) clone() slots { return slots{append([]uint64(nil), s.words...), s.n} }

// contains tells whether all of o are in s.
func (s *slots) contains(o slots) bool {
	for i, w := range o.words {
		var mine uint64
		if i < len(s.words) {
			mine = s.words[i]
		}
		if bits.OnesCount64(w&^mine) > 0 {
			return false
		}
	}
	return true
}

// AddSegment makes a live segment known that this index did not Confirm: those
// of the shard log's state after a claim.
func (ix *Index) AddSegment(ref SegmentRef) error {
	_, err := ix.addSegment(ref)
	return err
}

func (ix *Index) addSegment(ref SegmentRef) (*segment, error) {
	if _, ok := ix.segments[ref.Key]; ok {
		return nil, fmt.Errorf("dedup: segment %s is known already", ref.Key)
	}
	for i, at := range ref.Buckets {
		if at.Offset < 0 || at.Length < 1 || at.IDs < 1 || at.Offset > ref.Bytes-at.Length {
			return nil, fmt.Errorf("%w: segment %s of %d bytes has bucket %d at [%d, +%d)", idseg.ErrCorrupt, ref.Key, ref.Bytes, at.Bucket, at.Offset, at.Length)
		}
		if i > 0 && ref.Buckets[i-1].Bucket >= at.Bucket {
			return nil, fmt.Errorf("%w: segment %s: bucket %d out of order", idseg.ErrCorrupt, ref.Key, at.Bucket)
		}
	}
	seg := &segment{key: ref.Key, bytes: ref.Bytes}
	for _, at := range ref.Buckets {
		b := ix.buckets[at.Bucket]
		if b == nil {
			b = &bucket{start: at.Bucket, units: make(map[event.TenantID]*unit), probes: make(map[event.Hash]*probe)}
			ix.buckets[at.Bucket] = b
		}
		p := &part{seg: seg, b: b, at: at}
		p.page.part = p
		b.add(p)
		seg.parts = append(seg.parts, p)
		ix.newest = max(ix.newest, at.Bucket)
		ix.stats.Parts++
	}
	if len(seg.parts) > 0 {
		ix.segments[seg.key] = seg
	}
	return seg, nil
}

func (b *bucket) add(p *part) {
	p.slot = len(b.parts)
	for i, q := range b.parts {
		if q == nil {
			p.slot = i
			break
		}
	}
	if p.slot == len(b.parts) {
		b.parts = append(b.parts, nil)
	}
	b.parts[p.slot] = p
	b.live++
	b.ids += p.at.IDs
}

// Replace applies a merge of id segments: removed ones leave, added ones, which
// together hold the same ids, come. What is resident stays. (Ids of a bucket that
// gets no part for those that it loses are gone from the log, and so from here.)
func (ix *Index) Replace(removed []string, added []SegmentRef) error {
	leaving := make(map[*bucket]*slots)
	var touched []*bucket // the keys of leaving, in a fixed order
	for _, key := range removed {
		seg := ix.segments[key]
		if seg == nil {
			return fmt.Errorf("dedup: segment %s is not known", key)
		}
		for _, p := range seg.parts {
			if leaving[p.b] == nil {
				leaving[p.b] = new(slots)
				touched = append(touched, p.b)
			}
			leaving[p.b].set(p.slot)
		}
	}
	replaced := make(map[*bucket]bool)
	for _, ref := range added {
		seg, err := ix.addSegment(ref)
		if err != nil {
			return err
		}
		for _, p := range seg.parts {
			if gone := leaving[p.b]; gone != nil {
				ix.inherit(p, *gone)
				replaced[p.b] = true
			}
		}
	}
	for _, key := range removed {
		seg := ix.segments[key]
		for len(seg.parts) > 0 {
			ix.removePart(seg.parts[0])
		}
	}
	for _, b := range touched {
		if !replaced[b] {
			ix.dropUnits(b)
			for _, p := range b.probes {
				p.found = false
			}
		}
		if b.live == 0 {
			ix.dropBucket(b)
			continue
		}
		for _, id := range slices.SortedFunc(maps.Keys(b.probes), compareHashes) {
			ix.askAgain(b, b.probes[id])
		}
	}
	ix.enforce()
	return nil
}

func compareHashes(a, b event.Hash) int { return bytes.Compare(a[:], b[:]) }

// inherit makes p covered where all of the parts that it replaces were covered:
// it holds no other ids.
func (ix *Index) inherit(p *part, gone slots) {
	for _, u := range p.b.units {
		if u.resident && u.covered.contains(gone) {
			ix.cover(u, p.slot)
		}
	}
	if p.b.known.contains(gone) {
		p.b.known.set(p.slot)
	}
}

// removePart takes p out of its bucket and its segment. Its slot may be used again.
func (ix *Index) removePart(p *part) {
	b := p.b
	ix.evictHead(p)
	p.gone = true
	p.seg.parts = slices.DeleteFunc(p.seg.parts, func(q *part) bool { return q == p })
	if len(p.seg.parts) == 0 {
		p.seg.load = nil
		delete(ix.segments, p.seg.key)
	}
	b.parts[p.slot] = nil
	b.live--
	b.ids -= p.at.IDs
	ix.stats.Parts--
	b.known.clear(p.slot)
	for _, u := range b.units {
		u.covered.clear(p.slot)
	}
	for _, q := range b.probes {
		q.absent.clear(p.slot)
		q.asked.clear(p.slot)
	}
}

// DropBelow forgets the buckets that begin before floor (seconds). Pending ids stay.
// Ids that wait in them must be checked again.
func (ix *Index) DropBelow(floor int64) {
	for _, b := range ix.buckets {
		if b.start >= floor {
			continue
		}
		for _, p := range b.parts {
			if p != nil {
				ix.removePart(p)
			}
		}
		ix.dropBucket(b)
	}
}

func (ix *Index) dropBucket(b *bucket) {
	ix.dropUnits(b)
	for _, p := range b.probes {
		p.done = true
		ix.probes--
	}
	delete(ix.buckets, b.start)
}
