package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements/planner"
)

// Load is what a shard committed lately, by its writers' clocks.
type Load struct {
	Shard   event.ShardID
	From    time.Time // the commits from then on are here
	Commits map[event.TenantID][]planner.Commit
	Offsets int64 // of its sources, that it got on by
}

const (
	// loadBatch is how many records are read at a time, backwards; about as many
	// as a writer makes in five minutes.
	loadBatch = 64
	// maxLoadRecords bounds what is read of a shard: an hour of a commit a second.
	maxLoadRecords = 3600
)

// Load reads what each shard committed in the window before now, from the ends of the logs
// back to the first append that is older, or as far as the bound lets it; then From is later.
// Only events count: where dead letters go, no placement decides.
func (v *View) Load(ctx context.Context, now time.Time, window time.Duration) ([]Load, error) {
	out := make([]Load, 0, len(v.Shards))
	for id, s := range v.Shards {
		l := Load{Shard: event.ShardID(id), From: now.Add(-window), Commits: map[event.TenantID][]planner.Commit{}}
		if s.LastAppendMS() >= l.From.UnixMilli() {
			if err := l.read(ctx, v.logs[id], s.Position()); err != nil {
				return nil, fmt.Errorf("shard %d: load: %w", id, err)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

func (l *Load) read(ctx context.Context, log *shardlog.Log, head chain.Position) error {
	var first time.Time // of the appends that were read
	for read := 0; head > 0; read += loadBatch {
		if read >= maxLoadRecords {
			l.From = first
			return nil
		}
		n := min(head, loadBatch)
		records, err := log.ReadAfter(ctx, head-n, int(n))
		var trimmed *chain.TrimmedError
		if errors.As(err, &trimmed) { // older records are gone
			switch n = head - min(head, trimmed.Base); {
			case n == 0 && first.IsZero():
				return err // not even the newest of them can be read: the view is old
			case n == 0:
				l.From = first
				return nil
			}
			records, err = log.ReadAfter(ctx, head-n, int(n))
		}
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(records) {
			if r.Record.Kind != shardlog.KindAppend {
				continue
			}
			if first = time.UnixMilli(r.Record.TimeMS); first.Before(l.From) {
				return nil
			}
			l.add(first, r.Record.Append)
		}
		head -= n
	}
	return nil
}

func (l *Load) add(at time.Time, a *shardlog.Append) {
	for _, f := range a.Fragments {
		if f.Table == shardlog.TableEvents {
			l.Commits[f.Tenant] = append(l.Commits[f.Tenant], planner.Commit{At: at, Bytes: f.Bytes})
		}
	}
	for _, p := range a.Progress {
		l.Offsets += p.Next - p.From
	}
}
