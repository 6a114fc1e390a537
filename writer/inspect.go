package writer

import (
	"context"
	"fmt"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/writer/shard"
)

// inspect asks Kafka whether a position can be trusted.
func (s *session) inspect(ctx context.Context, e shard.Inspect) {
	var in shard.Inspected
	err := s.retry(ctx, "look at the shard topic", func() (err error) {
		in, err = s.w.look(ctx, e)
		return err
	})
	if err == nil {
		s.send(in)
	}
}

func (w *Writer) look(ctx context.Context, e shard.Inspect) (shard.Inspected, error) {
	in := shard.Inspected{Gen: e.Gen, Source: e.Source}
	ranges, err := w.d.Kafka.Offsets(ctx, w.d.Topic)
	if err != nil {
		return in, err
	}
	at, ok := ranges[e.Source.Partition]
	if !ok {
		return in, fmt.Errorf("the shard topic has no partition %d", e.Source.Partition)
	}
	in.Start, in.End = at.Start, at.End
	if e.Offset >= 0 {
		at, err := w.d.Kafka.Check(ctx, w.d.Topic, e.Source.Partition, kafka.Position{Offset: e.Offset, LeaderEpoch: e.LeaderEpoch})
		if in.Trouble = troubleOf(err); in.Trouble != nil {
			if in.Trouble.Kind == shard.HistoryCut {
				in.Trouble.Start, in.Trouble.End = in.Start, in.End
			}
		} else if err != nil {
			return in, err
		} else {
			in.Start, in.End = at.Start, at.End
		}
	}
	// The answers go by the topic's name: they count only if it was the same topic all along.
	info, err := w.d.Kafka.Topic(ctx, w.d.Topic)
	if err != nil {
		return in, err
	}
	if info.ID != e.Source.Topic {
		w.reading.look()
		return in, fmt.Errorf("the shard topic is now %s", info.ID)
	}
	return in, nil
}
