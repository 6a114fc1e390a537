package shardlog

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// maxCount bounds each count in a record: anything larger is damage, and sums of
// counts cannot overflow.
const maxCount = int64(1) << 40

// Apply folds r into s, or refuses it and leaves s as it was: a refusal on
// reading is corruption (ErrCorrupt, with the place). stored are the record's
// bytes in the store; the next record must name their checksum.
func (s *State) Apply(r Record, stored []byte) error {
	commit, err := s.check(&r)
	if err != nil {
		if errors.Is(err, ErrNewerFormat) {
			return fmt.Errorf("shard %s, position %d: %w", s.small.Shard, uint64(s.small.Position)+1, err)
		}
		return corrupt(s.small.Shard, s.small.Position+1, err)
	}
	commit()
	s.small.Position = r.Position
	s.small.Last = Link{Nonce: r.Nonce, Sum: objstore.Sum(stored)}
	s.sinceRecords++
	s.sinceBytes += int64(len(stored))
	return nil
}

// Check says whether Apply would take r as the next record once Format, Shard,
// Position, Prev and Nonce are set: what an appender asks before it writes. The
// error is ErrRefused, and ErrFenced too if that is the reason.
func (s *State) Check(r *Record) error {
	try := *r
	s.Head().address(s.small.Shard, &try)
	if try.Nonce == "" {
		try.Nonce = "unset"
	}
	if _, err := s.check(&try); err != nil {
		return fmt.Errorf("%w: shard %s, %s at %d: %w", ErrRefused, s.small.Shard, r.Kind, uint64(try.Position), err)
	}
	return nil
}

// address fills in what ties a record to its place.
func (h Head) address(shard event.ShardID, r *Record) {
	r.Format, r.Shard, r.Position, r.Prev = Format, shard, h.Position+1, nil
	if h.Position > 0 {
		link := h.Link
		r.Prev = &link
	}
}

// check finds out whether the fold takes r, and returns the change: it cannot
// fail any more.
func (s *State) check(r *Record) (commit func(), err error) {
	if err := s.checkPlace(r); err != nil {
		return nil, err
	}
	if err := r.checkBody(); err != nil {
		return nil, err
	}
	switch r.Kind {
	case KindClaim:
		return s.checkClaim(r)
	case KindAppend:
		return s.checkAppend(r)
	case KindRelease:
		return s.checkRelease(r)
	case KindGap:
		return s.checkGap(r)
	case KindExpire:
		return s.checkExpire(r)
	case KindErase:
		return s.checkErase(r)
	case KindMergeBegin:
		return s.checkMergeBegin(r)
	case KindMergeEnd:
		return s.checkMergeEnd(r)
	case KindMergeAbort:
		return s.checkMergeAbort(r)
	default: // KindQuarantine; checkBody knows no other
		return s.checkQuarantine(r)
	}
}

// checkPlace: the right log, the next position, and the same history.
func (s *State) checkPlace(r *Record) error {
	switch {
	case r.Format > Format:
		return fmt.Errorf("%w: format %d, this Togo knows %d", ErrNewerFormat, r.Format, Format)
	case r.Format < 1:
		return refuse("format %d", r.Format)
	case r.Shard != s.small.Shard:
		return refuse("a record of shard %s", r.Shard)
	case r.Position != s.small.Position+1:
		return refuse("a record that says it is at %d", uint64(r.Position))
	case r.Nonce == "":
		return refuse("a record without a nonce")
	case s.small.Position == 0 && r.Prev != nil:
		return refuse("the first record names a predecessor, %q", r.Prev.Nonce)
	case s.small.Position > 0 && r.Prev == nil:
		return refuse("the record names no predecessor")
	case s.small.Position > 0 && *r.Prev != s.small.Last:
		return refuse("history broken: the record follows %s/%s, but position %d holds %s/%s: the bucket was rolled back and gone on, or a record was changed",
			r.Prev.Nonce, r.Prev.Sum, uint64(s.small.Position), s.small.Last.Nonce, s.small.Last.Sum)
	}
	return nil
}

