// Package dedup is the dedup state of one shard: it says whether an identity was
// stored before, from tables and filters that are paged in from id segments.
//
// Index is a pure core: no goroutine, clock, channel or I/O. The caller does the
// reads that Loads names and brings the bytes back with Loaded.
//
// # What is in memory
//
// The pending ids are those that are in no confirmed commit yet. A unit
// holds ids of one (id bucket, tenant): a table of exact ids, a summary of others, and which of the
// bucket's parts (one for each live segment that has ids of the bucket) it covers. A head is the
// directory and the Bloom filter of one part. Units and heads are paged: in when an
// event asks for them, out, under one budget and a quota for each tenant. A waiting id has a
// probe, which keeps what loads told about it.
//
// # When memory is short
//
// An id takes 22 bytes in a table, and 3.3 in a summary, which says "not here" as well: and that is
// the answer that nearly all events need. So exact ids are demoted, their units in turn, those that came
// first before others, and as few at once as are needed. What is left for exact ids holds those of the last
// commits, which are the likeliest to be sent again. An id that a summary may hold is asked
// for in the parts: their heads come into memory (1.3 bytes an id), and one block of one of them, as a rule, is read.
// New ids hardly ever do that (one in 10,000), so it is what copies cost that come late.
//
// Pages are given up in this order: units and heads that are idle, as they were not asked for while as many
// ids were as the budget holds; exact ids; and only then summaries and heads in use. So a bucket
// may have five times the ids that the budget holds as exact ones before any new id waits.
// What is paged in comes as exact ids only where that pushes out nothing but what is idle, else into summaries;
// and where even these would not stay, it is not read at all, but blocks of it.
//
// # Invariants
//
//  1. Pending ids are asked first and never evicted; an id is pending until
//     the commit that holds it is confirmed, and in that call its segment becomes known.
//  2. A unit that covers a part has every id of its tenant in that part, in its table or in
//     its summary. So an id that is in neither of them is not in these parts. An id is demoted in one step:
//     it is in the summary when it has left the table. Eviction forgets ids, summary and
//     coverage together.
//  3. VerdictNew needs, for every live part of the bucket: a unit that covers
//     it and whose summary denies the id, a tenant that is not in its directory, a filter that says "not here",
//     or the exact ids. VerdictDuplicate and VerdictConflict need the exact id: a filter or a
//     summary never decides them.
//  4. Absence is proved by bytes whose checksums held. An object that is not
//     there proves nothing: ErrCatchUp.
//  5. What a load told about a waiting id is kept until Accept or Forget, and a
//     live part never changes. So a Check waits for at most three loads one after
//     the other (a head, the rest of a head longer than guessed, the ids), whatever is evicted
//     meanwhile.
//  6. What is paged is at most the budget after each call, and what is charged
//     to a tenant is at most the quota. One call goes above by at most what it brought.
//
// # Which reads
//
// A small segment is read whole, for all its buckets: after a restart the live
// bucket has one segment for each late commit, and warming it costs about one
// read for each and not one for each tenant. So is a part of the newest buckets. Of
// others the head is read, and a tenant's ids when its filter says "maybe" or it
// asks often. Where ids don't fit the quota or the budget, not as a summary either, the block of each id is read
// that a filter could not clear; and the block of an id that a summary may hold, unless so many are
// asked for (a tenant sends all of an hour again) that it is cheaper to page exact ids in.
package dedup

