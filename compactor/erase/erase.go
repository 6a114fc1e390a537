// Package erase takes all that a store holds of a tenant out of it, on an operator's word.
//
// Erase appends an erase record to the log of every shard that ever held the tenant: by
// its placements and the default rule of all times, by where dead letters go, or because its log
// still names something of it. The record's floor is the placements' horizon, so it lies above
// every event that any router has sent so far. From that record on
//
//  1. no answer holds anything of the tenant from below the floor, letters included;
//  2. copies that come later, from Kafka or from producers, are dead letters `erased`
//     without a payload, by the shard log alone, for as long as the log lives;
//  3. the objects are garbage, and go with the collector's passes ([Left] tells when).
//
// Events at or above the floor are the tenant's new ones; nothing keeps them out but its
// placements' rules of admission. An erasure that was cut short is begun again: shards that
// have it already at least get a floor of then.
package erase

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// Eraser works on one tenant. It is for one goroutine.
type Eraser struct {
	Tenant     event.TenantID
	Store      objstore.Store
	Placements *placements.Keeper // loaded
	Log        shardlog.Config    // of the shard logs that it opens

	states map[event.ShardID]*shardlog.State
}

// Shard is what a shard holds of the tenant.
type Shard struct {
	Shard     event.ShardID    `json:"shard"`
	Why       string           `json:"why"` // it is one of those to erase in; "": it is none
	Fragments int              `json:"fragments"`
	Rows      int64            `json:"rows"`
	Bytes     int64            `json:"bytes"`
	Floor     *event.Timestamp `json:"erased_below,omitempty"` // of the last erasure
	Position  chain.Position   `json:"position"`               // of the log that was looked at
}

// Look reads all shard logs and says what they hold of the tenant, and which an
// erasure goes to; by shard.
func (e *Eraser) Look(ctx context.Context) ([]Shard, error) {
	table, err := e.Placements.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	placed := table.ShardsOf(e.Tenant, placements.Beginning, table.Horizon())
	letters := table.DeadShards()
	var out []Shard
	for id := range event.ShardID(table.Shards()) {
		s, err := e.state(ctx, id)
		if err != nil {
			return nil, err
		}
		one := e.count(s)
		switch {
		case slices.Contains(placed, id):
			one.Why = "placed there"
		case one.Fragments > 0:
			one.Why = "has something of it"
		case one.Floor != nil:
			one.Why = "was erased there before"
		case slices.Contains(letters, id):
			one.Why = "dead letters go there"
		}
		out = append(out, one)
	}
	return out, nil
}

// count sums up what a state has of the tenant.
func (e *Eraser) count(s *shardlog.State) Shard {
	out := Shard{Shard: s.Shard(), Position: s.Position()}
	add := func(f shardlog.Fragment) bool {
		if f.Tenant == e.Tenant {
			out.Fragments++
			out.Rows += f.Rows
			out.Bytes += f.Bytes
		}
		return true
	}
	s.Fragments(e.Tenant, math.MinInt64, math.MaxInt64, add)
	for _, f := range s.Quarantined() {
		add(f)
	}
	if floor, ok := s.Erased(e.Tenant); ok {
		out.Floor = &floor
	}
	return out
}

// state follows a shard's log to its head.
func (e *Eraser) state(ctx context.Context, id event.ShardID) (*shardlog.State, error) {
	log := shardlog.OpenWith(e.Store, id, e.Log)
	if s := e.states[id]; s != nil {
		if _, err := log.Follow(ctx, s); err != nil {
			delete(e.states, id) // whatever it was, the next look begins anew
			return nil, err
		}
		return s, nil
	}
	s, err := log.Load(ctx)
	if err != nil {
		return nil, err
	}
	if e.states == nil {
		e.states = map[event.ShardID]*shardlog.State{}
	}
	e.states[id] = s
	return s, nil
}

