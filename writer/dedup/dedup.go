// Package dedup is the dedup state of one shard: it says whether an identity was
// stored before, from tables and filters that are paged in from id segments.
//
// Index is a pure core: no goroutine, clock, channel or I/O. The caller does the
// reads that Loads names and brings the bytes back with Loaded.
package dedup

import (
	"errors"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// ErrCatchUp: a live segment's object is not there. Never "empty": the log has
// moved on (a merge removed it). Follow the shard log, Replace what it replaced,
// and Check again. If the log still names the segment, it is lost: stop the shard.
var ErrCatchUp = errors.New("dedup: id segment not found, catch up with the shard log")

// Verdict on an identity.
type Verdict uint8

const (
	// VerdictNew: stored nowhere and not pending. Accept it, or leave it; it is not
	// pending until Accept.
	VerdictNew Verdict = iota + 1
	// VerdictDuplicate: stored or pending with the same payload hash.
	VerdictDuplicate
	// VerdictConflict: stored or pending with another payload hash.
	VerdictConflict
	// VerdictWait: nobody knows before some Loads are done. Check again after each
	// Loaded; two rounds of loads settle it unless segments are added meanwhile.
	VerdictWait
)

func (v Verdict) String() string {
	return [...]string{"none", "new", "duplicate", "conflict", "wait"}[v]
}

// SegmentRef names a live id segment: the fields of shardlog.IDSegment that matter here.
type SegmentRef struct {
	Key     string
	Bytes   int64
	Buckets []idseg.Bucket
}

// Load is a range read that the caller does: GetRange(Key, Offset, Length).
type Load struct {
	Key     string
	Offset  int64
	Length  int64
	Purpose Purpose
}

// Purpose of a load, for metrics and logs.
type Purpose uint8

const (
	PurposeHead    Purpose = iota + 1 // directory and filter of a part
	PurposePart                       // one bucket's part with all tenants
	PurposeSegment                    // a whole small segment
	PurposeRun                        // one tenant's ids in a part
	PurposeBlock                      // the block that may hold one id
)

// Config of an Index; see DefaultConfig.
type Config struct {
	// BudgetBytes bounds all that is paged in: tables and filters. Pending ids and
	// waiting look-ups come on top; the caller's own buffers bound those.
	BudgetBytes int64
	// TenantQuotaBytes bounds what one tenant may keep of it.
	TenantQuotaBytes int64
	// BucketSeconds is the store's id bucket size.
	BucketSeconds int64
}

// DefaultConfig has a budget of 256 MiB, a quota of a quarter, buckets of 10 minutes.
func DefaultConfig() Config {
	return Config{BudgetBytes: 256 << 20, TenantQuotaBytes: 64 << 20, BucketSeconds: 600}
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error { panic("dedup: not built") }

// Index is the dedup state of one shard. It is not safe for concurrent use.
type Index struct{}

// New returns the index of a shard without segments: AddSegment each live one.
// cfg must be valid.
func New(cfg Config) *Index { panic("dedup: not built") }

// AddSegment makes a live segment known that this index did not Confirm: those
// of the shard log's state after a claim.
func (ix *Index) AddSegment(ref SegmentRef) error { panic("dedup: not built") }

// Replace applies a merge of id segments: removed ones leave, added ones, which
// together hold the same ids, come. It never loses what is resident.
func (ix *Index) Replace(removed []string, added []SegmentRef) error { panic("dedup: not built") }

// DropBelow forgets the buckets that begin before floor (seconds). Pending ids stay.
func (ix *Index) DropBelow(floor int64) { panic("dedup: not built") }

// Check gives the verdict on an identity: pending ids first, then resident
// tables, then the filters of the bucket's segments. A bucket without live
// segments holds no ids. It changes nothing but what is paged in and wanted. After VerdictWait,
// check again when loads are done; what the loads told about the id is kept until Accept or
// Forget, so that the ids of one record can all be checked, wait together, and
// be accepted together, however small the budget.
func (ix *Index) Check(tenant event.TenantID, bucket int64, id event.Hash, payload uint32) Verdict {
	panic("dedup: not built")
}

// Accept makes an identity pending that Check called new, with no other call
// between than Checks, Accepts and Forgets. From then on, and until its commit
// is confirmed, it is known whatever is paged out. An identity that is pending
// already is not accepted: the answer is then VerdictDuplicate or
// VerdictConflict, else VerdictNew.
func (ix *Index) Accept(bucket int64, id event.Hash, payload uint32) Verdict {
	panic("dedup: not built")
}

// Forget lets go of what is kept for an identity that waited and will not be
// accepted: a duplicate or conflict. It is a no-op for others.
func (ix *Index) Forget(bucket int64, id event.Hash) { panic("dedup: not built") }

// Confirm says that the commit that stores the entries (all of them pending) in
// the segment ref is confirmed by the log. It makes the segment known: no
// AddSegment for it.
func (ix *Index) Confirm(entries []idseg.Entry, ref SegmentRef) error { panic("dedup: not built") }

// Loads returns the reads that are wanted and were not handed out yet, in the
// order in which they were asked for. The caller bounds how many are under way.
// For each of them Loaded must be called.
func (ix *Index) Loads() []Load { panic("dedup: not built") }

// Loaded brings the answer of a load. After a read error the load is wanted
// again (Loads hands it out once more; the caller paces it) and Loaded returns nil, except that
// objstore.ErrNotFound of a live segment gives ErrCatchUp. Damaged bytes give
// idseg.ErrCorrupt. Answers to loads of segments that left meanwhile, or of
// another Index, are ignored.
func (ix *Index) Loaded(l Load, data []byte, err error) error { panic("dedup: not built") }

// Bytes is the memory of all that the index holds.
func (ix *Index) Bytes() int64 { panic("dedup: not built") }

// Stats are the index's counters and sizes.
type Stats struct{}

// Stats for metrics.
func (ix *Index) Stats() Stats { panic("dedup: not built") }
