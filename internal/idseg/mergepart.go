package idseg

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/togodb/togo/internal/event"
)

// mergeBucket writes the parts of one id bucket as one part.
func (m *merger) mergeBucket(parts []*cursor) error {
	for _, c := range parts {
		if err := c.open(len(parts) == 1); err != nil {
			return err
		}
	}
	p, err := newOutPart(unionOf(parts), 0, m.spec.Filter)
	if err != nil {
		return err
	}
	w := &partWriter{m: m, out: p, parts: parts}
	if len(parts) == 1 && parts[0].hasHeadOf(p.fixed) {
		w.head = parts[0].raw // the filter and the index would come out the same
	} else if err := w.measure(); err != nil {
		return err
	}
	return w.write()
}

// unionOf is the tenants of the parts with their numbers of ids, ascending.
func unionOf(parts []*cursor) []*group {
	var groups []group
	index := map[event.TenantID]int{}
	for _, c := range parts {
		for _, r := range c.head.runs {
			i, ok := index[r.tenant]
			if !ok {
				i = len(groups)
				index[r.tenant] = i
				groups = append(groups, group{bucket: c.at.Bucket, tenant: r.tenant})
			}
			groups[i].count += uint64(r.ids)
		}
	}
	return sortedGroups(groups)
}

// hasHeadOf tells whether the part's own head is the one that a merge would make.
func (c *cursor) hasHeadOf(f fixed) bool {
	own, err := decodeFixed(c.raw)
	return err == nil && own == f
}

// partWriter makes one part of several: once over the ids for the filter and the index, which
// come first, and once more to write the ids, unless they were kept.
type partWriter struct {
	m     *merger
	out   outPart
	parts []*cursor

	head  []byte
	kept  []byte // the ids, if they fit
	ids   int64  // written or kept so far
	fold  uint64 // of them
	block []byte // being filled
	last  []byte // the last entry of the tenant's block before
}

