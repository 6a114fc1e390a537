package main

import (
	"context"
	"fmt"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/queryset/ask"
	"github.com/togodb/togo/query/scan"
)

// live is the same events in a store that a compactor works on while it is asked, and whose garbage goes at once.
type live struct {
	compactor *compactor.Compactor
	clock     *time.Duration
	node      *query.Node
	idle      int
	turn      int
}

func (l *live) begin(ctx context.Context) error {
	w, err := queryset.NewWorld(ctx, objstore.NewMemory(), worldConfig())
	if err != nil {
		return err
	}
	if l.node != nil {
		l.node.Close()
	}
	*l = live{}
	if l.compactor, l.clock, err = newCompactor(w.Set); err != nil {
		return err
	}
	l.node, err = ask.Open(ctx, w.Store, nil)
	return err
}

// ask asks while the compactor takes its next step.
func (l *live) ask(ctx context.Context, tenant event.TenantID, p *pair) (*answer.Answer, error) {
	if l.node == nil || l.idle > 2*shards {
		if err := l.begin(ctx); err != nil {
			return nil, err
		}
	}
	if l.idle == shards {
		*l.clock += 24 * time.Hour
	}
	l.turn++
	done := make(chan error, 1)
	go func() {
		worked, err := l.compactor.Turn(ctx, event.ShardID(l.turn%shards))
		if l.idle++; worked {
			l.idle = 0
		}
		done <- err
	}()
	a, _ := ask.Ask(ctx, l.node, p.request(tenant, scan.Options{}))
	if err := <-done; err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	if l.turn%5 == 0 { // no query is under way: what is deleted here is only missed by what remembers it
		*l.clock += time.Hour
		if _, err := l.compactor.Collect(ctx); err != nil {
			return nil, fmt.Errorf("collect: %w", err)
		}
	}
	return a, nil
}
