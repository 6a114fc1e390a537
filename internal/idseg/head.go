package idseg

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/togodb/togo/internal/event"
)

// Head is the decoded head of a part: which tenants it has, where their ids lie,
// and the filter over all of them.
type Head struct {
	Bucket int64
	IDs    int64

	bytes        int64 // of the head in the part; the entries follow
	blockEntries int64
	filter       *bloom.BloomFilter
	runs         []run // ascending by tenant
	firsts       []uint64
	sums         []uint32
}

type run struct {
	tenant event.TenantID
	ids    int64
	entry  int64 // first entry, counted over the part
	block  int   // first block, counted over the part
	blocks int
}

// Range is a piece of a part's entries that can be read and checked alone: whole
// blocks of one tenant.
type Range struct {
	Offset int64 // bytes from the part's start
	Length int64 // bytes
	IDs    int64

	block, blocks int
}

// HeadReadBytes is how much of a part to read to get its head in one read in
// nearly all cases: exact for the filter and the index of DefaultConfig, and a guess for the directory.
func HeadReadBytes(b Bucket) int64 {
	const directory = 8 << 10 // some 400 tenants; a longer one costs a second read
	ids := uint64(max(b.IDs, 0))
	guess := fixedBytes + filterBits(ids, DefaultConfig().FilterBits)/8 + (ids/BlockEntries+1)*indexBytes + directory
	return min(b.Length, int64(guess))
}

// HeadBytes returns the length of the head that begins with b, of which at least
// the first 52 bytes must be there.
func HeadBytes(b []byte) (int64, error) {
	f, err := decodeFixed(b)
	return int64(f.headBytes), err
}

func decodeFixed(b []byte) (fixed, error) {
	if len(b) < len(partMagic)+1 || string(b[:len(partMagic)]) != partMagic {
		return fixed{}, fmt.Errorf("%w: no part begins here", ErrCorrupt)
	}
	if v := b[4]; v > Format {
		return fixed{}, fmt.Errorf("%w: part of format %d, known is %d", ErrNewerFormat, v, Format)
	}
	if len(b) < fixedBytes {
		return fixed{}, fmt.Errorf("%w: part cut off after %d bytes", ErrCorrupt, len(b))
	}
	if got, want := checksum(b[:fixedBytes-sumBytes]), binary.LittleEndian.Uint32(b[fixedBytes-sumBytes:]); got != want {
		return fixed{}, fmt.Errorf("%w: checksum of the fixed fields", ErrCorrupt)
	}
	f := fixed{
		hashes:         b[5],
		headBytes:      binary.LittleEndian.Uint32(b[8:]),
		tenants:        binary.LittleEndian.Uint32(b[12:]),
		bucket:         int64(binary.LittleEndian.Uint64(b[16:])),
		ids:            binary.LittleEndian.Uint64(b[24:]),
		filterBits:     binary.LittleEndian.Uint64(b[32:]),
		directoryBytes: binary.LittleEndian.Uint32(b[40:]),
		blockEntries:   binary.LittleEndian.Uint32(b[44:]),
	}
	return f, f.validate(b[4])
}

// validate bounds every field by the head's own length, which the caller bounds
// by the bytes at hand.
func (f fixed) validate(format byte) error {
	head := uint64(f.headBytes)
	switch {
	case format != Format:
		return fmt.Errorf("%w: part of format %d", ErrCorrupt, format)
	case f.blockEntries == 0 || f.blockEntries > maxBlockEntries:
		return fmt.Errorf("%w: blocks of %d entries", ErrCorrupt, f.blockEntries)
	case f.hashes == 0 || f.hashes > maxFilterHashes:
		return fmt.Errorf("%w: filter of %d hashes", ErrCorrupt, f.hashes)
	case f.tenants == 0 || f.ids < uint64(f.tenants):
		return fmt.Errorf("%w: %d ids of %d tenants", ErrCorrupt, f.ids, f.tenants)
	case f.filterBits == 0 || f.filterBits%64 != 0 || f.filterBits/8 > head:
		return fmt.Errorf("%w: filter of %d bits in a head of %d bytes", ErrCorrupt, f.filterBits, head)
	case f.ids > f.filterBits: // FilterBits is at least 1
		return fmt.Errorf("%w: filter of %d bits for %d ids", ErrCorrupt, f.filterBits, f.ids)
	case fixedBytes+f.filterBits/8+uint64(f.directoryBytes)+sumBytes > head:
		return fmt.Errorf("%w: head of %d bytes is shorter than what it holds", ErrCorrupt, head)
	}
	return nil
}

// DecodeHead decodes the head that begins with b; b may go on with entries.
func DecodeHead(b []byte) (*Head, error) { return decodeHead(b, true) }

// decodeHead leaves the filter out for a merge, which needs none of its inputs'.
func decodeHead(b []byte, withFilter bool) (*Head, error) {
	f, err := decodeFixed(b)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < int64(f.headBytes) {
		return nil, fmt.Errorf("%w: head of bucket %d cut off: %d of %d bytes", ErrCorrupt, f.bucket, len(b), f.headBytes)
	}
	b = b[:f.headBytes]
	rest, sum := b[fixedBytes:len(b)-sumBytes], binary.LittleEndian.Uint32(b[len(b)-sumBytes:])
	if checksum(b[:len(b)-sumBytes]) != sum {
		return nil, fmt.Errorf("%w: checksum of the head of bucket %d", ErrCorrupt, f.bucket)
	}
	h := &Head{Bucket: f.bucket, IDs: int64(f.ids), bytes: int64(f.headBytes), blockEntries: int64(f.blockEntries)}
	if withFilter {
		words := make([]uint64, f.filterBits/64)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(rest[i*8:])
		}
		h.filter = bloom.From(words, uint(f.hashes))
	}
	rest = rest[f.filterBits/8:]
	blocks, err := h.decodeDirectory(rest[:f.directoryBytes], int(f.tenants))
	if err != nil {
		return nil, err
	}
	return h, h.decodeIndex(rest[f.directoryBytes:], blocks)
}

