package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// Errors of DecodeEnvelope. ErrNewerFormat is no corruption: its reader stops and says
// that it is too old. ErrCorrupt covers all else.
var (
	ErrCorrupt     = errors.New("event: corrupt envelope")
	ErrNewerFormat = errors.New("event: envelope of a newer format than this program knows")
)

// The encoded envelope, format 1. Integers are unsigned varints, "signed" ones zigzag;
// a text is its length and its bytes.
//
//	2 bytes   magic F5 74; F5 begins no UTF-8 text, so no JSON or text record looks like it
//	integer   format
//	text      tenant
//	integer   placement version
//	integer   number of sources, then each: text cluster, 16 bytes topic id, integer partition
//	integer   number of items, then each as below
//	4 bytes   CRC-32C of all bytes before, little-endian
//
// The magic, the format's place and the checksum over all hold for every later format;
// so a newer format is told from a broken one.
//
// An item:
//
//	1 byte    flags: bits 0-1 kind; 2 it has an id; 3 text; 4 its time is not its first
//	          seen time; 5 another source or leader epoch than the item before; 6 its
//	          index is not 0; 7 zero
//	if bit 5  integer source, signed leader epoch
//	signed    offset, less that of the item before (of the first: less 0)
//	if bit 6  integer index
//	signed    first seen time, less that of the item before (of the first: less 0), in ns
//	skipped   integer length of the range; nothing follows
//	if bit 4  signed time less first seen time, in ns
//	if bit 2  text id
//	dead      text reason, text detail
//	text      payload
//
// Differences wrap around in 64 bits. The id of an event without one, and of a letter,
// is made of its origin and not written; a letter's time is its first seen time.
const (
	magic0, magic1 = 0xF5, 0x74
	format1        = 1
	checksumSize   = 4

	kindMask      = 0b11
	flagID        = 1 << 2
	flagText      = 1 << 3
	flagTime      = 1 << 4
	flagSource    = 1 << 5
	flagIndex     = 1 << 6
	flagsReserved = 1 << 7
)

