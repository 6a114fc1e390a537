package snapshot

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/fail"
)

// maxReplay bounds the records that are folded again for a past position: a writer makes a checkpoint every 64, and what lies
// much further back is older than any file that a merge has replaced.
const maxReplay = 20_000

// ErrPlanAgain: files of the snapshot were merged into others and collected, or expired; a new snapshot names what came in
// their place.
var ErrPlanAgain = errors.New("files of the snapshot are gone, and others came in their place: plan the query again")

func gone(why string) error {
	return fail.New(fail.Gone, "the snapshot can no longer be read: %s; leave it out to see the present", why)
}

// past is the snapshot of a vector.
func (f *Follower) past(ctx context.Context, sub subject, want *Vector) (*Snapshot, error) {
	if want.Tenant != sub.tenant {
		return nil, errForeign
	}
	now := f.cfg.Now()
	table, err := f.table(ctx, now)
	if err == nil && table.Version() < want.Placements {
		table, err = f.table(ctx, f.cfg.Now().Add(f.cfg.MaxAge))
	}
	if err != nil {
		return nil, err
	}
	if table.Version() < want.Placements {
		return nil, gone("the store was taken back to an earlier state")
	}
	if sub.table == shardlog.TableDeadLetters && !want.has(table.DeadShards()) {
		return nil, fail.New(fail.Request, "the snapshot is one of events, not of dead_letters; leave it out to see the present")
	}
	snap := &Snapshot{Vector: *want, Past: true, parts: make([]*listing, len(want.Shards))}
	err = f.each(ctx, len(snap.parts), func(ctx context.Context, i int) (err error) {
		snap.parts[i], err = f.shard(want.Shards[i].Shard).past(ctx, sub, want.Shards[i].At, now)
		return err
	})
	return snap, err
}

// past is the listing at a position of the log.
func (s *shard) past(ctx context.Context, sub subject, at chain.Position, now time.Time) (old *listing, err error) {
	var head *listing
	err = s.fresh(ctx, now, func(s *shard) error {
		if s.state.Position() < at {
			// It was confirmed, by another process perhaps, after our own reading began.
			if err := s.f.again(ctx, func() error { return s.follow(ctx) }); err != nil {
				return err
			}
			if s.state.Position() < at {
				return gone("the store was taken back to an earlier state")
			}
		}
		known := s.versions(sub)
		head = known.present(s.state, sub)
		if old = known.at(at); s.state.Position() == at {
			old = head
		}
		return nil
	})
	if err == nil && old == nil {
		old, err = s.rebuild(ctx, sub, at)
	}
	switch {
	case err != nil:
		return nil, err
	case head.erased > old.erased:
		return nil, gone("the data was erased")
	}
	return old, nil
}

// rebuild reads the log up to a position again, one at a time. Who asks for the present, and other tenants, do not wait for that.
func (s *shard) rebuild(ctx context.Context, sub subject, at chain.Position) (old *listing, err error) {
	select {
	case s.rebuilding <- struct{}{}:
		defer func() { <-s.rebuilding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err = s.alone(ctx, func() error { old = s.versions(sub).at(at); return nil })
	if err != nil || old != nil { // another one has rebuilt it meanwhile
		return old, err
	}
	var state *shardlog.State
	err = s.f.again(ctx, func() (err error) {
		state, err = s.log.LoadAt(ctx, at, maxReplay)
		return err
	})
	if errors.Is(err, shardlog.ErrOutOfReach) {
		return nil, gone("it is too old")
	}
	if err != nil {
		return nil, err
	}
	s.f.metrics.rebuilt.Inc()
	old = list(state, sub)
	return old, s.alone(ctx, func() error {
		s.versions(sub).keep(&version{at, at, old})
		s.weigh()
		return nil
	})
}

// Explain says what an error means that reading a snapshot's files gave: if a file was not there, ErrPlanAgain, or gone
// for a past snapshot, or damage if the log still names all files. Other errors it gives back.
func (f *Follower) Explain(ctx context.Context, snap *Snapshot, err error) error {
	if !errors.Is(err, objstore.ErrNotFound) {
		return err
	}
	var replaced atomic.Bool
	now := f.cfg.Now().Add(f.cfg.MaxAge) // what was read before the file was missed is too old
	failed := f.each(ctx, len(snap.Vector.Shards), func(ctx context.Context, i int) error {
		return f.shard(snap.Vector.Shards[i].Shard).fresh(ctx, now, func(s *shard) error {
			for _, one := range snap.parts[i].within(nil, math.MinInt64, Unbounded) {
				if !s.state.Live(one.Key) {
					replaced.Store(true)
					break
				}
			}
			return nil
		})
	})
	switch {
	case failed != nil:
		return f.told(ctx, failed)
	case replaced.Load() && snap.Past:
		f.metrics.snapshots.WithLabelValues("gone").Inc()
		return gone("its files were merged into others and deleted")
	case replaced.Load():
		return ErrPlanAgain
	}
	f.cfg.Logger.Error("a file is missing that a shard log names", "error", err)
	return &fail.Error{Code: fail.Internal, Message: "a file of the tenant's data is missing; the server's log says which", Err: err}
}
