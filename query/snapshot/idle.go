package snapshot

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Run drops what nobody has asked for, until ctx ends. It reads nothing from the store.
func (f *Follower) Run(ctx context.Context) {
	tick := time.NewTicker(max(f.cfg.IdleAfter/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.trim()
		}
	}
}

// trim drops states that nobody has asked for, and the least recently used ones above the bound. Who still uses one
// keeps it until he is done.
func (f *Follower) trim() {
	f.mu.Lock()
	defer f.mu.Unlock()
	idle := f.cfg.Now().Add(-f.cfg.IdleAfter)
	var sum int64
	list := make([]*shard, 0, len(f.shards))
	for _, s := range f.shards {
		list = append(list, s)
		sum += s.bytes
	}
	slices.SortFunc(list, func(a, b *shard) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.id, b.id)) })
	for _, s := range list {
		if s.used.After(idle) && sum <= f.cfg.MaxBytes {
			break
		}
		sum -= s.bytes
		delete(f.shards, s.id)
		f.metrics.dropped.Inc()
	}
	f.metrics.states.Set(float64(len(f.shards)))
	f.metrics.bytes.Set(float64(sum))
}
