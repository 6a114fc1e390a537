package main

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	var topic event.TopicID
	var has kafka.Range
	err = withKafka(a, cfg, cfg.ShardTopic.Cluster, func(ctx context.Context, k *kafka.Client) error {
		info, err := k.Topic(ctx, cfg.ShardTopic.Name)
		if err != nil {
			return err
		}
		topic = info.ID
		offsets, err := k.Offsets(ctx, cfg.ShardTopic.Name)
		has = offsets[int32(c.Shard)]
		return err
	})
	if err != nil {
		return fmt.Errorf("ask Kafka what it still has: %w", err)
	}
	log := shardlog.OpenWith(store, c.Shard, shardlog.Config{Logger: a.toolLog(cfg)})
	s, err := log.Load(a.ctx)
	if err != nil {
		return err
	}
	var gap *shardlog.Gap
	err = log.AcceptGap(a.ctx, s, func(s *shardlog.State) (*shardlog.Gap, error) {
		src, err := c.source(s)
		if err != nil {
			return nil, err
		}
		gap = c.gap(s, src, src.Source.Topic == topic.String(), has)
		if len(gap.Lost) == 0 && gap.Next == src.Next {
			return nil, fmt.Errorf("shard %s: Kafka still has every offset from %d on; there is nothing to accept", c.Shard, src.Next)
		}
		return gap, nil
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

// gap accepts all that is not in Kafka: below its log's start, from its end on, or
// everything where the topic is gone.
func (c gapCmd) gap(s *shardlog.State, src shardlog.SourceState, current bool, has kafka.Range) *shardlog.Gap {
	if !current {
		return s.GapTo(src.Source, shardlog.RangeSet{{From: 0, Next: math.MaxInt64}}, src.Next, c.Epoch, c.Reason, c.By)
	}
	gone := shardlog.RangeSet{{From: 0, Next: has.Start}, {From: has.End, Next: math.MaxInt64}}
	if has.Start == 0 {
		gone = gone[1:]
	}
	next, epoch := min(max(src.Next, has.Start), has.End), c.Epoch
	if next < src.Next && epoch < 0 {
		epoch = src.LeaderEpoch + 1 // the history that goes on there is a later leader's
	}
	return s.GapTo(src.Source, gone, next, epoch, c.Reason, c.By)
}
