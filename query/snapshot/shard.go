package snapshot

import (
	"context"
	"errors"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// followBatch bounds the records that are read before they are folded.
const followBatch = 64

// shard is the followed log of one shard.
type shard struct {
	f   *Follower
	id  event.ShardID
	log *shardlog.Log

	// turn holds a token while somebody uses the fields below. (A channel, so that waiting for it ends with the context.)
	turn  chan struct{}
	state *shardlog.State // nil: to be loaded
	asOf  time.Time       // state holds all that was committed before
	known map[subject]*versions

	rebuilding chan struct{} // holds a token while somebody reads the log up to a past position

	used  time.Time // guarded by f.mu, as is bytes
	bytes int64     // about what the state takes
}

// shard is the one with this number; it is made if there is none.
func (f *Follower) shard(id event.ShardID) *shard {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shards[id]
	if s == nil {
		s = &shard{f: f, id: id, turn: make(chan struct{}, 1), rebuilding: make(chan struct{}, 1), known: map[subject]*versions{}, log: shardlog.OpenWith(f.cfg.Store, id, shardlog.Config{
			Logger: f.cfg.Logger, Metrics: f.cfg.LogMetrics, Backoff: f.cfg.Backoff, Parallel: f.cfg.Parallel,
		})}
		f.shards[id] = s
		f.metrics.states.Set(float64(len(f.shards)))
	}
	s.used = f.cfg.Now()
	return s
}

// alone runs do while nobody else uses the shard. What a panic leaves of the state is dropped.
func (s *shard) alone(ctx context.Context, do func() error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := false
	defer func() {
		if !done {
			s.state, s.known = nil, map[subject]*versions{}
		}
		<-s.turn
	}()
	err := do()
	done = true
	return err
}

// fresh runs do with a state that holds all that was committed MaxAge before now. Those who wait for one reading
// share it.
func (s *shard) fresh(ctx context.Context, now time.Time, do func(*shard) error) error {
	return s.alone(ctx, func() error {
		if s.state == nil || now.Sub(s.asOf) >= s.f.cfg.MaxAge {
			begin := s.f.cfg.Now()
			if err := s.f.again(ctx, func() error { return s.follow(ctx) }); err != nil {
				s.f.metrics.follows.WithLabelValues("error").Inc()
				return err
			}
			s.f.metrics.follows.WithLabelValues("ok").Inc()
			s.asOf = begin
			s.weigh()
		}
		return do(s)
	})
}

// follow brings the state to the head of the log. After an error the state is as good as it was, or nil.
func (s *shard) follow(ctx context.Context) error {
	if s.state == nil {
		return s.load(ctx)
	}
	for {
		batch, err := s.log.ReadAfter(ctx, s.state.Position(), followBatch)
		for _, one := range batch {
			if err := s.apply(one); err != nil {
				s.state = nil // from the newest checkpoint, if that helps
				return err
			}
		}
		switch {
		case errors.Is(err, chain.ErrTrimmed):
			return s.load(ctx)
		case err != nil && isDamage(err):
			s.state = nil
			return err
		case err != nil || len(batch) < followBatch:
			return err
		}
	}
}

// apply folds one record, and notes which listings it changes.
func (s *shard) apply(one shardlog.Stored) error {
	touched, all := s.touches(&one.Record)
	if err := s.state.Apply(one.Record, one.Bytes); err != nil {
		return err
	}
	if all {
		s.stale()
		return nil
	}
	for _, f := range touched {
		if v := s.known[subject{f.Tenant, f.Table}]; v != nil && v.newest != nil {
			if v.dirty == nil {
				v.dirty = map[int64]bool{}
			}
			v.dirty[f.Bucket] = true
		}
	}
	return nil
}

// touches are fragments of all buckets that a record is about to change; all: it may change anything.
func (s *shard) touches(r *shardlog.Record) (list []shardlog.Fragment, all bool) {
	switch r.Kind {
	case shardlog.KindAppend:
		return r.Append.Fragments, false
	case shardlog.KindMergeEnd:
		for _, key := range r.MergeEnd.Inputs { // the outputs are of the same bucket
			if f, ok := s.state.Fragment(key); ok {
				return []shardlog.Fragment{f}, false
			}
		}
	case shardlog.KindQuarantine:
		if f, ok := s.state.Fragment(r.Quarantine.Key); ok {
			return []shardlog.Fragment{f}, false
		}
	case shardlog.KindClaim, shardlog.KindRelease, shardlog.KindGap, shardlog.KindMergeBegin, shardlog.KindMergeAbort:
	default:
		return nil, true
	}
	return nil, false
}

// stale: all listings are to be made anew.
func (s *shard) stale() {
	for _, v := range s.known {
		v.stale()
	}
}

// versions are the listings of a subject.
func (s *shard) versions(sub subject) *versions {
	v := s.known[sub]
	if v == nil {
		v = &versions{}
		s.known[sub] = v
	}
	v.used = s.f.cfg.Now()
	return v
}

// load begins anew from the newest checkpoint.
func (s *shard) load(ctx context.Context) error {
	s.f.metrics.loads.Inc()
	state, err := s.log.Load(ctx)
	if err != nil {
		return err
	}
	s.state = state
	s.stale()
	return nil
}

// weigh notes what state and listings take, and drops listings that nobody has asked for.
func (s *shard) weigh() {
	bytes := int64(0)
	if s.state != nil {
		bytes = s.state.Weight()
	}
	idle := s.f.cfg.Now().Add(-s.f.cfg.IdleAfter)
	for sub, v := range s.known {
		if v.used.Before(idle) {
			delete(s.known, sub)
			continue
		}
		bytes += v.weight()
	}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.bytes = bytes
}
