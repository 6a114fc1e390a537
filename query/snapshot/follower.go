package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query/fail"
)

// Placements gives the placement table; *placements.Keeper does.
type Placements interface {
	Current() *placements.Table
	Refresh(ctx context.Context) (*placements.Table, error)
}

// Config of a Follower. Store, Meta and Placements have no default.
type Config struct {
	Store      objstore.Store
	Meta       objstore.Meta
	Placements Placements // loaded
	// MaxAge is how far a snapshot of the present may lie behind; 1 s.
	MaxAge time.Duration
	// IdleAfter is how long a state stays that nobody asks for; 10 min.
	IdleAfter time.Duration
	// MaxBytes bounds the memory of states and of what is kept of their past; 512 MiB. The states of one query are kept while it is
	// planned, whatever they take.
	MaxBytes int64
	// Parallel bounds the shards that one snapshot reads at a time, and the requests for each; 8.
	Parallel int
	// Tries bounds how often the placements or a log are read again when the store did not answer; 2. Backoff is the pause between them, and
	// a Store that is patient with each single request does more.
	Tries      int
	Backoff    chain.Backoff
	Now        func() time.Time      // for ages alone; time.Now
	Logger     *slog.Logger          // slog.Default
	LogMetrics *shardlog.Metrics     // of the process's shard logs; nil: none
	Registerer prometheus.Registerer // nil: no metrics
}

