package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api"
)

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
	settings, err := a.settings()
	if err != nil {
		return nil, nil, err
	}
	c.Query.Engine.CacheDir = ""
	node, err := query.Open(c.Query.Engine, query.Parts{
		Store: store, Meta: meta, Placements: keeper, MaxColumns: maxColumns(settings), Logger: a.toolLog(c),
	})
	if err != nil {
		return nil, nil, err
	}
	return node, node.Close, nil
}

func maxColumns(settings *tenants.Keeper) func(event.TenantID) int {
	return func(t event.TenantID) int { return settings.Get(t).MaxColumns }
}

// startQuery lets people ask over HTTP.
func (p *process) startQuery(mux *http.ServeMux) error {
	c := p.cfg.Query
	if c.Engine.CacheDir == "" && p.cfg.Store.Dir == "" {
		p.log.Warn("query.cache_dir is not set: every query reads from the store what it needs")
	}
	node, err := query.Open(c.Engine, query.Parts{
		Store: p.store, Meta: p.meta, Placements: p.keeper, MaxColumns: maxColumns(p.settings), LogMetrics: p.logMetrics, Registerer: p.reg, Logger: p.log,
	})
	if err != nil {
		return err
	}
	p.onStop(node.Close)
	p.spawn(roleQuery, node.Run)
	list := &tenantList{store: p.store, log: p.log}
	h, err := api.New(c.HTTP, api.Deps{Engine: node, Tenants: list.get, Tokens: p.cfg.HTTP.Tokens, Logger: p.log, Registerer: p.reg})
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
		first, last := inspect.Always.To, inspect.Always.From
		for _, s := range v.Where(name) {
			t.Files += s.Files
			t.Rows += s.Rows
			t.Letters += s.Letters
			t.Bytes += s.Bytes
			if s.Rows > 0 {
				first, last = min(first, s.First), max(last, s.Last)
			}
		}
		if t.Rows > 0 {
			t.First, t.Last = first.String(), last.String()
		}
		out = append(out, t)
	}
	return out
}
