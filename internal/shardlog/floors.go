package shardlog

import (
	"maps"
	"math"
	"slices"

	"github.com/togodb/togo/internal/event"
)

// noFloor keeps everything; noIDsBelow likewise, in seconds.
const (
	noFloor    = event.Timestamp(math.MinInt64)
	noIDsBelow = int64(math.MinInt64) / 1e9
)

func (f tenantFloors) of(table Table) event.Timestamp {
	if table == TableEvents {
		return f.Events
	}
	return f.DeadLetters
}

func (f *tenantFloors) raise(table Table, to event.Timestamp) {
	if table == TableEvents {
		f.Events = max(f.Events, to)
	} else {
		f.DeadLetters = max(f.DeadLetters, to)
	}
}

// floors of one tenant alone ("": those of all tenants).
func (s *State) floors(t event.TenantID) tenantFloors {
	if f, ok := s.small.Floors[t]; ok {
		return f
	}
	return tenantFloors{noFloor, noFloor, noFloor}
}

// Floor of a tenant's table, and whether an erasure set it. Without a floor it
// is the smallest Timestamp.
func (s *State) Floor(t event.TenantID, table Table) (floor event.Timestamp, erased bool) {
	own := s.floors(t)
	floor = max(own.of(table), s.floors("").of(table))
	return floor, table == TableEvents && own.Erased != noFloor && own.Erased == floor
}

// Floored are the tenants with floors of their own, by a retention or an erasure, in order.
func (s *State) Floored() []event.TenantID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.small.Floors)), func(t event.TenantID) bool { return t == "" })
}

// Erased is the event time below which a tenant's events were erased: whatever
// floor came later, no payload of such an event is kept.
func (s *State) Erased(t event.TenantID) (event.Timestamp, bool) {
	f := s.floors(t)
	return f.Erased, f.Erased != noFloor
}

// HighestFloor is the highest floor that any tenant's table has: nothing at or above it lies
// below a floor. Without any floor it is the smallest Timestamp.
func (s *State) HighestFloor(table Table) event.Timestamp {
	highest := noFloor
	for _, f := range s.small.Floors {
		highest = max(highest, f.of(table))
	}
	return highest
}

// checkExpire: floors and the end of the ids never fall, and ids go only below
// the floors of all tenants, of both tables.
func (s *State) checkExpire(r *Record) (func(), error) {
	x := r.Expire
	next := map[event.TenantID]tenantFloors{}
	get := func(t event.TenantID) tenantFloors {
		if f, ok := next[t]; ok {
			return f
		}
		return s.floors(t)
	}
	if len(x.Floors) == 0 {
		return nil, refuse("expire without a floor")
	}
	for _, floor := range x.Floors {
		f := get(floor.Tenant)
		if err := checkTable(floor.Table); err != nil {
			return nil, err
		}
		if floor.Floor < f.of(floor.Table) {
			return nil, refuse("the floor of %q %s falls from %s to %s", floor.Tenant, floor.Table, f.of(floor.Table), floor.Floor)
		}
		f.raise(floor.Table, floor.Floor)
		next[floor.Tenant] = f
	}
	idsBelow := s.small.IDsBelow
	if x.IDsBelow != nil {
		idsBelow = *x.IDsBelow
		lowest := min(get("").Events, get("").DeadLetters)
		if idsBelow < s.small.IDsBelow {
			return nil, refuse("the end of the ids falls from %d to %d s", s.small.IDsBelow, idsBelow)
		}
		if idsBelow > floorSecond(lowest) {
			return nil, refuse("ids below %d s dropped, but the floor of all tenants is %s", idsBelow, lowest)
		}
	}
	return func() {
		for t, f := range next {
			s.small.Floors[t] = f
		}
		highest := max(s.HighestFloor(TableEvents), s.HighestFloor(TableDeadLetters))
		s.dropFragments(floorSecond(highest), func(f *Fragment) bool {
			floor, _ := s.Floor(f.Tenant, f.Table)
			return f.Max < floor
		})
		s.dropIDs(idsBelow)
	}, nil
}

// floorSecond is the second that holds a timestamp.
func floorSecond(t event.Timestamp) int64 {
	sec := int64(t) / 1e9
	if int64(t)%1e9 < 0 {
		sec--
	}
	return sec
}

// checkErase: all that the shard holds of the tenant goes. The floor must lie
// above all of it, so that nothing is both erased and above the floor.
func (s *State) checkErase(r *Record) (func(), error) {
	x := r.Erase
	if err := checkTenant(x.Tenant); err != nil {
		return nil, err
	}
	if x.Floor == noFloor {
		return nil, refuse("erase of %q below no time at all: late copies would come back", x.Tenant)
	}
	f := s.floors(x.Tenant)
	if floor, _ := s.Floor(x.Tenant, TableEvents); x.Floor < floor {
		return nil, refuse("the floor of %q falls from %s to %s", x.Tenant, floor, x.Floor)
	}
	for _, d := range s.days {
		s.open(d)
	}
	for _, e := range s.live {
		if e.fragment != nil && e.fragment.Tenant == x.Tenant && e.fragment.Table == TableEvents && e.fragment.Max >= x.Floor {
			return nil, refuse("erase of %q below %s, but fragment %q reaches %s", x.Tenant, x.Floor, e.fragment.Key, e.fragment.Max)
		}
	}
	f.Events, f.Erased = max(f.Events, x.Floor), x.Floor
	return func() {
		s.small.Floors[x.Tenant] = f
		s.dropFragments(maxSecond, func(f *Fragment) bool { return f.Tenant == x.Tenant })
	}, nil
}

// dropFragments removes the fragments that gone picks, quarantined ones too; it picks none whose bucket starts
// after the second upTo.
func (s *State) dropFragments(upTo int64, gone func(*Fragment) bool) {
	for num, d := range s.days {
		if num > dayOf(upTo) {
			continue
		}
		s.open(d)
		for _, index := range d.buckets {
			for _, list := range index {
				for _, e := range slices.Clone(list) {
					if gone(e.fragment) {
						s.remove(e)
						s.removed(e)
					}
				}
			}
		}
	}
	s.small.Quarantined = slices.DeleteFunc(s.Quarantined(), func(f Fragment) bool {
		out := gone(&f)
		if out {
			s.removed(&entry{fragment: &f})
		}
		return out
	})
}

// dropIDs drops the id buckets that start below a second, and the segments that
// have no other.
func (s *State) dropIDs(below int64) {
	s.small.IDsBelow = below
	for bucket, list := range s.ids {
		if bucket >= below {
			continue
		}
		delete(s.ids, bucket)
		for _, e := range list {
			if buckets := e.segment.Buckets; buckets[len(buckets)-1].Bucket < below && !e.dead {
				s.remove(e)
				s.removed(e)
			}
		}
	}
}
