package query

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/rangecache"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/snapshot"
)

// Parts are what a Node is made of.
type Parts struct {
	Store      objstore.Store
	Meta       objstore.Meta
	Placements snapshot.Placements
	Columns    Columns // nil: a fragment.Registry of its own
	// MaxColumns is how many columns a tenant may have, for the hint to _rest where its list is full; nil: the default for all.
	MaxColumns func(event.TenantID) int
	LogMetrics *shardlog.Metrics     // of the process's shard logs; nil: none
	Registerer prometheus.Registerer // nil: no metrics
	Logger     *slog.Logger          // slog.Default
	Now        func() time.Time      // time.Now
	Backoff    chain.Backoff         // between tries of reads that the store did not answer
}

// Node is an Engine with all that it works on.
type Node struct {
	*Engine
	follower *snapshot.Follower
	cache    *rangecache.Cache
}

// Open makes a Node over a store. Close ends it.
func Open(cfg Config, p Parts) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	logs := patient{p.Store, p.Backoff}
	follower, err := snapshot.New(snapshot.Config{
		Store: logs, Meta: p.Meta, Placements: p.Placements, MaxAge: cfg.MaxAge, MaxBytes: cfg.StateBytes,
		Now: p.Now, Backoff: p.Backoff, Logger: p.Logger, LogMetrics: p.LogMetrics, Registerer: p.Registerer,
	})
	if err != nil {
		return nil, err
	}
	cache, err := rangecache.Open(rangecache.Config{
		Store: p.Store, StoreID: p.Meta.ID, Dir: cfg.CacheDir, MaxBytes: cfg.CacheBytes, Backoff: p.Backoff, Logger: p.Logger, Registerer: p.Registerer,
	})
	if err != nil {
		return nil, err
	}
	if p.Columns == nil {
		p.Columns = fragment.NewRegistry(logs, fragment.RegistryConfig{MaxColumnsOf: p.MaxColumns})
	}
	scanner := scan.NewScanner(cache, scan.Config{FooterBytes: cfg.FooterBytes})
	engine, err := NewEngine(cfg, Deps{
		Snapshots: follower, Columns: p.Columns, Source: scanner, Files: scanner, Logger: p.Logger, Now: p.Now,
	})
	if err != nil {
		cache.Close()
		return nil, err
	}
	return &Node{engine, follower, cache}, nil
}

// Run drops what nobody has asked for in a while, until ctx ends.
func (n *Node) Run(ctx context.Context) error {
	n.follower.Run(ctx)
	return ctx.Err()
}

// Close waits for what the cache is still writing. No query may be running.
func (n *Node) Close() { n.cache.Close() }
