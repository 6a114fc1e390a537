package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// The chain's keys in the store.
const (
	logPrefix        = "tenants/log"
	checkpointPrefix = "tenants/checkpoint"
)

// Config is what a Keeper needs. Store and DataBucket have no default.
type Config struct {
	Store objstore.Store
	// DataBucket is the store's (objstore.Meta.DataBucketSeconds): retentions are whole ones.
	DataBucket time.Duration
	// Builtin is what holds where nothing was set; nil is Builtin().
	Builtin *Settings
	// Poll is how often Run looks for newer versions; 0 is 10 s.
	Poll time.Duration
	// CheckpointEvery is the number of versions between checkpoints; 0 is 50.
	CheckpointEvery int
	// Now is the own clock, for people; nil is time.Now.
	Now func() time.Time
	// NewNonce makes the nonces of records; nil is chain.NewNonce.
	NewNonce func() string
	// Backoff is the pause between tries of a write; its Sleep is Run's pause, too.
	Backoff    chain.Backoff
	Logger     *slog.Logger          // nil: slog.Default
	Registerer prometheus.Registerer // nil: no metrics
}

// Validate refuses what no Keeper can work with, and fills in the defaults.
func (c *Config) Validate() error {
	switch {
	case c.Store == nil:
		return errors.New("tenants: no store")
	case c.DataBucket <= 0:
		return fmt.Errorf("tenants: data bucket of %s", c.DataBucket)
	case c.Poll < 0 || c.CheckpointEvery < 0:
		return fmt.Errorf("tenants: poll interval %s, checkpoint every %d versions", c.Poll, c.CheckpointEvery)
	}
	if c.Builtin == nil {
		b := Builtin()
		c.Builtin = &b
	}
	if c.Poll == 0 {
		c.Poll = 10 * time.Second
	}
	if c.CheckpointEvery == 0 {
		c.CheckpointEvery = 50
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

// Keeper follows the settings of a store and adds to them. All methods may be called by
// many goroutines; none waits for another.
type Keeper struct {
	cfg     Config
	log     chain.Log
	current atomic.Pointer[Table]
	metrics *metrics
}

// NewKeeper does no I/O; call Load before anything else.
func NewKeeper(cfg Config) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	k := &Keeper{
		cfg:     cfg,
		log:     chain.Log{Store: cfg.Store, Prefix: logPrefix, Backoff: cfg.Backoff},
		metrics: newMetrics(cfg.Registerer),
	}
	k.log.OnRetry = func(p chain.Position, attempt int, err error) {
		k.cfg.Logger.Warn("record of settings not settled yet", "version", uint64(p), "attempt", attempt, "err", err)
	}
	k.current.Store(k.empty())
	return k, nil
}

func (k *Keeper) empty() *Table { return &Table{bucket: k.cfg.DataBucket, builtin: *k.cfg.Builtin} }

// Current is the newest version that this Keeper has read; before Load version 0, in which
// everybody has the built-in settings.
func (k *Keeper) Current() *Table { return k.current.Load() }

// Get is what holds for a tenant in the newest version that was read.
func (k *Keeper) Get(tenant event.TenantID) Settings { return k.Current().Get(tenant) }

// Version is the newest version that was read.
func (k *Keeper) Version() Version { return k.Current().version }

// Load reads the newest checkpoint and the records after it.
func (k *Keeper) Load(ctx context.Context) error {
	t, err := k.loadCheckpoint(ctx)
	if err != nil {
		return err
	}
	from := t.version
	if t, err = k.follow(ctx, t); err != nil {
		return err
	}
	if t.version-from >= Version(k.cfg.CheckpointEvery) {
		k.checkpoint(ctx, t)
	}
	return nil
}

// Refresh reads the versions that are there now, and returns the newest.
func (k *Keeper) Refresh(ctx context.Context) (*Table, error) { return k.follow(ctx, k.Current()) }

// follow publishes the records after t; beside an error, those read before it, which are
// true, too.
func (k *Keeper) follow(ctx context.Context, t *Table) (_ *Table, err error) {
	defer func() { k.publish(t) }()
	for entry, err := range k.log.Follow(ctx, t.version.Position()) {
		if err != nil {
			return t, fmt.Errorf("read settings of tenants: %w", err)
		}
		next, err := t.read(entry.Body)
		if err != nil {
			return t, err
		}
		t = next
	}
	return t, nil
}

// publish makes t the current table unless there is a newer one.
func (k *Keeper) publish(t *Table) {
	for {
		old := k.Current()
		if old.version >= t.version {
			return
		}
		if k.current.CompareAndSwap(old, t) {
			k.metrics.version.Set(float64(t.version))
			return
		}
	}
}

// IsFinal says that trying again will not help.
func IsFinal(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) }