func (s *State) checkClaim(r *Record) (func(), error) {
	c := *r.Claim
	if c.Epoch != s.small.Epoch+1 {
		return nil, refuse("claim of epoch %d after epoch %d", c.Epoch, s.small.Epoch)
	}
	if c.Owner == "" || c.Incarnation == "" {
		return nil, refuse("claim without owner or incarnation")
	}
	return func() {
		s.small.Epoch, s.small.Owner = c.Epoch, &c
		s.small.ClaimNonce, s.small.ClaimPosition = r.Nonce, r.Position
		s.small.LowWater = 0
	}, nil
}

// checkEpoch: only the owner, and only in the epoch of its claim.
func (s *State) checkEpoch(kind Kind, e Epoch) error {
	if e != s.small.Epoch {
		return refuseFenced("%s of epoch %d, but the shard is at epoch %d", kind, e, s.small.Epoch)
	}
	if s.small.Owner == nil {
		return refuseFenced("%s of epoch %d, but the shard has no owner", kind, e)
	}
	return nil
}

func (s *State) checkRelease(r *Record) (func(), error) {
	if err := s.checkEpoch(r.Kind, r.Release.Epoch); err != nil {
		return nil, err
	}
	return func() { s.small.Owner = nil }, nil
}

// checkGap: what is lost is open or not read yet; all from Next on is lost or
// never came.
func (s *State) checkGap(r *Record) (func(), error) {
	g := r.Gap
	cur, known := s.sources[g.Source]
	switch {
	case !IsRangeSet(g.Lost):
		return nil, refuse("gap with lost offsets that are no set")
	case g.Next < 0 || g.LeaderEpoch < -1:
		return nil, refuse("gap with next %d, leader epoch %d", g.Next, g.LeaderEpoch)
	case g.Reason == "" || g.Operator == "":
		return nil, refuse("gap without a reason or an operator")
	}
	if !known {
		if len(g.Lost) > 1 || len(g.Lost) == 1 && g.Lost[0].Next != g.Next {
			return nil, refuse("gap in a source that was never read must be one range that ends at %d", g.Next)
		}
		cur = SourceState{Source: g.Source, Next: g.Next - CountRanges(g.Lost)}
	}
	open := SubtractRanges(cur.Open, g.Lost)
	lost := CountRanges(cur.Open) - CountRanges(open)
	var skipped RangeSet
	if g.Next > cur.Next {
		skipped = RangeSet{{cur.Next, g.Next}}
		lost += g.Next - cur.Next
	}
	beyond := IntersectRanges(g.Lost, RangeSet{{cur.Next, math.MaxInt64}})
	if !slices.Equal(beyond, skipped) {
		return nil, refuse("gap from %d to %d, but the lost offsets from there on are %v", cur.Next, g.Next, beyond)
	}
	// A history that goes on below has another leader epoch: a later one, or any, where a disk was taken
	// back and the count of epochs with it.
	if g.Next < cur.Next && g.LeaderEpoch >= 0 && g.LeaderEpoch <= cur.LeaderEpoch {
		return nil, refuse("gap back from %d to %d within leader epoch %d", cur.Next, g.Next, cur.LeaderEpoch)
	}
	if n := len(open); n > 0 && open[n-1].Next > g.Next {
		return nil, refuse("gap back to %d leaves offset %d open", g.Next, open[n-1].Next-1)
	}
	if len(open) == 0 {
		open = nil
	}
	if lost == 0 && known && g.Next == cur.Next && g.LeaderEpoch == cur.LeaderEpoch {
		return nil, refuse("gap that loses nothing")
	}
	next := SourceState{Source: g.Source, TopicName: cur.TopicName, Next: g.Next, LeaderEpoch: g.LeaderEpoch, Open: open}
	return func() {
		s.sources[g.Source] = next
		s.small.Totals.Lost += lost
	}, nil
}

