package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/vec"
)

// togo is the engine with one worker, as a query node has it: parts of objects in a cache on disk, footers in memory.
type togo struct {
	w      *world
	engine *query.Node
	last   *query.Summary
}

// openTogo starts an engine that has read nothing yet. With dir "" nothing is kept of what it reads.
func openTogo(ctx context.Context, w *world, dir string) (*togo, error) {
	store, err := objstore.OpenDir(filepath.Join(w.Root, "store"))
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	meta, err := objstore.OpenMeta(ctx, store, objstore.MetaDefaults{})
	if err != nil {
		return nil, err
	}
	keeper, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed(meta.Seed)), Logger: logger})
	if err != nil {
		return nil, err
	}
	if err := keeper.Load(ctx); err != nil {
		return nil, err
	}
	cfg := query.DefaultConfig()
	cfg.Workers, cfg.CacheDir = 1, dir
	node, err := query.Open(cfg, query.Parts{Store: store, Meta: meta, Placements: keeper, Logger: logger})
	return &togo{w: w, engine: node}, err
}

func (t *togo) close() { t.engine.Close() }

func (t *togo) run(ctx context.Context, q *question, out *answer) error {
	if q.SQL == schemaQuery {
		s, err := any(t.engine).(query.Answerer).Schema(ctx, t.w.Tenant, "events", nil, nil)
		if err != nil {
			return err
		}
		for _, c := range s.Columns {
			out.row([]any{c.Name, c.Type})
		}
		return nil
	}
	var err error
	t.last, err = t.engine.Query(ctx, query.Request{Tenant: t.w.Tenant, SQL: q.text(t.w, false)}, &sink{out: out})
	return err
}

// sink writes rows as text.
type sink struct {
	out    *answer
	values []any
}

func (s *sink) Columns(columns []exec.Output) error {
	s.values = make([]any, len(columns))
	return nil
}

func (s *sink) Batch(b *vec.Batch) error {
	s.out.first()
	for row := range b.Len {
		for i, c := range b.Cols {
			s.values[i] = boxed(c.At(row))
		}
		s.out.row(s.values)
	}
	return nil
}

func boxed(v vec.Value) any {
	switch {
	case v.Type == vec.Null:
		return nil
	case v.Type == vec.Double:
		return v.Double
	case v.Type.HasTexts():
		return v.Text
	case v.Type == vec.Timestamp || v.Type == vec.Date || v.Type == vec.TimestampTZ || v.Type == vec.Int:
		return v.Int
	case v.Type == vec.Bool:
		return v.Int != 0
	}
	return v.Span
}
