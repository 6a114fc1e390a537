package kafka

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commit is a group's position with its metadata.
type commit struct {
	pos  Position
	meta string
}

// commitMeta is the metadata of a commit. A commit without it (an operator's, by
// Kafka's own tools) counts for the topic as it is.
type commitMeta struct {
	Format      int    `json:"togo"`
	Topic       string `json:"topic"`
	LeaderEpoch int32  `json:"leader_epoch"`
}

// onFetched keeps the metadata of the group's commits for adjust, which runs next.
func (m *Consumer) onFetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	names := map[[16]byte]string{}
	for name, t := range m.topics {
		names[t.ID] = name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := func(topic string, partition int32, offset int64, epoch int32, meta *string) {
		c := commit{pos: Position{Offset: offset, LeaderEpoch: epoch}}
		if meta != nil {
			c.meta = *meta
		}
		m.fetched[TopicPartition{topic, partition}] = c
	}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				keep(cmp.Or(t.Topic, names[t.TopicID]), p.Partition, p.Offset, p.LeaderEpoch, p.Metadata)
			}
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			keep(t.Topic, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata)
		}
	}
	return nil
}

// isOf reports whether the commit was made in this incarnation of the topic.
func (c commit) isOf(id event.TopicID) bool {
	var meta commitMeta
	if err := json.Unmarshal([]byte(c.meta), &meta); err != nil || meta.Topic == "" {
		return true
	}
	return meta.Topic == id.String()
}

// Commit commits positions of partitions that the consumer holds; others it leaves
// out. The commit says by its metadata which incarnation of the topic it is of.
func (m *Consumer) Commit(ctx context.Context, positions map[TopicPartition]Position) error {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	m.mu.Lock()
	for tp, pos := range positions {
		if m.held[tp] == nil {
			continue
		}
		if offsets[tp.Topic] == nil {
			offsets[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: pos.LeaderEpoch, Offset: pos.Offset}
	}
	m.mu.Unlock()
	if len(offsets) == 0 {
		return nil
	}
	ctx = kgo.PreCommitFnContext(ctx, m.addMeta)
	var failed error
	m.cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			failed = err
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	})
	if failed != nil {
		return fmt.Errorf("kafka: commit offsets of group %s: %w", m.cfg.Group, failed)
	}
	return nil
}

func (m *Consumer) addMeta(req *kmsg.OffsetCommitRequest) error {
	for i := range req.Topics {
		t := &req.Topics[i]
		id := event.TopicID(t.TopicID)
		if info, ok := m.topics[t.Topic]; ok {
			id = info.ID
		}
		for j := range t.Partitions {
			meta, err := json.Marshal(commitMeta{Format: 1, Topic: id.String(), LeaderEpoch: t.Partitions[j].LeaderEpoch})
			if err != nil {
				return err
			}
			text := string(meta)
			t.Partitions[j].Metadata = &text
		}
	}
	return nil
}
