package shard

import (
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/dedup"
)

// Generation counts the loads of a core. An answer that belongs to an earlier
// load is ignored.
type Generation uint64

// Input is what the shell tells the core.
type Input interface{ isInput() }

// Loaded is the state of the log after the claim, or after a Reload. The core
// owns State from then on.
type Loaded struct {
	State *shardlog.State
	Table *placements.Table
}

// Topic says which incarnation of the shard topic there is now.
type Topic struct {
	Source event.Source
	Name   string
}

// Inspected answers Inspect: the source's log holds [Start, End), and Trouble says
// whether the position that was asked for can be trusted.
type Inspected struct {
	Gen     Generation
	Source  event.Source
	Start   int64
	End     int64
	Trouble *Trouble // nil if all is well
}

// TroubleKind names what is wrong with a position of a source.
type TroubleKind string

const (
	OutOfRange TroubleKind = "out_of_range" // the position is not within the log
	HistoryCut TroubleKind = "history_cut"  // the log's history is not the one that was read
)

// Trouble is what Kafka says of a position that can't be read.
type Trouble struct {
	Kind       TroubleKind
	Start, End int64 // the log, if known
	EpochEnd   int64 // HistoryCut: where the leader epoch of the position ended; -1: unknown to the log
}

// KafkaTrouble ends the reading of a source.
type KafkaTrouble struct {
	Gen     Generation
	Source  event.Source
	Trouble Trouble
}

// Record is one record of the shard topic.
type Record struct {
	Offset      int64
	LeaderEpoch int32
	Control     bool   // a transaction marker
	Value       []byte // the core copies what it keeps
	// Memory is what Value lies in, if somebody wants it back: the core recycles it when it has taken the record.
	Memory interface{ Recycle() }
}

// Batch is the records that follow what was read before, without those that
// will never be read (aborted, compacted).
type Batch struct {
	Gen      Generation
	Source   event.Source
	Records  []Record
	LogStart int64
	End      int64 // the log's end as of the fetch
}

// IDsRead answers ReadIDs.
type IDsRead struct {
	Gen  Generation
	Load dedup.Load
	Data []byte
	Err  error // objstore.ErrNotFound, or the world's
}

// EncodedFile is an uploaded fragment, in the order of Encode.Files.
type EncodedFile struct {
	Rows     int64
	Bytes    int64
	Sum      string
	Min, Max event.Timestamp
	Ranges   []shardlog.ColumnRange
	// As fragment.File has them.
	SortKey, KeyMin, KeyMax string
}

// EncodedFileOf is what a commit record says of an encoded fragment.
func EncodedFileOf(f *fragment.File) EncodedFile {
	out := EncodedFile{
		Rows: f.Rows, Bytes: int64(len(f.Body)), Sum: f.Sum, Min: f.Min, Max: f.Max,
		SortKey: f.SortKey, KeyMin: f.KeyMin, KeyMax: f.KeyMax,
	}
	for _, r := range f.Ranges {
		out.Ranges = append(out.Ranges, shardlog.ColumnRange{Column: r.Column, Min: r.Min, Max: r.Max, Nulls: r.Nulls})
	}
	return out
}

// EncodedIDs is an uploaded id segment.
type EncodedIDs struct {
	Bytes   int64
	Sum     string
	Buckets []idseg.Bucket
}

// Encoded answers Encode: everything that it names is durable, or Err says why
// it never will be (a bug or corruption: the shell retries the world's errors).
type Encoded struct {
	Gen    Generation
	Flight uint64
	Files  []EncodedFile
	IDs    *EncodedIDs
	Err    error
}

// Appended answers Append: the position is settled, by our record or another's.
type Appended struct {
	Gen    Generation
	Won    bool
	Record shardlog.Record // the record that is there
	Stored []byte          // its bytes
	Err    error           // it can't be read: corruption, or a newer format
}

// Checkpointed answers Checkpoint.
type Checkpointed struct {
	Gen  Generation
	Plan *shardlog.CheckpointPlan
	Err  error
}

// Placements is a newer table.
type Placements struct{ Table *placements.Table }

// Tick lets time pass.
type Tick struct{}

// Release asks for a last commit and the hand-over of the shard.
type Release struct{}

func (Loaded) isInput()       {}
func (Topic) isInput()        {}
func (Inspected) isInput()    {}
func (KafkaTrouble) isInput() {}
func (Batch) isInput()        {}
func (IDsRead) isInput()      {}
func (Encoded) isInput()      {}
func (Appended) isInput()     {}
func (Checkpointed) isInput() {}
func (Placements) isInput()   {}
func (Tick) isInput()         {}
func (Release) isInput()      {}
