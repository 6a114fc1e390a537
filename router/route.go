package router

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// maxKafkaMS is the last Kafka timestamp, in ms, that is a Timestamp.
const maxKafkaMS = math.MaxInt64 / int64(time.Millisecond)

// kafkaTime is the record's Kafka timestamp; a record without one has the time 0.
func kafkaTime(r *kafka.Record) event.Timestamp {
	ms := r.Timestamp.UnixMilli()
	switch {
	case ms < 0:
		return 0
	case ms > maxKafkaMS:
		return math.MaxInt64 // above every horizon: it waits, and is said
	}
	return event.Timestamp(ms * int64(time.Millisecond))
}

// route puts the record into its batch, or says what it waits for. Before it
// returns a wait it has changed nothing.
func (c *Core) route(now time.Time, p *partition, r *kafka.Record) *wait {
	seen := kafkaTime(r)
	if seen >= c.table.Horizon() {
		return &wait{time: seen}
	}
	if kafka.IsControl(r) {
		c.skipTo(p, r.Offset+1, r, seen)
		return nil
	}
	x := c.extractorOf(p, seen)
	if x == nil {
		return &wait{time: seen}
	}
	c.fill(p, r, seen)
	x.Extract(&c.view, &c.item, &c.tenant)
	if w := c.admit(seen); w != nil {
		return w
	}
	var shard event.ShardID
	if c.item.Kind == event.KindDead {
		shard = c.table.DeadShard(p.source)
	} else {
		var ok bool
		shard, ok = c.table.Shard(c.tenant, c.item.Timestamp, c.cfg.Hasher.Routing(c.item.ID))
		if !ok {
			return &wait{time: c.item.Timestamp}
		}
	}
	c.skipTo(p, r.Offset, r, seen)
	c.flushSkip(now, p)
	c.stats.Records++
	c.stats.IntakeBytes += uint64(len(r.Value))
	c.shrink(p, &shard)
	if c.item.Kind == event.KindEvent {
		c.stats.Events++
	} else {
		c.stats.Dead[c.item.Reason]++
	}
	p.next, p.epoch = r.Offset+1, r.LeaderEpoch
	c.add(now, p, shard, c.tenant, &c.item, kafka.Position{Offset: r.Offset + 1, LeaderEpoch: r.LeaderEpoch})
	return nil
}

func (c *Core) fill(p *partition, r *kafka.Record, seen event.Timestamp) {
	c.headers = c.headers[:0]
	for _, h := range r.Headers {
		c.headers = append(c.headers, event.Header(h))
	}
	c.view = event.RecordView{
		Value: r.Value, Key: r.Key, Headers: c.headers, KafkaTimestamp: seen,
		Origin: event.Origin{Source: p.source, LeaderEpoch: r.LeaderEpoch, Offset: r.Offset},
	}
}

// extractorOf is the compiled mapping of a record with the Kafka timestamp; nil: a newer table must say it.
func (c *Core) extractorOf(p *partition, seen event.Timestamp) *event.Extractor {
	if p.extractor != nil && p.seen == seen {
		return p.extractor
	}
	m, ok := c.table.Mapping(p.Topic, seen)
	if !ok {
		return nil
	}
	x := c.compiled[m]
	if x == nil {
		var err error
		if x, err = event.Compile(*m, c.cfg.Limits); err != nil {
			// The placement chain takes no mapping that does not compile.
			panic(fmt.Sprintf("router: mapping of topic %s in placement version %s: %v", p.Topic, c.table.Version(), err))
		}
		c.compiled[m] = x
	}
	p.extractor, p.seen = x, seen
	return x
}

// admit applies the rule for unknown tenants.
func (c *Core) admit(seen event.Timestamp) *wait {
	if c.tenant == event.Unroutable {
		return nil
	}
	switch c.table.Admits(c.tenant, seen) {
	case placements.Accepted:
	case placements.Refused:
		if c.item.Kind == event.KindEvent {
			c.item = event.DeadLetter(&c.view, c.item.Format, event.ReasonUnknownTenant,
				fmt.Sprintf("tenant %s is not admitted", c.tenant))
		}
		c.tenant = event.Unroutable
	case placements.Ask:
		return &wait{time: seen, tenant: c.tenant}
	default:
		return &wait{time: seen}
	}
	return nil
}

// shrink makes an item that the shard topic does not take a dead letter that it does.
func (c *Core) shrink(p *partition, shard *event.ShardID) {
	size := event.ItemSize(c.tenant, &c.item)
	if size <= c.cfg.MaxRecordBytes {
		return
	}
	c.tooLarge(&c.item, c.tenant, c.cfg.MaxRecordBytes)
	*shard = c.table.DeadShard(p.source)
}

// tooLarge makes item the dead letter of its record, with as much of the payload as
// fits into limit.
func (c *Core) tooLarge(item *event.Item, tenant event.TenantID, limit int) {
	whole := len(item.Payload)
	if item.Kind == event.KindEvent {
		view := event.RecordView{Value: item.Payload, KafkaTimestamp: item.FirstSeen, Origin: item.Origin}
		*item = event.DeadLetter(&view, item.Format, event.ReasonTooLarge,
			fmt.Sprintf("%d bytes are more than the shard topic takes; the payload is cut", whole))
	} else {
		item.Detail = fmt.Sprintf("the payload of %d bytes is cut; %s", whole, item.Detail)
		item.Detail = strings.ToValidUTF8(item.Detail[:min(len(item.Detail), event.MaxDetail)], "")
	}
	over := event.ItemSize(tenant, item) - limit
	if over > 0 {
		item.Payload = item.Payload[:max(len(item.Payload)-over, 0)]
	}
}
