package placements

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// NewGenesis is a first table with the usual choices: each tenant on one of all shards,
// dead letters over all shards, unknown tenants accepted, the default mapping, and a
// horizon that the first extension sets.
func NewGenesis(shards int) Genesis {
	all := make(Shards, max(shards, 0))
	for i := range all {
		all[i] = event.ShardID(i)
	}
	return Genesis{
		Horizon:     Beginning,
		Shards:      shards,
		DeadLetters: all,
		Default:     Default{From: Beginning, Shards: all, Spread: 1},
		Mappings:    map[string]event.Mapping{"": event.DefaultMapping()},
		Admission:   Rule{From: Beginning, Unknown: UnknownAccept},
	}
}

// Init loads the chain, and makes version 1 before if the store has none. created
// says whether this call made it; if not, g had no effect: the store's own table
// counts.
func (k *Keeper) Init(ctx context.Context, g Genesis) (created bool, err error) {
	if err = k.Load(ctx); !errors.Is(err, ErrNoGenesis) {
		return false, err
	}
	err = k.withTurn(ctx, func() error {
		_, created, err = k.propose(ctx, Empty(k.cfg.Hasher), func(*Table) (Record, error) {
			return Record{Kind: KindGenesis, Genesis: &g}, nil
		})
		return err
	})
	if err != nil && !errors.Is(err, chain.ErrTrimmed) { // there is a chain, and it has grown long
		return false, fmt.Errorf("first placement table: %w", err)
	}
	if created {
		return true, nil
	}
	return false, k.Load(ctx)
}

// AddShards raises the number of shards to n. It moves nothing: only later
// placements and default rules name the new ones. That there are n or more
// already is no error.
func (k *Keeper) AddShards(ctx context.Context, n int) (*Table, error) {
	return k.Propose(ctx, func(t *Table) (Record, error) {
		if t.shards >= n {
			return Record{}, ErrNoChange
		}
		return Record{Kind: KindShards, Shards: &AddShards{Shards: n}}, nil
	})
}
