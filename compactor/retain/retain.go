// Package retain decides which floors of a shard rise, by the settings of its tenants: the
// expire record that a compactor appends next, if any. It is pure.
//
// A tenant's table (events, dead letters) asks for the floor now - retention, down to the
// start of a data bucket, so that what lies below is whole fragments; a retention of 0 asks
// for none. Writing goal for that floor, or the one that the log has already if it is
// higher (floors never fall: data that went does not come back when a retention is
// made longer):
//
//  1. No floor rises above its goal. A floor of all tenants rises at most to the lowest goal that any
//     tenant has who may hold something here: those that the settings name, those with
//     fragments, and all others, who have the default.
//  2. A floor is named only if something lies wholly below: a fragment of the tenant, or
//     identities that nobody needs any more. So a shard without old data gets no records,
//     and no shard gets more than one for each data bucket that passes, each change of
//     settings, and each late commit (letters that come below their floor go with the
//     floor that is there). After the record nothing lies wholly below any goal.
//  3. Identities go with the id buckets that lie below the floors of all tenants, of both
//     tables: as long as any tenant may hold an event of a time, a late copy of it is known.
//
// Time comes from the caller, who takes the smaller of two clocks ([Clock]): one that
// is far ahead must not expire anything.
package retain

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

// Settings are those of all tenants: a *tenants.Table.
type Settings interface {
	// Get is what holds for a tenant; of "", for all that Tenants does not list.
	Get(event.TenantID) tenants.Settings
	Tenants() []event.TenantID
}

// Rules are what a shard's floors follow.
type Rules struct {
	Settings Settings
	// MayHold says whether a tenant may have events, or dead letters, in the shard, now or
	// from events that still come late. nil: everybody may. See Holders.
	MayHold func(event.TenantID) (events, letters bool)
	// The store's bucket sizes.
	DataBucketSeconds, IDBucketSeconds int64
}

// none is no floor at all.
const none = event.Timestamp(math.MinInt64)

// maxFloors bounds a record; what is left rises with the next one.
const maxFloors = 10_000

// slot is a tenant's table.
type slot struct {
	tenant event.TenantID
	table  shardlog.Table
}

var bothTables = []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters}

// ends are the lowest and the highest last timestamp of some fragments.
type ends struct{ min, max event.Timestamp }

// plan is one decision under way.
type plan struct {
	s     *shardlog.State
	rules Rules
	now   event.Timestamp
	// old are the fragments that lie wholly below the goal of their tenant's table.
	old map[slot]ends
	// low is the lowest goal of each table.
	low map[shardlog.Table]event.Timestamp
}

// Expire is the record to append at the state's head, or nil if there is nothing to do. Its
// cost grows with the fragments that lie below the highest goal: those of tenants that
// keep them longer than others.
func Expire(s *shardlog.State, rules Rules, now event.Timestamp) *shardlog.Expire {
	p := &plan{s: s, rules: rules, now: now, old: map[slot]ends{}, low: map[shardlog.Table]event.Timestamp{}}
	here := p.scan()
	p.lowest(here)
	x := &shardlog.Expire{}
	below, ids := p.idsBelow()
	for _, table := range bothTables {
		if ids || p.anyBelow(table, p.low[table]) {
			x.Floors = append(x.Floors, shardlog.Floor{Table: table, Floor: p.low[table]})
		}
	}
	for at, old := range p.old {
		if old.max >= p.low[at.table] { // else the floor of all tenants takes it
			x.Floors = append(x.Floors, shardlog.Floor{Tenant: at.tenant, Table: at.table, Floor: p.goal(at.tenant, at.table)})
		}
	}
	if len(x.Floors) == 0 {
		return nil
	}
	slices.SortFunc(x.Floors, func(a, b shardlog.Floor) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Table, b.Table))
	})
	x.Floors = x.Floors[:min(len(x.Floors), maxFloors)] // those of all tenants stand first
	if ids {
		x.IDsBelow = &below
	}
	return x
}

