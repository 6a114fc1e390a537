package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

// plan is a plan in the making. Loads are whole numbers, so that they don't
// depend on the order in which they were added up.
type plan struct {
	cfg      Config
	growAt   int64 // of Config.Grow, in bytes per second of a shard
	shrinkAt int64
	shards   []*shard // by id
	byID     map[event.ShardID]*shard
	tenants  []*tenant // the largest first, so that the small fill the rest
	moved    int
	cut      bool // MaxMoves stood in the way of a move
}

type shard struct {
	Shard
	lags    bool
	load    int64
	tenants int // that write
}

type tenant struct {
	Tenant
	list    placements.Shards
	reasons []string // none: not touched yet
}

func newPlan(in Input) *plan {
	c := in.Config
	p := &plan{cfg: c, growAt: int64(c.Grow * float64(c.Capacity)), shrinkAt: int64(c.Shrink * float64(c.Capacity)), byID: map[event.ShardID]*shard{}}
	for _, s := range in.Shards {
		one := &shard{Shard: s, lags: s.LagSeconds > c.MaxLagSeconds}
		p.shards, p.byID[s.ID] = append(p.shards, one), one
	}
	slices.SortFunc(p.shards, func(a, b *shard) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range in.Tenants {
		if len(t.Current) == 0 {
			panic(fmt.Sprintf("planner: tenant %q has no shards", t.ID))
		}
		one := &tenant{Tenant: t, list: slices.Clone(t.Current)}
		p.tenants = append(p.tenants, one)
		p.count(one, 1)
	}
	slices.SortFunc(p.tenants, func(a, b *tenant) int {
		return cmp.Or(cmp.Compare(b.BytesPerSecond, a.BytesPerSecond), cmp.Compare(a.ID, b.ID))
	})
	return p
}

func (p *plan) loads() []Load {
	var out []Load
	for _, s := range p.shards {
		out = append(out, Load{s.ID, s.tenants, s.load})
	}
	return out
}

// share is what each of n shards gets of the tenant, rounded up.
func (t *tenant) share(n int) int64 { return (t.BytesPerSecond + int64(n) - 1) / int64(n) }

// count adds (1) or takes (-1) the tenant's load.
func (p *plan) count(t *tenant, sign int) {
	if t.BytesPerSecond == 0 {
		return
	}
	for _, id := range t.list {
		if s := p.byID[id]; s != nil {
			s.load += int64(sign) * t.share(len(t.list))
			s.tenants += sign
		}
	}
}

// gone: nothing may be placed there.
func (p *plan) gone(id event.ShardID) bool { return p.byID[id] == nil || p.byID[id].Draining }

// limit is the load above which a shard is relieved.
func (p *plan) limit(s *shard) int64 {
	if s.lags {
		return p.growAt
	}
	return p.cfg.Capacity
}

// may says whether the plan may touch the tenant.
func (p *plan) may(t *tenant) bool {
	if len(t.reasons) > 0 || p.moved < p.cfg.MaxMoves {
		return true
	}
	p.cut = true
	return false
}

// set gives the tenant another list, if the plan may touch it.
func (p *plan) set(t *tenant, list placements.Shards, reason string) bool {
	if !p.may(t) {
		return false
	}
	if len(t.reasons) == 0 {
		p.moved++
	}
	p.count(t, -1)
	t.list = list
	p.count(t, 1)
	if !slices.Contains(t.reasons, reason) {
		t.reasons = append(t.reasons, reason)
	}
	return true
}

// best is the shard that the tenant should get next, of those for which ok holds;
// nil if there is none.
func (p *plan) best(t *tenant, ok func(*shard) bool) *shard {
	var best *shard
	for _, s := range p.shards {
		if s.Draining || slices.Contains(t.list, s.ID) || !ok(s) {
			continue
		}
		if best == nil || p.rank(s, best) < 0 {
			best = s
		}
	}
	return best
}

func (p *plan) rank(a, b *shard) int {
	lag := func(s *shard) int {
		if s.lags {
			return 1
		}
		return 0
	}
	tenth := func(s *shard) int64 { return s.load / (p.cfg.Capacity / 10) }
	return cmp.Or(cmp.Compare(lag(a), lag(b)), cmp.Compare(tenth(a), tenth(b)),
		cmp.Compare(a.tenants, b.tenants), cmp.Compare(a.load, b.load), cmp.Compare(a.ID, b.ID))
}

// replace is the list with another shard at i, or, without one, without that at i.
func replace(list placements.Shards, i int, s *shard) placements.Shards {
	list = slices.Clone(list)
	if s == nil {
		return slices.Delete(list, i, i+1)
	}
	list[i] = s.ID
	return list
}

// drain replaces shards in their place, so that the other shards keep their ids.
func (p *plan) drain(t *tenant) (changed bool) {
	for {
		i := slices.IndexFunc(t.list, p.gone)
		if i < 0 {
			return changed
		}
		s := p.best(t, func(*shard) bool { return true })
		other := slices.ContainsFunc(t.list, func(id event.ShardID) bool { return !p.gone(id) })
		if s == nil && !other { // there is nowhere to go
			return changed
		}
		if !p.set(t, replace(t.list, i, s), fmt.Sprintf("shard %s is drained", t.list[i])) {
			return changed
		}
		changed = true
	}
}

func (p *plan) grow(t *tenant) (changed bool) {
	for len(t.list) < p.cfg.MaxShards && t.share(len(t.list)) > p.growAt {
		share := t.share(len(t.list) + 1)
		var fullest int64
		for _, id := range t.list {
			if s := p.byID[id]; s != nil {
				fullest = max(fullest, s.load)
			}
		}
		s := p.best(t, func(s *shard) bool { return !s.lags && s.load+share < fullest })
		reason := fmt.Sprintf("%s/s is more than %s/s a shard", Bytes(t.BytesPerSecond), Bytes(p.growAt))
		if s == nil || !p.set(t, append(slices.Clone(t.list), s.ID), reason) {
			break
		}
		changed = true
	}
	return changed
}

func (p *plan) relieve(from *shard) (changed bool) {
	for from.load > p.limit(from) {
		t, to := p.pick(from, from.load-p.limit(from))
		if t == nil {
			break
		}
		reason := fmt.Sprintf("shard %s is at %s/s", from.ID, Bytes(from.load))
		changed = p.set(t, replace(t.list, slices.Index(t.list, from.ID), to), reason)
	}
	return changed
}

// pick chooses the tenant that leaves a shard with so much too much, and the shard
// that takes it; nil if there is none.
func (p *plan) pick(from *shard, excess int64) (best *tenant, to *shard) {
	var bestShare int64
	for _, t := range p.tenants {
		share := t.share(len(t.list))
		if share == 0 || !slices.Contains(t.list, from.ID) || best != nil && !better(share, bestShare, excess) {
			continue
		}
		s := p.best(t, func(s *shard) bool { return !s.lags && s.load+share <= p.growAt })
		if s != nil && p.may(t) {
			best, to, bestShare = t, s, share
		}
	}
	return best, to
}

// better: the smaller one of two that suffice, else the larger one.
func better(a, b, excess int64) bool {
	if a >= excess && b >= excess {
		return a < b
	}
	return a > b
}

// shrink also holds a tenant to MaxShards that had more, whatever its shards bear then.
func (p *plan) shrink(t *tenant) bool {
	k, least, most := len(t.list), p.cfg.MinShards, p.cfg.MaxShards
	if t.BytesPerSecond == 0 && len(t.reasons) == 0 || slices.ContainsFunc(t.list, p.gone) {
		return false
	}
	for least < k && (t.BytesPerSecond == 0 || t.share(least) >= p.shrinkAt) {
		least++
	}
	order := slices.Clone(t.list)
	slices.SortFunc(order, func(a, b event.ShardID) int { return p.rank(p.byID[a], p.byID[b]) })
	for n := min(least, most); n < k; n++ {
		tooFull := func(id event.ShardID) bool { return p.byID[id].load-t.share(k)+t.share(n) > p.growAt }
		if n < most && slices.ContainsFunc(order[:n], tooFull) {
			continue
		}
		reason := fmt.Sprintf("%s/s needs no more than %d shards", Bytes(t.BytesPerSecond), n)
		if n < least {
			reason = fmt.Sprintf("%d shards are allowed", n)
		}
		list := slices.DeleteFunc(slices.Clone(t.list), func(id event.ShardID) bool { return !slices.Contains(order[:n], id) })
		return p.set(t, list, reason)
	}
	return false
}
