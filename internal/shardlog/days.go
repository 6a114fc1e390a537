package shardlog

import (
	"cmp"
	"slices"

	"github.com/togodb/togo/internal/event"
)

const daySeconds = 86400

// dayOf is the number since 1970 of the day that holds a second.
func dayOf(second int64) int64 {
	d := second / daySeconds
	if second%daySeconds < 0 {
		d--
	}
	return d
}

// entry is one live object: a fragment or an id segment.
type entry struct {
	fragment *Fragment // never changed; its Ranges are in ranges
	ranges   string    // packed; see packRanges
	segment  *IDSegment
	run      *run // the manifest that holds it; nil: none yet
	dead     bool // removed since
}

func (e *entry) key() string {
	if e.fragment != nil {
		return e.fragment.Key
	}
	return e.segment.Key
}

// idDays is where the days of id segments are counted from: these have manifests of their own, so that
// those of fragments can rest packed.
const idDays = int64(1) << 40

// home is the day that lists the entry, for as long as it lives. A segment of several days is at
// home in the day of its first bucket.
func (e *entry) home() int64 {
	switch {
	case e.run != nil:
		return e.run.day
	case e.fragment != nil:
		return dayOf(e.fragment.Bucket)
	}
	return idDays + dayOf(e.segment.Buckets[0].Bucket)
}

// bucketIndex lists the fragments of one data bucket, each tenant's by key.
type bucketIndex map[event.TenantID][]*entry

// day holds the live entries of one day of event time, and how the checkpoints
// written so far hold them.
type day struct {
	packed   [][]byte // bodies of runs, until somebody asks for the day: then only count and runs are set; see rest.go
	buckets  map[int64]bucketIndex
	segments []*entry // by key
	count    int      // live entries

	runs    []*run    // manifests, oldest first; levels never rise along them
	fresh   []*entry  // not in a manifest yet, dead ones among them
	removed []removal // not in a manifest yet
	quiet   int       // checkpoints since the last change
}

// run is one manifest of a day.
type run struct {
	day     int64
	ref     manifestRef
	removed []removal // what the manifest takes out of older ones
}

// removal takes an entry out of the manifest that holds it.
type removal struct {
	key  string
	from *run
}

// insertSorted puts e in its place.
func insertSorted(list []*entry, e *entry) []*entry {
	at, _ := slices.BinarySearchFunc(list, e, compareEntries)
	return slices.Insert(list, at, e)
}

// removeSorted takes e out.
func removeSorted(list []*entry, e *entry) []*entry {
	at, ok := slices.BinarySearchFunc(list, e, compareEntries)
	if !ok {
		panic("shardlog: an index misses " + e.key())
	}
	return slices.Delete(list, at, at+1)
}

func (s *State) day(num int64) *day {
	d := s.days[num]
	if d == nil {
		d = &day{buckets: map[int64]bucketIndex{}}
		s.days[num] = d
	}
	s.open(d)
	return d
}

// addFragment folds a new fragment in.
func (s *State) addFragment(f Fragment) { s.insert(s.fragmentEntry(f, nil)) }

// fragmentEntry is the entry of a fragment. A state may hold a million of them, so
// equal names share their memory, and the ranges are one string.
func (s *State) fragmentEntry(f Fragment, made *run) *entry {
	e := &entry{fragment: &f, ranges: packRanges(f.Ranges), run: made}
	f.Ranges = nil
	f.Tenant = event.TenantID(s.intern(string(f.Tenant)))
	f.SortKey, f.KeyMin, f.KeyMax = s.intern(f.SortKey), s.intern(f.KeyMin), s.intern(f.KeyMax)
	if f.Table == TableEvents {
		f.Table = TableEvents // the constant's memory
	} else {
		f.Table = TableDeadLetters
	}
	return e
}

// full is the entry's fragment as it was added.
func (e *entry) full() Fragment {
	f := *e.fragment
	f.Ranges = unpackRanges(e.ranges)
	return f
}

// maxNames bounds the interned names; tenants come and go.
const maxNames = 1 << 16

