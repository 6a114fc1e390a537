package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/dedup"
)

// batch queues records; drain takes them. One without records says how far the log goes.
func (c *Core) batch(b Batch) {
	f := c.feed
	if f == nil || b.Source != f.source || c.ending != goOn {
		return
	}
	f.logStart, f.end = max(f.logStart, b.LogStart), max(f.end, b.End)
	if len(b.Records) > 0 {
		c.backlog = append(c.backlog, b)
	}
}

// full says that no more may be taken in before something has left.
func (c *Core) full() bool {
	return c.memory() >= c.p.Config.MemoryBytes || c.parkedBytes >= c.p.Config.ParkedBytes || c.parkedCount >= maxParked ||
		c.slots+c.parkedItems >= maxFiles
}

// maxParked bounds the parked records, each of which may be an open range of its
// own that no flush can close (shardlog.MaxOpenRanges bounds them all).
const maxParked = 16_384

// maxFiles bounds the files that the buffers will become, each item of a parked record
// taken for one: a commit names each of its files, in some hundred bytes, and its record
// may have shardlog.MaxRecordBytes. Events spread over many hours and tenants come to it long
// before they fill the memory.
const maxFiles = 40_000

func (c *Core) memory() int64 { return c.bufferBytes + c.parkedBytes + c.flightBytes }

// drain takes records of the backlog until it is empty or must wait.
func (c *Core) drain() {
	for len(c.backlog) > 0 && c.wanted == 0 {
		b := &c.backlog[0]
		for len(b.Records) > 0 {
			if c.full() {
				return
			}
			r := &b.Records[0]
			if !c.take(r, b.LogStart) {
				return
			}
			if r.Memory != nil {
				r.Memory.Recycle()
			}
			b.Records = b.Records[1:]
		}
		c.backlog[0] = Batch{}
		c.backlog = c.backlog[1:]
	}
	if len(c.backlog) == 0 {
		c.backlog = nil
	}
}

// seekAhead goes on at next when all open offsets have come again.
func (c *Core) seekAhead() {
	if c.state != nil && c.reading && len(c.backlog) == 0 && c.ending == goOn && c.feed.skipAhead() {
		c.readFrom()
	}
}

// take handles the next record; false means that it must wait, or that the
// shard stopped.
func (c *Core) take(r *Record, logStart int64) bool {
	f := c.feed
	judged := !r.Control && f.wants(r.Offset)
	if judged && !c.decode(r) {
		return false
	}
	expected := max(f.read, f.next)
	if r.Offset > expected && logStart > expected {
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: string(OutOfRange), Start: logStart, End: f.end})
		return false
	}
	switch f.arrive(r) {
	case gone:
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: "record_gone", Start: f.logStart, End: f.end,
			Ranges: shardlog.SubtractRanges(f.unread, []shardlog.Range{{From: r.Offset, Next: 1<<63 - 1}})})
		return false
	case cut:
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: string(HistoryCut), Start: f.logStart, End: f.end, EpochEnd: r.Offset})
		return false
	case ignore:
		return true
	}
	if r.Control {
		c.counts.Control++
		return true
	}
	c.counts.Records++
	c.counts.Items += int64(len(c.judging.env.Items))
	f.add(r.Offset)
	c.admit(r)
	return true
}

// decode reads the envelope and checks its routing; false: wait, or stopped.
func (c *Core) decode(r *Record) bool {
	j := &c.judging
	j.reset()
	at := func(err error) error { return fmt.Errorf("%s at offset %d: %w", c.feed.source, r.Offset, err) }
	switch err := event.DecodeEnvelope(r.Value, &j.env); {
	case errors.Is(err, event.ErrNewerFormat):
		c.stop(Stop{Reason: Newer, Err: at(err)})
		return false
	case err != nil: // the router wrote it: no dead letter
		c.stop(Stop{Reason: Corruption, Err: at(err)})
		return false
	}
	if v := placements.Version(j.env.PlacementVersion); v > c.table.Version() {
		c.wanted = v
		c.emit(NeedPlacements{v})
		return false
	}
	if err := c.checkRouting(&j.env); err != nil {
		c.stop(Stop{Reason: Corruption, Err: at(err)})
		return false
	}
	return true
}