// Bounds of an envelope. A decoder takes no more, so that a hostile length costs nothing.
const (
	// MaxItems bounds the items of an envelope: far above what a router gathers in some
	// milliseconds, and 16 MiB of decoded items at most.
	MaxItems = 1 << 16
	// MaxID bounds an id in bytes, as its event wrote it.
	MaxID = 64 << 10
	// MaxDetail bounds Item.Detail in bytes.
	MaxDetail = 200
	// MaxCluster bounds a Kafka cluster's id in bytes; Kafka makes them 22 long.
	MaxCluster = 255
	// maxReason bounds a reason's name; a newer router may know more of them.
	maxReason = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// previous is what an item is written relative to.
type previous struct {
	source    int // -1: none yet
	epoch     int32
	offset    int64
	firstSeen Timestamp
}

func appendSigned(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func appendItem(b []byte, it *Item, source int, p *previous) []byte {
	flags := byte(it.Kind) & kindMask
	if it.Kind == KindEvent && it.HasID {
		flags |= flagID
	}
	if it.Kind == KindEvent && it.Timestamp != it.FirstSeen {
		flags |= flagTime
	}
	if it.Kind != KindSkipped && it.Format == FormatText {
		flags |= flagText
	}
	if source != p.source || it.Origin.LeaderEpoch != p.epoch {
		flags |= flagSource
	}
	if it.Origin.Index != 0 {
		flags |= flagIndex
	}
	b = append(b, flags)
	if flags&flagSource != 0 {
		b = binary.AppendUvarint(b, uint64(source))
		b = appendSigned(b, int64(it.Origin.LeaderEpoch))
	}
	b = appendSigned(b, it.Origin.Offset-p.offset)
	if flags&flagIndex != 0 {
		b = binary.AppendUvarint(b, uint64(uint32(it.Origin.Index)))
	}
	b = appendSigned(b, int64(it.FirstSeen-p.firstSeen))
	*p = previous{source: source, epoch: it.Origin.LeaderEpoch, offset: it.Origin.Offset, firstSeen: it.FirstSeen}
	if it.Kind == KindSkipped {
		return binary.AppendUvarint(b, uint64(it.SkipTo-it.Origin.Offset))
	}
	if flags&flagTime != 0 {
		b = appendSigned(b, int64(it.Timestamp-it.FirstSeen))
	}
	if flags&flagID != 0 {
		b = binary.AppendUvarint(b, uint64(len(it.ID)))
		b = append(b, it.ID...)
	}
	if it.Kind == KindDead {
		b = appendText(b, string(it.Reason))
		b = appendText(b, it.Detail)
	}
	b = binary.AppendUvarint(b, uint64(len(it.Payload)))
	return append(b, it.Payload...)
}

func appendSource(b []byte, s *Source) []byte {
	b = appendText(b, s.Cluster)
	b = append(b, s.Topic[:]...)
	return binary.AppendUvarint(b, uint64(uint32(s.Partition)))
}

// AppendEnvelope appends the encoded envelope to dst. Its tenant, items and their parts
// must keep to the bounds that a decoder checks: what Extract gives does.
func AppendEnvelope(dst []byte, e *Envelope) []byte {
	var b Builder
	b.Reset(e.Tenant, nil)
	for i := range e.Items {
		if !b.Append(&e.Items[i]) {
			panic(fmt.Sprintf("event: envelope of %d items, at most %d", len(e.Items), MaxItems))
		}
	}
	envelope, _ := b.Finish(e.PlacementVersion)
	return append(dst, envelope...)
}

// Builder gathers the items of one tenant into an envelope whose size is known at each
// step. They are put down where the envelope will be, behind room for what comes before them.
type Builder struct {
	tenant  TenantID
	sources []Source
	table   []byte // the sources, encoded
	memory  []byte // room, and the items, encoded
	room    int
	begin   []byte // what comes before the items, at the end
	count   int
	last    previous
}

// usualSources is the room for a table of sources that an envelope begins with: some of those with the cluster ids that Kafka makes.
const usualSources = 128

// Reset begins an envelope in memory that is the builder's from now on; what turns out too small is left for larger memory.
func (b *Builder) Reset(tenant TenantID, memory []byte) {
	*b = Builder{tenant: tenant, sources: b.sources[:0], table: b.table[:0], begin: b.begin[:0], last: previous{source: -1}}
	b.room = b.fixed() + usualSources
	b.memory = slices.Grow(memory[:0], b.room)[:b.room]
}

// Fits tells whether the item will find room in the memory that the builder has.
func (b *Builder) Fits(it *Item) bool {
	return cap(b.memory)-len(b.memory) >= b.SizeWith(it)-b.Size()+checksumSize
}

// Move goes on in larger memory, and returns what it was in.
func (b *Builder) Move(memory []byte) (left []byte) {
	left, b.memory = b.memory[:0], append(memory[:0], b.memory...)
	return left
}

// Len is the number of items.
func (b *Builder) Len() int { return b.count }

// Size bounds the size of the encoded envelope, within the few bytes by which the
// placement version's length varies.
func (b *Builder) Size() int { return b.fixed() + len(b.table) + len(b.memory) - b.room }

// fixed is an upper bound of what is neither source nor item.
func (b *Builder) fixed() int {
	const format, tenantLength, version, sources, items = 1, 2, binary.MaxVarintLen64, 5, 3
	return 2 + format + tenantLength + len(b.tenant) + version + sources + items + checksumSize
}

// ItemOverhead is an upper bound of what an item takes in an envelope beside its id,
// reason, detail, payload and cluster id.
const ItemOverhead = 1 + 4*binary.MaxVarintLen64 + 4*binary.MaxVarintLen32 + binary.MaxVarintLen32*2 + 16 + 7

// SizeWith is an upper bound of Size after Append(it).
func (b *Builder) SizeWith(it *Item) int {
	n := b.Size() + ItemOverhead + len(it.Reason) + len(it.Detail) + len(it.Payload) + len(it.Origin.Cluster)
	if it.HasID {
		n += len(it.ID)
	}
	return n
}

// Append copies the item in. It returns false if the envelope holds MaxItems already.
// A wrong kind, or a skipped range that is empty, is a bug and panics.
func (b *Builder) Append(it *Item) bool {
	if b.count == MaxItems {
		return false
	}
	switch {
	case it.Kind < KindEvent || it.Kind > KindSkipped:
		panic(fmt.Sprintf("event: item of kind %d", it.Kind))
	case it.Kind == KindSkipped && it.SkipTo <= it.Origin.Offset:
		panic(fmt.Sprintf("event: skipped range [%d, %d)", it.Origin.Offset, it.SkipTo))
	}
	source := b.source(&it.Origin.Source)
	b.memory = appendItem(b.memory, it, source, &b.last)
	b.count++
	return true
}

// source is the place of s in the table. A router reads few partitions, and mostly the
// same one again.
func (b *Builder) source(s *Source) int {
	if i := b.last.source; i >= 0 && b.sources[i] == *s {
		return i
	}
	for i := range b.sources {
		if b.sources[i] == *s {
			return i
		}
	}
	b.sources = append(b.sources, *s)
	b.table = appendSource(b.table, s)
	if lacks := b.fixed() + len(b.table) - b.room; lacks > 0 {
		more := lacks + len(b.table) // so that the items do not move again for each of many sources
		b.memory = slices.Grow(b.memory, more)[:len(b.memory)+more]
		copy(b.memory[b.room+more:], b.memory[b.room:])
		b.room += more
	}
	return len(b.sources) - 1
}

// Finish returns the encoded envelope, and the memory that it lies in: both are the caller's. The builder may be Reset then.
func (b *Builder) Finish(placementVersion uint64) (envelope, memory []byte) {
	b.begin = append(b.begin, magic0, magic1, format1)
	b.begin = appendText(b.begin, string(b.tenant))
	b.begin = binary.AppendUvarint(b.begin, placementVersion)
	b.begin = binary.AppendUvarint(b.begin, uint64(len(b.sources)))
	b.begin = append(b.begin, b.table...)
	b.begin = binary.AppendUvarint(b.begin, uint64(b.count))
	at := b.room - len(b.begin)
	copy(b.memory[at:], b.begin)
	memory = binary.LittleEndian.AppendUint32(b.memory, crc32.Checksum(b.memory[at:], castagnoli))
	b.memory = nil
	return memory[at:], memory
}

// ItemSize is an upper bound of the size of an envelope that holds the item alone.
func ItemSize(tenant TenantID, it *Item) int {
	b := Builder{tenant: tenant}
	return b.SizeWith(it)
}

// inInt32 tells whether n fits a partition, epoch or index.
func inInt32(n uint64) bool { return n <= math.MaxInt32 }
