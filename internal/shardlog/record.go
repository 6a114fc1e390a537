package shardlog

import (
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// Epoch is raised by each claim of a shard; an older epoch can no longer commit.
type Epoch uint64

// Kind names what a record does. The names are stored and never change.
type Kind string

const (
	KindClaim      Kind = "claim"
	KindAppend     Kind = "append"
	KindRelease    Kind = "release"
	KindGap        Kind = "gap"
	KindExpire     Kind = "expire"
	KindErase      Kind = "erase"
	KindMergeBegin Kind = "merge-begin"
	KindMergeEnd   Kind = "merge-end"
	KindMergeAbort Kind = "merge-abort"
	KindQuarantine Kind = "quarantine"
	KindRewrite    Kind = "rewrite" // reserved
)

// Link ties a record to its predecessor, so that a bucket that was rolled back
// and gone on is noticed.
type Link struct {
	Nonce string `json:"nonce"`
	Sum   string `json:"sum"` // of the predecessor's bytes as stored
}

// Record is one entry of a shard log. Exactly the field that Kind names is set.
type Record struct {
	Format   int            `json:"format"`
	Shard    event.ShardID  `json:"shard"`
	Position chain.Position `json:"position"`
	Kind     Kind           `json:"kind"`
	Nonce    string         `json:"nonce"`          // 128 random bits, hex; one for each record that was ever tried
	Prev     *Link          `json:"prev,omitempty"` // absent at position 1 only
	TimeMS   int64          `json:"time_ms"`        // the writer's clock; for people, decides nothing

	Claim      *Claim      `json:"claim,omitempty"`
	Append     *Append     `json:"append,omitempty"`
	Release    *Release    `json:"release,omitempty"`
	Gap        *Gap        `json:"gap,omitempty"`
	Expire     *Expire     `json:"expire,omitempty"`
	Erase      *Erase      `json:"erase,omitempty"`
	MergeBegin *MergeBegin `json:"merge_begin,omitempty"`
	MergeEnd   *MergeEnd   `json:"merge_end,omitempty"`
	MergeAbort *MergeAbort `json:"merge_abort,omitempty"`
	Quarantine *Quarantine `json:"quarantine,omitempty"`
}

// Claim takes the shard: Epoch is the state's epoch + 1.
type Claim struct {
	Owner       string `json:"owner"`
	Incarnation string `json:"incarnation"` // of the owner's process, random
	Epoch       Epoch  `json:"epoch"`
}

// Release hands the shard over in good order; it clears the owner.
type Release struct {
	Epoch Epoch `json:"epoch"`
}

// Table says which of a tenant's tables a fragment belongs to.
type Table string

const (
	TableEvents      Table = "events"
	TableDeadLetters Table = "dead_letters"
)

// Fragment names one immutable Parquet object and what is needed to prune it.
type Fragment struct {
	Key    string          `json:"key"`
	Tenant event.TenantID  `json:"tenant"`
	Table  Table           `json:"table"`
	Bucket int64           `json:"bucket"` // start of the data bucket, seconds since 1970
	Rows   int64           `json:"rows"`
	Bytes  int64           `json:"bytes"`
	Sum    string          `json:"sum"` // xxh3-128 of the object, hex
	Min    event.Timestamp `json:"min"` // smallest event time
	Max    event.Timestamp `json:"max"` // largest event time
	SeqMin uint64          `json:"seq_min"`
	SeqMax uint64          `json:"seq_max"`
	Ranges []ColumnRange   `json:"ranges,omitempty"` // of the sort key's columns
	// Level is how often its rows were merged for narrower ranges; 0 as a writer writes it.
	Level int `json:"level,omitempty"`
	// SortKey is the file's own, comma-joined; empty stands for fragment.DefaultSortKey.
	SortKey string `json:"sort_key,omitempty"`
	// KeyMin and KeyMax bound the sort key's leading values (fragment.File says how): of two
	// fragments with KeyMax below KeyMin the sort keys do not overlap. They guide the
	// choice of merges and decide nothing.
	KeyMin string `json:"key_min,omitempty"`
	KeyMax string `json:"key_max,omitempty"`
}

// MaxLevel bounds Fragment.Level.
const MaxLevel = 7

// ColumnRange bounds a column's values within a fragment, as text (see
// fragment.ColumnRange for the rule of truncation).
type ColumnRange struct {
	Column string `json:"column"`
	Min    string `json:"min"`
	Max    string `json:"max"`
	Nulls  int64  `json:"nulls,omitempty"`
}

// IDSegment names one immutable object with identities.
type IDSegment struct {
	Key     string     `json:"key"`
	Bytes   int64      `json:"bytes"`
	Sum     string     `json:"sum"` // xxh3-128 of the object, hex
	IDs     int64      `json:"ids"`
	Buckets []IDBucket `json:"buckets"` // ascending
}

// IDBucket says where the identities of one id bucket lie within a segment.
type IDBucket struct {
	Bucket int64 `json:"bucket"` // start of the id bucket, seconds since 1970
	IDs    int64 `json:"ids"`
	Offset int64 `json:"offset"` // bytes from the object's start
	Length int64 `json:"length"` // bytes
}

// Source is event.Source as it stands in records.
type Source struct {
	Cluster   string `json:"cluster"`
	Topic     string `json:"topic"` // topic id, hex
	Partition int32  `json:"partition"`
}

// Range is half-open: [From, Next).
type Range struct {
	From int64 `json:"from"`
	Next int64 `json:"next"`
}

// Progress moves one source partition on. Offsets of [From, Next) that are not
// in Opened are closed by this commit, and so are those in Closed, which were
// open before.
type Progress struct {
	Source      Source  `json:"source"`
	TopicName   string  `json:"topic_name"` // for people; the id decides
	From        int64   `json:"from"`
	Next        int64   `json:"next"`
	LeaderEpoch int32   `json:"leader_epoch"` // of the record before Next; -1 when unknown
	Opened      []Range `json:"opened,omitempty"`
	Closed      []Range `json:"closed,omitempty"`
	Records     int64   `json:"records"` // closed offsets that were records
	Control     int64   `json:"control"` // closed offsets that held no record
}

// Ledger counts what became of the events of the closed records.
type Ledger struct {
	Events    int64 `json:"events"`
	Stored    int64 `json:"stored"`
	Duplicate int64 `json:"duplicate"`
	Conflict  int64 `json:"conflict"`
	Dead      int64 `json:"dead"`
}

// Intake lists the intake offsets whose records were classed by this commit, or
// held no record, as a portable 64-bit Roaring bitmap.
type Intake struct {
	Source Source `json:"source"`
	Bitmap []byte `json:"bitmap"`
}

// Append is the commit: fragments, identities, progress and ledger in one.
type Append struct {
	Epoch     Epoch      `json:"epoch"`
	Seq       uint64     `json:"seq"`       // of this append in the shard, 1 more than the last append's
	LowWater  uint64     `json:"low_water"` // uploads of this epoch numbered below are committed or given up
	Fragments []Fragment `json:"fragments,omitempty"`
	IDs       *IDSegment `json:"ids,omitempty"`
	Progress  []Progress `json:"progress"`
	Ledger    Ledger     `json:"ledger"`
	Intake    []Intake   `json:"intake,omitempty"`
}

// Gap accepts the loss of offsets of a source: progress goes on at Next, and
// open offsets within the ranges are closed as lost. Lost holds every offset
// from the old Next to a later one. Next may lie before the old one only in
// another history, with a later leader epoch or any (-1); no offset from there on may stay open then.
type Gap struct {
	Source Source  `json:"source"`
	Lost   []Range `json:"lost"`
	Next   int64   `json:"next"`
	Reason string  `json:"reason"`
	// LeaderEpoch holds at the new Next.
	LeaderEpoch int32  `json:"leader_epoch"`
	Operator    string `json:"operator"`
}

// Floor is the event time below which a tenant's data of a table is gone; the
// empty tenant stands for all tenants.
type Floor struct {
	Tenant event.TenantID  `json:"tenant,omitempty"`
	Table  Table           `json:"table"`
	Floor  event.Timestamp `json:"floor"`
}

// Expire raises floors and drops the fragments that lie wholly below them.
// IDsBelow, in seconds, is the start of an id bucket: those before it are
// dropped too. It is at most the floors of all tenants (of both tables).
type Expire struct {
	Floors   []Floor `json:"floors"`
	IDsBelow *int64  `json:"ids_below,omitempty"`
}

// Erase removes all data of a tenant, letters too: the floor of its events becomes Floor (the
// horizon, above every event that it has), and later copies below it are dead as `erased`.
type Erase struct {
	Tenant event.TenantID  `json:"tenant"`
	Floor  event.Timestamp `json:"floor"`
}

// MergeBegin opens a job under the record's nonce. The inputs are fragments of
// one tenant, table and bucket, or id segments.
type MergeBegin struct {
	Worker string   `json:"worker"`
	Inputs []string `json:"inputs"` // keys of fragments or id segments
}

// MergeEnd ends a job: the inputs leave, the outputs come.
type MergeEnd struct {
	Job       string      `json:"job"` // nonce of its merge-begin
	Inputs    []string    `json:"inputs"`
	Fragments []Fragment  `json:"fragments,omitempty"`
	IDs       []IDSegment `json:"ids,omitempty"`
}

// MergeAbort gives a job up.
type MergeAbort struct {
	Job string `json:"job"`
}

// Quarantine sets a fragment that cannot be read aside; it stays in the store.
type Quarantine struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}
