// Package path measures an event's whole way through the program.
package path

import (
	"context"
	"testing"
	"time"

	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

const (
	tenants = 200
	repeats = 50 // one event of so many is a repeat: 2%
)

// tenantHeader is where the default mapping looks for the tenant.
const tenantHeader = "X-Scope-OrgID"

var tenantNames = func() (names [tenants][]byte) {
	for i := range names {
		names[i] = []byte{'t', 'e', 'n', 'a', 'n', 't', '-', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)}
	}
	return names
}()

// world is a store with its placements, whose clock stands at the traffic's.
type world struct {
	b      testing.TB
	store  *objstore.Memory
	meta   objstore.Meta
	hasher *event.Hasher
	keeper *placements.Keeper
}

func newWorld(b testing.TB, shards int) *world {
	b.Helper()
	clock := func() time.Time { return traffic.Start.Add(time.Hour) }
	w := &world{b: b, store: objstore.NewMemory(), meta: objstore.NewMeta(objstore.MetaDefaults{}, traffic.Start)}
	w.store.Now = clock
	w.meta.Seed = objstore.Seed{7}
	w.hasher = event.NewHasher(event.Seed(w.meta.Seed))
	var err error
	w.keeper, err = placements.NewKeeper(placements.Config{Store: w.store, Hasher: w.hasher, Now: clock, Logger: kafkatest.Quiet()})
	w.must(err)
	_, err = w.keeper.Init(context.Background(), placements.NewGenesis(shards))
	w.must(err)
	_, err = w.keeper.Extend(context.Background(), event.Timestamp(clock().UnixNano()))
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Fatal(err)
	}
}

func (w *world) limits() event.Limits {
	return event.Limits{MinTime: event.Timestamp(w.meta.MinTime.UnixNano()), MaxFuture: w.meta.MaxFuture}
}

func (w *world) log(shard event.ShardID) *shardlog.Log {
	return shardlog.OpenWith(w.store, shard, shardlog.Config{Logger: kafkatest.Quiet()})
}

// check compares the ledgers of all shards with what was sent.
func (w *world) check(shards int, events, unique int64) (objects int64) {
	w.b.Helper()
	var got shardlog.Ledger
	for s := range shards {
		state, err := w.log(event.ShardID(s)).Load(context.Background())
		w.must(err)
		t := state.Totals()
		got.Events += t.Events
		got.Stored += t.Stored
		got.Duplicate += t.Duplicate
		got.Dead += t.Dead + t.Conflict
		state.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool { objects += f.Bytes; return true })
	}
	want := shardlog.Ledger{Events: events, Stored: unique, Duplicate: events - unique}
	if got != want {
		w.b.Fatalf("the shard logs hold %+v, want %+v", got, want)
	}
	return objects
}