// Erase appends the records, and returns the shards that it went to, as they stand after it.
func (e *Eraser) Erase(ctx context.Context) ([]Shard, error) {
	if _, err := event.ParseTenant(string(e.Tenant)); err != nil {
		return nil, err
	}
	all, err := e.Look(ctx)
	if err != nil {
		return nil, err
	}
	var out []Shard
	for _, one := range all {
		if one.Why == "" {
			continue
		}
		s, err := e.eraseIn(ctx, one.Shard)
		if err != nil {
			return out, fmt.Errorf("erase of %q in shard %s: %w", e.Tenant, one.Shard, err)
		}
		why := one.Why
		one = e.count(s)
		one.Why = why
		out = append(out, one)
	}
	return out, nil
}

// maxTries bounds the tries in one shard: each failed because something of the tenant
// came above the horizon that had been read, or another record came first.
const maxTries = 100

// eraseIn settles one shard.
func (e *Eraser) eraseIn(ctx context.Context, id event.ShardID) (*shardlog.State, error) {
	for range maxTries {
		// The state first: what it names was routed below a horizon that is there by now.
		s, err := e.state(ctx, id)
		if err != nil {
			return nil, err
		}
		table, err := e.Placements.Refresh(ctx)
		if err != nil {
			return nil, err
		}
		floor := table.Horizon()
		if floor == math.MinInt64 {
			return nil, errors.New("the placements have no horizon yet: nothing was ever routed; try again when a router or writer runs")
		}
		if erased, ok := s.Erased(e.Tenant); ok && erased >= floor && e.count(s).Fragments == 0 {
			return s, nil
		}
		r := shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: e.Tenant, Floor: floor}}
		won, _, err := shardlog.OpenWith(e.Store, id, e.Log).Append(ctx, s, &r)
		switch {
		case won:
			return s, nil
		case errors.Is(err, chain.ErrTrimmed):
			delete(e.states, id)
		case err != nil:
			// The state may have half of it.
			delete(e.states, id)
			return nil, err
		}
	}
	return nil, fmt.Errorf("%d records in a row came first", maxTries)
}

// Left is what is listed of a tenant.
type Left struct {
	// Live are objects that shard logs name: events from after the erasure, and letters of
	// copies that came late.
	Live int `json:"live"`
	// UnderWay are uploads that a writer or a merge may still commit, or never will.
	UnderWay int `json:"under_way"`
	// Garbage is what no log names any more: it waits for the collector.
	Garbage      int   `json:"garbage"`
	GarbageBytes int64 `json:"garbage_bytes"`
}

// Gone says that nothing is left of what was erased.
func (l Left) Gone() bool { return l.UnderWay == 0 && l.Garbage == 0 }

// Left lists the tenant's objects and unfinished uploads, and judges them by the newest state
// of each shard log.
func (e *Eraser) Left(ctx context.Context) (Left, error) {
	type object struct {
		key   string
		bytes int64
	}
	var out Left
	var objects []object
	for _, folder := range []string{shardlog.EventsFolder, shardlog.LettersFolder} {
		prefix := folder + "/" + string(e.Tenant) + "/"
		for o, err := range e.Store.List(ctx, prefix, "") {
			if err != nil {
				return out, fmt.Errorf("list %s: %w", prefix, err)
			}
			objects = append(objects, object{o.Key, o.Size})
		}
		for u, err := range objstore.PendingUploads(ctx, e.Store, prefix) {
			if err != nil {
				return out, fmt.Errorf("list unfinished uploads of %s: %w", prefix, err)
			}
			objects = append(objects, object{key: u.Key})
		}
	}
	// The logs are read after the listing: what was listed and is not named now never was.
	fresh := map[event.ShardID]*shardlog.State{}
	for _, o := range objects {
		creator, err := shardlog.CreatorOf(o.key)
		if err != nil {
			out.Garbage++ // nobody's: neither is it deleted, nor may it be passed over
			out.GarbageBytes += o.bytes
			continue
		}
		if fresh[creator.Shard] == nil {
			if fresh[creator.Shard], err = e.state(ctx, creator.Shard); err != nil {
				return out, err
			}
		}
		switch verdict, _ := garbage.Judge(fresh[creator.Shard], o.key, creator); verdict {
		case garbage.Named:
			out.Live++
		case garbage.MayCommit:
			out.UnderWay++
		default:
			out.Garbage++
			out.GarbageBytes += o.bytes
		}
	}
	return out, nil
}
