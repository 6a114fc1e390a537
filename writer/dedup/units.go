package dedup

import (
	"unsafe"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
)

// unit holds the ids of one tenant in one bucket, as far as they are in memory: exact, or, where
// others needed their place, as a summary.
// An evicted unit stays, empty, while others of its bucket are resident: it says that the
// tenant has ids in the bucket (see bucket.known).
type unit struct {
	page
	b       *bucket
	tenant  event.TenantID
	table   table
	summary *summary // never nil
	covered slots    // parts of whose ids of the tenant none is missing from both table and summary
	asks    int      // checks that had to ask filters for parts that are not covered
}

const (
	unitBytes = int64(unsafe.Sizeof(unit{})) + 48 // with its place in the map
	// idBytes is what a further id is reckoned to cost before it is in a table.
	idBytes = 22
	// comingIDBytes is more than that: most are put where little is, and that gets room for some.
	comingIDBytes = 32
	// maxIDBytes of a table that takes more room than it needs.
	maxIDBytes = 25
	// demotedBytes is what demoting an id gives.
	demotedBytes = idBytes - summaryIDBytes
	// fewIDs are not worth a summary.
	fewIDs = 64
	// demoteStep bounds what is demoted of a unit at once, more or less: no longer than is needed.
	demoteStep = 1024
)

// unitOf returns the unit, made and made resident as needed.
func (ix *Index) unitOf(b *bucket, tenant event.TenantID) *unit {
	u := b.units[tenant]
	if u != nil && u.resident {
		return u
	}
	fresh := u == nil
	if fresh {
		u = &unit{b: b, summary: &noSummary}
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
	ix.pages.charge(&u.page, unitBytes+int64(len(u.covered.words))*8+u.table.bytes+u.summary.bytes-u.bytes)
	ix.pages.hold(&u.page, u.table.len > fewIDs)
}

// cover notes that the unit has all that its tenant has in the part.
func (ix *Index) cover(u *unit, slot int) {
	u.covered.set(slot)
	ix.recharge(u)
}

// fits tells whether the unit may grow by so many bytes.
func (ix *Index) fits(u *unit, bytes int64) bool {
	bytes += u.bytes
	return bytes <= ix.cfg.TenantQuotaBytes && bytes <= ix.cfg.BudgetBytes/2
}

// keeps tells whether the unit may take so many exact ids, and they would push out only what is idle.
func (ix *Index) keeps(u *unit, ids int64) bool {
	return ix.fits(u, ids*idBytes) && ix.pages.stays(ids*idBytes)
}

// fitsSummary is fits, for ids whose summary alone is kept, and the unit's other ids are demoted.
func (ix *Index) fitsSummary(u *unit, ids int64) bool {
	return ix.fits(u, ids*summaryIDBytes-int64(u.table.len)*demotedBytes)
}

// roomForSummary tells whether the summary of so many ids would push out only what is idle, and exact ids,
// of which a summary is left.
func (ix *Index) roomForSummary(ids int64) bool {
	return ix.pages.stays(ids*summaryIDBytes - ix.stats.ResidentIDs*demotedBytes)
}

// fold adds all ids of the unit's tenant in the part: exact ones if they can stay so, else to
// the summary, if that fits.
func (ix *Index) fold(u *unit, p *part, ids idseg.Entries) bool {
	covered, n := u.covered.has(p.slot), int64(ids.Len())
	// The tenant has in the bucket what its share of this part lets expect.
	expected := int64(float64(n) / float64(p.at.IDs) * float64(p.b.ids))
	ix.pages.touch(&u.page)
	switch {
	case covered && u.summary.ids == 0:
		return true
	case ix.keeps(u, n) || covered && ix.fits(u, n*idBytes):
		had := u.table.len
		if u.table.len == 0 && n > fewIDs && ix.keeps(u, expected) {
			u.table = presized(int(expected))
		}
		for i := range ids.Len() {
			id, payload := ids.At(i)
			u.table.put(&id, payload)
		}
		ix.stats.ResidentIDs += int64(u.table.len - had)
		ix.pages.requeue(&u.page)
	case covered:
		return true
	case ix.fitsSummary(u, n):
		for i := range ids.Len() {
			id, _ := ids.At(i)
			ix.hashes = append(ix.hashes, leading(&id))
		}
		ix.summarize(u, int(expected))
	default:
		return false
	}
	u.covered.set(p.slot)
	if u.covered.n == p.b.live && u.table.bytes > maxIDBytes*int64(u.table.len) {
		u.table.trim() // less came than was expected
	}
	ix.recharge(u)
	return true
}

// summarize adds ix.hashes, ascending, to the unit's summary.
func (ix *Index) summarize(u *unit, expected int) {
	if u.summary == &noSummary {
		u.summary = &summary{bytes: summaryBytes}
	}
	had := u.summary.ids
	u.summary.add(ix.hashes, expected)
	ix.stats.SummaryIDs += int64(u.summary.ids - had)
	ix.hashes = ix.hashes[:0]
}

// demote moves exact ids of the unit, which must have some, to its summary, in the order of their hashes:
// so its ids are demoted in turn, and what came last stays for longest.
func (ix *Index) demote(u *unit) {
	had, expected := u.table.len, u.table.len+u.summary.ids
	hand := u.summary.hand
	for {
		var entries []entry
		entries, hand = u.table.take(hand)
		for i := range entries {
			ix.hashes = append(ix.hashes, leading(&entries[i].id))
		}
		if hand == 0 || u.table.len == 0 || len(ix.hashes) >= demoteStep {
			break
		}
	}
	ix.stats.Demotions += uint64(had - u.table.len)
	ix.stats.ResidentIDs -= int64(had - u.table.len)
	ix.summarize(u, expected)
	if u.table.len == 0 {
		u.table, hand = table{}, 0
	}
	u.summary.hand, u.summary.blocks = hand, 0
	ix.recharge(u)
	if hand == 0 {
		ix.pages.requeue(&u.page)
	}
}

// enforce demotes and evicts until each tenant is within its quota and all within the
// budget. No pointer to a unit may be held over it.
func (ix *Index) enforce() {
	for p := ix.pages.victim(); p != nil; p = ix.pages.victim() {
		ix.release(p)
	}
}

// makeRoom for bytes that are about to come, as far as that costs no answer "not here" where events come.
// So ids that come are not demoted to make room for themselves.
func (ix *Index) makeRoom(bytes int64) {
	for ix.pages.bytes+bytes > ix.cfg.BudgetBytes {
		p := ix.pages.spare(ix.pages.all, listAll)
		if p == nil {
			return
		}
		ix.release(p)
	}
}

// release takes memory from a page that victim or spare chose.
func (ix *Index) release(p *page) {
	switch {
	case p.exact:
		ix.demote(p.unit)
	case p.unit != nil:
		ix.stats.UnitEvictions++
		ix.evictUnit(p.unit)
	default:
		ix.stats.HeadEvictions++
		ix.evictHead(p.part)
	}
}

// forget takes all that is in memory of the unit's ids, and with it what it covers.
func (ix *Index) forget(u *unit) {
	ix.stats.ResidentIDs -= int64(u.table.len)
	ix.stats.SummaryIDs -= int64(u.summary.ids)
	u.table, u.summary, u.covered, u.asks = table{}, &noSummary, slots{}, 0
}

func (ix *Index) evictUnit(u *unit) {
	ix.pages.detach(&u.page)
	ix.pages.bytes += unitBytes // what stays
	ix.forget(u)
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
			ix.forget(u)
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
