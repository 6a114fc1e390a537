package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// shard is the work on one shard.
type shard struct {
	c       *Compactor
	id      event.ShardID
	records *shardlog.Log
	log     *slog.Logger

	// turnOf holds a token while somebody uses state and what follows from it. (A channel, so
	// that waiting for it ends with the context.) A merge runs without it.
	turnOf  chan struct{}
	state   *shardlog.State // nil: to be loaded
	watch   *watch
	jobs    map[string]time.Duration // open merges, by nonce: when they were first seen
	held    map[string]*held         // objects that merges had trouble with, by key
	expired time.Duration            // when the retention is looked at next

	// What was removed by the records in (recalled, loadedAt] was folded without a word to the collector.
	recalled, loadedAt chain.Position

	mu   sync.Mutex // guards snap
	snap Status
}

func newShard(c *Compactor, id event.ShardID) *shard {
	return &shard{
		c: c, id: id, log: c.log.With("shard", id),
		records: shardlog.OpenWith(c.d.Store, id, shardlog.Config{
			Now: c.d.Now, NewNonce: c.d.NewNonce, Logger: c.log, Metrics: c.d.LogMetrics, Backoff: c.d.Backoff, Parallel: c.d.Parallel,
		}),
		turnOf: make(chan struct{}, 1), held: map[string]*held{}, snap: Status{Shard: id},
	}
}

func (s *shard) snapshot() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snap
}

func (s *shard) tell(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.snap)
}

// withState runs do with the newest state.
func (s *shard) withState(ctx context.Context, do func() error) error {
	return s.alone(ctx, func() error {
		if err := s.follow(ctx); err != nil {
			return err
		}
		err := do()
		s.describe()
		return err
	})
}

// alone runs do while nobody else uses the state.
func (s *shard) alone(ctx context.Context, do func() error) error {
	select {
	case s.turnOf <- struct{}{}:
		defer func() { <-s.turnOf }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// describe brings the status up to the state.
func (s *shard) describe() {
	if s.state == nil {
		return
	}
	fragments, segments := s.state.Counts()
	s.tell(func(st *Status) {
		st.Position, st.Fragments, st.Segments = uint64(s.state.Position()), fragments, segments
		st.Quarantine, st.Waiting = len(s.state.Quarantined()), len(s.watch.slots)
	})
}

// follow reads the log to its head.
func (s *shard) follow(ctx context.Context) error {
	if s.state == nil {
		state, err := s.records.Load(ctx)
		if err != nil {
			return err
		}
		s.loaded(state)
		return nil
	}
	from := s.state.Position()
	records, err := s.records.Follow(ctx, s.state)
	if s.state.Position() != from+chain.Position(len(records)) {
		s.loaded(s.state) // records that we had not read were deleted: it began anew from a checkpoint
		return err
	}
	for i := range records {
		s.watch.saw(&records[i], s.c.d.Clock())
	}
	if err != nil && !isWorld(err) {
		s.state = nil // from the newest checkpoint, if that helps
	}
	return err
}

func (s *shard) loaded(state *shardlog.State) {
	s.state, s.loadedAt = state, state.Position()
	state.OnRemoved(s.c.garbage.Removed)
	s.watch = newWatch(state, s.c.d.Clock())
	if s.jobs == nil { // what was seen of them holds, however often the state is loaded
		s.jobs = map[string]time.Duration{}
	}
}

// isWorld says that an error leaves the state as good as it was.
func isWorld(err error) bool {
	return !errors.Is(err, shardlog.ErrCorrupt) && !errors.Is(err, shardlog.ErrNewerFormat)
}

// turn takes one step: it expires, gives up what was abandoned, or merges.
func (s *shard) turn(ctx context.Context) (worked bool, err error) {
	var some bool
	err = s.withState(ctx, func() (err error) {
		if worked, err = s.expire(ctx); worked || err != nil {
			return err
		}
		if worked, err = s.sweep(ctx); worked || err != nil {
			return err
		}
		some = s.choose() != nil
		return nil
	})
	if err == nil && some {
		worked, err = s.work(ctx)
	}
	s.report(err)
	return worked, err
}

// work does one merge, when it is this shard's turn among those of the process.
func (s *shard) work(ctx context.Context) (worked bool, err error) {
	select {
	case s.c.slots <- struct{}{}: // who waits longest comes first
		defer func() { <-s.c.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	var do *task
	err = s.withState(ctx, func() (err error) {
		do, err = s.begin(ctx)
		return err
	})
	if do == nil {
		return false, err
	}
	return true, s.run(ctx, do)
}

func (s *shard) report(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.tell(func(st *Status) { st.Error, st.Doing = text, "" })
}

// append puts a record behind the state. After a lost race the record found is folded in, and
// won is false.
func (s *shard) append(ctx context.Context, r *shardlog.Record) (won bool, err error) {
	won, found, err := s.records.Append(ctx, s.state, r)
	if err == nil {
		s.watch.saw(&found, s.c.d.Clock())
	} else if !errors.Is(err, shardlog.ErrRefused) {
		// The record may have landed or may still land, or the log was trimmed past us:
		// what is true, the log says.
		s.state = nil
	}
	return won, err
}

// insist appends what make says until it stands, or make returns nil, or too many races
// are lost: each of them is lost to another's progress.
func (s *shard) insist(ctx context.Context, make func() *shardlog.Record) (done bool, err error) {
	for range maxRaces {
		r := make()
		if r == nil {
			return false, nil
		}
		won, err := s.append(ctx, r)
		if won || err != nil {
			return won, err
		}
	}
	return false, fmt.Errorf("shard %s: %w: %d", s.id, shardlog.ErrLostRaces, maxRaces)
}

// maxRaces bounds the tries of one append: a shard that commits every 200 ms, and a store that
// takes 150 ms for a write, lose a few of them.
const maxRaces = 64

// sweep ends the merges that nobody works on any more: open for longer than the timeout, by our
// own monotonic clock.
func (s *shard) sweep(ctx context.Context) (bool, error) {
	now := s.c.d.Clock()
	open := map[string]time.Duration{}
	var old string
	for _, j := range s.state.Jobs() {
		first, seen := s.jobs[j.Nonce]
		if !seen {
			first = now
		}
		open[j.Nonce] = first
		if old == "" && now-first >= s.c.cfg.JobTimeout {
			old = j.Nonce
		}
	}
	s.jobs = open
	if old == "" {
		return false, nil
	}
	s.log.Info("giving up a merge that was abandoned", "job", old)
	done, err := s.insist(ctx, func() *shardlog.Record { return s.abortOf(old) })
	if done {
		s.c.metrics.jobs.WithLabelValues("abandoned").Inc()
	}
	return done, err
}

// abortOf is the abort of a job; nil if it is not open.
func (s *shard) abortOf(job string) *shardlog.Record {
	for _, j := range s.state.Jobs() {
		if j.Nonce == job {
			return &shardlog.Record{Kind: shardlog.KindMergeAbort, MergeAbort: &shardlog.MergeAbort{Job: job}}
		}
	}
	return nil
}