// Run follows the chain until ctx ends. It returns nil then, and an error only if going
// on makes no sense (ErrCorrupt, ErrFormat). Whoever runs it waits for its return.
func (k *Keeper) Run(ctx context.Context) error {
	for k.pause(ctx) == nil {
		_, err := k.Refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case IsFinal(err):
			return err
		case err != nil:
			k.metrics.failures.Inc()
			k.cfg.Logger.Warn("settings of tenants not refreshed", "err", err)
		}
	}
	return nil
}

func (k *Keeper) pause(ctx context.Context) error {
	if sleep := k.cfg.Backoff.Sleep; sleep != nil {
		return sleep(ctx, k.cfg.Poll)
	}
	timer := time.NewTimer(k.cfg.Poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// maxRaces bounds the lost races of one Propose. Each is another operator's success, so
// many in a row are a fault.
const maxRaces = 100

// Propose sets the values of a tenant ("": of the default) to what change makes of those
// that it has, and returns the table with them. change may be called many times, each time with
// newer values; with ErrNoChange from it, or the values as they were, Propose returns the
// table as it is. ErrRefused: the values cannot be set. Any other error leaves it open whether
// the change will be in the chain.
func (k *Keeper) Propose(ctx context.Context, tenant event.TenantID, change func(Values) (Values, error)) (*Table, error) {
	for range maxRaces {
		t, err := k.Refresh(ctx)
		if err != nil {
			return nil, err
		}
		values, err := change(t.Own(tenant))
		if errors.Is(err, ErrNoChange) || err == nil && equal(values, t.Own(tenant)) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		next, err := k.propose(ctx, t, tenant, values)
		if next != nil || err != nil {
			return next, err
		}
	}
	return nil, fmt.Errorf("change of settings: lost %d races in a row", maxRaces)
}

// propose settles the version after t's; nil without an error is a lost race.
func (k *Keeper) propose(ctx context.Context, t *Table, tenant event.TenantID, values Values) (*Table, error) {
	r := record{Format: Format, Version: t.version + 1, Nonce: k.cfg.NewNonce(), TimeMS: k.cfg.Now().UnixMilli(), Tenant: tenant, Values: values}
	if t.version > 0 {
		prev := t.link
		r.Prev = &prev
	}
	body, err := r.encode()
	if err != nil {
		return nil, err
	}
	// The checks of the fold, before anything is written.
	next, err := t.apply(r, body)
	if err != nil {
		return nil, err
	}
	outcome, err := k.log.Append(ctx, next.version.Position(), body, func(found []byte) bool {
		other, err := decodeRecord(found)
		return err == nil && other.Nonce == r.Nonce
	})
	if err != nil {
		return nil, fmt.Errorf("change of settings: %w", err)
	}
	if !outcome.Won {
		return nil, nil
	}
	k.publish(next)
	k.cfg.Logger.Info("settings changed", "version", uint64(next.version), "tenant", string(tenant))
	if next.version%Version(k.cfg.CheckpointEvery) == 0 {
		k.checkpoint(ctx, next)
	}
	return next, nil
}

// loadCheckpoint returns the table of the newest checkpoint, or the empty one.
func (k *Keeper) loadCheckpoint(ctx context.Context) (*Table, error) {
	key := ""
	for object, err := range k.cfg.Store.List(ctx, checkpointPrefix+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list checkpoints of settings: %w", err)
		}
		if _, err := chain.ParsePosition(strings.TrimPrefix(object.Key, checkpointPrefix+"/")); err == nil {
			key = object.Key
		}
	}
	if key == "" {
		return k.empty(), nil
	}
	body, err := k.cfg.Store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint of settings %s: %w", key, err)
	}
	t, err := k.empty().restore(body)
	switch {
	case errors.Is(err, ErrFormat):
		return nil, fmt.Errorf("%s: %w", key, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, key, err)
	case checkpointKey(t.version) != key:
		return nil, fmt.Errorf("%w: %s holds version %d", ErrCorrupt, key, t.version)
	}
	return t, nil
}

func checkpointKey(v Version) string { return checkpointPrefix + "/" + v.Position().String() }

// checkpoint writes t, whose record is known to be in the chain. That it fails costs a later
// start some reads and nothing else, so it is logged and not returned.
func (k *Keeper) checkpoint(ctx context.Context, t *Table) {
	body, err := t.encode()
	if err == nil {
		err = k.cfg.Store.PutIfAbsent(ctx, checkpointKey(t.version), body)
	}
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		k.cfg.Logger.Warn("checkpoint of settings not written", "version", uint64(t.version), "err", err)
	}
}
