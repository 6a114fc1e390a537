package rangecache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
)

// Config of a Cache. Store has no default.
type Config struct {
	Store   objstore.Store
	StoreID string // objstore.Meta.ID
	// Dir holds the parts; "": nothing is kept, only requests at the same time are shared.
	Dir      string
	MaxBytes int64         // on the disk, headers included; 10 GiB
	KeepFor  time.Duration // since a part was read from the store; 24 h
	// Tries bounds how often what the store did not answer is asked for; 4. Backoff is the pause between them.
	Tries      int
	Backoff    chain.Backoff
	Now        func() time.Time      // time.Now
	Logger     *slog.Logger          // slog.Default
	Registerer prometheus.Registerer // nil: no metrics
}

// DefaultKeepFor is Config.KeepFor's.
const DefaultKeepFor = 24 * time.Hour

// Validate refuses what no Cache can work with, and fills in the defaults.
func (c *Config) Validate() error {
	if c.Store == nil || c.StoreID == "" {
		return errors.New("rangecache: no store, or no id of it")
	}
	if c.MaxBytes < 0 || c.KeepFor < 0 || c.Tries < 0 {
		return errors.New("rangecache: max_bytes, keep_for and tries must not be negative")
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 10 << 30
	}
	if c.KeepFor == 0 {
		c.KeepFor = DefaultKeepFor
	}
	if c.Tries == 0 {
		c.Tries = 4
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// Cache is a scan.Ranges. Any number of goroutines may use it.
type Cache struct {
	cfg     Config
	metrics *metrics

	mu      sync.Mutex // guards the rest, and every part
	objects map[string]*object
	lru     list.List // of *part, least recently used first
	bytes   int64     // of the files of all parts
	queued  int64     // bytes that wait to be written
	closed  bool
	warned  time.Time // when the disk's last error was logged

	writes  chan *part // to the writer
	stopped chan struct{}
}

// object is what is kept or on its way of one object.
type object struct {
	name    string // of its files
	key     string // "" until somebody asks for it after a start
	parts   []*part
	flights []*flight
}

// flight is a range on its way from the store.
type flight struct {
	from, to int64
	done     chan struct{} // closed when data or err is there
	data     []byte
	err      error
	left     bool // err is that the one who asked the store gave up: it tells nothing of the store
}

// Open reads which parts are there, and starts the goroutine that writes new ones. Close ends it.
func Open(cfg Config) (*Cache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Cache{
		cfg: cfg, metrics: newMetrics(cfg.Registerer), objects: map[string]*object{},
		writes: make(chan *part, maxQueued), stopped: make(chan struct{}),
	}
	if cfg.Dir == "" {
		close(c.stopped)
		return c, nil
	}
	if err := c.scanDir(); err != nil {
		return nil, fmt.Errorf("rangecache: %s: %w", cfg.Dir, err)
	}
	go c.write()
	return c, nil
}

// Close waits until what was read is written. The cache goes on without keeping anything.
func (c *Cache) Close() {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	if !was {
		close(c.writes)
	}
	c.mu.Unlock()
	<-c.stopped
}

// GetRange returns the bytes [off, off+n) of an object, which must have them all. The bytes must not be changed. Errors are
// objstore.ErrNotFound, fragment.ErrCorrupt if the object is shorter, those of ctx, and fail.Unavailable. count is told what it cost;
// it may be nil.
func (c *Cache) GetRange(ctx context.Context, key string, off, n int64, count *scan.Stats) ([]byte, error) {
	if off < 0 || n <= 0 || off+n < off {
		return nil, fmt.Errorf("rangecache: %d bytes at %d of %s", n, off, key)
	}
	if count == nil {
		count = &scan.Stats{}
	}
	r := &request{c: c, key: key, from: off, to: off + n, count: count}
	for {
		done, err := r.round(ctx)
		if err != nil {
			return nil, c.told(ctx, err)
		}
		if done {
			return r.bytes(), nil
		}
	}
}

// told is the error as the scan gives it on.
func (c *Cache) told(ctx context.Context, err error) error {
	var known *fail.Error
	switch {
	case ctx.Err() != nil: // else a read that was cut off by it would look like damage
		return fmt.Errorf("read a part of a file: %w", ctx.Err())
	case errors.Is(err, objstore.ErrNotFound) || errors.Is(err, fragment.ErrCorrupt) || errors.As(err, &known):
		return err
	}
	return &fail.Error{Code: fail.Unavailable, Message: "the object store does not answer; try again", Err: err}
}

// fetch reads [from, to) from the store.
func (c *Cache) fetch(ctx context.Context, key string, from, to int64, count *scan.Stats) ([]byte, error) {
	for try := 1; ; try++ {
		count.StoreRequests.Add(1)
		c.metrics.requests.Inc()
		data, err := c.cfg.Store.GetRange(ctx, key, from, to-from)
		count.StoreBytes.Add(int64(len(data)))
		c.metrics.bytes.WithLabelValues("store").Add(float64(len(data)))
		if err == nil && int64(len(data)) == to-from {
			return data, nil
		}
		if err == nil || errors.Is(err, objstore.ErrRange) {
			err = fmt.Errorf("%w: %s: %d bytes of [%d, %d) are there", fragment.ErrCorrupt, key, len(data), from, to)
		}
		if try >= c.cfg.Tries || ctx.Err() != nil || errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrInvalidKey) {
			return nil, err
		}
		c.metrics.retries.Inc()
		if c.cfg.Backoff.Wait(ctx, try) != nil {
			return nil, err
		}
	}
}
