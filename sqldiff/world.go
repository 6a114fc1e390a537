package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/queryset"
)

// A stage is the same data at another time of its life.
type stage struct {
	name  string
	store objstore.Store
}

// world is a queryset.World as it was before, in the middle of and after compaction.
type world struct {
	*queryset.World
	stages        []stage
	before, after map[liveKey][]shardlog.Fragment
}

type liveKey struct {
	tenant event.TenantID
	table  shardlog.Table
}

var quiet = slog.New(slog.DiscardHandler)

// worldConfig is of many small files, or of few with several pages.
func worldConfig() queryset.WorldConfig {
	c := queryset.WorldConfig{Seed: *seed, Rows: *rows, Folder: *testdata}
	if *large {
		c.Commits, c.Span = 3, 50*time.Minute
	}
	return c
}

func newWorld(ctx context.Context) (*world, error) {
	made, err := queryset.NewWorld(ctx, objstore.NewMemory(), worldConfig())
	if err != nil {
		return nil, err
	}
	w := &world{World: made}
	if w.before, err = w.live(ctx); err != nil {
		return nil, err
	}
	if err := w.compact(ctx); err != nil {
		return nil, err
	}
	w.after, err = w.live(ctx)
	return w, err
}

// live are the fragments of all tables.
func (w *world) live(ctx context.Context) (map[liveKey][]shardlog.Fragment, error) {
	out := map[liveKey][]shardlog.Fragment{}
	for _, tenant := range w.Names {
		for _, table := range []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters} {
			var err error
			if out[liveKey{tenant, table}], err = w.Live(ctx, tenant, table); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// compact keeps copies of the store on the way to rest.
func (w *world) compact(ctx context.Context) error {
	if err := w.keep(ctx, "before"); err != nil {
		return err
	}
	c, clock, err := newCompactor(w.Set)
	if err != nil {
		return err
	}
	merges := 0
	for idle := 0; idle < 2*shards; {
		for id := range shards {
			worked, err := c.Turn(ctx, event.ShardID(id))
			if err != nil {
				return fmt.Errorf("compact: %w", err)
			}
			if idle++; worked {
				if idle, merges = 0, merges+1; merges == 4 {
					if err := w.keep(ctx, "during"); err != nil {
						return err
					}
				}
			}
			if idle == shards {
				*clock += 24 * time.Hour
			}
		}
	}
	if merges < 5 && !*large {
		return fmt.Errorf("compact: %d merges: too few to show anything", merges)
	}
	return w.keep(ctx, "after")
}

const shards = queryset.WorldShards

func newCompactor(set *queryset.Set) (*compactor.Compactor, *time.Duration, error) {
	cfg := compactor.DefaultConfig()
	cfg.FanIn, cfg.Ratio, cfg.MaxInputs, cfg.QueryGrace = 3, 2, 6, 0
	clock := new(time.Duration)
	c, err := compactor.New(cfg, compactor.Deps{
		Store: set.Store, Meta: set.Meta, Shards: func() int { return shards }, Tenants: set.Tenants, Worker: "sqldiff",
		Now: func() time.Time { return queryset.Begin.Add(6*time.Hour + *clock) }, Clock: func() time.Duration { return *clock }, Parallel: 1, Logger: quiet,
	})
	return c, clock, err
}

func (w *world) keep(ctx context.Context, name string) error {
	to := objstore.NewMemory()
	for o, err := range w.Store.List(ctx, "", "") {
		if err != nil {
			return err
		}
		body, err := w.Store.Get(ctx, o.Key)
		if err != nil {
			return err
		}
		if err := to.Put(ctx, o.Key, body); err != nil {
			return err
		}
	}
	w.stages = append(w.stages, stage{name, to})
	return nil
}

// writeFiles puts fragments into files for another engine.
func writeFiles(ctx context.Context, store objstore.Store, live []shardlog.Fragment, dir string) (paths []string, err error) {
	for _, f := range live {
		body, err := store.Get(ctx, f.Key)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, strings.ReplaceAll(f.Key, "/", "_"))
		if err := os.WriteFile(path, body, 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
