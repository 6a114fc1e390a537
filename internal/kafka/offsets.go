package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Range is a partition's log: the offsets [Start, End).
type Range struct {
	Start int64
	End   int64
}

// Offsets returns the log of each partition of the topic.
func (c *Client) Offsets(ctx context.Context, topic string) (map[int32]Range, error) {
	starts, err := c.adm.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, listError(topic, err)
	}
	ends, err := c.adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, listError(topic, err)
	}
	ranges := make(map[int32]Range, len(starts[topic]))
	for p, s := range starts[topic] {
		e, ok := ends.Lookup(topic, p)
		if !ok {
			return nil, fmt.Errorf("kafka: list the offsets of %s: no end of partition %d", topic, p)
		}
		ranges[p] = Range{Start: s.Offset, End: e.Offset}
	}
	return ranges, nil
}

func listError(topic string, err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%w: %s", ErrTopicMissing, topic)
	}
	return fmt.Errorf("kafka: list the offsets of %s: %w", topic, err)
}

// EpochEnd returns the offset at which leaderEpoch (or the last epoch before
// it that the log knows) ended; -1 if the log knows no such epoch. An offset above it
// was read from a history that is no more.
func (c *Client) EpochEnd(ctx context.Context, topic string, partition, leaderEpoch int32) (int64, error) {
	req := kadm.OffsetForLeaderEpochRequest{}
	req.Add(topic, partition, leaderEpoch)
	resp, err := c.adm.OffsetForLeaderEpoch(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("kafka: %s[%d]: ask for the end of leader epoch %d: %w", topic, partition, leaderEpoch, err)
	}
	p, ok := resp[topic][partition]
	if !ok {
		return 0, fmt.Errorf("kafka: %s[%d]: ask for the end of leader epoch %d: no answer", topic, partition, leaderEpoch)
	}
	if p.Err != nil {
		return 0, fmt.Errorf("kafka: %s[%d]: ask for the end of leader epoch %d: %w", topic, partition, leaderEpoch, p.Err)
	}
	return p.EndOffset, nil
}

// Position is an offset, the leader epoch of the record before it (-1: unknown).
type Position struct {
	Offset      int64
	LeaderEpoch int32
}

// Check reports whether reading may begin at pos: *OutOfRangeError or *HistoryCutError if
// not, another error if the brokers could not be asked.
func (c *Client) Check(ctx context.Context, topic string, partition int32, pos Position) (Range, error) {
	ranges, err := c.Offsets(ctx, topic)
	if err != nil {
		return Range{}, err
	}
	return ranges[partition], c.startable(ctx, topic, partition, pos, ranges)
}

func (c *Client) startable(ctx context.Context, topic string, partition int32, pos Position, ranges map[int32]Range) error {
	r, ok := ranges[partition]
	if !ok {
		return fmt.Errorf("kafka: %s has no partition %d", topic, partition)
	}
	if pos.LeaderEpoch >= 0 && pos.Offset > r.Start {
		end, err := c.EpochEnd(ctx, topic, partition, pos.LeaderEpoch)
		if err != nil {
			return err
		}
		// An epoch that the log does not know is a cut only if the position claims
		// to have read it; nothing can be newer than the leader's own log.
		if end < pos.Offset {
			return &HistoryCutError{Topic: topic, Partition: partition, Asked: pos.Offset, LeaderEpoch: pos.LeaderEpoch, EpochEnd: end}
		}
	}
	if pos.Offset < r.Start || pos.Offset > r.End {
		return &OutOfRangeError{Topic: topic, Partition: partition, Start: r.Start, End: r.End, Asked: pos.Offset}
	}
	return nil
}

// CommitGroup commits offsets for a group without members: nobody reads them
// but lag exporters and autoscalers.
func (c *Client) CommitGroup(ctx context.Context, group, topic string, offsets map[int32]int64, metadata string) error {
	all := kadm.Offsets{}
	for p, at := range offsets {
		all.Add(kadm.Offset{Topic: topic, Partition: p, At: at, LeaderEpoch: -1, Metadata: metadata})
	}
	resp, err := c.adm.CommitOffsets(ctx, group, all)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		return fmt.Errorf("kafka: commit offsets of group %s: %w", group, err)
	}
	return nil
}

// Committed returns the offsets that a group committed for the topic that info
// names; those for an earlier topic of the same name are left out.
func (c *Client) Committed(ctx context.Context, group string, info TopicInfo) (map[int32]int64, error) {
	resp, err := c.adm.FetchOffsets(ctx, group)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: read offsets of group %s: %w", group, err)
	}
	offsets := map[int32]int64{}
	for p, o := range resp[info.Name] {
		if (commit{meta: o.Metadata}).isOf(info.ID) {
			offsets[p] = o.At
		}
	}
	return offsets, nil
}
