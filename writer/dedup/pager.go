package dedup

import (
	"strings"

	"github.com/togodb/togo/internal/event"
)

// checksPerTick: uses within so many checks count as one, so that a hot page is
// not moved in the lists at each check.
const checksPerTick = 64

// page is what is evicted as a whole: what is in memory of a unit, or a part's head.
type page struct {
	bytes    int64 // charged while resident
	account  *account
	links    [2]link // in a list of all pages, and in one of the account's
	tick     uint64  // of the last use
	resident bool
	exact    bool  // a unit with exact ids that can be demoted: which of the two lists it is in
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

// pages are those of all tenants or of one: those with exact ids to demote in the order in
// which they came by them, so that the oldest ids are demoted first; the rest
// least recently used first.
type pages struct{ exact, rest ring }

func (s *pages) init(list int) {
	s.exact.init(list)
	s.rest.init(list)
}

func (s *pages) pushBack(p *page, list int) {
	if p.exact {
		s.exact.pushBack(p, list)
	} else {
		s.rest.pushBack(p, list)
	}
}

// account is what one tenant has in memory.
type account struct {
	tenant event.TenantID
	bytes  int64
	pages  pages
	isOver bool // stands in pager.over
}

// pager keeps the books of what is paged in.
type pager struct {
	budget, quota int64
	bytes         int64 // of all resident pages, and of what evicted units leave behind
	all           *pages
	accounts      map[event.TenantID]*account
	over          []*account // that went above the quota
	tick          uint64
	horizon       uint64 // ticks: what was not used for longer is idle
}

// newPager takes a page for idle when as many ids as the budget holds were asked for without it.
func newPager(budget, quota int64) pager {
	g := pager{budget: budget, quota: quota, all: new(pages), accounts: make(map[event.TenantID]*account)}
	g.horizon = uint64(budget / idBytes / checksPerTick)
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
	p.account, p.tick, p.resident, p.exact, p.bytes = a, g.tick, true, false, 0
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
	if a.pages.exact.oldest(listAccount) == nil && a.pages.rest.oldest(listAccount) == nil {
		delete(g.accounts, a.tenant)
	}
}

// touch makes p the most recently used.
func (g *pager) touch(p *page) {
	if p.tick == g.tick {
		return
	}
	p.tick = g.tick
	if !p.exact {
		g.requeue(p)
	}
}

// hold puts p in its list: whether it has exact ids to demote changed.
func (g *pager) hold(p *page, exact bool) {
	if p.exact != exact {
		p.exact = exact
		g.requeue(p)
	}
}

// requeue puts p at the end of its lists.
func (g *pager) requeue(p *page) {
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

// victim is the next page to demote or evict: of a tenant above its quota, or of all.
func (g *pager) victim() *page {
	for n := len(g.over); n > 0; n = len(g.over) {
		a := g.over[n-1]
		if a.bytes > g.quota {
			return g.choose(&a.pages, listAccount)
		}
		a.isOver = false
		g.over = g.over[:n-1]
	}
	if g.bytes > g.budget {
		return g.choose(g.all, listAll)
	}
	return nil
}

// choose the page whose loss costs least: one that is idle, then exact ids, of which a summary is left,
// then what was not used for the longest time.
func (g *pager) choose(s *pages, list int) *page {
	if p := g.spare(s, list); p != nil {
		return p
	}
	return s.rest.oldest(list)
}

// spare is a page after whose loss "not here" is still answered from memory where events come; nil if there is none.
func (g *pager) spare(s *pages, list int) *page {
	if p := s.rest.oldest(list); p != nil && g.idle(p) {
		return p
	}
	return s.exact.oldest(list)
}

func (g *pager) idle(p *page) bool { return g.tick-p.tick > g.horizon }

// stays tells whether so many bytes more would push out only what is idle.
func (g *pager) stays(bytes int64) bool {
	if g.bytes+bytes <= g.budget {
		return true
	}
	for _, p := range []*page{g.all.rest.oldest(listAll), g.all.exact.oldest(listAll)} {
		if p != nil && g.idle(p) {
			return bytes <= g.budget
		}
	}
	return false
}
