package compactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

// Deps are what a Compactor works with. Store, Meta, Shards, Tenants and Worker have no
// default.
type Deps struct {
	Store   objstore.Store
	Meta    objstore.Meta
	Shards  func() int      // how many there are; may grow
	Tenants *tenants.Keeper // somebody else refreshes it
	Worker  string          // names the process in merge-begin records, for people
	// MayHold says for a shard which tenants may have events or dead letters there
	// (retain.Rules); nil: all may.
	MayHold func(event.ShardID) func(event.TenantID) (events, letters bool)

	Now        func() time.Time     // the own clock, for retention and for people; time.Now
	Clock      func() time.Duration // monotonic, since any moment; real time
	NewNonce   func() string        // chain.NewNonce
	Backoff    chain.Backoff        // between tries of a write
	Parallel   int                  // requests of one call at a time; 0: shardlog's default
	LogMetrics *shardlog.Metrics    // nil: none
	Logger     *slog.Logger         // slog.Default
	Registerer prometheus.Registerer
	Placements *placements.Keeper // whose old versions are deleted with each collection; nil: they stay
}

// Compactor compacts shards.
type Compactor struct {
	cfg     Config
	d       Deps
	log     *slog.Logger
	metrics *metrics
	slots   chan struct{} // a token for each merge at a time
	garbage *garbage.Collector

	stopGrace time.Duration // set by Run, before it starts anything

	mu     sync.Mutex // guards shards; never held over a call of the store
	shards map[event.ShardID]*shard
}

// New checks the configuration; nothing is read or written before Run, Turn or Collect.
func New(cfg Config, d Deps) (*Compactor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("compactor: configuration: %w", err)
	}
	if d.Store == nil || d.Shards == nil || d.Tenants == nil || d.Worker == "" {
		return nil, errors.New("compactor: store, shards, tenants and worker are needed")
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Clock == nil {
		begin := time.Now()
		d.Clock = func() time.Duration { return time.Since(begin) }
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	c := &Compactor{
		cfg: cfg, d: d, log: d.Logger, metrics: newMetrics(d.Registerer),
		slots: make(chan struct{}, cfg.Concurrency), shards: map[event.ShardID]*shard{},
	}
	c.garbage = garbage.NewCollector(garbage.Config{Store: d.Store, Judges: c, Grace: cfg.QueryGrace, Clock: d.Clock})
	return c, nil
}

// Shards are those that this process compacts, as far as they exist.
func (c *Compactor) Shards() []event.ShardID {
	n := c.d.Shards()
	var out []event.ShardID
	if len(c.cfg.Shards) == 0 {
		for s := range n {
			out = append(out, event.ShardID(s))
		}
		return out
	}
	for _, s := range c.cfg.Shards {
		if int(s) < n {
			out = append(out, s)
		}
	}
	return out
}

// of is the work on a shard, begun if need be; nil if it is not this process's.
func (c *Compactor) of(id event.ShardID) *shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shards[id]; s != nil {
		return s
	}
	if !slices.Contains(c.Shards(), id) {
		return nil
	}
	s := newShard(c, id)
	c.shards[id] = s
	return s
}

// Run compacts until ctx ends. What is wrong with one shard or with the store is logged and
// counted, and tried again; it ends no other work.
func (c *Compactor) Run(ctx context.Context) error {
	c.stopGrace = stopGrace
	var wait sync.WaitGroup
	defer wait.Wait()
	if c.cfg.CollectEvery > 0 {
		wait.Go(func() { c.collectAlways(ctx) })
	}
	begun := map[event.ShardID]bool{}
	for ctx.Err() == nil {
		for _, id := range c.Shards() {
			if !begun[id] {
				begun[id] = true
				wait.Go(func() { c.runShard(ctx, c.of(id)) })
			}
		}
		pause(ctx, newShardsEvery)
	}
	return nil
}

// stopGrace is what Run takes, after its context ended, to give up the merges under way.
const stopGrace = 5 * time.Second

// newShardsEvery is how often Run looks for shards that were added.
const newShardsEvery = 5 * time.Second

// corruptPause is how long a shard is left alone whose log does not read as it was written. What came over the wire may
// have been damaged, and not the log, and to read it again does no harm.
const corruptPause = 10 * time.Minute

// runShard takes one step after the other.
func (c *Compactor) runShard(ctx context.Context, s *shard) {
	failures := 0
	for ctx.Err() == nil {
		worked, err := s.turn(ctx)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat):
			s.log.Error("the log of the shard cannot be read; it is left alone for a while", "for", corruptPause, "error", err)
			pause(ctx, corruptPause)
		case err != nil:
			failures++
			s.log.Warn("compaction failed, trying again", "attempt", failures, "error", err)
			pause(ctx, max(c.d.Backoff.Pause(failures), c.cfg.Poll/10))
		case worked:
			failures = 0
		default:
			failures = 0
			pause(ctx, c.jittered(c.cfg.Poll))
		}
	}
}

// collectAlways collects at intervals, and at the start: then it recalls what was removed lately, as long as the records are there.
func (c *Compactor) collectAlways(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, c.jittered(c.cfg.CollectEvery)) {
		if _, err := c.Collect(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("collection incomplete, the next one goes on", "error", err)
		}
	}
}

// Turn takes one step of a shard's work: what Run does in a loop. It returns false if there
// was nothing to do. It starts no goroutine.
func (c *Compactor) Turn(ctx context.Context, id event.ShardID) (worked bool, err error) {
	s := c.of(id)
	if s == nil {
		return false, fmt.Errorf("compactor: shard %s is not ours", id)
	}
	return s.turn(ctx)
}

// jittered is up to a half less than d, so that processes spread out.
func (c *Compactor) jittered(d time.Duration) time.Duration {
	return chain.Backoff{Min: d, Max: d, Jitter: c.d.Backoff.Jitter}.Pause(1)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Ready is nil: a compactor that cannot work delays merges and nothing else. Its metrics
// say how it goes.
func (c *Compactor) Ready() error { return nil }

// Status of one shard's compaction.
type Status struct {
	Shard      event.ShardID `json:"shard"`
	Position   uint64        `json:"position"`  // of the log, as far as it was read
	Fragments  int           `json:"fragments"` // live
	Segments   int           `json:"segments"`  // live id segments
	Waiting    int           `json:"waiting"`   // buckets that may still need a merge
	Merges     int64         `json:"merges"`    // done by this process
	Aborted    int64         `json:"aborted"`   // begun by this process, and given up
	Quarantine int           `json:"quarantine"`
	Doing      string        `json:"doing,omitempty"`
	Error      string        `json:"error,omitempty"` // of the last step, if it failed
}

// Status describes each shard, in order.
func (c *Compactor) Status() []Status {
	c.mu.Lock()
	list := make([]*shard, 0, len(c.shards))
	for _, s := range c.shards {
		list = append(list, s)
	}
	c.mu.Unlock()
	out := make([]Status, len(list))
	for i, s := range list {
		out[i] = s.snapshot()
	}
	slices.SortFunc(out, func(a, b Status) int { return int(a.Shard) - int(b.Shard) })
	return out
}
