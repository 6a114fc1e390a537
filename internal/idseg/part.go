package idseg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"sort"

	"github.com/togodb/togo/internal/event"
)

// Entries are identities of one tenant and bucket as encoded, ascending by hash.
type Entries struct{ raw []byte }

// Len is the number of entries.
func (e Entries) Len() int { return len(e.raw) / EntryBytes }

// At returns the i-th entry.
func (e Entries) At(i int) (id event.Hash, payload uint32) {
	b := e.raw[i*EntryBytes : (i+1)*EntryBytes]
	return event.Hash(b[:hashBytes]), binary.LittleEndian.Uint32(b[hashBytes:])
}

// Find returns the payload hash stored with id.
func (e Entries) Find(id event.Hash) (payload uint32, ok bool) {
	n := e.Len()
	i := sort.Search(n, func(i int) bool {
		return bytes.Compare(e.raw[i*EntryBytes:i*EntryBytes+hashBytes], id[:]) >= 0
	})
	if i == n {
		return 0, false
	}
	found, payload := e.At(i)
	return payload, found == id
}

// Entries decodes the bytes of a range of this part, which must be those that r names.
func (h *Head) Entries(r Range, data []byte) (Entries, error) {
	if int64(len(data)) != r.Length {
		return Entries{}, fmt.Errorf("%w: range of bucket %d: %d of %d bytes", ErrCorrupt, h.Bucket, len(data), r.Length)
	}
	step := int(h.blockEntries) * EntryBytes
	for i, rest := 0, data; i < r.blocks; i++ {
		block := rest[:min(step, len(rest))]
		rest = rest[len(block):]
		if checksum(block) != h.sums[r.block+i] {
			return Entries{}, fmt.Errorf("%w: checksum of block %d of bucket %d", ErrCorrupt, r.block+i, h.Bucket)
		}
		if prefix := binary.BigEndian.Uint64(block); prefix != h.firsts[r.block+i] {
			return Entries{}, fmt.Errorf("%w: block %d of bucket %d is not the one of the index", ErrCorrupt, r.block+i, h.Bucket)
		}
	}
	if !ascending(nil, data) {
		return Entries{}, fmt.Errorf("%w: a range of bucket %d is out of order", ErrCorrupt, h.Bucket)
	}
	return Entries{raw: data}, nil
}

// Part is a whole decoded part. It refers to the bytes that it was decoded from.
type Part struct {
	*Head
	runs []Entries
}

// DecodePart decodes the part that is exactly b, and checks every byte of it.
func DecodePart(b []byte) (*Part, error) {
	h, err := DecodeHead(b)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) != h.PartBytes() {
		return nil, fmt.Errorf("%w: part of bucket %d: %d of %d bytes", ErrCorrupt, h.Bucket, len(b), h.PartBytes())
	}
	p := &Part{Head: h, runs: make([]Entries, 0, len(h.runs))}
	for _, run := range h.runs {
		r := h.blocks(run, 0, run.blocks)
		entries, err := h.Entries(r, b[r.Offset:r.Offset+r.Length])
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", run.tenant, err)
		}
		p.runs = append(p.runs, entries)
	}
	return p, nil
}

// All yields the tenants in order, each with all its entries.
func (p *Part) All() iter.Seq2[event.TenantID, Entries] {
	return func(yield func(event.TenantID, Entries) bool) {
		for i, r := range p.Head.runs {
			if !yield(r.tenant, p.runs[i]) {
				return
			}
		}
	}
}

// Of returns the entries of a tenant, none if it has none here.
func (p *Part) Of(t event.TenantID) Entries {
	i := sort.Search(len(p.Head.runs), func(i int) bool { return p.Head.runs[i].tenant >= t })
	if i == len(p.runs) || p.Head.runs[i].tenant != t {
		return Entries{}
	}
	return p.runs[i]
}

// Decode decodes a whole object: its parts and where they lie.
func Decode(body []byte) (parts []*Part, buckets []Bucket, err error) {
	if len(body) < objectBytes || string(body[:len(objectMagic)]) != objectMagic {
		return nil, nil, fmt.Errorf("%w: not an id segment", ErrCorrupt)
	}
	if v := body[len(objectMagic)]; v > Format {
		return nil, nil, fmt.Errorf("%w: object of format %d, known is %d", ErrNewerFormat, v, Format)
	} else if v != Format {
		return nil, nil, fmt.Errorf("%w: object of format %d", ErrCorrupt, v)
	}
	for at := int64(objectBytes); at < int64(len(body)); {
		h, err := DecodeHead(body[at:])
		if err != nil {
			return nil, nil, fmt.Errorf("at %d: %w", at, err)
		}
		n := h.PartBytes()
		if n > int64(len(body))-at {
			return nil, nil, fmt.Errorf("%w: bucket %d: part cut off", ErrCorrupt, h.Bucket)
		}
		p, err := DecodePart(body[at : at+n])
		if err != nil {
			return nil, nil, fmt.Errorf("at %d: %w", at, err)
		}
		if k := len(buckets); k > 0 && buckets[k-1].Bucket >= p.Bucket {
			return nil, nil, fmt.Errorf("%w: bucket %d out of order", ErrCorrupt, p.Bucket)
		}
		parts = append(parts, p)
		buckets = append(buckets, Bucket{Bucket: p.Bucket, IDs: p.IDs, Offset: at, Length: n})
		at += n
	}
	return parts, buckets, nil
}