// checkRouting computes each item's shard again.
func (c *Core) checkRouting(env *event.Envelope) error {
	for i := range env.Items {
		it := &env.Items[i]
		shard, ok := event.ShardID(0), true
		if it.Kind == event.KindEvent {
			shard, ok = c.table.Shard(env.Tenant, it.Timestamp, c.p.Hasher.Routing(it.ID))
		} else {
			shard = c.table.DeadShard(it.Origin.Source)
		}
		if !ok || shard != c.p.Shard {
			return fmt.Errorf("item %d of tenant %s at %s, routed by placement version %d, belongs to shard %s (below the horizon: %v) by version %d",
				i, env.Tenant, it.Timestamp, env.PlacementVersion, shard, ok, c.table.Version())
		}
	}
	return nil
}

// admit judges the decoded record, or parks it.
func (c *Core) admit(r *Record) {
	j := &c.judging
	t := c.tenants[j.env.Tenant]
	if t == nil {
		t = &tenant{id: event.TenantID(strings.Clone(string(j.env.Tenant)))}
		c.tenants[t.id] = t
	}
	if len(t.parked) == 0 && c.judge(j) {
		c.settle(t, j, r.Offset, false)
		return
	}
	p := &parked{offset: r.Offset, bytes: int64(len(r.Value)) + int64(len(j.env.Items))*rowBytes + bufferBytes}
	p.verdicts, p.reason = slices.Clone(j.verdicts), j.reason
	// The record's memory belongs to the fetched batch; parked, it has its own.
	if err := event.DecodeEnvelope(slices.Clone(r.Value), &p.env); err != nil {
		panic(fmt.Sprintf("shard: decoded once, but not twice: %v", err))
	}
	c.prefetch(&p.judgement)
	c.parkedBytes += p.bytes
	c.parkedCount++
	c.parkedItems += len(p.env.Items)
	c.counts.Parked++
	if t.parked = append(t.parked, p); len(t.parked) == 1 {
		c.waiting = append(c.waiting, t)
	}
}

// settle puts a judged record into its tenant's buffer.
func (c *Core) settle(t *tenant, j *judgement, offset int64, owned bool) {
	b := t.buffer
	if b == nil {
		b = newBuffer(t.id, c.now)
		t.buffer = b
		c.buffers = append(c.buffers, b)
		c.bufferBytes += b.memory
	}
	before, files := b.memory, len(b.rows)
	c.accept(j, b, owned)
	c.slots += len(b.rows) - files
	c.noteDue(b)
	c.feed.assign(offset, b)
	c.bufferBytes += b.memory - before
}

// unpark goes on with the records that waited.
func (c *Core) unpark() {
	still := c.waiting[:0]
	for _, t := range c.waiting {
		n := 0
		for ; n < len(t.parked) && c.judge(&t.parked[n].judgement); n++ {
			p := t.parked[n]
			c.parkedBytes -= p.bytes
			c.parkedCount--
			c.parkedItems -= len(p.env.Items)
			c.settle(t, &p.judgement, p.offset, true)
			// Its rows point into its bytes.
			t.buffer.memory += p.bytes - bufferBytes
			c.bufferBytes += p.bytes - bufferBytes
			t.parked[n] = nil
		}
		if t.parked = t.parked[n:]; len(t.parked) > 0 {
			still = append(still, t)
		} else {
			t.parked = nil
		}
	}
	c.waiting = still
}

// idsRead brings identities to the index.
func (c *Core) idsRead(in IDsRead) {
	err := c.index.Loaded(in.Load, in.Data, in.Err)
	switch {
	case err == nil:
	case errors.Is(err, dedup.ErrCatchUp):
		// A merge took the segment away; the log says what came instead. If the log
		// still names it after a reload, it is lost.
		if c.missingKey == in.Load.Key {
			c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("id segment %s is named by the shard log and is not in the store: %w", in.Load.Key, err)})
			return
		}
		c.missingKey = in.Load.Key
		c.reload("id segment " + in.Load.Key + " is gone")
	default:
		c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("id segment %s: %w", in.Load.Key, err)})
	}
}
