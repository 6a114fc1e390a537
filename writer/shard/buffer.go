package shard

import (
	"time"
	"unsafe"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
)

// The memory of what a buffer holds beside payloads.
const (
	rowBytes    = int64(unsafe.Sizeof(fragment.Row{}))
	letterBytes = int64(unsafe.Sizeof(fragment.Letter{}))
	spanBytes   = int64(unsafe.Sizeof(span{}))
	// bufferBytes is about what an empty buffer and its tenant cost.
	bufferBytes = 1024
)

// slot is what becomes one fragment of a buffer.
type slot struct {
	table  shardlog.Table
	bucket int64 // start of the data bucket, seconds
}

// span is intake offsets that are classed.
type span struct {
	source     int32 // number of the source in Core.intakes
	from, next int64
}

// buffer is what was accepted of one tenant since its last flush.
type buffer struct {
	tenant event.TenantID
	born   time.Time // when its first record was accepted
	input  int64     // bytes of payload
	memory int64     // bytes in all
	rows   map[slot]*[]fragment.Row
	last   slot // of the row that came last, and its rows: most rows follow one of their slot
	lasts  *[]fragment.Row
	ids    []idseg.Entry
	spans  []span
	ledger shardlog.Ledger
	arena  arena
	taken  bool // by the flight that is planned
}

func newBuffer(tenant event.TenantID, now time.Time) *buffer {
	return &buffer{tenant: tenant, born: now, memory: bufferBytes, rows: map[slot]*[]fragment.Row{}}
}

// addRow takes the row as it is: its bytes belong to the buffer.
func (b *buffer) addRow(s slot, r fragment.Row, p *pool[fragment.Row]) {
	list := b.lasts
	if list == nil || b.last != s {
		if list = b.rows[s]; list == nil {
			list = new([]fragment.Row)
			b.rows[s] = list
		}
		b.last, b.lasts = s, list
	}
	room, more := p.grown(*list)
	*list = append(room, r)
	b.memory += more
	b.input += int64(len(r.Payload) + len(r.ID))
}

func (b *buffer) addID(e idseg.Entry, p *pool[idseg.Entry]) {
	room, more := p.grown(b.ids)
	b.ids = append(room, e)
	b.memory += more
}

func (b *buffer) addSpan(s span) {
	if n := len(b.spans); n > 0 {
		last := &b.spans[n-1]
		if last.source == s.source && s.from >= last.from && s.from <= last.next {
			last.next = max(last.next, s.next)
			return
		}
	}
	before := cap(b.spans)
	b.spans = append(b.spans, s)
	b.memory += int64(cap(b.spans)-before) * spanBytes
}

// keep copies bytes into the buffer's memory, so that a small payload does not
// hold the whole fetched batch that it came in.
func (b *buffer) keep(p []byte) []byte {
	out, grown := b.arena.copy(p)
	b.memory += grown
	return out
}

// The chunks of an arena grow from the first, which a tenant with one event pays, to
// the most, at which the allocator's cost no longer shows. Each is an eighth of all before it,
// as so much of it may stay empty: what small tenants' buffers hold for nothing makes all
// tenants' files smaller.
const (
	firstChunkBytes = 1 << 10
	minChunkBytes   = 2 << 10
	maxChunkBytes   = 256 << 10
	chunkShare      = 8
)

// arena gives out pieces of larger allocations.
type arena struct {
	free  []byte
	total int // of all chunks
}

func (a *arena) copy(p []byte) (out []byte, grown int64) {
	if len(p) == 0 {
		return nil, 0
	}
	if len(p) > len(a.free) {
		size := firstChunkBytes
		if a.total > 0 {
			size = min(max(a.total/chunkShare, minChunkBytes), maxChunkBytes)
		}
		if len(p) >= size {
			// Too large to share a chunk; the chunk at hand stays in use.
			return append(make([]byte, 0, len(p)), p...), int64(len(p))
		}
		a.free = make([]byte, size)
		a.total += size
		grown = int64(size)
	}
	n := copy(a.free, p)
	out, a.free = a.free[:n:n], a.free[n:]
	return out, grown
}
