package router

import (
	"context"
	"time"

	"github.com/togodb/togo/internal/kafka"
)

// endWatch is how often the ends of the intake topics are asked for while something is not
// read for now: the lag would stand still otherwise, just when it grows.
const endWatch = 5 * time.Second

// watchEnds tells the loop how far the intake topics go, until ctx ends.
func (s *session) watchEnds(ctx context.Context) {
	tick := time.NewTicker(s.r.endWatch)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !s.behind.Load() {
			continue
		}
		in := Ends{map[kafka.TopicPartition]int64{}}
		for _, topic := range s.r.deps.Topics {
			ranges, err := s.r.deps.Intake.Offsets(ctx, topic)
			if err != nil {
				if ctx.Err() == nil {
					s.r.deps.Log.Warn("router: can't ask how far the intake topic goes", "topic", topic, "err", err)
				}
				continue
			}
			for partition, r := range ranges {
				in.Ends[kafka.TopicPartition{Topic: topic, Partition: partition}] = r.End
			}
		}
		select {
		case s.ends <- in:
		case <-ctx.Done():
			return
		}
	}
}
