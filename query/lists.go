package query

import (
	"context"
	"slices"
	"sync"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/snapshot"
)

// lists remembers the column list of each tenant with the positions that it was read behind. A list has every column of what any earlier
// position shows, so that at the same positions it need not be asked for again: a dashboard asks many queries of one moment.
type lists struct {
	mu   sync.Mutex
	seen map[event.TenantID]list
}

type list struct {
	shards  []snapshot.Position
	columns *fragment.Columns
}

// mostLists bounds how many are remembered; all are forgotten then.
const mostLists = 256

// newest is a list that has all columns of what a vector's positions show.
func (l *lists) newest(ctx context.Context, from Columns, v snapshot.Vector) (*fragment.Columns, error) {
	l.mu.Lock()
	one, ok := l.seen[v.Tenant]
	l.mu.Unlock()
	if ok && slices.Equal(one.shards, v.Shards) {
		return one.columns, nil
	}
	columns, err := from.Newest(ctx, v.Tenant)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil || len(l.seen) >= mostLists {
		l.seen = map[event.TenantID]list{}
	}
	l.seen[v.Tenant] = list{v.Shards, columns}
	return columns, nil
}
