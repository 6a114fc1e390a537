package snapshot

import (
	"math"
	"slices"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/scan"
)

// subject is a tenant's table.
type subject struct {
	tenant event.TenantID
	table  shardlog.Table
}

// listing is what a subject has in one shard at some position. It never changes, and shares with the
// listing before it what did not change between them.
type listing struct {
	floor  event.Timestamp
	erased event.Timestamp // the tenant's erasure; math.MinInt64 if there was none
	count  int64
	days   []dayList // ascending
	weight int64     // about the bytes that it shares with none before it
}

type dayList struct {
	day     int64 // since 1970
	buckets []bucketList
}

type bucketList struct {
	bucket    int64           // start, seconds
	min, max  event.Timestamp // of all fragments
	fragments []scan.Fragment
}

const (
	daySeconds = 86_400
	// listedWeight is what a listed fragment takes with its ranges.
	listedWeight = 600
	// versionWeight is what a listing takes beside them.
	versionWeight = 400
)

func dayOf(bucket int64) int64 {
	d := bucket / daySeconds
	if bucket%daySeconds < 0 {
		d--
	}
	return d
}

// list makes a listing of a state.
func list(s *shardlog.State, sub subject) *listing {
	l := &listing{}
	l.floors(s, sub)
	l.gather(s, sub, shardlog.MinBucket, shardlog.MaxBucket)
	return l
}

func (l *listing) floors(s *shardlog.State, sub subject) {
	l.floor, _ = s.Floor(sub.tenant, sub.table)
	l.erased = math.MinInt64
	if at, ok := s.Erased(sub.tenant); ok {
		l.erased = at
	}
}

// gather appends the buckets of [from, next), which lie behind all that are there.
func (l *listing) gather(s *shardlog.State, sub subject, from, next int64) {
	s.Fragments(sub.tenant, from, next, func(f shardlog.Fragment) bool {
		if f.Table == sub.table {
			l.add(scan.Fragment{Shard: s.Shard(), Fragment: f})
		}
		return true
	})
}

func (l *listing) add(f scan.Fragment) {
	l.count++
	l.weight += listedWeight
	day := dayOf(f.Bucket)
	if n := len(l.days); n == 0 || l.days[n-1].day != day {
		l.days = append(l.days, dayList{day: day})
	}
	d := &l.days[len(l.days)-1]
	if n := len(d.buckets); n == 0 || d.buckets[n-1].bucket != f.Bucket {
		d.buckets = append(d.buckets, bucketList{bucket: f.Bucket, min: f.Min, max: f.Max})
	}
	b := &d.buckets[len(d.buckets)-1]
	b.min, b.max = min(b.min, f.Min), max(b.max, f.Max)
	b.fragments = append(b.fragments, f)
}

// with is l with some buckets as a state has them now.
func (l *listing) with(s *shardlog.State, sub subject, buckets map[int64]bool) *listing {
	next := &listing{count: l.count, days: slices.Clone(l.days), weight: int64(len(l.days)) * 32}
	next.floors(s, sub)
	for bucket := range buckets {
		one := &listing{}
		one.gather(s, sub, bucket, bucket+1)
		next.weight += one.weight
		next.count += one.count - next.put(bucket, one)
	}
	return next
}

// put takes the bucket from another listing, and returns how many fragments it had before. The days are l's own, the buckets in
// them are shared.
func (l *listing) put(bucket int64, from *listing) (before int64) {
	day := dayOf(bucket)
	at, ok := slices.BinarySearchFunc(l.days, day, func(d dayList, day int64) int { return int(d.day - day) })
	if !ok {
		l.days = slices.Insert(l.days, at, dayList{day: day})
	}
	old := l.days[at].buckets
	var made []bucketList
	for i := range old {
		if old[i].bucket != bucket {
			made = append(made, old[i])
		} else {
			before = int64(len(old[i].fragments))
		}
	}
	if from.count > 0 {
		made = append(made, from.days[0].buckets[0])
		slices.SortFunc(made, func(a, b bucketList) int { return int(a.bucket - b.bucket) })
	}
	if l.days[at].buckets = made; len(made) == 0 {
		l.days = slices.Delete(l.days, at, at+1)
	}
	return before
}

// within appends the fragments that may hold an event in [from, to); a to of Unbounded leaves out no time.
func (l *listing) within(out []scan.Fragment, from, to event.Timestamp) []scan.Fragment {
	overlaps := func(lo, hi event.Timestamp) bool { return hi >= from && (lo < to || to == Unbounded) }
	for i := range l.days {
		for j := range l.days[i].buckets {
			b := &l.days[i].buckets[j]
			if !overlaps(b.min, b.max) {
				continue
			}
			for k := range b.fragments {
				if f := &b.fragments[k]; overlaps(f.Min, f.Max) {
					out = append(out, *f)
				}
			}
		}
	}
	return out
}

// maxVersions bounds the past listings of one subject in one shard; one that was left out is made again from the log.
const maxVersions = 64

// versions are the listings of one subject that were given out.
type versions struct {
	newest *version       // nil: to be made of the whole state
	dirty  map[int64]bool // buckets that changed since newest
	past   []*version     // least recently used first
	used   time.Time
}

// version is a listing and the positions at which it is the truth, both included.
type version struct {
	from, to chain.Position
	listing  *listing
}

// present is the listing of the state.
func (v *versions) present(s *shardlog.State, sub subject) *listing {
	at := s.Position()
	switch {
	case v.newest != nil && len(v.dirty) == 0:
		v.newest.to = at
		return v.newest.listing
	case v.newest != nil:
		v.keep(v.newest)
		v.newest = &version{at, at, v.newest.listing.with(s, sub, v.dirty)}
	default:
		v.newest = &version{at, at, list(s, sub)}
	}
	v.dirty = nil
	return v.newest.listing
}

// at is the listing of a past position, if it is kept.
func (v *versions) at(p chain.Position) *listing {
	if v.newest != nil && v.newest.from <= p && p <= v.newest.to {
		return v.newest.listing
	}
	for i, old := range v.past {
		if old.from <= p && p <= old.to {
			v.past = append(slices.Delete(v.past, i, i+1), old)
			return old.listing
		}
	}
	return nil
}

// keep adds a past version.
func (v *versions) keep(old *version) {
	if v.past = append(v.past, old); len(v.past) > maxVersions {
		v.past = slices.Delete(v.past, 0, 1)
	}
}

// stale: newest can't be brought up to the state by its buckets.
func (v *versions) stale() {
	if v.newest != nil {
		v.keep(v.newest)
	}
	v.newest, v.dirty = nil, nil
}

func (v *versions) weight() int64 {
	// Who asks for tenants that are none makes versions, too.
	sum := int64(versionWeight)
	if v.newest != nil { // what it shares with past ones counts here, as they may go first
		sum += v.newest.listing.count * listedWeight
	}
	for _, old := range v.past {
		sum += old.listing.weight + versionWeight
	}
	return sum
}