func (h *Head) decodeDirectory(b []byte, tenants int) (blocks int, err error) {
	if tenants > len(b)/3 { // a name of one byte, its length, a count
		return 0, fmt.Errorf("%w: %d tenants in a directory of %d bytes", ErrCorrupt, tenants, len(b))
	}
	names := string(b) // one allocation for all
	h.runs = make([]run, 0, tenants)
	var entry int64
	at := 0
	for len(h.runs) < tenants {
		n, w := binary.Uvarint(b[at:])
		if w <= 0 || n == 0 || n > maxTenantBytes || n > uint64(len(b)-at-w) {
			return 0, fmt.Errorf("%w: directory of bucket %d: name %d", ErrCorrupt, h.Bucket, len(h.runs))
		}
		name := event.TenantID(names[at+w : at+w+int(n)])
		at += w + int(n)
		count, w := binary.Uvarint(b[at:])
		if w <= 0 || count == 0 || count > uint64(h.IDs-entry) {
			return 0, fmt.Errorf("%w: directory of bucket %d: count of %s", ErrCorrupt, h.Bucket, name)
		}
		at += w
		if k := len(h.runs); k > 0 && h.runs[k-1].tenant >= name {
			return 0, fmt.Errorf("%w: directory of bucket %d: %s out of order", ErrCorrupt, h.Bucket, name)
		}
		r := run{tenant: name, ids: int64(count), entry: entry, block: blocks}
		r.blocks = int((r.ids + h.blockEntries - 1) / h.blockEntries)
		h.runs = append(h.runs, r)
		entry += r.ids
		blocks += r.blocks
	}
	if at != len(b) || entry != h.IDs {
		return 0, fmt.Errorf("%w: directory of bucket %d: %d of %d bytes, %d of %d ids", ErrCorrupt, h.Bucket, at, len(b), entry, h.IDs)
	}
	return blocks, nil
}

func (h *Head) decodeIndex(b []byte, blocks int) error {
	if len(b) != blocks*indexBytes {
		return fmt.Errorf("%w: index of bucket %d: %d bytes for %d blocks", ErrCorrupt, h.Bucket, len(b), blocks)
	}
	h.firsts, h.sums = make([]uint64, blocks), make([]uint32, blocks)
	for i := range blocks {
		h.firsts[i] = binary.BigEndian.Uint64(b[i*indexBytes:])
		h.sums[i] = binary.LittleEndian.Uint32(b[i*indexBytes+8:])
	}
	for _, r := range h.runs {
		if !slices.IsSorted(h.firsts[r.block : r.block+r.blocks]) {
			return fmt.Errorf("%w: index of bucket %d: blocks of %s out of order", ErrCorrupt, h.Bucket, r.tenant)
		}
	}
	return nil
}

// MemoryBytes is what the head occupies in memory.
func (h *Head) MemoryBytes() int64 {
	const headers = 200 // Head, filter and slice headers
	names := 0
	for _, r := range h.runs {
		names += len(r.tenant) + 2
	}
	return headers + int64(h.filter.Cap()/8) + int64(names) + int64(cap(h.runs))*48 + int64(len(h.sums))*12
}

// PartBytes is the length of the whole part.
func (h *Head) PartBytes() int64 { return h.bytes + h.IDs*EntryBytes }

// MayHold asks the filter: false means that the hash is not in the part.
func (h *Head) MayHold(id event.Hash) bool { return h.filter.Test(id[:]) }

// Tenants is the number of tenants.
func (h *Head) Tenants() int { return len(h.runs) }

// Run returns the range with all ids of a tenant; ok is false if there are none.
func (h *Head) Run(t event.TenantID) (r Range, ok bool) {
	run, ok := h.find(t)
	if !ok {
		return Range{}, false
	}
	return h.blocks(run, 0, run.blocks), true
}

// Block returns the range that holds the id if the tenant has it in this part.
// It is one block, but for a hash whose first 8 bytes begin a block. ok is false
// if the id is not there for sure.
func (h *Head) Block(t event.TenantID, id event.Hash) (r Range, ok bool) {
	run, ok := h.find(t)
	if !ok {
		return Range{}, false
	}
	p := prefix(&id)
	firsts := h.firsts[run.block : run.block+run.blocks]
	end := sort.Search(len(firsts), func(i int) bool { return firsts[i] > p })
	if end == 0 {
		return Range{}, false
	}
	begin := sort.Search(end, func(i int) bool { return firsts[i] >= p })
	return h.blocks(run, max(begin-1, 0), end), true
}

func (h *Head) find(t event.TenantID) (run, bool) {
	i := sort.Search(len(h.runs), func(i int) bool { return h.runs[i].tenant >= t })
	if i == len(h.runs) || h.runs[i].tenant != t {
		return run{}, false
	}
	return h.runs[i], true
}

// blocks is the range of the run's blocks [begin, end).
func (h *Head) blocks(r run, begin, end int) Range {
	first := int64(begin) * h.blockEntries
	ids := min(int64(end)*h.blockEntries, r.ids) - first
	return Range{
		Offset: h.bytes + (r.entry+first)*EntryBytes,
		Length: ids * EntryBytes,
		IDs:    ids,
		block:  r.block + begin,
		blocks: end - begin,
	}
}
