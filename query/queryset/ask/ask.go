// Package ask opens the engine of a store for tests, and gives its answers in the form that package answer compares.
package ask

import (
	"context"
	"log/slog"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/vec"
)

// Open makes a node over a store that is there, which sees each commit at once. set, if it is not nil, changes the defaults.
func Open(ctx context.Context, store objstore.Store, set func(*query.Config)) (*query.Node, error) {
	quiet := slog.New(slog.DiscardHandler)
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
	cfg := query.DefaultConfig()
	cfg.MaxAge, cfg.MaxTime = 1, 10*time.Minute
	if set != nil {
		set(&cfg)
	}
	return query.Open(cfg, query.Parts{Store: store, Meta: meta, Placements: keeper, Logger: quiet})
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
func Ask(ctx context.Context, n *query.Node, r query.Request) (*answer.Answer, *query.Summary) {
	var c Collector
	s, err := n.Query(ctx, r, &c)
	if err != nil {
		c.Answer.Error = string(fail.CodeOf(err)) + ": " + err.Error()
	}
	return &c.Answer, s
}
