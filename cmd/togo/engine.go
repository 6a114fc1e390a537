package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api"
	"github.com/togodb/togo/query/rangecache"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/snapshot"
)

// engineDeps are what an engine reads from.
type engineDeps struct {
	store      objstore.Store
	meta       objstore.Meta
	placements snapshot.Placements
	log        *slog.Logger
	logMetrics *shardlog.Metrics
	reg        prometheus.Registerer // nil: no metrics
}

// newEngine puts an engine together; stop ends its writes to the cache.
func newEngine(c *config.Query, d engineDeps) (e *query.Engine, stop func(), err error) {
	follower, err := snapshot.NewFollower(snapshot.Config{
		Store: d.store, Meta: d.meta, Placements: d.placements, MaxBytes: c.StateBytes, Logger: d.log, LogMetrics: d.logMetrics, Registerer: d.reg,
	})
	if err != nil {
		return nil, nil, err
	}
	cache, err := rangecache.Open(rangecache.Config{
		Store: d.store, StoreID: d.meta.ID, Dir: c.CacheDir, MaxBytes: c.CacheBytes, KeepFor: c.CacheKeep, Logger: d.log, Registerer: d.reg,
	})
	if err != nil {
		return nil, nil, err
	}
	e, err = query.NewEngine(c.Limits, query.Deps{
		Snapshots: follower, Columns: fragment.NewRegistry(d.store, fragment.RegistryConfig{}),
		Source: scan.NewScanner(cache, scan.Config{FooterBytes: c.FooterBytes}), Logger: d.log,
	})
	return e, cache.Close, err
}

// engine is one on the configured store, for a single command: it keeps nothing on the disk.
func (a *app) engine() (query.Answerer, func(), error) {
	c, store, err := a.existing()
	if err != nil {
		return nil, nil, err
	}
	meta, err := a.meta(store)
	if err != nil {
		return nil, nil, err
	}
	keeper, err := a.keeper()
	if err != nil {
		return nil, nil, err
	}
	c.Query.CacheDir = ""
	return newEngine(&c.Query, engineDeps{store: store, meta: meta, placements: keeper, log: a.toolLog(c)})
}

// startQuery lets people ask over HTTP.
func (p *process) startQuery(mux *http.ServeMux) error {
	c := &p.cfg.Query
	if c.CacheDir == "" && p.cfg.Store.Dir == "" {
		p.log.Warn("query.cache_dir is not set: every query reads from the store what it needs")
	}
	engine, stop, err := newEngine(c, engineDeps{p.store, p.meta, p.keeper, p.log, p.logMetrics, p.reg})
	if err != nil {
		return err
	}
	p.onStop(stop)
	list := &tenantList{store: p.store, log: p.log}
	h, err := api.New(c.HTTP, api.Deps{Engine: engine, Tenants: list.get, Tokens: p.cfg.HTTP.Tokens, Logger: p.log, Registerer: p.reg})
	if err != nil {
		return err
	}
	h.Register(mux)
	p.roles[roleQuery] = role{func() error { return nil }, func() any { return h.Status() }}
	return nil
}

// tenantList reads the shard logs, which is much work, so what was read lately is given again.
type tenantList struct {
	store objstore.Store
	log   *slog.Logger

	mu   sync.Mutex
	read time.Time    // guarded by mu
	list []api.Tenant // guarded by mu
}

// tenantListAge is how old a list of tenants may be.
const tenantListAge = 10 * time.Second

func (l *tenantList) get(ctx context.Context) ([]api.Tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read.IsZero() && time.Since(l.read) < tenantListAge {
		return l.list, nil
	}
	v, err := inspect.Open(ctx, l.store, l.log)
	if err != nil {
		return nil, err
	}
	l.list, l.read = tenantsOf(v), time.Now()
	return l.list, nil
}

// tenantsOf sums up what each tenant has in all shards.
func tenantsOf(v *inspect.View) []api.Tenant {
	var out []api.Tenant
	for _, name := range v.Tenants() {
		t := api.Tenant{Tenant: name}
		for _, s := range v.Where(name) {
			t.Files += s.Files
			t.Rows += s.Rows
			t.Bytes += s.Bytes
			if s.Rows > 0 {
				first, last := s.First.Time(), s.Last.Time()
				t.First = earlier(t.First, first)
				t.Last = later(t.Last, last)
			}
		}
		out = append(out, t)
	}
	return out
}
