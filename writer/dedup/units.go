package dedup

import (
	"unsafe"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// unit holds the ids of one tenant in one bucket, as far as they are in memory.
// An evicted unit stays, empty, while others of its bucket are resident: it says that the
// tenant has ids in the bucket (see bucket.known).
type unit struct {
	page
	b       *bucket
	tenant  event.TenantID
	table   table
	covered slots // parts of whose ids of the tenant none is missing from table
	asks    int   // checks that had to ask filters since it became resident
}

const (
	unitBytes = int64(unsafe.Sizeof(unit{})) + 48 // with its place in the map
	// idBytes is what a further id is reckoned to cost before it is in a table.
	idBytes = 22
)

// unitOf returns the unit, made and made resident as needed.
func (ix *Index) unitOf(b *bucket, tenant event.TenantID) *unit {
	u := b.units[tenant]
	if u != nil && u.resident {
		return u
	}
	fresh := u == nil
	if fresh {
		u = &unit{b: b}
		u.page.unit = u
	} else {
		ix.pages.bytes -= unitBytes // charged as a page again
	}
	ix.pages.attach(&u.page, tenant, unitBytes)
	b.residents++
	if fresh {
		u.tenant = u.account.tenant // not a piece of some larger string
		b.units[u.tenant] = u
		// It has no ids in the parts whose every tenant is known.
		u.covered = b.known.clone()
		ix.recharge(u)
	}
	return u
}

// recharge sets what the unit is charged with to what it has.
func (ix *Index) recharge(u *unit) {
	ix.pages.charge(&u.page, unitBytes+int64(len(u.covered.words))*8+u.table.bytes-u.bytes)
}

// cover notes that the unit's table has all that its tenant has in the part.
func (ix *Index) cover(u *unit, slot int) {
	u.covered.set(slot)
	ix.recharge(u)
}

// fits tells whether so many more ids may be kept in the unit.
func (ix *Index) fits(u *unit, ids int64) bool {
	bytes := u.bytes + ids*idBytes
	return bytes <= ix.cfg.TenantQuotaBytes && bytes <= ix.cfg.BudgetBytes/2
}

// fold adds all ids of the unit's tenant in the part, if they fit.
func (ix *Index) fold(u *unit, p *part, ids idseg.Entries) bool {
	if u.covered.has(p.slot) {
		return true
	}
	if !ix.fits(u, int64(ids.Len())) {
		return false
	}
	had := u.table.len
	for i := range ids.Len() {
		id, payload := ids.At(i)
		u.table.put(&id, payload)
	}
	ix.stats.ResidentIDs += int64(u.table.len - had)
	ix.cover(u, p.slot)
	return true
}

// enforce evicts until each tenant is within its quota and all within the
// budget. No pointer to a unit may be held over it.
func (ix *Index) enforce() {
	for p := ix.pages.victim(); p != nil; p = ix.pages.victim() {
		if p.unit != nil {
			ix.stats.UnitEvictions++
			ix.evictUnit(p.unit)
		} else {
			ix.stats.HeadEvictions++
			ix.evictHead(p.part)
		}
	}
}

func (ix *Index) evictUnit(u *unit) {
	ix.pages.detach(&u.page)
	ix.pages.bytes += unitBytes // what stays
	ix.stats.ResidentIDs -= int64(u.table.len)
	u.table, u.covered, u.asks = table{}, slots{}, 0
	u.b.residents--
	if u.b.residents == 0 {
		ix.dropUnits(u.b)
	}
}

// dropUnits forgets all units of a bucket, and with them which tenants it has.
func (ix *Index) dropUnits(b *bucket) {
	for _, u := range b.units {
		if u.resident {
			ix.pages.detach(&u.page)
			ix.stats.ResidentIDs -= int64(u.table.len)
		} else {
			ix.pages.bytes -= unitBytes
		}
	}
	b.units = make(map[event.TenantID]*unit)
	b.known = slots{}
	b.residents = 0
}

func (ix *Index) evictHead(p *part) {
	if p.resident {
		ix.pages.detach(&p.page)
		p.head = nil
	}
}
