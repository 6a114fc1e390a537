package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// Placements is what a Router needs of placements.Keeper.
type Placements interface {
	Current() *placements.Table
	Extend(ctx context.Context, past event.Timestamp) (*placements.Table, error)
	Admit(ctx context.Context, requests ...placements.Request) (*placements.Table, error)
}

// Deps are what a Router works with. Each of them is its caller's to close.
type Deps struct {
	Intake     *kafka.Client
	Topics     []string // intake topics, all of the Intake cluster
	Shards     *kafka.Client
	ShardTopic string
	Placements Placements
	Hasher     *event.Hasher
	Limits     event.Limits
	Log        *slog.Logger
	Registerer prometheus.Registerer // may be nil
	Now        func() time.Time      // the own clock; nil is time.Now

	// Read bounds fetching; the zero value has good defaults.
	Read kafka.ReaderConfig
}

// Router moves records from intake topics to the shard topic. See the package comment.
type Router struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	endWatch time.Duration // between looks how far the intake goes, while something is not read

	mu     sync.Mutex
	status Status // guarded by mu
}

// Status is how a router stands.
type Status struct {
	Running    bool
	LastError  string // that ended a session or a partition; "" when all is well
	Partitions []Lag
	Stopped    map[string]string // partitions that were stopped, "topic[partition]", and why
	HeldBytes  int64
	Stalled    string // what has not gone through for stallAfter; "" when all is well
}

// New returns a Router; Run starts it.
func New(cfg Config, deps Deps) (*Router, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("router: configuration: %w", err)
	}
	if len(deps.Topics) == 0 {
		return nil, errors.New("router: no intake topic")
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Read.MaxBytes == 0 {
		// What is fetched ahead lies beside what the Core holds.
		deps.Read.MaxBytes = int(cfg.MaxBytes / 2)
	}
	return &Router{cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), endWatch: endWatch}, nil
}

// stallAfter is how long a router may get no acknowledgement, or no commit through,
// before it is not ready.
const stallAfter = 15 * time.Second

// Pauses between sessions that ended in an error.
const (
	minPause = 250 * time.Millisecond
	maxPause = 15 * time.Second
)

// Run routes until ctx ends; then it sends and commits what it can, leaves the group and
// returns nil. Whatever else ends a session (a topic that was recreated, say), a
// new one begins.
func (r *Router) Run(ctx context.Context) error {
	pause := minPause
	for {
		began := time.Now()
		err := r.session(ctx)
		if ctx.Err() != nil {
			r.set(func(s *Status) { s.Running = false })
			return nil
		}
		if time.Since(began) > maxPause {
			pause = minPause
		}
		r.deps.Log.Error("router: session ended; what is not committed is read again", "err", err, "again_in", pause)
		r.set(func(s *Status) { s.Running, s.LastError = false, err.Error() })
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// Status returns how the router stands.
func (r *Router) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Ready returns nil if the router routes, else why it doesn't.
func (r *Router) Ready() error {
	s := r.Status()
	switch {
	case !s.Running && s.LastError != "":
		return fmt.Errorf("router: %s", s.LastError)
	case !s.Running:
		return errors.New("router: is starting")
	}
	if s.Stalled != "" {
		return fmt.Errorf("router: %s", s.Stalled)
	}
	for part, why := range s.Stopped {
		return fmt.Errorf("router: %s is stopped: %s", part, why)
	}
	return nil
}

func (r *Router) set(change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
}
