package idseg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// minWindow is more than a block, however many inputs share the memory.
const minWindow = 8 << 10

// input is a segment that is read.
type input struct {
	MergeInput
	ctx    context.Context
	store  RangeReader
	window int64  // of one read
	whole  []byte // the object, if it fits the window: its parts are one read
}

// read returns the bytes [off, off+n) of the object, all of them or an error.
func (in *input) read(off, n int64) ([]byte, error) {
	if in.whole == nil && in.Bytes <= in.window {
		body, err := in.get(0, in.Bytes)
		if err != nil {
			return nil, err
		}
		in.whole = body
	}
	if in.whole != nil {
		return in.whole[off : off+n], nil
	}
	return in.get(off, n)
}

func (in *input) get(off, n int64) ([]byte, error) {
	data, err := in.store.GetRange(in.ctx, in.Key, off, n)
	switch {
	case errors.Is(err, objstore.ErrRange):
		return nil, in.corrupt("it ends before byte %d", off)
	case err != nil:
		return nil, &InputError{in.Key, err}
	case int64(len(data)) != n:
		return nil, in.corrupt("%d of %d bytes at %d", len(data), n, off)
	}
	return data, nil
}

func (in *input) corrupt(format string, args ...any) error {
	return &InputError{in.Key, fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))}
}

// cursor reads one part in order: its head, then its runs, block by block.
type cursor struct {
	in   *input
	at   Bucket
	head *Head
	raw  []byte // the head's bytes; kept only for a part that is alone in its bucket

	buffer []byte // read and not yet taken
	next   int64  // of the part, the byte after the buffer
	run    int    // the run that is read, or is next
	block  int    // the next block within it
	rest   []byte // of the current block
	key    uint64 // the first 8 bytes of rest's first hash
	fold   uint64 // of all blocks so far
}

// peek returns the next n bytes of the part, and reads a window if it has them not.
func (c *cursor) peek(n int64) ([]byte, error) {
	if int64(len(c.buffer)) < n {
		from := c.next - int64(len(c.buffer)) // less than a block is read again, instead of copied
		length := min(max(n, c.in.window), c.at.Length-from)
		if length < n {
			return nil, c.in.corrupt("the part of bucket %d ends after %d bytes", c.at.Bucket, c.at.Length)
		}
		data, err := c.in.read(c.at.Offset+from, length)
		if err != nil {
			return nil, err
		}
		c.buffer, c.next = data, from+length
	}
	return c.buffer[:n:n], nil
}

// take is peek, and goes on behind the bytes.
func (c *cursor) take(n int64) ([]byte, error) {
	out, err := c.peek(n)
	if err == nil {
		c.buffer = c.buffer[n:]
	}
	return out, err
}

// open reads and checks the head, and compares it with what the log says.
func (c *cursor) open(keepRaw bool) error {
	first, err := c.peek(fixedBytes)
	if err != nil {
		return err
	}
	n, err := HeadBytes(first)
	if err != nil {
		return &InputError{c.in.Key, err}
	}
	raw, err := c.take(n)
	if err != nil {
		return err
	}
	h, err := decodeHead(raw, false)
	if err != nil {
		return &InputError{c.in.Key, err}
	}
	if h.Bucket != c.at.Bucket || h.IDs != c.at.IDs || h.PartBytes() != c.at.Length {
		return c.in.corrupt("found bucket %d with %d ids in %d bytes, the log says bucket %d with %d ids in %d bytes",
			h.Bucket, h.IDs, h.PartBytes(), c.at.Bucket, c.at.IDs, c.at.Length)
	}
	c.head = h
	if keepRaw {
		c.raw = raw
	}
	return nil
}

// rewind goes back to the first run.
func (c *cursor) rewind() {
	if c.run > 0 || c.block > 0 {
		c.buffer, c.next = nil, c.head.bytes
		c.run, c.block, c.rest, c.fold = 0, 0, nil, 0
	}
}

// enter begins the next run if it is the tenant's, and says whether it is.
func (c *cursor) enter(t event.TenantID) (bool, error) {
	if c.run == len(c.head.runs) || c.head.runs[c.run].tenant != t {
		return false, nil
	}
	return c.advance(nil)
}

// advance goes on after the current block; ok is false at the end of the run. The run's
// order is checked over the end of the block, too, whose last entry is last.
func (c *cursor) advance(last []byte) (ok bool, err error) {
	r := &c.head.runs[c.run]
	if c.block == r.blocks {
		c.run, c.block, c.rest = c.run+1, 0, nil
		return false, nil
	}
	at := c.head.blocks(*r, c.block, c.block+1)
	data, err := c.take(at.Length)
	if err != nil {
		return false, err
	}
	if _, err := c.head.Entries(at, data); err != nil {
		return false, &InputError{c.in.Key, fmt.Errorf("tenant %s: %w", r.tenant, err)}
	}
	if last != nil && bytes.Compare(last[:hashBytes], data[:hashBytes]) >= 0 {
		return false, c.in.corrupt("tenant %s: block %d of bucket %d out of order", r.tenant, at.block, c.at.Bucket)
	}
	c.block++
	c.rest, c.key = data, binary.BigEndian.Uint64(data)
	c.fold += foldOf(data)
	return true, nil
}

// skip passes over n entries of the current block, at most all of it.
func (c *cursor) skip(n int) (ok bool, err error) {
	last := c.rest[(n-1)*EntryBytes : n*EntryBytes]
	c.rest = c.rest[n*EntryBytes:]
	if len(c.rest) == 0 {
		return c.advance(last)
	}
	c.key = binary.BigEndian.Uint64(c.rest)
	return true, nil
}

// foldOf is an order-free checksum of entries: the same whatever they are merged with.
// Each entry is mixed, so that a change in one is not made good by another.
func foldOf(entries []byte) (sum uint64) {
	const mix = 0x9e3779b97f4a7c15
	for ; len(entries) >= EntryBytes; entries = entries[EntryBytes:] {
		a, b := binary.LittleEndian.Uint64(entries), binary.LittleEndian.Uint64(entries[8:])
		x := (a ^ uint64(binary.LittleEndian.Uint32(entries[hashBytes:]))*mix) * mix
		sum += (x ^ x>>32 ^ b) * mix
	}
	return sum
}
