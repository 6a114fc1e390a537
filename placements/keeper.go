package placements

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// The chain's keys in the store.
const (
	logPrefix        = "placements/log"
	basePrefix       = "placements/base"
	checkpointPrefix = "placements/checkpoint"
	newestKey        = "placements/newest"
)

// Config is what a Keeper needs. Store and Hasher have no default.
type Config struct {
	Store  objstore.Store
	Hasher *event.Hasher
	// Poll is how often Run looks for newer versions; 0 is 5 s.
	Poll time.Duration
	// CheckpointEvery is the number of versions between checkpoints; 0 is 100. A start
	// reads at most about twice as many records.
	CheckpointEvery int
	// Now is the own clock; nil is time.Now.
	Now func() time.Time
	// NewNonce makes the nonces of records; nil is chain.NewNonce.
	NewNonce func() string
	// Backoff is the pause between tries of a write.
	Backoff    chain.Backoff
	Logger     *slog.Logger          // nil: slog.Default
	Registerer prometheus.Registerer // nil: no metrics
}

// Validate refuses what no Keeper can work with, and fills in the defaults.
func (c *Config) Validate() error {
	switch {
	case c.Store == nil:
		return errors.New("placements: no store")
	case c.Hasher == nil:
		return errors.New("placements: no hasher")
	case c.Poll < 0 || c.Poll > maxPoll:
		return fmt.Errorf("placements: poll interval %s is not in [0, %s]", c.Poll, maxPoll)
	case c.CheckpointEvery < 0:
		return fmt.Errorf("placements: checkpoint every %d versions", c.CheckpointEvery)
	}
	if c.Poll == 0 {
		c.Poll = 5 * time.Second
	}
	if c.CheckpointEvery == 0 {
		c.CheckpointEvery = 100
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewNonce == nil {
		c.NewNonce = chain.NewNonce
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// ErrNoChange is what a change given to Propose returns if there is nothing to do.
var ErrNoChange = errors.New("no change")

// ErrNoGenesis: the store has no placement chain yet; Init makes one.
var ErrNoGenesis = errors.New("no placements in this store yet")

// Keeper follows the placement chain of a store and adds to it. All methods may
// be called by many goroutines.
type Keeper struct {
	cfg     Config
	log     chain.Log
	current atomic.Pointer[Table]
	// turn holds a token while somebody reads or writes the chain; who holds it may
	// store current. (A channel, so that waiting for it ends with the context.)
	turn    chan struct{}
	metrics *metrics
}

// NewKeeper does no I/O; call Load before anything else.
func NewKeeper(cfg Config) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	k := &Keeper{
		cfg:     cfg,
		log:     chain.Log{Store: cfg.Store, Prefix: logPrefix, Base: basePrefix, Backoff: cfg.Backoff},
		turn:    make(chan struct{}, 1),
		metrics: newMetrics(cfg.Registerer),
	}
	k.log.OnRetry = func(p chain.Position, attempt int, err error) {
		k.cfg.Logger.Warn("placement record not settled yet", "version", uint64(p), "attempt", attempt, "err", err)
	}
	return k, nil
}

// Current is the newest version that this Keeper has read; nil before Load.
func (k *Keeper) Current() *Table { return k.current.Load() }

// Load reads the newest checkpoint and the records after it. ErrNoGenesis if
// there is no chain.
func (k *Keeper) Load(ctx context.Context) error {
	return k.withTurn(ctx, func() error {
		t, from, err := k.load(ctx)
		if err != nil {
			return err
		}
		if t.version == 0 {
			return ErrNoGenesis
		}
		k.publish(t)
		if t.version-from >= Version(k.cfg.CheckpointEvery) {
			k.checkpoint(ctx, t)
		}
		return nil
	})
}

// maxLoadTries bounds how often one load begins again because what it reads is deleted meanwhile.
const maxLoadTries = 8

// load is the newest table, and the version of the checkpoint that it began with.
func (k *Keeper) load(ctx context.Context) (t *Table, from Version, err error) {
	for try := 1; ; try++ {
		if t, err = k.loadCheckpoint(ctx); err == nil {
			from = t.version
			t, err = k.follow(ctx, t)
		}
		if try == maxLoadTries || !errors.Is(err, chain.ErrTrimmed) && !errors.Is(err, errMoved) {
			return t, from, err
		}
		var trimmed *chain.TrimmedError
		if errors.As(err, &trimmed) && trimmed.Base > from.Position() {
			newest, listErr := k.lastCheckpoint(ctx, "")
			switch {
			case listErr != nil:
				return t, from, listErr
			case newest == "" || newest <= checkpointKey(from):
				return t, from, fmt.Errorf("%w: the records up to version %d were deleted, and there is no checkpoint above them", ErrCorrupt, uint64(trimmed.Base))
			}
		}
		k.cfg.Logger.Info("placement records or checkpoints were deleted while they were read, loading again", "reason", err)
	}
}

// Refresh reads the versions that are there now, and returns the newest.
func (k *Keeper) Refresh(ctx context.Context) (t *Table, err error) {
	err = k.withTurn(ctx, func() error {
		if t, err = k.loaded(); err != nil {
			return err
		}
		t, err = k.refresh(ctx, t)
		return err
	})
	return t, err
}

// refresh needs the turn. A table that is behind what was deleted starts from a checkpoint.
func (k *Keeper) refresh(ctx context.Context, t *Table) (*Table, error) {
	next, err := k.follow(ctx, t)
	if errors.Is(err, chain.ErrTrimmed) {
		k.cfg.Logger.Info("loading the placements anew", "version", uint64(t.version), "reason", err)
		var loaded *Table
		if loaded, _, err = k.load(ctx); err == nil {
			next = loaded
		}
	}
	k.publish(next) // also what was read before an error is true: it was confirmed
	return next, err
}

// AtLeast returns the current table once it has the version or a later one. It
// waits, over errors of the store too, until ctx ends: who names a version has seen
// it, so it is there.
func (k *Keeper) AtLeast(ctx context.Context, version Version) (*Table, error) {
	for attempt := 1; ; attempt++ {
		if t := k.Current(); t != nil && t.version >= version {
			return t, nil
		}
		t, err := k.Refresh(ctx)
		if err == nil && t.version >= version {
			return t, nil
		}
		if isFinal(err) {
			return nil, err
		}
		if waitErr := k.cfg.Backoff.Wait(ctx, attempt); waitErr != nil {
			return nil, errors.Join(fmt.Errorf("wait for placement version %d, attempt %d: %w", version, attempt, waitErr), err)
		}
	}
}

// isFinal says that trying again will not help.
func isFinal(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) || errors.Is(err, ErrNoGenesis)
}

// maxRaces bounds the lost races of one Propose. Each is another process's success, at
// a rate of a few records a minute; so many in a row are a fault.
const maxRaces = 100

// Propose adds the record that change makes from the newest table, and returns the
// table with it. Kind and body are change's matter, the rest is set here. change may be called
// many times, each time with a newer table; with ErrNoChange from it Propose returns
// the table as it is. ErrRefused means that the table's rules forbid the change.
// Any other error leaves it open whether the record will be in the chain.
func (k *Keeper) Propose(ctx context.Context, change func(*Table) (Record, error)) (t *Table, err error) {
	err = k.withTurn(ctx, func() error {
		if t, err = k.loaded(); err != nil {
			return err
		}
		for range maxRaces {
			next, won, err := k.propose(ctx, t, change)
			if errors.Is(err, ErrNoChange) {
				return nil
			}
			if err != nil && !errors.Is(err, chain.ErrTrimmed) {
				return err
			}
			if t = next; won {
				return nil
			}
			if t, err = k.refresh(ctx, t); err != nil {
				return err
			}
		}
		return fmt.Errorf("placement change: lost %d races in a row", maxRaces)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// propose is one round: it settles the version after t's.
func (k *Keeper) propose(ctx context.Context, t *Table, change func(*Table) (Record, error)) (*Table, bool, error) {
	r, err := change(t)
	if err != nil {
		return t, false, err
	}
	r = k.seal(t, r)
	body, err := r.Encode()
	if err != nil {
		return t, false, err
	}
	// The checks of the fold, before anything is written.
	next, err := t.Apply(r, body)
	if err != nil {
		return t, false, err
	}
	outcome, err := k.log.Append(ctx, next.version.Position(), body, func(found []byte) bool {
		other, err := DecodeRecord(found)
		return err == nil && other.Nonce == r.Nonce
	})
	if err != nil {
		return t, false, fmt.Errorf("placement change: %w", err)
	}
	if !outcome.Won {
		k.metrics.races.Inc()
		if next, err = t.read(outcome.Body); err != nil {
			return t, false, err
		}
		k.publish(next)
		return next, false, nil
	}
	k.publish(next)
	k.metrics.appended.WithLabelValues(string(r.Kind)).Inc()
	k.cfg.Logger.Info("placements changed", "version", uint64(next.version), "kind", string(r.Kind), "horizon", next.horizon.String())
	if next.version%Version(k.cfg.CheckpointEvery) == 0 {
		k.checkpoint(ctx, next)
	}
	return next, true, nil
}

// seal sets what is not the change's matter.
func (k *Keeper) seal(t *Table, r Record) Record {
	r.Format, r.Version, r.Prev = Format, t.version+1, nil
	if t.version > 0 {
		link := t.link
		r.Prev = &link
	}
	r.Nonce, r.TimeMS = k.cfg.NewNonce(), k.cfg.Now().UnixMilli()
	return r
}

// follow returns t with all records that are there after it; beside an error, with
// those read before it.
func (k *Keeper) follow(ctx context.Context, t *Table) (*Table, error) {
	for entry, err := range k.log.Follow(ctx, t.version.Position()) {
		if err != nil {
			return t, fmt.Errorf("read placements: %w", err)
		}
		next, err := t.read(entry.Body)
		if err != nil {
			return t, err
		}
		t = next
	}
	return t, nil
}

// publish needs the turn. Current never goes back.
func (k *Keeper) publish(t *Table) {
	if old := k.Current(); old != nil && old.version >= t.version {
		return
	}
	k.current.Store(t)
	k.metrics.version.Set(float64(t.version))
	k.metrics.horizon.Set(float64(t.horizon) / 1e9)
}

func (k *Keeper) loaded() (*Table, error) {
	if t := k.Current(); t != nil {
		return t, nil
	}
	return nil, errors.New("placements: not loaded")
}

// withTurn runs do while nobody else reads or writes the chain.
func (k *Keeper) withTurn(ctx context.Context, do func() error) error {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for another use of the placement chain: %w", ctx.Err())
	}
	defer func() { <-k.turn }()
	return do()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
