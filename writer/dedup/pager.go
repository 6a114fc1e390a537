package dedup

import (
	"strings"

	"github.com/togodb/togo/internal/event"
)

// checksPerTick: uses within so many checks count as one, so that a hot page is
// not moved in the lists at each check.
const checksPerTick = 64

// page is what is evicted as a whole: a unit's ids, or a part's head.
type page struct {
	bytes    int64 // charged while resident
	account  *account
	links    [2]link // in the list of all pages, and of the account's
	tick     uint64  // of the last use
	resident bool
	unit     *unit // one of the two is set
	part     *part
}

type link struct{ prev, next *page }

const (
	listAll = iota
	listAccount
)

// ring is a list of pages, least recently used first; its root is no page.
type ring struct{ root page }

func (r *ring) init(list int) { r.root.links[list] = link{&r.root, &r.root} }

func (r *ring) pushBack(p *page, list int) {
	last := r.root.links[list].prev
	p.links[list] = link{last, &r.root}
	last.links[list].next = p
	r.root.links[list].prev = p
}

func (p *page) unlink(list int) {
	l := p.links[list]
	l.prev.links[list].next = l.next
	l.next.links[list].prev = l.prev
	p.links[list] = link{}
}

// oldest page of the ring; nil if it is empty.
func (r *ring) oldest(list int) *page {
	if p := r.root.links[list].next; p != &r.root {
		return p
	}
	return nil
}

// account is what one tenant has in memory.
type account struct {
	tenant event.TenantID
	bytes  int64
	pages  ring
	isOver bool // stands in pager.over
}

// pager keeps the books of what is paged in.
type pager struct {
	budget, quota int64
	bytes         int64 // of all resident pages, and of what evicted units leave behind
	all           *ring
	accounts      map[event.TenantID]*account
	over          []*account // that went above the quota
	tick          uint64
}

func newPager(budget, quota int64) pager {
	g := pager{budget: budget, quota: quota, all: new(ring), accounts: make(map[event.TenantID]*account)}
	g.all.init(listAll)
	return g
}

// attach makes p resident, charged to the tenant.
func (g *pager) attach(p *page, tenant event.TenantID, bytes int64) {
	a := g.accounts[tenant]
	if a == nil {
		a = &account{tenant: event.TenantID(strings.Clone(string(tenant)))}
		a.pages.init(listAccount)
		g.accounts[a.tenant] = a
	}
	p.account, p.tick, p.resident, p.bytes = a, g.tick, true, 0
	g.all.pushBack(p, listAll)
	a.pages.pushBack(p, listAccount)
	g.charge(p, bytes)
}

// charge adds to what p is charged with; it may be negative.
func (g *pager) charge(p *page, bytes int64) {
	p.bytes += bytes
	g.bytes += bytes
	if a := p.account; a != nil {
		a.bytes += bytes
		if a.bytes > g.quota && !a.isOver {
			a.isOver = true
			g.over = append(g.over, a)
		}
	}
}

func (g *pager) detach(p *page) {
	g.charge(p, -p.bytes)
	p.unlink(listAll)
	g.leaveAccount(p)
	p.resident = false
}

func (g *pager) leaveAccount(p *page) {
	a := p.account
	if a == nil {
		return
	}
	p.unlink(listAccount)
	p.account = nil
	a.bytes -= p.bytes
	if a.pages.oldest(listAccount) == nil {
		delete(g.accounts, a.tenant)
	}
}

// touch makes p the most recently used.
func (g *pager) touch(p *page) {
	if p.tick == g.tick {
		return
	}
	p.tick = g.tick
	p.unlink(listAll)
	g.all.pushBack(p, listAll)
	if p.account != nil {
		p.unlink(listAccount)
		p.account.pages.pushBack(p, listAccount)
	}
}

// share touches the head p for a tenant. A head that serves a second tenant is
// nobody's charge any more: only the budget bounds it.
func (g *pager) share(p *page, tenant event.TenantID) {
	g.touch(p)
	if p.account != nil && p.account.tenant != tenant {
		g.leaveAccount(p)
	}
}

// victim is the next page to evict: of a tenant above its quota, or of all.
func (g *pager) victim() *page {
	for n := len(g.over); n > 0; n = len(g.over) {
		a := g.over[n-1]
		if a.bytes > g.quota {
			return a.pages.oldest(listAccount)
		}
		a.isOver = false
		g.over = g.over[:n-1]
	}
	if g.bytes > g.budget {
		return g.all.oldest(listAll)
	}
	return nil
}
