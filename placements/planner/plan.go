// Package planner decides which tenants get other shards, from what each of them
// writes. It does no I/O and knows no clock: equal inputs give equal plans.
//
// A plan changes only where new events go (from the horizon on); nothing that is stored moves.
// So a wrong figure costs balance, never an event, and the figures may come from
// clocks and samples.
//
// Write r for what a tenant writes, k for the number of its shards, C for the capacity of
// a shard; Grow and Shrink are shares of C, Shrink <= Grow/2. The steps are repeated
// until none of them finds anything to do:
//
//  1. Drain: each shard of a tenant that is drained is replaced by another one, in its
//     place in the list; where there is no other, it is left out.
//  2. Grow: while r/k > Grow*C, the tenant gets one more shard, if that lowers the
//     load of its fullest one and fills no other as much.
//  3. Relieve: of a shard above C (above Grow*C if it lags) tenants go to shards
//     that stay at or below Grow*C with them: the smallest one that suffices, else
//     the largest one that fits. So the large stay, and small neighbours make room.
//  4. Shrink: a tenant goes down to the smallest k >= MinShards with r/k < Shrink*C, if
//     its other shards stay at or below Grow*C.
//
// Invariants:
//
//  1. A tenant without a reason of these four keeps its list as it is. One that
//     writes nothing is only drained: silence may be a writer's that stands.
//  2. A move names no shard that is drained or unknown, and at most MaxShards. It adds no
//     shard that lags, unless a drained one has no other replacement.
//  3. Without drained shards and tenants above MaxShards, no shard ends above Grow*C that
//     is not below the fullest of before.
//  4. Planning again on the outcome of a plan that MaxMoves did not cut finds nothing. (What
//     step 2 gives, step 4 does not take: r/(k-1) is then above Grow*C.)
//  5. It ends: steps 1, 2 and 4 each go one way for a tenant, and step 3 lowers the
//     sum of what shards have above their bound.
//
// Of the shards that may take a tenant, those whose loads differ by less than a tenth of C
// count as equal; among them the one with the fewest tenants takes it, because each
// tenant is a file in every commit.
package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

// Config says what a shard can bear, and how early a plan acts.
type Config struct {
	Capacity  int64   // of a shard, in bytes per second
	MaxShards int     // of a tenant
	MinShards int     // below which no tenant shrinks
	Grow      float64 // of Capacity; a tenant that fills its shards more gets another one
	Shrink    float64 // of Capacity; a tenant whose shards stay emptier with fewer of them gets fewer
	// MaxLagSeconds: a shard that needs longer for what waits for it lags.
	MaxLagSeconds float64
	// MaxMoves bounds the tenants that a plan touches, so that its effect can be seen
	// before the next one.
	MaxMoves int
}

// DefaultConfig is for shards whose writers can commit 20 MB of files a second.
func DefaultConfig() Config {
	return Config{Capacity: 20e6, MaxShards: 16, MinShards: 1, Grow: 0.8, Shrink: 0.4, MaxLagSeconds: 120, MaxMoves: 100}
}

// Validate refuses what no plan can keep to.
func (c Config) Validate() error {
	switch {
	case c.Capacity < 10:
		return fmt.Errorf("planner: a capacity of %d bytes per second", c.Capacity)
	case c.MinShards < 1 || c.MinShards > c.MaxShards:
		return fmt.Errorf("planner: %d to %d shards of a tenant", c.MinShards, c.MaxShards)
	case c.MaxMoves < 1:
		return fmt.Errorf("planner: at most %d moves", c.MaxMoves)
	case !(c.Grow > 0 && c.Grow <= 1):
		return fmt.Errorf("planner: grow above %v of the capacity is not in (0, 1]", c.Grow)
	case !(c.Shrink >= 0 && c.Shrink <= c.Grow/2):
		return fmt.Errorf("planner: shrink below %v of the capacity is not in [0, %v]: half of grow, or tenants would go to and fro", c.Shrink, c.Grow/2)
	}
	return nil
}

// Shard is a shard that there is.
type Shard struct {
	ID         event.ShardID
	LagSeconds float64 // that it takes at its pace to do what waits for it
	Draining   bool
}

// Tenant is what a tenant writes, and where. Current is never empty.
type Tenant struct {
	ID             event.TenantID
	BytesPerSecond int64 // see Sizer
	Current        placements.Shards
}

// Input is all that a plan depends on; the order of the lists does not matter.
type Input struct {
	Config  Config
	Shards  []Shard
	Tenants []Tenant
}

// Move gives a tenant other shards.
type Move struct {
	Tenant   event.TenantID
	From, To placements.Shards
	Reasons  []string
}

// Load is what a shard bears, if a tenant's events spread evenly over its shards.
type Load struct {
	Shard          event.ShardID
	Tenants        int // that write
	BytesPerSecond int64
}

// Plan is what to do, and what comes of it.
type Plan struct {
	Moves         []Move // by tenant
	Before, After []Load // by shard
	Left          []string
}

// Make plans. It panics on a tenant without shards: no table has one.
func Make(in Input) Plan {
	p := newPlan(in)
	before := p.loads()
	for changed := true; changed; {
		changed = false
		for _, step := range []func(*tenant) bool{p.drain, p.grow} {
			for _, t := range p.tenants {
				changed = step(t) || changed
			}
		}
		for _, s := range p.shards {
			changed = p.relieve(s) || changed
		}
		for _, t := range p.tenants {
			changed = p.shrink(t) || changed
		}
	}
	out := Plan{Before: before, After: p.loads(), Left: p.left()}
	for _, t := range p.tenants {
		if !slices.Equal(t.Current, t.list) {
			out.Moves = append(out.Moves, Move{t.ID, t.Current, t.list, t.reasons})
		}
	}
	slices.SortFunc(out.Moves, func(a, b Move) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return out
}

// left says in words what the plan does not solve.
func (p *plan) left() (out []string) {
	stuck := 0
	for _, t := range p.tenants {
		if slices.ContainsFunc(t.list, p.gone) {
			stuck++
		}
	}
	if stuck > 0 {
		out = append(out, fmt.Sprintf("%d tenants still on drained shards", stuck))
	}
	if p.cut {
		return append(out, fmt.Sprintf("more than %d tenants need other shards; plan again after this", p.cfg.MaxMoves))
	}
	for _, s := range p.shards {
		if limit := p.limit(s); s.load > limit && !s.Draining {
			out = append(out, fmt.Sprintf("shard %s at %s/s, above %s/s, with nothing that fits elsewhere", s.ID, Bytes(s.load), Bytes(limit)))
		}
	}
	return out
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	f, unit := float64(n), 0
	for units := len(" kMGT"); f >= 999.5 && unit < units-1; unit++ {
		f /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %cB", f, " kMGT"[unit])
}
