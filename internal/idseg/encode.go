package idseg

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/togodb/togo/internal/event"
)

// group is one run to be: the entries of a tenant in a bucket.
type group struct {
	bucket int64
	tenant event.TenantID
	count  uint64
	slot   uint64 // first of its count slots of the scatter
	run    []byte // its bytes in the body
}

// Encode writes the object that holds entries, in any order, and says where each
// bucket lies in it. It fails on an identity that is there twice (a bug of the
// caller) and never changes entries. No entries make an object without parts.
//
// Hashes are uniform, so a run is sorted by scattering each entry to the slot
// where interpolation expects it and then sorting what shares a slot.
func Encode(entries []Entry, cfg Config) (body []byte, buckets []Bucket, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	groups, of, err := groupEntries(entries)
	if err != nil {
		return nil, nil, err
	}
	order := sortedGroups(groups)
	body, parts, err := layOut(order, cfg)
	if err != nil {
		return nil, nil, err
	}
	if err := scatter(entries, groups, of); err != nil {
		return nil, nil, err
	}
	buckets = make([]Bucket, 0, len(parts))
	for _, p := range parts {
		p.writeHead(body, cfg)
		buckets = append(buckets, p.at)
	}
	return body, buckets, nil
}

// groupEntries returns the groups and, for each entry, the index of its group.
func groupEntries(entries []Entry) (groups []group, of []uint32, err error) {
	if len(entries) > math.MaxUint32 {
		return nil, nil, fmt.Errorf("idseg: %d entries in one segment: too many", len(entries))
	}
	type key struct {
		bucket int64
		tenant event.TenantID
	}
	index := make(map[key]uint32)
	of = make([]uint32, len(entries))
	var last key
	var lastGroup uint32
	for i := range entries {
		k := key{entries[i].Bucket, entries[i].Tenant}
		if i == 0 || k != last {
			g, ok := index[k]
			if !ok {
				if k.tenant == "" || len(k.tenant) > maxTenantBytes {
					return nil, nil, fmt.Errorf("idseg: tenant name of %d bytes", len(k.tenant))
				}
				g = uint32(len(groups))
				groups = append(groups, group{bucket: k.bucket, tenant: k.tenant})
				index[k] = g
			}
			last, lastGroup = k, g
		}
		of[i] = lastGroup
		groups[lastGroup].count++
	}
	var slot uint64
	for i := range groups {
		groups[i].slot = slot
		slot += groups[i].count
	}
	return groups, of, nil
}

// sortedGroups points into groups, in the order of the object.
func sortedGroups(groups []group) []*group {
	order := make([]*group, len(groups))
	for i := range groups {
		order[i] = &groups[i]
	}
	slices.SortFunc(order, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.tenant, b.tenant))
	})
	return order
}

// outPart is one part to be.
type outPart struct {
	at     Bucket
	fixed  fixed
	groups []*group
}

// layOut decides where everything lies and allocates the body once.
func layOut(order []*group, cfg Config) (body []byte, parts []outPart, err error) {
	offset := int64(objectBytes)
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].bucket == order[0].bucket {
			n++
		}
		p, err := newOutPart(order[:n], offset, cfg)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, p)
		offset += p.at.Length
		order = order[n:]
	}
	body = make([]byte, offset)
	copy(body, objectMagic)
	body[len(objectMagic)] = Format
	for _, p := range parts {
		at := p.at.Offset + int64(p.fixed.headBytes)
		for _, g := range p.groups {
			end := at + int64(g.count)*EntryBytes
			g.run = body[at:end:end]
			at = end
		}
	}
	return body, parts, nil
}

func newOutPart(groups []*group, offset int64, cfg Config) (outPart, error) {
	f := fixed{hashes: uint8(cfg.FilterHashes), tenants: uint32(len(groups)), bucket: groups[0].bucket, blockEntries: BlockEntries}
	var directory, blocks uint64
	for _, g := range groups {
		f.ids += g.count
		directory += uint64(uvarintBytes(uint64(len(g.tenant))) + len(g.tenant) + uvarintBytes(g.count))
		blocks += (g.count + BlockEntries - 1) / BlockEntries
	}
	f.filterBits = filterBits(f.ids, cfg.FilterBits)
	head := fixedBytes + f.filterBits/8 + directory + blocks*indexBytes + sumBytes
	if head > math.MaxUint32 {
		return outPart{}, fmt.Errorf("idseg: bucket %d: head of %d bytes: too many ids for one part", f.bucket, head)
	}
	f.headBytes, f.directoryBytes = uint32(head), uint32(directory)
	return outPart{
		at:     Bucket{Bucket: f.bucket, IDs: int64(f.ids), Offset: offset, Length: int64(head + f.ids*EntryBytes)},
		fixed:  f,
		groups: groups,
	}, nil
}

func uvarintBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// scatter writes every entry into its run, sorted.
func scatter(entries []Entry, groups []group, of []uint32) error {
	cursor := make([]uint32, len(entries)+1) // of each slot, in entries from the first slot
	slotOf := func(i int) uint64 {
		g := &groups[of[i]]
		expected, _ := bits.Mul64(prefix(&entries[i].ID), g.count)
		return g.slot + expected
	}
	for i := range entries {
		cursor[slotOf(i)+1]++
	}
	for i := 1; i < len(cursor); i++ {
		cursor[i] += cursor[i-1]
	}
	for i := range entries {
		e, g, s := &entries[i], &groups[of[i]], slotOf(i)
		at := (uint64(cursor[s]) - g.slot) * EntryBytes
		cursor[s]++
		copy(g.run[at:], e.ID[:])
		binary.LittleEndian.PutUint32(g.run[at+hashBytes:], e.Payload)
	}
	for i := range groups {
		g := &groups[i]
		if err := g.sortSlots(cursor[g.slot : g.slot+g.count]); err != nil {
			return err
		}
	}
	return nil
}

// sortSlots sorts what shares a slot; ends are where the slots end, counted from
// the first slot of all groups. It refuses equal hashes.
func (g *group) sortSlots(ends []uint32) error {
	begin := uint32(g.slot)
	for _, end := range ends {
		if end-begin > 1 {
			from, to := (uint64(begin)-g.slot)*EntryBytes, (uint64(end)-g.slot)*EntryBytes
			rawEntries(g.run[from:to]).sort()
		}
		begin = end
	}
	for i := EntryBytes; i < len(g.run); i += EntryBytes {
		if bytes.Compare(g.run[i-EntryBytes:i-EntryBytes+hashBytes], g.run[i:i+hashBytes]) >= 0 {
			return fmt.Errorf("idseg: identity %x of tenant %s in bucket %d is there twice", g.run[i:i+hashBytes], g.tenant, g.bucket)
		}
	}
	return nil
}

// rawEntries sorts encoded entries in place.
type rawEntries []byte

// sort inserts where there are few, as there are unless hashes are crafted.
func (r rawEntries) sort() {
	const few = 12
	if r.Len() > few {
		sort.Sort(r)
		return
	}
	for i := 1; i < r.Len(); i++ {
		for j := i; j > 0 && r.Less(j, j-1); j-- {
			r.Swap(j, j-1)
		}
	}
}

func (r rawEntries) at(i int) []byte { return r[i*EntryBytes : (i+1)*EntryBytes] }
func (r rawEntries) Len() int        { return len(r) / EntryBytes }
func (r rawEntries) Less(i, j int) bool {
	return bytes.Compare(r.at(i)[:hashBytes], r.at(j)[:hashBytes]) < 0
}
func (r rawEntries) Swap(i, j int) {
	var t [EntryBytes]byte
	copy(t[:], r.at(i))
	copy(r.at(i), r.at(j))
	copy(r.at(j), t[:])
}

// writeHead fills the head of a part whose runs are in place.
func (p *outPart) writeHead(body []byte, cfg Config) {
	f := p.fixed
	end := p.at.Offset + int64(f.headBytes)
	filter := bloom.New(uint(f.filterBits), uint(cfg.FilterHashes))
	for _, g := range p.groups {
		for i := 0; i < len(g.run); i += EntryBytes {
			filter.Add(g.run[i : i+hashBytes])
		}
	}
	var index []byte
	for _, g := range p.groups {
		for block := range slices.Chunk(g.run, BlockEntries*EntryBytes) {
			index = appendIndex(index, block)
		}
	}
	appendHead(body[p.at.Offset:p.at.Offset:end], f, filter, directoryOf(p.groups), index)
}

// appendIndex appends the index entry of a block.
func appendIndex(index, block []byte) []byte {
	index = append(index, block[:8]...)
	return binary.LittleEndian.AppendUint32(index, checksum(block))
}

// directoryOf encodes the tenants and their numbers of ids.
func directoryOf(groups []*group) []byte {
	var b []byte
	for _, g := range groups {
		b = binary.AppendUvarint(b, uint64(len(g.tenant)))
		b = append(b, g.tenant...)
		b = binary.AppendUvarint(b, g.count)
	}
	return b
}

// appendHead appends a whole head. What is given must have the lengths that f says.
func appendHead(b []byte, f fixed, filter *bloom.BloomFilter, directory, index []byte) []byte {
	start := len(b)
	b = f.append(b)
	for _, word := range filter.BitSet().Words()[:f.filterBits/64] {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	b = append(append(b, directory...), index...)
	b = binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
	if len(b)-start != int(f.headBytes) {
		panic(fmt.Sprintf("idseg: head of bucket %d has %d bytes, laid out as %d", f.bucket, len(b)-start, f.headBytes))
	}
	return b
}
