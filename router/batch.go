package router

import (
	"fmt"
	"maps"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// BatchID numbers the records for the shard topic from 1.
type BatchID uint64

type batchKey struct {
	tenant event.TenantID
	shard  event.ShardID
}

// lane is where a tenant's events for a shard are gathered.
type lane struct {
	batchKey
	open    *batch // nil: none
	builder event.Builder
	memory  int // that the last batch needed
}

// batch is one record for the shard topic: open while builder is set, then in
// flight while pending is not 0.
type batch struct {
	batchKey
	id      BatchID
	opened  time.Time
	builder *event.Builder
	lane    *lane // nil: it is a part
	size    int
	value   []byte
	memory  []byte // that value lies in
	// pending is 1 until the record is acknowledged; of a batch that was divided it is
	// the number of its parts that are not.
	pending int
	whole   *batch        // that this is a part of
	parts   []*partition  // with spans of this batch
	first   [1]*partition // memory of parts
}

const (
	// maxOpenBatches bounds the tenants and shards that are gathered at one time; beyond
	// it the oldest batch is sent early. Their builders' memory is what it bounds.
	maxOpenBatches = 10_000
	// maxLanes bounds the lanes that are kept: those without an open batch are dropped then, so that at least half are new
	// before it is done again.
	maxLanes = 2 * maxOpenBatches
	// firstMemory is what a batch begins with in a new lane, and moreMemory what is added to what the last one needed.
	firstMemory = 4 << 10
	moreMemory  = 1 << 10
)

// add appends an item to the open batch of tenant and shard; to is the position of
// the partition after it.
func (c *Core) add(now time.Time, p *partition, shard event.ShardID, tenant event.TenantID, item *event.Item, to kafka.Position) {
	b := c.batchFor(now, p, batchKey{tenant, shard}, item)
	if !b.builder.Fits(item) {
		c.spare.keepBuffer(b.builder.Move(c.spare.buffer(2 * b.builder.SizeWith(item))))
	}
	b.builder.Append(item)
	grown := b.builder.Size()
	c.openBytes += int64(grown - b.size)
	b.size = grown
	if n := p.spans.len(); n > 0 && p.spans.back().batch == b {
		p.spans.back().to = to
	} else {
		p.spans.push(span{batch: b, to: to})
		if n := len(b.parts); n == 0 || b.parts[n-1] != p {
			b.parts = append(b.parts, p)
		}
	}
	if b.builder.Len() >= int(c.cfg.BatchEvents) || b.size >= int(c.cfg.BatchBytes) {
		c.seal(b)
	}
}

// batchFor is the open batch with room for the item.
func (c *Core) batchFor(now time.Time, p *partition, key batchKey, item *event.Item) *batch {
	l := p.last
	if l == nil || l.batchKey != key {
		l = c.laneFor(key)
		p.last = l
	}
	if b := l.open; b != nil {
		if b.builder.SizeWith(item) <= min(int(c.cfg.BatchBytes), c.cfg.MaxRecordBytes) {
			return b
		}
		c.seal(b)
	}
	if c.open >= maxOpenBatches {
		c.NextDue() // drops sealed ones
		c.seal(c.due.pop())
	}
	b := c.newBatch(now, key, &l.builder, l.memory)
	b.lane, l.open = l, b
	c.open++
	c.due.push(b)
	return b
}

func (c *Core) laneFor(key batchKey) *lane {
	l := c.lanes[key]
	if l == nil {
		if len(c.lanes) >= maxLanes {
			maps.DeleteFunc(c.lanes, func(_ batchKey, l *lane) bool { return l.open == nil })
			for _, p := range c.order {
				p.last = nil
			}
		}
		l = &lane{batchKey: key, memory: firstMemory}
		c.lanes[key] = l
	}
	return l
}

// newBatch begins a batch; memory is how much it may need.
func (c *Core) newBatch(now time.Time, key batchKey, builder *event.Builder, memory int) *batch {
	c.lastID++
	b := &batch{batchKey: key, id: c.lastID, opened: now, builder: builder, pending: 1}
	b.parts = b.first[:0]
	b.builder.Reset(key.tenant, c.spare.buffer(memory))
	return b
}

// seal ends a batch and has it produced.
func (c *Core) seal(b *batch) {
	c.openBytes -= int64(b.size)
	b.value, b.memory = b.builder.Finish(uint64(c.table.Version()))
	b.builder = nil
	if l := b.lane; l != nil {
		l.open, l.memory = nil, len(b.memory)+moreMemory
		c.open--
	}
	b.size = len(b.value)
	c.inFlight[b.id] = b
	c.inFlightBytes += int64(b.size)
	c.stats.Batches++
	c.stats.BatchBytes += uint64(b.size)
	c.effects.Produce = append(c.effects.Produce, Produce{Batch: b.id, Shard: b.shard, Tenant: b.tenant, Value: b.value})
}

func (c *Core) sealDue(now time.Time) {
	for {
		due := c.NextDue()
		if due.IsZero() || due.After(now) {
			return
		}
		c.seal(c.due.pop())
	}
}

func (c *Core) sealAll() {
	for !c.NextDue().IsZero() {
		c.seal(c.due.pop())
	}
}

func (c *Core) acked(now time.Time, in Acked) {
	b := c.inFlight[in.Batch]
	if b == nil {
		panic(fmt.Sprintf("router: batch %d acknowledged twice", in.Batch)) // a bug
	}
	delete(c.inFlight, in.Batch)
	c.inFlightBytes -= int64(len(b.value))
	if in.TooLarge {
		c.divide(now, b)
		return
	}
	c.stats.Acked++
	c.spare.keepBuffer(b.memory)
	b.value, b.memory = nil, nil
	c.settle(b)
}

// settle counts a record as acknowledged.
func (c *Core) settle(b *batch) {
	for ; b != nil; b = b.whole {
		b.pending--
		if b.pending > 0 {
			return
		}
		for _, p := range b.parts {
			p.advance()
		}
		b.parts = nil
	}
}

// divide sends what the shard topic refused for its size in smaller records: several
// items each alone, a single one as a letter of half its size.
func (c *Core) divide(now time.Time, b *batch) {
	c.stats.Refused++
	var env event.Envelope
	if err := event.DecodeEnvelope(b.value, &env); err != nil {
		panic(fmt.Sprintf("router: own envelope of batch %d: %v", b.id, err)) // a bug
	}
	b.pending = len(env.Items)
	for i := range env.Items {
		item := &env.Items[i]
		key := b.batchKey
		if len(env.Items) == 1 {
			if len(item.Payload) == 0 {
				c.effects.Fatal = fmt.Errorf("router: the shard topic refuses an envelope of %d bytes as too large", len(b.value))
				return
			}
			if item.Kind == event.KindEvent {
				c.stats.Events--
				c.stats.Dead[event.ReasonTooLarge]++
			}
			c.tooLarge(item, b.tenant, len(b.value)/2)
			key.shard = c.table.DeadShard(item.Origin.Source)
		}
		part := c.newBatch(now, key, &event.Builder{}, event.ItemSize(key.tenant, item))
		part.whole = b
		part.builder.Append(item)
		part.size = part.builder.Size()
		c.openBytes += int64(part.size)
		c.seal(part)
	}
	b.value, b.memory = nil, nil
}