// scan notes what lies below its goal, and which tenants have fragments that old that it
// matters.
func (p *plan) scan() (here map[slot]bool) {
	here = map[slot]bool{}
	top := p.s.HighestFloor(shardlog.TableDeadLetters) // letters may have come below it
	for _, t := range append(p.rules.Settings.Tenants(), "") {
		for _, table := range bothTables {
			top = max(top, p.asked(t, table))
		}
	}
	if top == none {
		return here
	}
	goals := map[slot]event.Timestamp{}
	note := func(f shardlog.Fragment) bool {
		at := slot{f.Tenant, f.Table}
		goal, known := goals[at]
		if !known {
			goal = p.goal(f.Tenant, f.Table)
			goals[at], here[at] = goal, true
		}
		if f.Max < goal {
			old, ok := p.old[at]
			if !ok {
				old = ends{f.Max, f.Max}
			}
			p.old[at] = ends{min(old.min, f.Max), max(old.max, f.Max)}
		}
		return true
	}
	p.s.Fragments("", math.MinInt64/int64(time.Second), floorDiv(int64(top), int64(time.Second)), note)
	for _, f := range p.s.Quarantined() {
		note(f)
	}
	return here
}

// lowest finds the lowest goal of each table.
func (p *plan) lowest(here map[slot]bool) {
	for _, table := range bothTables {
		low := p.goal("", table)
		for _, t := range p.rules.Settings.Tenants() {
			if here[slot{t, table}] || p.mayHold(t, table) {
				low = min(low, p.goal(t, table))
			}
		}
		p.low[table] = low
	}
}

func (p *plan) mayHold(t event.TenantID, table shardlog.Table) bool {
	if t == event.Unroutable && table == shardlog.TableEvents {
		return false
	}
	if p.rules.MayHold == nil {
		return true
	}
	events, letters := p.rules.MayHold(t)
	if table == shardlog.TableEvents {
		return events
	}
	return letters
}

// anyBelow says whether a fragment of the table lies wholly below a floor of all tenants.
func (p *plan) anyBelow(table shardlog.Table, floor event.Timestamp) bool {
	for at, old := range p.old {
		if at.table == table && old.min < floor {
			return true
		}
	}
	return false
}

// idsBelow is the second below which identities go, and whether some do.
func (p *plan) idsBelow() (below int64, some bool) {
	low := min(p.low[shardlog.TableEvents], p.low[shardlog.TableDeadLetters])
	if low == none {
		return 0, false
	}
	size := p.rules.IDBucketSeconds
	below = floorDiv(floorDiv(int64(low), int64(time.Second)), size) * size
	buckets := p.s.IDBuckets()
	return below, below > p.s.IDsBelow() && len(buckets) > 0 && buckets[0] < below
}

func (p *plan) floor(t event.TenantID, table shardlog.Table) event.Timestamp {
	f, _ := p.s.Floor(t, table)
	return f
}

// goal is the floor that a tenant's table should have: what is asked for, or what it has.
func (p *plan) goal(t event.TenantID, table shardlog.Table) event.Timestamp {
	return max(p.asked(t, table), p.floor(t, table))
}

// asked is the start of the data bucket that holds now - retention.
func (p *plan) asked(t event.TenantID, table shardlog.Table) event.Timestamp {
	settings := p.rules.Settings.Get(t)
	keep := settings.Retention
	if table == shardlog.TableDeadLetters {
		keep = settings.LettersRetention
	}
	if keep <= 0 || p.now < none+event.Timestamp(keep) {
		return none
	}
	bucket := p.rules.DataBucketSeconds
	at := floorDiv(floorDiv(int64(p.now)-int64(keep), int64(time.Second)), bucket) * bucket
	if at < math.MinInt64/int64(time.Second) {
		return none
	}
	return event.Timestamp(at * int64(time.Second))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Clock is the time by which floors rise: the smaller of the own clock and the store's.
func Clock(own, store time.Time) event.Timestamp {
	t := own
	if store.Before(own) {
		t = store
	}
	switch year := t.Year(); {
	case year < 1678:
		return none
	case year > 2261:
		return math.MaxInt64
	}
	return event.Timestamp(t.UnixNano())
}

// Holders tells by the placements which tenants may hold something in a shard: events
// where a tenant was ever placed, letters there, and in every shard that dead letters go to.
// What it says holds below the table's horizon, and floors rise below now. So now, the
// own clock's, must lie below it; else the table is old, and everybody may (nil).
func Holders(table *placements.Table, shard event.ShardID, now time.Time) func(event.TenantID) (events, letters bool) {
	if Clock(now, now) >= table.Horizon() {
		return nil
	}
	dead := slices.Contains(table.DeadShards(), shard)
	return func(t event.TenantID) (events, letters bool) {
		events = t != event.Unroutable && slices.Contains(table.ShardsOf(t, placements.Beginning, table.Horizon()), shard)
		return events, events || dead
	}
}