func (s *State) intern(name string) string {
	if known, ok := s.names[name]; ok {
		return known
	}
	if len(s.names) >= maxNames {
		clear(s.names)
	}
	s.names[name] = name
	return name
}

// addSegment folds a new id segment in, if any of its buckets is still kept.
func (s *State) addSegment(seg IDSegment) {
	if seg.Buckets[len(seg.Buckets)-1].Bucket >= s.small.IDsBelow {
		s.insert(&entry{segment: &seg})
	}
}

// insert puts an entry into every index.
func (s *State) insert(e *entry) {
	d := s.day(e.home())
	s.live[e.key()] = e
	d.count++
	if e.run == nil {
		d.fresh = append(d.fresh, e)
	}
	if e.segment != nil {
		s.idSegments++
		d.segments = insertSorted(d.segments, e)
		for _, b := range e.segment.Buckets {
			if b.Bucket >= s.small.IDsBelow {
				s.ids[b.Bucket] = insertSorted(s.ids[b.Bucket], e)
			}
		}
		return
	}
	s.fragments++
	f := e.fragment
	index := d.buckets[f.Bucket]
	if index == nil {
		index = bucketIndex{}
		d.buckets[f.Bucket] = index
	}
	index[f.Tenant] = insertSorted(index[f.Tenant], e)
}

// remove takes an entry out of every index.
func (s *State) remove(e *entry) {
	num := e.home()
	d := s.days[num]
	delete(s.live, e.key())
	e.dead = true
	d.count--
	if e.run != nil {
		d.removed = append(d.removed, removal{e.key(), e.run})
	}
	if e.segment != nil {
		s.idSegments--
		d.segments = removeSorted(d.segments, e)
		for _, b := range e.segment.Buckets {
			s.dropFromBucket(b.Bucket, e)
		}
	} else {
		s.fragments--
		f := e.fragment
		index := d.buckets[f.Bucket]
		if index[f.Tenant] = removeSorted(index[f.Tenant], e); len(index[f.Tenant]) == 0 {
			delete(index, f.Tenant)
		}
		if len(index) == 0 {
			delete(d.buckets, f.Bucket)
		}
	}
	if d.count == 0 && len(d.runs) == 0 && s.planned == nil {
		delete(s.days, num) // no checkpoint knows of it
	}
}

// dropFromBucket takes a segment out of an id bucket that is still kept.
func (s *State) dropFromBucket(bucket int64, e *entry) {
	list, ok := s.ids[bucket]
	if !ok {
		return
	}
	if list = removeSorted(list, e); len(list) == 0 {
		delete(s.ids, bucket)
		return
	}
	s.ids[bucket] = list
}

// entries are the day's live entries, in no order.
func (d *day) entries() []*entry {
	out := make([]*entry, 0, d.count)
	out = append(out, d.segments...)
	for _, index := range d.buckets {
		for _, list := range index {
			out = append(out, list...)
		}
	}
	return out
}

// compareHomes orders the entries of a day as its manifests list them.
func compareHomes(a, b *entry) int {
	if a.fragment == nil || b.fragment == nil {
		if a.fragment == nil && b.fragment == nil {
			return compareEntries(a, b)
		}
		if a.fragment == nil {
			return 1
		}
		return -1
	}
	return cmp.Or(
		cmp.Compare(a.fragment.Bucket, b.fragment.Bucket),
		cmp.Compare(a.fragment.Tenant, b.fragment.Tenant),
		compareEntries(a, b))
}

// cloneRuns copies how manifests hold the day, without its entries.
func (d *day) cloneRuns(copies map[*run]*run) *day {
	c := &day{buckets: map[int64]bucketIndex{}, quiet: d.quiet, packed: d.packed}
	if c.packed != nil {
		c.count = d.count
	}
	for _, r := range d.runs {
		copied := &run{day: r.day, ref: r.ref}
		copies[r] = copied
		c.runs = append(c.runs, copied)
	}
	move := func(in []removal) []removal {
		out := make([]removal, len(in))
		for i, m := range in {
			out[i] = removal{m.key, copies[m.from]}
		}
		return out
	}
	for i, r := range d.runs {
		c.runs[i].removed = move(r.removed)
	}
	c.removed = move(d.removed)
	return c
}