import (
	"errors"
	"fmt"

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

// Config of an Index; see DefaultConfig.
type Config struct {
	// BudgetBytes bounds all that is paged in: tables and filters. Pending ids and
	// waiting look-ups come on top; the caller's own buffers bound those.
	BudgetBytes int64
	// TenantQuotaBytes bounds what one tenant may keep of it.
	TenantQuotaBytes int64
	// BucketSeconds is the store's id bucket size.
	BucketSeconds int64
	// SmallReadBytes: what is at most so long is read whole, because a store takes
	// as long for the first byte as for so many.
	SmallReadBytes int64
	// MaxReadBytes bounds the load of a tenant's ids or of a part: its bytes are
	// in memory besides the budget while it is under way. (A head has no such bound.)
	MaxReadBytes int64
	// HotChecks: a tenant that had to ask the filters of a bucket so many times
	// gets its ids of the bucket loaded.
	HotChecks int
}

// DefaultConfig has a budget of 256 MiB, a quota of a quarter, buckets of 10 minutes.
func DefaultConfig() Config {
	return Config{
		BudgetBytes:      256 << 20,
		TenantQuotaBytes: 64 << 20,
		BucketSeconds:    600,
		SmallReadBytes:   512 << 10,
		MaxReadBytes:     32 << 20,
		HotChecks:        64,
	}
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	switch {
	case c.BudgetBytes < 1:
		return fmt.Errorf("dedup: budget of %d bytes", c.BudgetBytes)
	case c.TenantQuotaBytes < 1 || c.TenantQuotaBytes > c.BudgetBytes:
		return fmt.Errorf("dedup: tenant quota of %d bytes in a budget of %d", c.TenantQuotaBytes, c.BudgetBytes)
	case c.BucketSeconds < 1:
		return fmt.Errorf("dedup: buckets of %d seconds", c.BucketSeconds)
	case c.SmallReadBytes < 0 || c.MaxReadBytes < 1 || c.SmallReadBytes > c.MaxReadBytes:
		return fmt.Errorf("dedup: small reads of %d bytes, largest of %d", c.SmallReadBytes, c.MaxReadBytes)
	case c.HotChecks < 1:
		return fmt.Errorf("dedup: hot after %d checks", c.HotChecks)
	}
	return nil
}

// Index is the dedup state of one shard. It is not safe for concurrent use.
type Index struct {
	cfg      Config
	pending  pending
	buckets  map[int64]*bucket // those with live segments, by their start
	segments map[string]*segment
	newest   int64 // the newest bucket that ever had a segment
	pages    pager
	queue    []*load // wanted, not handed out
	probes   int
	stats    Stats
	needs    []*part  // scratch of ask
	hashes   []uint64 // scratch of summarize
}

// New returns the index of a shard without segments: AddSegment each live one.
// cfg must be valid.
func New(cfg Config) *Index {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	return &Index{
		cfg:      cfg,
		buckets:  make(map[int64]*bucket),
		segments: make(map[string]*segment),
		pages:    newPager(cfg.BudgetBytes, cfg.TenantQuotaBytes),
	}
}

// Check gives the verdict on an identity: pending ids first, then resident
// tables, then the filters of the bucket's segments. A bucket without live
// segments holds no ids. It changes nothing but what is paged in and wanted.
// After VerdictWait, check again when loads are done; what the loads told about
// the id is kept until Accept or Forget, so that the ids of one record can all be
// checked, wait together, and be accepted together, however small the budget.
func (ix *Index) Check(tenant event.TenantID, bucket int64, id event.Hash, payload uint32) Verdict {
	ix.stats.Checks++
	ix.pages.tick = ix.stats.Checks / checksPerTick
	if p, ok := ix.pending.get(&id); ok {
		ix.stats.PendingHits++
		return compare(p, payload)
	}
	b := ix.buckets[bucket]
	if b == nil {
		ix.stats.Empty++
		return VerdictNew
	}
	u := b.units[tenant]
	maybe := false
	switch {
	case u != nil && u.resident:
		ix.pages.touch(&u.page)
		if p, ok := u.table.get(&id); ok {
			ix.stats.Hits++
			return compare(p, payload)
		}
		if maybe = u.summary.mayHold(&id); maybe {
			ix.stats.SummaryMaybe++
		} else if u.covered.n == b.live {
			ix.stats.Misses++
			return VerdictNew
		}
	case u == nil && b.known.n == b.live:
		ix.stats.Misses++
		return VerdictNew
	}
	return ix.ask(b, tenant, &id, payload, maybe)
}

func compare(stored, asked uint32) Verdict {
	if stored == asked {
		return VerdictDuplicate
	}
	return VerdictConflict
}

// Accept makes an identity pending that Check called new, with no Confirm,
// AddSegment or Replace between. From then on, and until its commit
// is confirmed, it is known whatever is paged out. An identity that is pending
// already is not accepted: the answer is then VerdictDuplicate or
// VerdictConflict, else VerdictNew.
func (ix *Index) Accept(bucket int64, id event.Hash, payload uint32) Verdict {
	ix.Forget(bucket, id)
	if there, added := ix.pending.put(&id, payload); !added {
		return compare(there, payload)
	}
	return VerdictNew
}

// Forget lets go of what is kept for an identity that waited and will not be
// accepted: a duplicate or conflict. It is a no-op for others.
func (ix *Index) Forget(bucket int64, id event.Hash) {
	b := ix.buckets[bucket]
	if b == nil || len(b.probes) == 0 {
		return
	}
	if p := b.probes[id]; p != nil {
		p.done = true
		delete(b.probes, id)
		ix.probes--
	}
}
