package event

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// DecodeEnvelope fills e from b. The items' bytes alias b, or are never written again;
// e.Items' memory is used again. After an error e has no items.
func DecodeEnvelope(b []byte, e *Envelope) error {
	e.Items = e.Items[:0]
	d := decoder{rest: b, e: e}
	err := d.envelope(b)
	if err != nil {
		clear(e.Items)
		e.Items = e.Items[:0]
	}
	return err
}

// keepItems bounds the items that an envelope keeps for its next decoding.
const keepItems = 4096

// maxInterned bounds the texts that an envelope keeps: tenants and clusters.
const maxInterned = 4096

// intern gives the text of b without allocating for one that came before.
func (e *Envelope) intern(b []byte) string {
	if s, ok := e.texts[string(b)]; ok {
		return s
	}
	if e.texts == nil || len(e.texts) >= maxInterned {
		e.texts = make(map[string]string)
	}
	s := string(b)
	e.texts[s] = s
	return s
}

// decoder reads from rest. After the first fault it reads zeros.
type decoder struct {
	rest  []byte
	fault string
	e     *Envelope
}

func (d *decoder) corrupt(fault string) {
	if d.fault == "" {
		d.fault = fault
	}
	d.rest = nil
}

func (d *decoder) uvarint() uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 {
		n := d.rest[0]
		d.rest = d.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.corrupt("an integer is cut off or too long")
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) signed() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.corrupt("a length goes beyond the end")
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// text reads a length, at most limit, and as many bytes.
func (d *decoder) text(limit uint64) []byte {
	n := d.uvarint()
	if n > limit {
		d.corrupt("a text is too long")
		return nil
	}
	return d.bytes(n)
}

func (d *decoder) envelope(b []byte) error {
	if len(b) < 3+checksumSize || b[0] != magic0 || b[1] != magic1 {
		return fmt.Errorf("%w: does not begin as one", ErrCorrupt)
	}
	body := b[:len(b)-checksumSize]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(body):]) {
		return fmt.Errorf("%w: checksum differs", ErrCorrupt)
	}
	d.rest = body[2:]
	if format := d.uvarint(); format > format1 {
		return fmt.Errorf("%w: format %d", ErrNewerFormat, format)
	} else if format < format1 {
		d.corrupt("no format")
	}
	d.header()
	d.items()
	if d.fault == "" && len(d.rest) > 0 {
		d.corrupt("bytes after the last item")
	}
	if d.fault != "" {
		return fmt.Errorf("%w: %s", ErrCorrupt, d.fault)
	}
	return nil
}

func (d *decoder) header() {
	tenant := d.text(MaxTenant)
	if d.fault == "" && string(tenant) != string(Unroutable) && checkTenant(tenant) != nil {
		d.corrupt("the tenant's name breaks the rule")
	}
	d.e.Tenant = TenantID(d.e.intern(tenant))
	d.e.PlacementVersion = d.uvarint()
	d.e.sources = d.e.sources[:0]
	const smallest = 1 + 16 + 1
	n := d.uvarint()
	if n > MaxItems || n*smallest > uint64(len(d.rest)) {
		d.corrupt("too many sources")
		return
	}
	for ; n > 0; n-- {
		s := Source{Cluster: d.e.intern(d.text(MaxCluster))}
		copy(s.Topic[:], d.bytes(16))
		partition := d.uvarint()
		if !inInt32(partition) {
			d.corrupt("a partition is no 31-bit number")
		}
		s.Partition = int32(partition)
		d.e.sources = append(d.e.sources, s)
	}
}

func (d *decoder) items() {
	const smallest = 1 + 1 + 1 + 1
	n := d.uvarint()
	if n > MaxItems || n*smallest > uint64(len(d.rest)) {
		d.corrupt("too many items")
		return
	}
	e := d.e
	switch {
	case cap(e.Items) > keepItems && n <= keepItems:
		e.Items = make([]Item, 0, n)
	case uint64(cap(e.Items)) < n:
		e.Items = make([]Item, 0, max(n, 64))
	}
	last := previous{source: -1}
	for ; n > 0 && d.fault == ""; n-- {
		e.Items = e.Items[:len(e.Items)+1]
		it := &e.Items[len(e.Items)-1]
		*it = Item{}
		d.item(it, &last)
	}
}

func (d *decoder) item(it *Item, last *previous) {
	flags := d.bytes(1)
	if flags == nil {
		return
	}
	f := flags[0]
	it.Kind = Kind(f & kindMask)
	if it.Kind == 0 || f&flagsReserved != 0 || it.Kind != KindEvent && f&(flagID|flagTime) != 0 || it.Kind == KindSkipped && f&flagText != 0 {
		d.corrupt("an item's flags are none of format 1")
		return
	}
	d.origin(it, f, last)
	if it.Kind == KindSkipped {
		n := d.uvarint()
		it.SkipTo = it.Origin.Offset + int64(n)
		if n == 0 || n > math.MaxInt64 || it.SkipTo < it.Origin.Offset {
			d.corrupt("a skipped range is empty or too long")
		}
		return
	}
	it.Format = FormatJSON
	if f&flagText != 0 {
		it.Format = FormatText
	}
	it.Timestamp = it.FirstSeen
	if f&flagTime != 0 {
		it.Timestamp += Timestamp(d.signed())
	}
	switch {
	case f&flagID != 0:
		it.HasID = true
		it.ID = d.text(MaxID + 1) // and the "@" that escapes another
		if len(it.ID) == 0 {
			d.corrupt("an id is empty")
		}
	case it.Kind == KindEvent:
		it.ID = d.e.ids.position(it.Origin)
	default:
		it.ID = d.e.ids.letter(it.Origin)
		it.Reason = Reason(d.e.intern(d.text(maxReason)))
		it.Detail = string(d.text(MaxDetail))
		if it.Reason == "" {
			d.corrupt("a letter has no reason")
		}
	}
	it.Payload = d.bytes(d.uvarint())
}

// origin reads the item's position and first seen time.
func (d *decoder) origin(it *Item, f byte, last *previous) {
	source, epoch := last.source, int64(last.epoch)
	if f&flagSource != 0 {
		n := d.uvarint()
		if epoch = d.signed(); n >= uint64(len(d.e.sources)) || epoch != int64(int32(epoch)) {
			d.corrupt("an item's source is not in the table")
			return
		}
		source = int(n)
	}
	if source < 0 {
		d.corrupt("the first item has no source")
		return
	}
	it.Origin.Source = d.e.sources[source]
	it.Origin.LeaderEpoch = int32(epoch)
	it.Origin.Offset = last.offset + d.signed()
	if f&flagIndex != 0 {
		index := d.uvarint()
		if index == 0 || !inInt32(index) {
			d.corrupt("an index is no 31-bit number")
		}
		it.Origin.Index = int32(index)
	}
	it.FirstSeen = last.firstSeen + Timestamp(d.signed())
	*last = previous{source: source, epoch: int32(epoch), offset: it.Origin.Offset, firstSeen: it.FirstSeen}
}
