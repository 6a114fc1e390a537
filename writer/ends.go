package writer

import (
	"context"
	"time"

	"github.com/togodb/togo/writer/shard"
)

// endWatch is how often the end of the log is asked for while a partition is not read: its
// lag would stand still otherwise, just when it grows.
const endWatch = 5 * time.Second

// watchEnds tells the shards whose reading pauses how far their partitions go.
func (d *reading) watchEnds(ctx context.Context) {
	for sleep(ctx, d.w.endWatch) {
		paused := d.pausing()
		if len(paused) == 0 {
			continue
		}
		ends, err := d.w.d.Kafka.Offsets(ctx, d.w.d.Topic)
		if err != nil {
			if ctx.Err() == nil {
				d.w.log.Warn("can't ask how far the shard topic goes", "topic", d.w.d.Topic, "error", err)
			}
			continue
		}
		for partition, in := range paused {
			in.End = ends[partition].End
			d.mu.Lock()
			if s := d.subs[partition]; s.gen == in.Gen && d.topic.ID == in.Source.Topic {
				s.r.sendBatch(in)
			}
			d.mu.Unlock()
		}
	}
}

// pausing are the partitions that are not read for now, with a batch of no records for each.
func (d *reading) pausing() map[int32]shard.Batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[int32]shard.Batch{}
	for partition, s := range d.subs {
		if s.gen != 0 && (s.paused || s.throttled) {
			out[partition] = shard.Batch{Gen: s.gen, Source: d.w.d.Kafka.Source(d.topic, partition)}
		}
	}
	return out
}
