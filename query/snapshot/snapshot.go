// Package snapshot says which fragments a query reads: those that are live in each shard of the tenant at one
// position of each shard's log.
//
// Identities never span shards, so any vector of positions holds each event exactly once, and the same vector
// gives the same rows again while their files are there.
//
// What a Follower promises:
//
//  1. A snapshot of the present holds whatever was committed more than Config.MaxAge before it was asked for. Its positions are
//     confirmed (package shardlog).
//  2. The shards are all that may hold events of the tenant below the horizon of the newest version of the placements, as of MaxAge before
//     the question. Dead letters lie in these and in the shards fixed for letters.
//  3. A past vector gives the fragments and floors of exactly its positions, or fails as gone: when a log no longer reaches back so
//     far, when the tenant was erased since, or when a file turns out to be missing (Explain).
//  4. Who has a vector's text can read no other tenant's rows with it, and no text counts that this store did not give out.
//  5. Nothing is read from the store while nobody asks. States that nobody asked for are dropped after Config.IdleAfter, and the least
//     recently used ones above Config.MaxBytes.
package snapshot

import (
	"fmt"
	"strings"

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
	Shards     []Position // ascending by shard
}

// Position is one shard's.
type Position struct {
	Shard event.ShardID
	At    chain.Position
}

// has says whether the vector has a position of each of the shards.
func (v *Vector) has(shards []event.ShardID) bool {
	known := map[event.ShardID]bool{}
	for _, one := range v.Shards {
		known[one.Shard] = true
	}
	for _, id := range shards {
		if !known[id] {
			return false
		}
	}
	return true
}

// String is the vector for people; Follower.Token is what clients pass on.
func (v Vector) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "placements %d, columns %d", uint64(v.Placements), v.Columns)
	for _, one := range v.Shards {
		fmt.Fprintf(&b, ", shard %s at %d", one.Shard, uint64(one.At))
	}
	return b.String()
}

// Snapshot is what a query sees. It stays as it is while the logs go on.
type Snapshot struct {
	Vector     Vector                                         // but for Columns, which the caller reads after the positions are fixed
	Considered int64                                          // live fragments of the table
	Floor      event.Timestamp                                // the tenant's highest over its shards: within one answer it counts for all
	Fragments  func(from, to event.Timestamp) []scan.Fragment // those that may hold an event in [from, to)
	Past       bool                                           // by a vector that was asked for

	parts []*listing // by shard, as Vector.Shards
}

// fragments are those of all shards that overlap the range.
func (s *Snapshot) fragments(from, to event.Timestamp) []scan.Fragment {
	var out []scan.Fragment
	for _, p := range s.parts {
		out = p.within(out, from, to)
	}
	return out
}
