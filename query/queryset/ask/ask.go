// Package ask opens the engine of a store for tests, and gives its answers in the form that package answer compares.
package ask

import (
	"context"
	"log/slog"
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

// Config of an engine.
type Config struct {
	Workers int    // 0: as many as there are processors
	Cache   string // folder of a cache of ranges; "": none
	Scan    scan.Config
}

// direct reads a store without a cache.
type direct struct{ store objstore.Store }

func (d direct) GetRange(ctx context.Context, key string, off, n int64, _ *scan.Stats) ([]byte, error) {
	return d.store.GetRange(ctx, key, off, n)
}

// Open makes an engine that sees each commit at once. release waits for the cache.
func Open(ctx context.Context, store objstore.Store, c Config) (e *query.Engine, release func(), err error) {
	quiet := slog.New(slog.DiscardHandler)
	body, err := store.Get(ctx, objstore.MetaKey)
	if err != nil {
		return nil, nil, err
	}
	meta, err := objstore.DecodeMeta(body)
	if err != nil {
		return nil, nil, err
	}
	keeper, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed(meta.Seed)), Logger: quiet})
	if err != nil {
		return nil, nil, err
	}
	if err := keeper.Load(ctx); err != nil {
		return nil, nil, err
	}
	follower, err := snapshot.New(snapshot.Config{Store: store, Meta: meta, Placements: keeper, MaxAge: 1, Logger: quiet})
	if err != nil {
		return nil, nil, err
	}
	ranges, release := scan.Ranges(direct{store}), func() {}
	if c.Cache != "" {
		cache, err := rangecache.Open(rangecache.Config{Store: store, StoreID: meta.ID, Dir: c.Cache})
		if err != nil {
			return nil, nil, err
		}
		ranges, release = cache, func() { cache.Close() }
	}
	cfg := query.DefaultConfig()
	cfg.Workers, cfg.MaxTime = c.Workers, 10*time.Minute
	e, err = query.NewEngine(cfg, query.Deps{
		Snapshots: follower, Columns: fragment.NewRegistry(store, fragment.RegistryConfig{}), Source: scan.NewScanner(ranges, c.Scan), Logger: quiet,
	})
	return e, release, err
}

// Collector is a Sink that keeps the answer.
type Collector struct{ Answer answer.Answer }

func (c *Collector) Columns(list []exec.Output) error {
	for _, o := range list {
		c.Answer.Types = append(c.Answer.Types, o.Type.String())
	}
	return nil
}

func (c *Collector) Batch(b *vec.Batch) error {
	c.Answer.Batch(b)
	return nil
}

// Ask gives the answer; an error's code stands before its text.
func Ask(ctx context.Context, a query.Answerer, r query.Request) (*answer.Answer, *query.Summary) {
	var c Collector
	s, err := a.Query(ctx, r, &c)
	if err != nil {
		c.Answer.Error = string(fail.CodeOf(err)) + ": " + err.Error()
	}
	return &c.Answer, s
}
