package main

import (
	"context"
	"fmt"
	"math"
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
			gap = c.gap(s, src, has)
			if len(gap.Lost) == 0 && gap.Next == src.Next {
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

// kept is what Kafka has of a source.
type kept struct {
	current bool // false: the topic is gone, or is another one
	kafka.Range
	history int64             // up to here it is what was read; 0 if the log does not know the epoch it was read in
	epoch   int32             // leader epoch of what lies above, by which the writer can find it; -1: none
	gone    shardlog.RangeSet // open offsets within both that hold no record
}

func (c gapCmd) ask(ctx context.Context, k *kafka.Client, topic string, src shardlog.SourceState) (kept, error) {
	info, err := k.Topic(ctx, topic)
	if err != nil || info.ID.String() != src.Source.Topic {
		return kept{}, err
	}
	offsets, err := k.Offsets(ctx, topic)
	if err != nil {
		return kept{}, err
	}
	partition := int32(c.Shard)
	has := kept{current: true, Range: offsets[partition], history: src.Next, epoch: -1}
	if src.LeaderEpoch >= 0 && src.Next > has.Start {
		end, err := k.EpochEnd(ctx, topic, partition, src.LeaderEpoch)
		if err != nil {
			return kept{}, err
		}
		has.history = min(src.Next, max(end, 0))
		newer, err := k.EpochEnd(ctx, topic, partition, src.LeaderEpoch+1)
		if err != nil {
			return kept{}, err
		}
		if end >= 0 && newer >= has.history { // else the count of epochs went back with the history
			has.epoch = src.LeaderEpoch + 1
		}
	}
	there := shardlog.RangeSet{{From: has.Start, Next: max(has.Start, min(has.history, has.End))}}
	has.gone, err = withoutRecords(ctx, k, info, partition, shardlog.IntersectRanges(src.Open, there))
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

// gap accepts all that is not in Kafka: below its log's start, from its end or from the end of the history that
// was read on, open offsets without a record, or everything where the topic is gone.
func (c gapCmd) gap(s *shardlog.State, src shardlog.SourceState, has kept) *shardlog.Gap {
	if !has.current {
		return s.GapTo(src.Source, shardlog.RangeSet{{From: 0, Next: math.MaxInt64}}, src.Next, c.Epoch, c.Reason, c.By)
	}
	end := min(has.End, max(has.history, has.Start))
	gone := shardlog.RangeSet{{From: 0, Next: has.Start}, {From: end, Next: math.MaxInt64}}
	if has.Start == 0 {
		gone = gone[1:]
	}
	next, epoch := min(max(src.Next, has.Start), end), c.Epoch
	if next < src.Next && epoch < 0 {
		epoch = has.epoch
	}
	return s.GapTo(src.Source, shardlog.AddRanges(gone, has.gone), next, epoch, c.Reason, c.By)
}
