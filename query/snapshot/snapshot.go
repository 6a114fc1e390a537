// Package snapshot says which fragments a query reads: those that are live in each shard of the tenant at one
// position of each shard's log.
//
// Identities never span shards, so any vector of positions holds each event exactly once, and the same vector
// gives the same rows again while their files are there.
package snapshot

import (
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query/scan"
)

// Vector is what an answer was made from: a version of the placements, a confirmed position of each shard that they
// name for the tenant, and the version of the tenant's column list, which says what a name means.
type Vector struct {
	Tenant     event.TenantID
	Placements placements.Version
	Columns    uint64
	Shards     []Position // by shard
}

// Position is one shard's.
type Position struct {
	Shard event.ShardID
	At    chain.Position
}

// Snapshot is what a query sees. It stays as it is while the logs go on.
type Snapshot struct {
	Vector     Vector                                         // but for Columns, which the caller reads after the positions are fixed
	Considered int64                                          // live fragments of the table
	Floor      event.Timestamp                                // the tenant's highest over its shards: within one answer it counts for all
	Fragments  func(from, to event.Timestamp) []scan.Fragment // those that may hold an event in [from, to)
}
