package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TopicPartition names a partition of a subscribed topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Assignment is a partition that the consumer got, and where its reading begins.
type Assignment struct {
	TopicPartition
	Source event.Source
	Start  Position
	// Fresh: the group has no position in this incarnation of the topic, so
	// reading begins at the log's start, wherever that is.
	Fresh bool
}

// ConsumerConfig describes a member of a consumer group.
type ConsumerConfig struct {
	Group  string
	Topics []string
	Read   ReaderConfig
	// SessionTimeout after which a silent member is taken for dead; default 45 s.
	SessionTimeout time.Duration

	// OnAssigned hears of new partitions before their first record.
	OnAssigned func([]Assignment)
	// OnRevoked hears of partitions that go to another member, no Poll's records being
	// under work; it may Commit. lost: they are gone already, and a Commit is of no use.
	OnRevoked func(parts []TopicPartition, lost bool)
}

// Consumer is a member of a consumer group that reads whole topics. It commits
// nothing by itself.
type Consumer struct {
	c      *Client
	cfg    ConsumerConfig
	cl     *kgo.Client
	topics map[string]TopicInfo

	mu       sync.Mutex
	held     map[TopicPartition]*reading // guarded by mu
	fetched  map[TopicPartition]commit   // what the last offset fetch said; guarded by mu
	failures []Batch                     // found beside Poll; guarded by mu
	cancel   context.CancelFunc          // of the Poll that waits, if any; guarded by mu
}

