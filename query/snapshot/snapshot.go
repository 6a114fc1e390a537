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

// Vector is a version of the placements and a confirmed position of each shard that they name for the tenant.
type Vector struct {
	Placements placements.Version
	Shards     []Position // by shard
}

// Position is one shard's.
type Position struct {
	Shard event.ShardID
	At    chain.Position
}

// Snapshot is what a query sees.
type Snapshot struct {
	Vector    Vector
	Fragments []scan.Fragment
	Floor     event.Timestamp // the tenant's highest over its shards: within one answer it counts for all
}
