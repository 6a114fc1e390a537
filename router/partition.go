package router

import (
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// partition is an intake partition that this router holds.
type partition struct {
	kafka.TopicPartition
	source event.Source

	next      int64          // offset of the next record to be routed
	epoch     int32          // leader epoch of the record before it
	acked     kafka.Position // all below is acknowledged
	committed kafka.Position // all below was committed
	end       int64
	spans     queue[span] // routed and not acknowledged, in offset order
	skip      skip        // offsets without a record that are in no batch yet

	waiting      []*kafka.Record // read and not routed
	waitingBytes int64
	wait         *wait // why the first of them can't be routed yet

	// The extractor of the record before, which holds for all of its Kafka timestamp: it lies below the
	// horizon, where no later table says anything else.
	extractor *event.Extractor
	seen      event.Timestamp
	last      *lane // of the record before
}

// span says that the offsets from the span before to next are in batch.
type span struct {
	batch *batch
	to    kafka.Position
}

// skip is a range of offsets without a record.
type skip struct {
	from, to int64
	epoch    int32
	seen     event.Timestamp // Kafka timestamp of the record that showed it
}

// wait is what a record waits for: a horizon above time, or a verdict on tenant.
type wait struct {
	time   event.Timestamp
	tenant event.TenantID
}

func (c *Core) assign(parts []kafka.Assignment) {
	for _, a := range parts {
		if old := c.parts[a.TopicPartition]; old != nil {
			c.drop(old)
		}
		p := &partition{TopicPartition: a.TopicPartition, source: a.Source, next: a.Start.Offset,
			epoch: a.Start.LeaderEpoch, acked: a.Start, committed: a.Start}
		if a.Fresh {
			p.committed.Offset = -1 // so that the position is committed even before a record comes
		}
		c.parts[a.TopicPartition] = p
		c.order = append(c.order, p)
	}
}

// revoke forgets partitions: what of them is still on its way is sent and may be
// sent again by who gets them.
func (c *Core) revoke(parts []kafka.TopicPartition) {
	for _, tp := range parts {
		p := c.parts[tp]
		if p == nil {
			continue
		}
		if p.acked.Offset > p.committed.Offset {
			c.addCommit(p)
		}
		c.drop(p)
	}
}

func (c *Core) drop(p *partition) {
	if p.wait != nil {
		c.blocked--
	}
	c.nowWaiting(p, 0)
	delete(c.parts, p.TopicPartition)
	for i := range c.order {
		if c.order[i] == p {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
	p.spans, p.waiting, p.last = queue[span]{}, nil, nil
}

func (c *Core) fetched(now time.Time, b *kafka.Batch) {
	p := c.parts[kafka.TopicPartition{Topic: b.Topic, Partition: b.Partition}]
	if p == nil {
		return // revoked meanwhile
	}
	p.end = b.End
	if len(p.waiting) == 0 {
		p.waiting = b.Records
	} else {
		p.waiting = append(p.waiting, b.Records...)
	}
	if p.wait == nil {
		c.routeAll(now, p)
	} else {
		c.nowWaiting(p, p.waitingBytes+recordsBytes(b.Records))
	}
}

// nowWaiting notes how many bytes of a partition wait.
func (c *Core) nowWaiting(p *partition, bytes int64) {
	c.waitingBytes += bytes - p.waitingBytes
	p.waitingBytes = bytes
}

func recordsBytes(records []*kafka.Record) (n int64) {
	for _, r := range records {
		n += recordBytes(r)
	}
	return n
}

func recordBytes(r *kafka.Record) int64 {
	n := len(r.Key) + len(r.Value) + 128 // the record itself
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return int64(n)
}

func (c *Core) routeWaiting(now time.Time) {
	if c.blocked == 0 {
		return
	}
	for _, p := range c.order {
		if p.wait != nil {
			c.routeAll(now, p)
		}
	}
}

// routeAll routes what waits, up to the first record that can't be routed yet.
func (c *Core) routeAll(now time.Time, p *partition) {
	was := p.wait
	p.wait = nil
	done := 0
	for _, r := range p.waiting {
		if r.Offset >= p.next {
			if w := c.route(now, p, r); w != nil {
				p.wait = w
				break
			}
		}
		p.waiting[done] = nil
		done++
		r.Recycle() // an envelope has copied it
	}
	p.waiting = p.waiting[done:]
	c.nowWaiting(p, recordsBytes(p.waiting)) // mostly none
	c.flushSkip(now, p)
	switch {
	case was == nil && p.wait != nil:
		c.blocked++
		c.stats.Waits++
		c.effects.Pause = append(c.effects.Pause, p.TopicPartition)
	case was != nil && p.wait == nil:
		c.blocked--
		c.effects.Resume = append(c.effects.Resume, p.TopicPartition)
	}
}

// rewind gives back what waits. The partitions stay paused, and in need of what
// their next record waits for.
func (c *Core) rewind() {
	for _, p := range c.order {
		if p.wait == nil || len(p.waiting) == 0 {
			continue
		}
		if c.effects.Seek == nil {
			c.effects.Seek = map[kafka.TopicPartition]kafka.Position{}
		}
		c.effects.Seek[p.TopicPartition] = kafka.Position{Offset: p.next, LeaderEpoch: p.epoch}
		c.nowWaiting(p, 0)
		p.waiting = nil
	}
}

// skipTo notes that the offsets up to `to` hold no record.
func (c *Core) skipTo(p *partition, to int64, r *kafka.Record, seen event.Timestamp) {
	if to <= p.next {
		return
	}
	if p.skip.to == p.skip.from {
		p.skip = skip{from: p.next}
	}
	p.skip.to, p.skip.epoch, p.skip.seen = to, r.LeaderEpoch, seen
	p.next, p.epoch = to, r.LeaderEpoch
}

// flushSkip sends the skipped range, if there is one, to the dead letters' shard.
func (c *Core) flushSkip(now time.Time, p *partition) {
	s := p.skip
	if s.from == s.to {
		return
	}
	p.skip = skip{}
	item := event.Item{
		Kind: event.KindSkipped, Timestamp: s.seen, FirstSeen: s.seen, SkipTo: s.to,
		Origin: event.Origin{Source: p.source, LeaderEpoch: s.epoch, Offset: s.from},
	}
	c.stats.Skipped += uint64(s.to - s.from)
	c.stats.SkippedSpans++
	c.add(now, p, c.table.DeadShard(p.source), event.Unroutable, &item,
		kafka.Position{Offset: s.to, LeaderEpoch: s.epoch})
}

// advance moves the acknowledged position over spans that are.
func (p *partition) advance() {
	for p.spans.len() > 0 {
		s := p.spans.front()
		if s.batch.pending > 0 {
			return
		}
		p.acked = s.to
		p.spans.pop()
	}
}

func (c *Core) addCommit(p *partition) {
	if c.effects.Commit == nil {
		c.effects.Commit = map[kafka.TopicPartition]kafka.Position{}
	}
	c.effects.Commit[p.TopicPartition] = p.acked
}

// commitDue commits what was acknowledged since, one commit at a time.
func (c *Core) commitDue(now time.Time) {
	if c.committing || now.Sub(c.lastCommit) < c.cfg.CommitEvery {
		return
	}
	for _, p := range c.order {
		if p.acked.Offset > p.committed.Offset {
			c.addCommit(p)
		}
	}
	if c.effects.Commit != nil {
		c.committing = true
		c.lastCommit = now
	}
}

func (c *Core) committed(in Committed) {
	c.committing = false
	if !in.OK {
		return
	}
	for tp, pos := range in.Positions {
		if p := c.parts[tp]; p != nil && pos.Offset > p.committed.Offset {
			p.committed = pos
		}
	}
}

// Uncommitted are the acknowledged positions that no commit is known to hold.
func (c *Core) Uncommitted() map[kafka.TopicPartition]kafka.Position {
	positions := map[kafka.TopicPartition]kafka.Position{}
	for _, p := range c.order {
		if p.acked.Offset > p.committed.Offset {
			positions[p.TopicPartition] = p.acked
		}
	}
	return positions
}