// Validate refuses what no Follower can work with, and fills in the defaults.
func (c *Config) Validate() error {
	switch {
	case c.Store == nil || c.Placements == nil:
		return errors.New("snapshot: no store or no placements")
	case c.Meta.DataBucketSeconds <= 0:
		return fmt.Errorf("snapshot: data buckets of %d s", c.Meta.DataBucketSeconds)
	case c.MaxAge < 0 || c.IdleAfter < 0 || c.MaxBytes < 0 || c.Parallel < 0 || c.Tries < 0:
		return errors.New("snapshot: max_age, idle_after, max_bytes, parallel and tries must not be negative")
	}
	orDefault(&c.MaxAge, time.Second)
	orDefault(&c.IdleAfter, 10*time.Minute)
	orDefault(&c.MaxBytes, 512<<20)
	orDefault(&c.Parallel, 8)
	orDefault(&c.Tries, 2)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

func orDefault[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

// Follower follows the shard logs of the tenants that are asked for. Any number of goroutines may use it.
type Follower struct {
	cfg     Config
	key     [sha256.Size]byte // of the texts of vectors
	metrics *metrics

	// placed holds a token while somebody reads the placements; who holds it may use placedAt.
	placed   chan struct{}
	placedAt time.Time // what was there then is in Placements.Current

	mu     sync.Mutex // guards shards, and used and bytes of each
	shards map[event.ShardID]*shard
}

// New does no I/O.
func New(cfg Config) (*Follower, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Follower{
		cfg: cfg, key: keyOf(cfg.Meta), metrics: newMetrics(cfg.Registerer),
		placed: make(chan struct{}, 1), shards: map[event.ShardID]*shard{},
	}, nil
}

// Unbounded is a range's end that leaves out no time.
const Unbounded event.Timestamp = math.MaxInt64

// At is a tenant's table: the present, or what a vector names. Errors are *fail.Error (gone, invalid_request, unavailable,
// internal) but for those of ctx.
func (f *Follower) At(ctx context.Context, tenant event.TenantID, kind fragment.Kind, want *Vector) (*Snapshot, error) {
	sub := subject{tenant, shardlog.TableEvents}
	if kind == fragment.DeadLetters {
		sub.table = shardlog.TableDeadLetters
	}
	if want != nil {
		snap, err := f.past(ctx, sub, want)
		return f.finish(ctx, snap, "past", err)
	}
	snap, err := f.present(ctx, sub)
	return f.finish(ctx, snap, "present", err)
}

// present reads the placements and, at the same time, the logs of the shards that the known version names; then those that only
// the newest names. In which order they are read does not matter, as each shard of the newest version is read after the question.
func (f *Follower) present(ctx context.Context, sub subject) (*Snapshot, error) {
	now := f.cfg.Now()
	got := gathered{sub: sub, listings: map[event.ShardID]*listing{}, at: map[event.ShardID]chain.Position{}}
	var expected []event.ShardID
	if known := f.cfg.Placements.Current(); known != nil {
		expected = shardsOf(known, sub)
	}
	var table *placements.Table
	err := f.each(ctx, 1+len(expected), func(ctx context.Context, i int) (err error) {
		if i == 0 {
			table, err = f.table(ctx, now)
			return err
		}
		return got.read(ctx, f.shard(expected[i-1]), now)
	})
	if err != nil {
		return nil, err
	}
	shards := shardsOf(table, sub)
	rest := slices.DeleteFunc(slices.Clone(shards), func(id event.ShardID) bool { return got.listings[id] != nil })
	err = f.each(ctx, len(rest), func(ctx context.Context, i int) error { return got.read(ctx, f.shard(rest[i]), now) })
	if err != nil {
		return nil, err
	}
	snap := &Snapshot{Vector: Vector{Tenant: sub.tenant, Placements: table.Version()}}
	for _, id := range shards {
		snap.Vector.Shards = append(snap.Vector.Shards, Position{id, got.at[id]})
		snap.parts = append(snap.parts, got.listings[id])
	}
	return snap, nil
}

// gathered is what was read of some shards.
type gathered struct {
	sub      subject
	mu       sync.Mutex // guards the rest
	listings map[event.ShardID]*listing
	at       map[event.ShardID]chain.Position
}

func (g *gathered) read(ctx context.Context, s *shard, now time.Time) error {
	return s.fresh(ctx, now, func(s *shard) error {
		l := s.versions(g.sub).present(s.state, g.sub)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.listings[s.id], g.at[s.id] = l, s.state.Position()
		return nil
	})
}

// finish sums the parts up, or gives the error as clients get it.
func (f *Follower) finish(ctx context.Context, snap *Snapshot, what string, err error) (*Snapshot, error) {
	if err = f.told(ctx, err); err != nil {
		if fail.CodeOf(err) == fail.Gone {
			f.metrics.snapshots.WithLabelValues("gone").Inc()
		}
		return nil, err
	}
	snap.Floor = math.MinInt64
	for _, p := range snap.parts {
		snap.Floor = max(snap.Floor, p.floor)
		snap.Considered += p.count
	}
	snap.Fragments = snap.fragments
	f.metrics.snapshots.WithLabelValues(what).Inc()
	f.trim()
	return snap, nil
}

// shardsOf are the shards that may hold what the subject has below the horizon, ascending.
func shardsOf(t *placements.Table, sub subject) []event.ShardID {
	all := t.ShardsOf(sub.tenant, placements.Beginning, t.Horizon())
	if sub.table == shardlog.TableDeadLetters { // of records that no event was made of, too
		all = append(all, t.DeadShards()...)
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

// table is the newest placements, at most MaxAge older than now.
func (f *Follower) table(ctx context.Context, now time.Time) (*placements.Table, error) {
	select {
	case f.placed <- struct{}{}:
		defer func() { <-f.placed }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t := f.cfg.Placements.Current(); t != nil && now.Sub(f.placedAt) < f.cfg.MaxAge {
		return t, nil
	}
	begin := f.cfg.Now()
	var table *placements.Table
	err := f.again(ctx, func() (err error) {
		table, err = f.cfg.Placements.Refresh(ctx)
		return err
	})
	if err == nil {
		f.placedAt = begin
	}
	return table, err
}

// each runs do for 0 to n-1, some at a time; after an error it begins no more, and it returns the first. A panic is an error
// of this question alone.
func (f *Follower) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, f.cfg.Parallel)
	var wait sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			defer func() {
				if p := recover(); p != nil {
					cancel(fmt.Errorf("%w: %v\n%s", errBug, p, debug.Stack()))
				}
			}()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// again tries what may fail because the store does not answer.
func (f *Follower) again(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try >= f.cfg.Tries || isFinal(err) || ctx.Err() != nil {
			return err
		}
		f.metrics.retries.Inc()
		if f.cfg.Backoff.Wait(ctx, try) != nil {
			return err
		}
	}
}

// isFinal says that trying again will not help.
func isFinal(err error) bool {
	var told *fail.Error
	return isDamage(err) || errors.Is(err, placements.ErrNoGenesis) || errors.As(err, &told)
}

// errBug is a panic.
var errBug = errors.New("a bug")

func isDamage(err error) bool {
	return errors.Is(err, errBug) || errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) ||
		errors.Is(err, placements.ErrCorrupt) || errors.Is(err, placements.ErrFormat)
}

// told is the error as the client gets it.
func (f *Follower) told(ctx context.Context, err error) error {
	var told *fail.Error
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("plan the query: %w", ctx.Err())
	case errors.Is(err, placements.ErrNoGenesis):
		return &fail.Error{Code: fail.Unavailable, Message: "the store is empty: no router has been started on it yet", Err: err}
	case isDamage(err):
		f.cfg.Logger.Error("a log that a query needs cannot be read", "error", err)
		return &fail.Error{Code: fail.Internal, Message: "the tenant's data cannot be read; the server's log says why", Err: err}
	}
	return &fail.Error{Code: fail.Unavailable, Message: "the object store does not answer; try again", Err: err}
}