func checkTable(t Table) error {
	if t != TableEvents && t != TableDeadLetters {
		return refuse("unknown table %q", t)
	}
	return nil
}

func checkTenant(t event.TenantID) error {
	if n := len(t); n == 0 || n > 150 {
		return refuse("a tenant's name of %d bytes", n)
	}
	return nil
}

// checkObject: what every named object has.
func checkObject(key, sum string, bytes int64) error {
	if err := objstore.ValidateKey(key); err != nil {
		return refuse("object key: %v", err)
	}
	if !isHex(sum, 32) {
		return refuse("object %q with checksum %q", key, sum)
	}
	if bytes <= 0 || bytes > maxCount {
		return refuse("object %q of %d bytes", key, bytes)
	}
	return nil
}

// maxSecond is past the last second of an int64 of nanoseconds.
const maxSecond = int64(9_223_372_037)

// MinBucket and MaxBucket bound the starts of all buckets: every start is in [MinBucket, MaxBucket).
const (
	MinBucket = -maxSecond
	MaxBucket = maxSecond
)

// maxKeySpan bounds the text of KeyMin and KeyMax: each commit and each state carries it.
const maxKeySpan = 4 << 10

func checkFragment(f *Fragment) error {
	if err := cmp.Or(checkObject(f.Key, f.Sum, f.Bytes), checkTable(f.Table), checkTenant(f.Tenant)); err != nil {
		return err
	}
	switch {
	case f.Rows <= 0 || f.Rows > maxCount:
		return refuse("fragment %q of %d rows", f.Key, f.Rows)
	case f.Min > f.Max:
		return refuse("fragment %q from %s to %s", f.Key, f.Min, f.Max)
	case f.SeqMin > f.SeqMax:
		return refuse("fragment %q of appends %d to %d", f.Key, f.SeqMin, f.SeqMax)
	case f.Bucket < -maxSecond || f.Bucket > floorSecond(f.Min):
		return refuse("fragment %q of bucket %d holds %s", f.Key, f.Bucket, f.Min)
	case f.Level < 0 || f.Level > MaxLevel:
		return refuse("fragment %q of level %d", f.Key, f.Level)
	case len(f.KeyMin) > maxKeySpan || len(f.KeyMax) > maxKeySpan:
		return refuse("fragment %q with sort keys of %d and %d bytes", f.Key, len(f.KeyMin), len(f.KeyMax))
	}
	return nil
}

func checkSegment(seg *IDSegment) error {
	if err := checkObject(seg.Key, seg.Sum, seg.Bytes); err != nil {
		return err
	}
	if len(seg.Buckets) == 0 {
		return refuse("id segment %q without a bucket", seg.Key)
	}
	var ids int64
	for i, b := range seg.Buckets {
		switch {
		case i > 0 && b.Bucket <= seg.Buckets[i-1].Bucket:
			return refuse("id segment %q with bucket %d behind %d", seg.Key, b.Bucket, seg.Buckets[i-1].Bucket)
		case b.Bucket < -maxSecond || b.Bucket > maxSecond:
			return refuse("id segment %q with bucket %d", seg.Key, b.Bucket)
		case b.IDs <= 0 || b.IDs > maxCount:
			return refuse("id segment %q with %d ids in bucket %d", seg.Key, b.IDs, b.Bucket)
		case b.Offset < 0 || b.Length <= 0 || b.Offset > seg.Bytes || b.Length > seg.Bytes-b.Offset:
			return refuse("id segment %q of %d bytes with bucket %d at %d, %d bytes", seg.Key, seg.Bytes, b.Bucket, b.Offset, b.Length)
		}
		ids += b.IDs
	}
	if ids != seg.IDs {
		return refuse("id segment %q of %d ids, but its buckets hold %d", seg.Key, seg.IDs, ids)
	}
	return nil
}
