package sim

import (
	"math"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// TestSettingsReachTheFiles: what operators set on the way shows in what writers wrote.
func TestSettingsReachTheFiles(t *testing.T) {
	keys, expires := map[string]int{}, 0
	for seed := range uint64(12) {
		w := newWorld(Options{Seed: seed})
		w.populate()
		w.run()
		if w.failure != "" {
			t.Fatalf("seed %d: %s", seed, w.failure)
		}
		for shard := range w.broker.topics[shardTopic].parts {
			w.watch.log(event.ShardID(shard)).state.Fragments("", math.MinInt64, math.MaxInt64, func(f shardlog.Fragment) bool {
				keys[f.SortKey]++
				return true
			})
		}
		expires += w.watch.keeping.expires
		w.end()
	}
	if expires == 0 {
		t.Errorf("compactors raised floors %d times", expires)
	}
	if len(keys) < 4 || keys[""] == 0 {
		t.Errorf("files by their sort keys: %v", keys)
	}
}