// NewConsumer joins the group. The topics must exist.
func (c *Client) NewConsumer(ctx context.Context, cfg ConsumerConfig) (*Consumer, error) {
	cfg.Read = cfg.Read.withDefaults()
	m := &Consumer{
		c: c, cfg: cfg, topics: map[string]TopicInfo{},
		held: map[TopicPartition]*reading{}, fetched: map[TopicPartition]commit{},
	}
	for _, name := range cfg.Topics {
		info, err := c.Topic(ctx, name)
		if err != nil {
			return nil, err
		}
		m.topics[name] = info
	}
	session := cmp.Or(cfg.SessionTimeout, 45*time.Second)
	cl, err := c.newConsumer(cfg.Read,
		kgo.ConsumeTopics(cfg.Topics...),
		kgo.ConsumerGroup(cfg.Group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(min(3*time.Second, session/3)),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.RequireStableFetchOffsets(),
		kgo.OnOffsetsFetched(m.onFetched),
		kgo.AdjustFetchOffsetsFn(m.adjust),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { m.onRevoked(parts, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { m.onRevoked(parts, true) }),
	)
	if err != nil {
		return nil, fmt.Errorf("kafka: join group %s: %w", cfg.Group, err)
	}
	m.cl = cl
	return m, nil
}

// adjust decides where each new partition begins. One that can't be read from
// its commit on is left out, and said by Poll.
func (m *Consumer) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var assigned []Assignment
	for topic, parts := range offsets {
		for partition := range parts {
			a, err := m.begin(ctx, topic, partition)
			if err != nil && !isTyped(err) {
				return nil, err // ctx ended: the session is over
			}
			if err != nil {
				delete(parts, partition)
				m.fail(topic, partition, err)
				continue
			}
			parts[partition] = kgo.NewOffset().At(a.Start.Offset).WithEpoch(a.Start.LeaderEpoch)
			assigned = append(assigned, a)
		}
	}
	m.mu.Lock()
	for _, a := range assigned {
		m.held[a.TopicPartition] = &reading{next: a.Start, started: true}
	}
	m.mu.Unlock()
	if len(assigned) > 0 && m.cfg.OnAssigned != nil {
		m.cfg.OnAssigned(assigned)
	}
	return offsets, nil
}

// begin asks until brokers answer where a partition begins, or ctx ends.
func (m *Consumer) begin(ctx context.Context, topic string, partition int32) (Assignment, error) {
	tp := TopicPartition{topic, partition}
	m.mu.Lock()
	committed, ok := m.fetched[tp]
	m.mu.Unlock()
	known := m.topics[topic]
	a := Assignment{TopicPartition: tp, Source: m.c.Source(known, partition)}
	for {
		if gone := m.c.gone(ctx, known); gone != nil {
			return a, gone
		}
		ranges, err := m.c.Offsets(ctx, topic)
		log, there := ranges[partition]
		if err == nil && !there {
			err = fmt.Errorf("kafka: %s has no partition %d yet", topic, partition)
		}
		if err == nil {
			if !ok || committed.pos.Offset < 0 || !committed.isOf(known.ID) {
				a.Start, a.Fresh = Position{Offset: log.Start, LeaderEpoch: -1}, true
				return a, nil
			}
			a.Start = committed.pos
			err = m.c.startable(ctx, topic, partition, committed.pos, ranges)
			if err == nil || isTyped(err) {
				return a, err
			}
		}
		m.c.log.Warn("kafka: can't ask where a partition begins yet", "topic", topic, "partition", partition, "err", err)
		if err := sleep(ctx, retryPause); err != nil {
			return a, err
		}
	}
}

// fail queues an error for Poll and wakes it.
func (m *Consumer) fail(topic string, partition int32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = append(m.failures, Batch{
		Topic: topic, Source: m.c.Source(m.topics[topic], partition), Partition: partition, Err: err,
	})
	if m.cancel != nil {
		m.cancel()
	}
}

func (m *Consumer) onRevoked(parts map[string][]int32, lost bool) {
	var gone []TopicPartition
	m.mu.Lock()
	for topic, ps := range parts {
		for _, p := range ps {
			gone = append(gone, TopicPartition{topic, p})
		}
	}
	m.mu.Unlock()
	if len(gone) == 0 {
		return // the client calls at the end of each session
	}
	if m.cfg.OnRevoked != nil {
		m.cfg.OnRevoked(gone, lost)
	}
	m.mu.Lock()
	for _, tp := range gone {
		delete(m.held, tp)
	}
	m.mu.Unlock()
	m.cl.ResumeFetchPartitions(parts) // a pause would outlive the assignment
}

// Poll waits for records or errors, and calls handle with them; no partition is
// revoked while handle runs. It returns an error only if ctx ended or the
// consumer was closed.
func (m *Consumer) Poll(ctx context.Context, handle func([]Batch)) error {
	pollCtx, cancel := context.WithTimeout(ctx, m.cfg.Read.CheckEvery)
	defer cancel()
	m.mu.Lock()
	m.cancel = cancel
	batches := m.failures
	m.failures = nil
	m.mu.Unlock()
	if len(batches) > 0 {
		handle(batches)
		return nil
	}
	fetches := m.cl.PollRecords(pollCtx, m.cfg.Read.MaxRecordsPerPoll)
	defer m.cl.AllowRebalance()
	if fetches.IsClientClosed() {
		return ErrClosed
	}
	batches = m.takeAll(ctx, fetches)
	if len(batches) == 0 && errors.Is(pollCtx.Err(), context.DeadlineExceeded) {
		batches = m.checkTopics(ctx)
	}
	if len(batches) > 0 {
		handle(batches)
	}
	return ctx.Err()
}

// checkTopics ends the partitions of topics that are no longer those that were
// subscribed to.
func (m *Consumer) checkTopics(ctx context.Context) []Batch {
	var batches []Batch
	for name, info := range m.topics {
		gone := m.c.gone(ctx, info)
		if gone == nil {
			continue
		}
		m.mu.Lock()
		for tp, s := range m.held {
			if tp.Topic == name && s.started {
				batches = append(batches, m.stop(info, tp, s, gone))
			}
		}
		m.mu.Unlock()
	}
	return batches
}

// stop ends the reading of a partition; it needs mu.
func (m *Consumer) stop(info TopicInfo, tp TopicPartition, s *reading, err error) Batch {
	s.started = false
	m.cl.PauseFetchPartitions(map[string][]int32{tp.Topic: {tp.Partition}})
	return Batch{Topic: tp.Topic, Source: m.c.Source(info, tp.Partition), Partition: tp.Partition, Err: err}
}

func (m *Consumer) takeAll(ctx context.Context, fetches kgo.Fetches) (batches []Batch) {
	each(fetches, func(t *kgo.FetchTopic, p *kgo.FetchPartition) {
		if b, ok := m.take(ctx, t, p); ok {
			batches = append(batches, b)
		}
	})
	return batches
}

func (m *Consumer) take(ctx context.Context, t *kgo.FetchTopic, p *kgo.FetchPartition) (Batch, bool) {
	info, ok := m.topics[t.Topic]
	if !ok {
		return Batch{}, false // how the client says that the context ended
	}
	tp := TopicPartition{t.Topic, p.Partition}
	m.mu.Lock()
	s := m.held[tp]
	m.mu.Unlock()
	if s == nil || !s.started {
		return Batch{}, false
	}
	err := p.Err
	if id := event.TopicID(t.TopicID); err == nil && id != (event.TopicID{}) && id != info.ID {
		err = &TopicGoneError{Topic: t.Topic, ID: info.ID, Recreated: id}
	}
	if err == nil {
		err = wentBack(p, s.next)
	}
	if err != nil {
		if err = m.c.explain(ctx, info, p.Partition, s.next, err); err == nil {
			return Batch{}, false // the client tries again
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.stop(info, tp, s, err), true
	}
	if len(p.Records) == 0 {
		return Batch{}, false
	}
	b := newBatch(m.c.Source(info, p.Partition), t.Topic, p)
	s.next = b.nextPosition()
	return b, true
}

// Pause stops fetching partitions until Resume or their revocation. Records of
// them that were fetched and not polled are fetched again.
func (m *Consumer) Pause(parts ...TopicPartition) { m.cl.PauseFetchPartitions(byTopic(parts)) }

// Resume undoes Pause. A partition that ended with an error stays as it is.
func (m *Consumer) Resume(parts ...TopicPartition) {
	m.mu.Lock()
	parts = slices.DeleteFunc(slices.Clone(parts), func(tp TopicPartition) bool {
		s := m.held[tp]
		return s == nil || !s.started
	})
	m.mu.Unlock()
	m.cl.ResumeFetchPartitions(byTopic(parts))
}

// Seek has partitions read again from positions that a Poll has passed. No Poll may
// be under way.
func (m *Consumer) Seek(positions map[TopicPartition]Position) {
	set := map[string]map[int32]kgo.EpochOffset{}
	m.mu.Lock()
	for tp, pos := range positions {
		s := m.held[tp]
		if s == nil || !s.started {
			continue
		}
		s.next = pos
		if set[tp.Topic] == nil {
			set[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		set[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: pos.LeaderEpoch, Offset: pos.Offset}
	}
	m.mu.Unlock()
	if len(set) > 0 {
		m.cl.SetOffsets(set)
	}
}

func byTopic(parts []TopicPartition) map[string][]int32 {
	m := map[string][]int32{}
	for _, tp := range parts {
		m[tp.Topic] = append(m[tp.Topic], tp.Partition)
	}
	return m
}

// Close leaves the group. OnRevoked is called for what is held. No Poll may be
// under way.
func (m *Consumer) Close() { m.cl.CloseAllowingRebalance() }
