package shardlog

import (
	"context"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// Log reads and appends one shard's log and its checkpoints.
type Log struct{}

// Open names the log of a shard in a store; it does no I/O.
func Open(store objstore.Store, shard event.ShardID) *Log { panic("shardlog: not built") }

// Load returns the newest state: the newest checkpoint and every record after it.
func (l *Log) Load(ctx context.Context) (*State, error) { panic("shardlog: not built") }

// Follow applies every record after s's position that is there now, and returns them.
func (l *Log) Follow(ctx context.Context, s *State) ([]Record, error) { panic("shardlog: not built") }

// Append settles position s.Position()+1. r's Format, Shard, Position, Prev and
// Nonce are set by it (a nonce that is there is kept: a second call with the same
// record after an error goes on with the same attempt). If ours won, it is
// applied to s and won is true. Else the record found there is applied to s and
// returned: the caller judges what it changed.
func (l *Log) Append(ctx context.Context, s *State, r *Record) (won bool, found Record, err error) {
	panic("shardlog: not built")
}

// Checkpoint writes a checkpoint of s, which must hold no unresolved append.
func (l *Log) Checkpoint(ctx context.Context, s *State) error { panic("shardlog: not built") }

// SourceState is the progress of one source partition.
type SourceState struct {
	Source      Source
	TopicName   string
	Next        int64
	LeaderEpoch int32
	Open        []Range // ascending, disjoint, all below Next
}

// State is the fold of a shard log up to Position.
type State struct{}

// NewState is the state of an empty log.
func NewState(shard event.ShardID) *State { panic("shardlog: not built") }

// Apply folds r into s, or refuses it and leaves s as it was: a refusal on
// reading is corruption.
func (s *State) Apply(r Record, stored []byte) error { panic("shardlog: not built") }

func (s *State) Position() chain.Position { panic("shardlog: not built") }
func (s *State) Epoch() Epoch             { panic("shardlog: not built") }
func (s *State) Owner() *Claim            { panic("shardlog: not built") } // nil when released or never claimed
func (s *State) Seq() uint64              { panic("shardlog: not built") } // of the last append
func (s *State) Sources() []SourceState   { panic("shardlog: not built") }

// SourceOf returns the progress of one source; ok is false if it was never read.
func (s *State) SourceOf(src Source) (SourceState, bool) { panic("shardlog: not built") }

// Floor of a tenant's table, and whether an erasure set it.
func (s *State) Floor(t event.TenantID, table Table) (floor event.Timestamp, erased bool) {
	panic("shardlog: not built")
}

// IDSegments are the live segments that hold identities of the id bucket.
func (s *State) IDSegments(bucket int64) []IDSegment { panic("shardlog: not built") }

// IDBuckets are the id buckets that have live segments, ascending.
func (s *State) IDBuckets() []int64 { panic("shardlog: not built") }

// Fragments calls yield for each live fragment of a tenant ("" for all) whose
// bucket start is in [from, to) seconds.
func (s *State) Fragments(t event.TenantID, from, to int64, yield func(Fragment) bool) {
	panic("shardlog: not built")
}

// Totals is the sum of all ledgers, and of records, control offsets and losses.
type Totals struct {
	Ledger
	Records, Control, Lost, Appends int64
}

func (s *State) Totals() Totals { panic("shardlog: not built") }

// Intake is the union of the intake offsets classed so far, per source.
func (s *State) Intake() []Intake { panic("shardlog: not built") }
