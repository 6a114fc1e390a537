package placements

import (
	"github.com/togodb/togo/internal/event"
)

// Version numbers the placement table; it is the position in the placement chain.
type Version uint64

// Table is one version of the placement table; immutable, safe for concurrent use.
type Table struct{}

func (t *Table) Version() Version         { panic("placements: not built") }
func (t *Table) Horizon() event.Timestamp { panic("placements: not built") }

// Shard returns the shard of an event. ok is false if ts is at or above the
// horizon: the caller needs a newer version first. It does not allocate. idHash is
// event.RoutingHash of the event's id.
func (t *Table) Shard(tenant event.TenantID, ts event.Timestamp, idHash uint64) (s event.ShardID, ok bool) {
	panic("placements: not built")
}

// DeadShard returns the shard of the dead letters and skipped ranges of a source
// partition: a hash over the shards fixed in version 1.
func (t *Table) DeadShard(src event.Source) event.ShardID { panic("placements: not built") }

// Shards is the number of shards that have ever been named: 0 to Shards-1.
func (t *Table) Shards() int { panic("placements: not built") }

// ShardsOf lists all shards that may hold a tenant's events of [from, to).
func (t *Table) ShardsOf(tenant event.TenantID, from, to event.Timestamp) []event.ShardID {
	panic("placements: not built")
}
