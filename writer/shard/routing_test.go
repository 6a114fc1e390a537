package shard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
)

// TestMisroutedItemStopsTheShard: an event or a letter that belongs to another shard by the placements is
// a bug of the router or a damaged table. Stored here, its copy in the right shard would be stored again, and a
// query would not look for it here.
func TestMisroutedItemStopsTheShard(t *testing.T) {
	w := newWorld(t)
	w.table = twoShards(t, w)
	// An event of each shard, and a letter of one.
	var events, letters [2]string
	for i := 0; slices.Contains(events[:], ""); i++ {
		tenant := event.TenantID(fmt.Sprintf("t%d", i))
		s, ok := w.table.Shard(tenant, event.Timestamp(100e9), w.hasher.Routing([]byte("e")))
		if !ok {
			t.Fatal("above the horizon")
		}
		events[s] = fmt.Sprintf("%s: e@100=1", tenant)
	}
	letters[w.table.DeadShard(event.Source{Cluster: "in"})] = "_unroutable: !malformed=x"
	for _, line := range append(events[:], letters[:]...) {
		if line == "" {
			continue
		}
		for shard := range 2 {
			t.Run(fmt.Sprintf("%s in %d", line, shard), func(t *testing.T) {
				w := newWorld(t)
				w.table = twoShards(t, w)
				w.produce(line)
				s, err := w.log.Load(context.Background())
				w.must(err)
				epoch, nonce, err := w.log.Claim(context.Background(), s, "W", "1")
				w.must(err)
				wr := &writer{name: "W", batch: 10, core: New(Params{
					Shard: event.ShardID(shard), Epoch: epoch, Nonce: nonce, Hasher: w.hasher,
					DataBucketSeconds: 3600, IDBucketSeconds: 600, Config: w.config,
				}, w.now)}
				w.step(wr, Loaded{State: s, Table: w.table})
				w.step(wr, Topic{Source: w.source, Name: "shards"})
				w.run(wr)
				home := line == events[shard] || line == letters[shard]
				switch {
				case home && wr.stopped != nil:
					t.Errorf("it stopped: %v", wr.stopped.Err)
				case home && wr.core.Status(w.now).OpenOffsets != 1:
					t.Errorf("the record was not taken: %+v", wr.core.Status(w.now))
				case !home && wr.stopped == nil:
					t.Error("the record was taken")
				case !home && (wr.stopped.Reason != Corruption || !strings.Contains(wr.stopped.Err.Error(), fmt.Sprintf("belongs to shard %d", 1-shard))):
					t.Errorf("it stopped: %s, %v", wr.stopped.Reason, wr.stopped.Err)
				}
			})
		}
	}
}

// twoShards is a table of two shards in a store of its own.
func twoShards(t *testing.T, w *world) *placements.Table {
	t.Helper()
	k, err := placements.NewKeeper(placements.Config{Store: objstore.NewMemory(), Hasher: w.hasher, Logger: quiet, Now: func() time.Time { return w.now }})
	w.must(err)
	_, err = k.Init(context.Background(), placements.NewGenesis(2))
	w.must(err)
	table, err := k.Extend(context.Background(), event.Timestamp(w.now.Add(time.Minute).UnixNano()))
	w.must(err)
	return table
}
