package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/rangecache"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/snapshot"
	"github.com/togodb/togo/query/vec"
)

// variant is a way in which the same answer must come.
type variant struct {
	name    string
	engine  *query.Engine
	options scan.Options
}

// variants are all ways to ask a store: with and without what makes it fast, by one worker and by four, over a cache on disk and without.
func variants(ctx context.Context, st stage, cache string) ([]variant, error) {
	var out []variant
	for _, workers := range []int{1, 4} {
		for _, folder := range []string{"", cache} {
			e, err := newEngine(ctx, st.store, workers, folder)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", st.name, err)
			}
			name := fmt.Sprintf("%s, %d workers, cache %v", st.name, workers, folder != "")
			out = append(out,
				variant{name, e, scan.Options{}},
				variant{name + ", no pruning", e, scan.Options{NoPruning: true}},
				variant{name + ", no dictionaries", e, scan.Options{NoDictionaries: true}},
				variant{name + ", no late reading", e, scan.Options{NoLateReading: true}},
				variant{name + ", nothing fast", e, scan.Options{NoPruning: true, NoDictionaries: true, NoLateReading: true}},
			)
		}
	}
	return out, nil
}

// direct reads a store without a cache.
type direct struct{ store objstore.Store }

func (d direct) GetRange(ctx context.Context, key string, off, n int64, _ *scan.Stats) ([]byte, error) {
	return d.store.GetRange(ctx, key, off, n)
}

func newEngine(ctx context.Context, store objstore.Store, workers int, cache string) (*query.Engine, error) {
	body, err := store.Get(ctx, objstore.MetaKey)
	if err != nil {
		return nil, err
	}
	meta, err := objstore.DecodeMeta(body)
	if err != nil {
		return nil, err
	}
	keeper, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed(meta.Seed)), Logger: quiet})
	if err != nil {
		return nil, err
	}
	if err := keeper.Load(ctx); err != nil {
		return nil, err
	}
	follower, err := snapshot.New(snapshot.Config{Store: store, Meta: meta, Placements: keeper, MaxAge: 1, Logger: quiet})
	if err != nil {
		return nil, err
	}
	ranges := scan.Ranges(direct{store})
	if cache != "" {
		if ranges, err = rangecache.Open(rangecache.Config{Store: store, StoreID: meta.ID, Dir: cache}); err != nil {
			return nil, err
		}
	}
	cfg := query.DefaultConfig()
	cfg.Workers, cfg.MaxTime = workers, 10*time.Minute
	return query.NewEngine(cfg, query.Deps{
		Snapshots: follower, Columns: fragment.NewRegistry(store, fragment.RegistryConfig{}), Source: scan.NewScanner(ranges, scan.Config{}), Logger: quiet,
	})
}

// collector is a Sink.
type collector struct{ answer answer.Answer }

func (c *collector) Columns(list []exec.Output) error {
	for _, o := range list {
		c.answer.Types = append(c.answer.Types, o.Type.String())
	}
	return nil
}

func (c *collector) Batch(b *vec.Batch) error {
	c.answer.Batch(b)
	return nil
}

// ask gives an engine's answer; an error has its code before its text.
func (v variant) ask(ctx context.Context, tenant event.TenantID, text string) *answer.Answer {
	var c collector
	if _, err := v.engine.Query(ctx, query.Request{Tenant: tenant, SQL: text, Options: v.options}, &c); err != nil {
		c.answer.Error = string(fail.CodeOf(err)) + ": " + err.Error()
	}
	return &c.answer
}

// lawful tells whether an error may be an answer: what a query can do wrong, and nothing that says Togo failed.
func lawful(text string) bool {
	code, _, _ := strings.Cut(text, ":")
	switch fail.Code(code) {
	case fail.Internal, fail.Unavailable, fail.Timeout, fail.Gone, fail.Cancelled, fail.TooLarge, fail.TooMany:
		return false
	}
	return true
}
