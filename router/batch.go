package router

import (
	"fmt"
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

// batch is one record for the shard topic: open while builder is set, then in
// flight while pending is not 0.
type batch struct {
	batchKey
	id      BatchID
	opened  time.Time
	builder *event.Builder
	size    int
	value   []byte
	// pending is 1 until the record is acknowledged; of a batch that was divided it is
	// the number of its parts that are not.
	pending int
	whole   *batch       // that this is a part of
	parts   []*partition // with spans of this batch
}

// maxOpenBatches bounds the tenants and shards that are gathered at one time; beyond
// it the oldest batch is sent early. Their builders' memory is what it bounds.
const maxOpenBatches = 10_000

// add appends an item to the open batch of tenant and shard; to is the position of
// the partition after it.
func (c *Core) add(now time.Time, p *partition, shard event.ShardID, tenant event.TenantID, item *event.Item, to kafka.Position) {
	b := c.batchFor(now, p, batchKey{tenant, shard}, item)
	b.builder.Append(item)
	grown := b.builder.Size()
	c.openBytes += int64(grown - b.size)
	b.size = grown
	p.last = b
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
	b := p.last
	if b == nil || b.builder == nil || b.batchKey != key {
		b = c.open[key]
	}
	if b != nil && b.builder.SizeWith(item) > min(int(c.cfg.BatchBytes), c.cfg.MaxRecordBytes) {
		c.seal(b)
		b = nil
	}
	if b != nil {
		return b
	}
	if len(c.open) >= maxOpenBatches {
		c.NextDue() // drops sealed ones
		c.seal(c.due.pop())
	}
	b = c.newBatch(now, key)
	c.open[key] = b
	c.due.push(b)
	return b
}

func (c *Core) newBatch(now time.Time, key batchKey) *batch {
	c.lastID++
	b := &batch{batchKey: key, id: c.lastID, opened: now, builder: c.spare.builder(), pending: 1}
	b.builder.Reset(key.tenant)
	return b
}

// seal ends a batch and has it produced.
func (c *Core) seal(b *batch) {
	if c.open[b.batchKey] == b {
		delete(c.open, b.batchKey)
	}
	c.openBytes -= int64(b.size)
	b.value = b.builder.Finish(c.spare.buffer(b.builder.Size()), uint64(c.table.Version()))
	c.spare.keepBuilder(b.builder, b.size)
	b.builder = nil
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
	c.spare.keepBuffer(b.value)
	b.value = nil
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
		part := c.newBatch(now, key)
		part.whole = b
		part.builder.Append(item)
		part.size = part.builder.Size()
		c.openBytes += int64(part.size)
		c.seal(part)
	}
	b.value = nil
}
