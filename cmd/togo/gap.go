package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/shardlog"
)

type gapCmd struct {
	Shard  event.ShardID `arg:"" help:"The shard that stopped."`
	Topic  string        `help:"Topic id (hex) of the source, where the shard has read several ('togo status' names them)." placeholder:"ID"`
	Epoch  int32         `help:"Leader epoch from which reading goes on; -1: any." default:"-1"`
	Reason string        `help:"Why the loss is accepted, for the record." required:""`
	By     string        `help:"Who accepts it." required:"" env:"USER"`
}

// Run appends a gap that accepts what Kafka no longer has, and nothing else: what
// it has is asked first.
func (c gapCmd) Run(a *app) error {
	cfg, store, err := a.existing()
	if err != nil {
		return err
	}
	log := shardlog.OpenWith(store, c.Shard, shardlog.Config{Logger: a.toolLog(cfg)})
	s, err := log.Load(a.ctx)
	if err != nil {
		return err
	}
	var gap *shardlog.Gap
	err = withKafka(a, cfg, cfg.ShardTopic.Cluster, func(ctx context.Context, k *kafka.Client) error {
		return log.AcceptGap(a.ctx, s, func(s *shardlog.State) (*shardlog.Gap, error) {
			src, err := c.source(s)
			if err != nil {
				return nil, err
			}
			has, err := c.ask(ctx, k, cfg.ShardTopic.Name, src)
			if err != nil {
				return nil, fmt.Errorf("ask Kafka what it still has: %w", err)
			}
			gap = s.Accept(src, has, c.Epoch, c.Reason, c.By)
			if len(gap.Lost) == 0 && gap.Next == src.Next && gap.LeaderEpoch == src.LeaderEpoch {
				return nil, fmt.Errorf("shard %s: Kafka still has every offset from %d on; there is nothing to accept", c.Shard, src.Next)
			}
			return gap, nil
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "shard %s: %d offsets %v accepted as lost (record %d of its log); reading goes on at %d, the writer notices by itself\n",
		c.Shard, shardlog.CountRanges(gap.Lost), gap.Lost, uint64(s.Position()), gap.Next)
	return nil
}

func (c gapCmd) source(s *shardlog.State) (shardlog.SourceState, error) {
	sources := slices.DeleteFunc(s.Sources(), func(src shardlog.SourceState) bool {
		return c.Topic != "" && src.Source.Topic != c.Topic
	})
	if len(sources) != 1 {
		return shardlog.SourceState{}, fmt.Errorf("shard %s has read %d sources that fit; name one with --topic ('togo status' lists them)", c.Shard, len(sources))
	}
	return sources[0], nil
}

// ask is what Kafka still has of a source.
func (c gapCmd) ask(ctx context.Context, k *kafka.Client, topic string, src shardlog.SourceState) (has shardlog.Kept, err error) {
	info, err := k.Topic(ctx, topic)
	if err != nil || info.ID.String() != src.Source.Topic {
		return has, err
	}
	offsets, err := k.Offsets(ctx, topic)
	if err != nil {
		return has, err
	}
	partition := int32(c.Shard)
	has = shardlog.Kept{Current: true, Start: offsets[partition].Start, End: offsets[partition].End}
	err = has.Ask(src, func(epoch int32) (int64, error) { return k.EpochEnd(ctx, topic, partition, epoch) })
	if err != nil {
		return has, err
	}
	has.Gone, err = withoutRecords(ctx, k, info, partition, shardlog.IntersectRanges(src.Open, shardlog.RangeSet{has.There()}))
	return has, err
}

// withoutRecords reads offsets and returns those that hold no record.
func withoutRecords(ctx context.Context, k *kafka.Client, info kafka.TopicInfo, partition int32, offsets shardlog.RangeSet) (shardlog.RangeSet, error) {
	r, err := k.NewReader(info, kafka.ReaderConfig{MaxWait: 100 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	gone := offsets
	for _, open := range offsets {
		r.Add(partition, open.From, -1)
		for next := open.From; next < open.Next; {
			batches, err := r.Poll(ctx)
			if err != nil {
				return nil, err
			}
			for _, b := range batches {
				if b.Err != nil {
					return nil, b.Err
				}
				next = max(next, b.Next)
				for _, rec := range b.Records {
					if !kafka.IsControl(rec) {
						gone = shardlog.SubtractRanges(gone, shardlog.RangeSet{{From: rec.Offset, Next: rec.Offset + 1}})
					}
				}
			}
		}
	}
	return gone, nil
}
