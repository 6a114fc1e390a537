package shardlog

import (
	"cmp"
	"maps"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// Bounds of a state; records that would pass them are refused.
const (
	// MaxOpenOffsets bounds the open offsets of one source, and MaxOpenRanges the
	// ranges that they form: each commit and each restart carries them. Writers
	// keep well below.
	MaxOpenOffsets = 1 << 20
	MaxOpenRanges  = 1 << 16
	// MaxJobs bounds the open merges, so that a dead compactor's jobs cannot pile
	// up: the outputs of an open job are never garbage.
	MaxJobs = 16
)

// SourceState is the progress of one source partition.
type SourceState struct {
	Source      Source  `json:"source"`
	TopicName   string  `json:"topic_name"`
	Next        int64   `json:"next"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Open        []Range `json:"open,omitempty"` // a RangeSet, all below Next
}

// Job is an open merge.
type Job struct {
	Nonce    string         `json:"nonce"`
	Position chain.Position `json:"position"`
	Worker   string         `json:"worker"`
	Inputs   []string       `json:"inputs"`
}

// Totals is the sum of all ledgers, and of records, control offsets and losses.
type Totals struct {
	Ledger
	Records int64 `json:"records"`
	Control int64 `json:"control"`
	Lost    int64 `json:"lost"`
	Appends int64 `json:"appends"`
}

// Head is a position of the log with what ties the next record to it.
type Head struct {
	Position chain.Position
	Link     Link
}

// tenantFloors are the floors of one tenant; noFloor where there is none.
type tenantFloors struct {
	Events      event.Timestamp `json:"events"`
	DeadLetters event.Timestamp `json:"dead_letters"`
	Erased      event.Timestamp `json:"erased"`
}

// small is the part of a state that does not grow with what is stored. A
// checkpoint's root holds it whole.
type small struct {
	Shard         event.ShardID                   `json:"shard"`
	Position      chain.Position                  `json:"position"`
	Last          Link                            `json:"last"`
	Epoch         Epoch                           `json:"epoch"`
	Owner         *Claim                          `json:"owner,omitempty"`
	ClaimNonce    string                          `json:"claim_nonce,omitempty"`
	ClaimPosition chain.Position                  `json:"claim_position,omitempty"`
	Seq           uint64                          `json:"seq"`
	LowWater      uint64                          `json:"low_water"`
	Floors        map[event.TenantID]tenantFloors `json:"floors,omitempty"` // "": all tenants
	IDsBelow      int64                           `json:"ids_below"`
	Jobs          []Job                           `json:"jobs,omitempty"`
	Quarantined   []Fragment                      `json:"quarantined,omitempty"` // by key
	Totals        Totals                          `json:"totals"`
	LastAppendMS  int64                           `json:"last_append_ms"`
}

// State is the fold of a shard log up to Position. It is for one goroutine.
type State struct {
	small    small
	sources  map[Source]SourceState // values are never changed in place
	live     map[string]*entry      // fragments and id segments by key, without those of packed days
	days     map[int64]*day         // by the day's number since 1970
	ids      map[int64][]*entry     // segments by id bucket, each list by key
	names    map[string]string      // one copy of each name that many fragments have
	archive  []manifestRef          // objects with intake offsets, oldest first
	settling *IntakeSet             // intake offsets of the newest plan that none of them has
	fresh    *IntakeSet             // and of records since

	fragments    int                           // live ones, with those of packed days
	idSegments   int                           // likewise; none of them is packed
	sinceRecords int                           // records folded since the last checkpoint that s knows of
	sinceBytes   int64                         // and their bytes
	planned      *CheckpointPlan               // not yet written
	parent       chain.Position                // the root that names the runs; 0: the next checkpoint builds on none
	own          string                        // nonce of the caller's claim; see lineage.go
	gone         func(key string, bytes int64) // see OnRemoved; nil: nobody
	layout       layout
}

// NewState is the state of an empty log.
func NewState(shard event.ShardID) *State {
	return &State{
		small:   small{Shard: shard, Floors: map[event.TenantID]tenantFloors{}, IDsBelow: noIDsBelow},
		sources: map[Source]SourceState{}, live: map[string]*entry{}, days: map[int64]*day{},
		ids: map[int64][]*entry{}, names: map[string]string{}, settling: NewIntake(), fresh: NewIntake(), layout: defaultLayout,
	}
}

func (s *State) Shard() event.ShardID { return s.small.Shard }

func (s *State) Position() chain.Position { return s.small.Position }

// Head is where the next record goes.
func (s *State) Head() Head { return Head{s.small.Position, s.small.Last} }

func (s *State) Epoch() Epoch { return s.small.Epoch }

// Owner is the newest claim, nil when released or never claimed.
func (s *State) Owner() *Claim {
	if s.small.Owner == nil {
		return nil
	}
	claim := *s.small.Owner
	return &claim
}

// ClaimNonce is the nonce of the newest claim, as it stands in the names of its
// owner's uploads, and ClaimPosition where that claim stands.
func (s *State) ClaimNonce() string            { return s.small.ClaimNonce }
func (s *State) ClaimPosition() chain.Position { return s.small.ClaimPosition }

// Seq is the number of the last append.
func (s *State) Seq() uint64 { return s.small.Seq }

// LastAppendMS is the writer's clock at the last append, 0 if there was none: for
// people, it decides nothing.
func (s *State) LastAppendMS() int64 { return s.small.LastAppendMS }

// LowWater of the current epoch: its uploads numbered below are committed or
// given up.
func (s *State) LowWater() uint64 { return s.small.LowWater }

// Sources are the progress of all sources, in the order of Source.Compare.
func (s *State) Sources() []SourceState {
	out := make([]SourceState, 0, len(s.sources))
	for _, src := range s.sources {
		out = append(out, src)
	}
	slices.SortFunc(out, func(a, b SourceState) int { return a.Source.Compare(b.Source) })
	return out
}

// SourceOf returns the progress of one source; ok is false if it was never read.
func (s *State) SourceOf(src Source) (SourceState, bool) {
	out, ok := s.sources[src]
	return out, ok
}

// Totals are the sums over the whole log.
func (s *State) Totals() Totals { return s.small.Totals }

// Jobs are the open merges, oldest first.
func (s *State) Jobs() []Job { return slices.Clone(s.small.Jobs) }

// Quarantined are the fragments that were set aside, by key.
func (s *State) Quarantined() []Fragment { return slices.Clone(s.small.Quarantined) }

// OnRemoved has gone called with the key and the bytes of each object that a record leaves without a name from now on. A clone
// tells nobody.
func (s *State) OnRemoved(gone func(key string, bytes int64)) { s.gone = gone }

// removed tells that nothing names the object any more.
func (s *State) removed(e *entry) {
	if s.gone == nil {
		return
	}
	if e.segment != nil {
		s.gone(e.segment.Key, e.segment.Bytes)
		return
	}
	s.gone(e.fragment.Key, e.fragment.Bytes)
}

// Counts are the numbers of live fragments and id segments.
func (s *State) Counts() (fragments, segments int) {
	return s.fragments, s.idSegments
}

// Fragment is the live fragment under key.
func (s *State) Fragment(key string) (Fragment, bool) {
	if e := s.find(key); e != nil && e.fragment != nil {
		return e.full(), true
	}
	return Fragment{}, false
}

// Live says whether the object is a live fragment or id segment.
func (s *State) Live(key string) bool { return s.find(key) != nil }

// Names says whether the state names the object: as live, or as set aside.
func (s *State) Names(key string) bool { return s.find(key) != nil || s.isQuarantined(key) }

// IDSegments are the live segments that hold identities of the id bucket, by
// key.
func (s *State) IDSegments(bucket int64) []IDSegment {
	list := s.ids[bucket]
	out := make([]IDSegment, len(list))
	for i, e := range list {
		out[i] = *e.segment
	}
	return out
}

// IDBuckets are the id buckets that have live segments, ascending.
func (s *State) IDBuckets() []int64 { return slices.Sorted(maps.Keys(s.ids)) }

// Segments calls yield for each live id segment, by day and key.
func (s *State) Segments(yield func(IDSegment) bool) {
	var list []*entry
	for _, d := range s.days {
		list = append(list, d.segments...)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(dayOf(a.segment.Buckets[0].Bucket), dayOf(b.segment.Buckets[0].Bucket)), compareEntries(a, b))
	})
	for _, e := range list {
		if !yield(*e.segment) {
			return
		}
	}
}

// IDsBelow is the second below which id buckets were dropped.
func (s *State) IDsBelow() int64 { return s.small.IDsBelow }

// Fragments calls yield for each live fragment of a tenant ("" for all) whose
// bucket start is in [from, to) seconds, by bucket, tenant and key.
func (s *State) Fragments(t event.TenantID, from, to int64, yield func(Fragment) bool) {
	if from >= to {
		return
	}
	for _, num := range slices.Sorted(maps.Keys(s.days)) {
		if num < dayOf(from) || num > dayOf(to-1) {
			continue
		}
		d := s.day(num)
		for _, bucket := range slices.Sorted(maps.Keys(d.buckets)) {
			if bucket >= from && bucket < to && !d.buckets[bucket].each(t, yield) {
				return
			}
		}
	}
}

// each yields the bucket's fragments of a tenant, and says whether to go on.
func (b bucketIndex) each(t event.TenantID, yield func(Fragment) bool) bool {
	tenants := []event.TenantID{t}
	if t == "" {
		tenants = slices.Sorted(maps.Keys(b))
	}
	for _, tenant := range tenants {
		for _, e := range b[tenant] {
			if !yield(e.full()) {
				return false
			}
		}
	}
	return true
}

// Clone is an independent copy.
func (s *State) Clone() *State {
	c := NewState(s.small.Shard)
	c.small = s.small
	c.small.Floors = maps.Clone(s.small.Floors)
	c.small.Owner = s.Owner()
	c.small.Jobs, c.small.Quarantined = s.Jobs(), s.Quarantined()
	c.sources = maps.Clone(s.sources)
	runs := map[*run]*run{}
	for num, d := range s.days {
		c.days[num] = d.cloneRuns(runs)
		if d.packed != nil {
			c.fragments += d.count
		}
	}
	for _, e := range s.live {
		c.insert(&entry{fragment: e.fragment, ranges: e.ranges, segment: e.segment, run: runs[e.run]})
	}
	c.archive, c.fresh = slices.Clone(s.archive), s.unsaved()
	c.sinceRecords, c.sinceBytes = s.sinceRecords, s.sinceBytes
	c.layout = s.layout
	return c
}

// compareEntries orders entries by key.
func compareEntries(a, b *entry) int { return cmp.Compare(a.key(), b.key()) }
