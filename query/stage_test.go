package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/vec"
)

var quiet = slog.New(slog.DiscardHandler)

var noPause = chain.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}

// stage is a store with a writer and compactors, whose calls always go well, and a node that meets the store's faults.
type stage struct {
	t     *testing.T
	store *objstore.Fault
	set   *queryset.Set
	node  *query.Node
	gen   *queryset.Events
	now   time.Duration // of compactors
	cuts  bool          // the store cuts reads off without a word

	mu   sync.Mutex                 // guards sent
	sent map[string]event.Timestamp // what was committed, by id
}

func newStage(t *testing.T, shards int, change func(*query.Config)) *stage {
	return newStageOver(t, objstore.NewMemory(), shards, change)
}

func newStageOver(t *testing.T, inner objstore.Store, shards int, change func(*query.Config)) *stage {
	t.Helper()
	s := &stage{t: t, store: objstore.NewFault(inner), gen: queryset.NewEvents("acme", 1), sent: map[string]event.Timestamp{}}
	s.gen.Nanos = true
	var err error
	if s.set, err = queryset.New(t.Context(), inner, queryset.Config{Shards: shards, Spread: shards}); err != nil {
		t.Fatal(err)
	}
	s.node = s.open(s.store, change)
	return s
}

// open starts a node over a store.
func (s *stage) open(store objstore.Store, change func(*query.Config)) *query.Node {
	s.t.Helper()
	cfg := query.DefaultConfig()
	cfg.MaxAge, cfg.Workers = 1, 2
	if change != nil {
		change(&cfg)
	}
	node, err := query.Open(cfg, query.Parts{Store: store, Meta: s.set.Meta, Placements: s.set.Placements, Logger: quiet, Backoff: noPause})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(node.Close)
	return node
}

func (s *stage) commit(n int) {
	s.t.Helper()
	s.put(s.gen.Next(n)...)
}

func (s *stage) put(rows ...queryset.Row) {
	s.t.Helper()
	if err := s.set.Commit(context.WithoutCancel(s.t.Context()), rows...); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		s.sent[r.ID] = r.Timestamp
	}
}

// compactor merges as soon as it can, and deletes what has been garbage for the grace.
func (s *stage) compactor(store objstore.Store, grace time.Duration) *compactor.Compactor {
	s.t.Helper()
	cfg := compactor.DefaultConfig()
	cfg.FanIn, cfg.Ratio, cfg.MaxInputs, cfg.QueryGrace, cfg.KeepRecords = 3, 2, 8, grace, 5
	c, err := compactor.New(cfg, compactor.Deps{
		Store: store, Meta: s.set.Meta, Shards: s.set.Placements.Current().Shards, Tenants: s.set.Tenants, Worker: "w",
		Now: func() time.Time { return queryset.Begin.Add(s.now) }, Clock: func() time.Duration { return s.now }, Logger: quiet, Parallel: 1,
		Backoff: chain.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error {
			if f, ok := store.(*objstore.Fault); ok && f.Crashed() {
				return objstore.ErrCrashed // the process is gone, and does not try again
			}
			return ctx.Err()
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// compact lets a compactor do all that there is to do.
func (s *stage) compact(c *compactor.Compactor) error {
	for range 3 {
		for id := range event.ShardID(s.set.Placements.Current().Shards()) {
			for worked := true; worked; {
				var err error
				if worked, err = c.Turn(context.WithoutCancel(s.t.Context()), id); err != nil {
					return err
				}
			}
		}
		if _, err := c.Collect(context.WithoutCancel(s.t.Context())); err != nil {
			return err
		}
		s.now += time.Hour
	}
	return nil
}

// ask gives an answer's rows as text.
func (s *stage) ask(node *query.Node, r query.Request) ([]string, *query.Summary, error) {
	if r.Tenant == "" {
		r.Tenant = s.gen.Tenant
	}
	var out sheet
	sum, err := node.Query(s.t.Context(), r, &out)
	return out.rows, sum, err
}

// rows asks for what must come.
func (s *stage) rows(text string) []string {
	s.t.Helper()
	rows, _, err := s.ask(s.node, query.Request{SQL: text})
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// same compares rows without order.
func same(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// keyed takes rows of which the first two columns are timestamp and id.
type keyed struct {
	at  []event.Timestamp
	ids []string
}

func (k *keyed) Columns([]exec.Output) error { return nil }

func (k *keyed) Batch(b *vec.Batch) error {
	for i := range b.Len {
		k.at = append(k.at, event.Timestamp(b.Cols[0].At(i).Int))
		k.ids = append(k.ids, strings.Clone(b.Cols[1].At(i).Text))
	}
	return nil
}

// literal is a text constant of SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// instant is a constant of a time.
func instant(t event.Timestamp) string {
	return fmt.Sprintf("TIMESTAMPTZ '%s'", time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano))
}
