package dedup

// Stats are the index's counters since New, and its sizes now.
type Stats struct {
	// Checks, and how each was settled (an id that waited is checked, and counted, more than once).
	Checks      uint64
	PendingHits uint64 // found pending
	Empty       uint64 // new: no live segment has the bucket
	Hits        uint64 // found in a resident table
	Misses      uint64 // new by a resident table and summary alone
	ColdHits    uint64 // found by loads
	ColdMisses  uint64 // new by filters or loads
	Waits       uint64

	SummaryMaybe uint64 // checks of ids that a summary may hold

	// Of the filters of parts, one by one.
	FilterAbsent uint64 // "not here"
	FilterMaybe  uint64
	FilterFalse  uint64 // "maybe" that the exact ids refuted

	Loads      [PurposeBlock + 1]uint64 // handed out, by purpose
	LoadBytes  int64
	LoadErrors uint64

	Demotions     uint64 // ids of which only a summary stayed
	UnitEvictions uint64 // a tenant's ids of a bucket
	HeadEvictions uint64

	ResidentIDs int64 // in tables, but for the pending ones
	SummaryIDs  int64 // in summaries
	PendingIDs  int64
	WaitingIDs  int64
	Parts       int64 // live, over all buckets
	PagedBytes  int64 // under the budget
	TotalBytes  int64 // Bytes()
}

// Stats for metrics.
func (ix *Index) Stats() Stats {
	s := ix.stats
	s.PendingIDs = int64(ix.pending.len)
	s.WaitingIDs = int64(ix.probes)
	s.PagedBytes = ix.pages.bytes
	s.TotalBytes = ix.Bytes()
	return s
}

// Bytes is the memory of all that the index holds: what is paged in, pending
// ids, waiting ids, and the list of live segments. The bytes of loads are the caller's.
func (ix *Index) Bytes() int64 {
	return ix.pages.bytes + ix.pending.bytes() + int64(ix.probes)*probeBytes + ix.stats.Parts*partBytes
}
