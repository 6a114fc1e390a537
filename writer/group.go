package writer

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/togodb/togo/writer/shard"
)

// Group is the consumer group that is told how far the shards are, for lag
// exporters and autoscalers. Nobody reads it back.
const Group = "togo-writer"

// groupEvery is how often it is told.
const groupEvery = 5 * time.Second

type group struct {
	w       *Writer
	mu      sync.Mutex
	offsets map[int32]int64 // not told yet; guarded by mu
}

func (g *group) set(e shard.CommitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offsets[e.Source.Partition] = e.Offset
}

// forget drops what belongs to an earlier topic.
func (g *group) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.offsets)
}

func (g *group) run(ctx context.Context) {
	for sleep(ctx, groupEvery) {
		g.commit(ctx)
	}
}

func (g *group) commit(ctx context.Context) {
	g.mu.Lock()
	offsets := maps.Clone(g.offsets)
	clear(g.offsets)
	g.mu.Unlock()
	if len(offsets) == 0 {
		return
	}
	if err := g.w.d.Kafka.CommitGroup(ctx, Group, g.w.d.Topic, offsets, ""); err != nil && ctx.Err() == nil {
		g.w.log.Warn("can't tell the group's offsets", "group", Group, "error", err)
	}
}