// measure makes the head, and keeps the ids if they fit into half of the memory.
func (w *partWriter) measure() error {
	f := w.out.fixed
	filter := bloom.New(uint(f.filterBits), uint(f.hashes))
	keep := int64(f.ids)*EntryBytes <= w.m.spec.MemoryBytes/2
	if keep {
		w.kept = make([]byte, 0, int64(f.ids)*EntryBytes)
	}
	var index []byte
	err := w.each(func(block []byte) error {
		for i := 0; i < len(block); i += EntryBytes {
			filter.Add(block[i : i+hashBytes])
		}
		index = appendIndex(index, block)
		if keep {
			w.kept = append(w.kept, block...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.head = appendHead(make([]byte, 0, f.headBytes), f, filter, directoryOf(w.out.groups), index)
	return nil
}

// write writes head and ids to an output, and compares them with what was read.
func (w *partWriter) write() error {
	o, err := w.m.outputFor(w.out.at.Length)
	if err != nil {
		return err
	}
	at := w.out.at
	at.Offset = o.seg.Bytes
	if err := o.write(w.head); err != nil {
		return err
	}
	if w.kept != nil {
		if foldOf(w.kept) != w.fold {
			return fmt.Errorf("%w: id bucket %d in memory", ErrMergeDiffers, at.Bucket)
		}
		err = o.write(w.kept)
	} else {
		err = w.each(o.write) // the head, in memory, holds the checksum of each block
	}
	if err != nil {
		return err
	}
	if o.seg.Bytes != at.Offset+at.Length {
		return fmt.Errorf("%w: id bucket %d has %d bytes, laid out as %d", ErrMergeDiffers, at.Bucket, o.seg.Bytes-at.Offset, at.Length)
	}
	o.seg.IDs += at.IDs
	o.seg.Buckets = append(o.seg.Buckets, at)
	return nil
}

// each reads all parts in order, tenant by tenant, and yields the ids of each tenant by
// blocks, ascending. At the end it compares them with what was read.
func (w *partWriter) each(yield func(block []byte) error) error {
	w.ids, w.fold = 0, 0
	var ids int64
	var fold uint64
	for _, c := range w.parts {
		c.rewind()
		ids += c.at.IDs
	}
	flush := func() error {
		if len(w.block) == 0 {
			return nil
		}
		if !ascending(w.last, w.block) {
			return fmt.Errorf("%w: id bucket %d came out of order", ErrMergeDiffers, w.out.at.Bucket)
		}
		w.last = append(w.last[:0], w.block[len(w.block)-EntryBytes:]...)
		w.ids += int64(len(w.block) / EntryBytes)
		w.fold += foldOf(w.block)
		err := yield(w.block)
		w.block = w.block[:0]
		return err
	}
	for _, g := range w.out.groups {
		if err := w.mergeRuns(g.tenant, flush); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		w.last = w.last[:0]
	}
	for _, c := range w.parts {
		fold += c.fold
	}
	if w.ids != ids || w.fold != fold {
		return fmt.Errorf("%w: id bucket %d: %d ids of %d, checksums %x and %x", ErrMergeDiffers, w.out.at.Bucket, w.ids, ids, w.fold, fold)
	}
	return nil
}

// ascending tells whether the hashes of a block ascend, from above that of the entry before.
func ascending(last, block []byte) bool {
	if len(last) > 0 && bytes.Compare(last[:hashBytes], block[:hashBytes]) >= 0 {
		return false
	}
	for i := EntryBytes; i < len(block); i += EntryBytes {
		a, b := binary.BigEndian.Uint64(block[i-EntryBytes:]), binary.BigEndian.Uint64(block[i:])
		if a > b || a == b && bytes.Compare(block[i-EntryBytes:i-EntryBytes+hashBytes], block[i:i+hashBytes]) >= 0 {
			return false
		}
	}
	return true
}

// mergeRuns fills blocks with the tenant's ids of all parts, and flushes the full ones.
func (w *partWriter) mergeRuns(t event.TenantID, flush func() error) error {
	var runs heap
	for _, c := range w.parts {
		has, err := c.enter(t)
		if err != nil {
			return err
		}
		if has {
			runs = append(runs, c)
		}
	}
	runs.init()
	for len(runs) > 0 {
		c, n := runs[0], 1
		if len(runs) == 1 {
			n = min(len(c.rest)/EntryBytes, BlockEntries-len(w.block)/EntryBytes)
		} else if next := runs.second(); c.key == next.key && bytes.Equal(c.rest[:hashBytes], next.rest[:hashBytes]) {
			return twice(t, c.at.Bucket, c.rest[:hashBytes], c.in.Key, next.in.Key)
		}
		w.block = append(w.block, c.rest[:n*EntryBytes]...)
		if len(w.block) == BlockEntries*EntryBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		more, err := c.skip(n)
		if err != nil {
			return err
		}
		runs.fix(more)
	}
	return nil
}

// heap is the cursors of one tenant's runs, that with the least hash first.
type heap []*cursor

func (h heap) less(i, j int) bool {
	a, b := h[i], h[j]
	if a.key != b.key {
		return a.key < b.key
	}
	return bytes.Compare(a.rest[:hashBytes], b.rest[:hashBytes]) < 0
}

func (h heap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// second is the cursor with the least hash but one; there must be two.
func (h heap) second() *cursor {
	if len(h) > 2 && h.less(2, 1) {
		return h[2]
	}
	return h[1]
}

// fix puts the first cursor in its place after it moved on, or takes it out.
func (h *heap) fix(more bool) {
	if !more {
		last := len(*h) - 1
		(*h)[0] = (*h)[last]
		*h = (*h)[:last]
	}
	h.down(0)
}

func (h heap) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if least+1 < len(h) && h.less(least+1, least) {
			least++
		}
		if !h.less(least, i) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
