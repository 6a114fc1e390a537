// Package writer runs the shards of a process: it reads the shard topic, stores
// each event once as per-tenant fragments, and commits them in the shard logs.
//
// It is the shell of package shard, whose core decides everything: the writer
// claims shards, reads Kafka and the store, encodes, uploads and appends.
//
// Rules of the shell:
//
//  1. A core is stepped by one goroutine, the shard's runner. All other goroutines
//     of the shard bring it inputs, and end before the log is loaded again.
//  2. Batches are tagged with the load that asked for them by the one goroutine
//     that polls Kafka, so that no record of an older position slips in.
//  3. An upload or append is tried until it succeeds or the shard's work ends;
//     nothing that was uploaded is deleted here.
//  4. A shard that is fenced drops all that it holds at once. It is claimed again
//     only if it lags and its owner's log rests.
package writer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/shard"
)

// Deps are what a Writer works with. All are shared; it closes none of them.
type Deps struct {
	Store      objstore.Store
	Meta       objstore.Meta
	Kafka      *kafka.Client // of the shard topic's cluster
	Topic      string        // the shard topic
	Placements *placements.Keeper
	Tenants    Settings // nil: the built-in settings for everybody, with the configured max_columns
	Owner      string   // this process's name, for people
	Logger     *slog.Logger
	LogMetrics *shardlog.Metrics     // of all shard logs of the process; nil: on Registerer
	Registerer prometheus.Registerer // may be nil
	Now        func() time.Time      // the own clock; nil is time.Now
}

// Settings tell how a tenant's files are made; a *tenants.Keeper. An answer counts for the
// file that is encoded next.
type Settings interface {
	Get(event.TenantID) tenants.Settings
}

// builtin are the settings where there is nobody to ask.
type builtin tenants.Settings

func (b builtin) Get(event.TenantID) tenants.Settings { return tenants.Settings(b) }

// Writer owns shards.
type Writer struct {
	cfg         Config
	d           Deps
	log         *slog.Logger
	hasher      *event.Hasher
	columns     *fragment.Registry
	incarnation string
	logMetrics  *shardlog.Metrics
	backoff     chain.Backoff

	encoders chan struct{} // a token for each fragment that is encoded at a time
	uploads  chan struct{} // a token for each upload at a time

	reading *reading
	group   *group

	topicWatch time.Duration // of an idle topic, between looks whether it is still the same; 0: kafka's default
	shardWatch time.Duration // between looks for new shards, of a writer that owns all
	lossWatch  time.Duration // between looks for the record by which an operator accepts a loss
	endWatch   time.Duration // between looks how far the log goes, of a partition that is not read for now
	published  func()        // tests hear of each new snapshot; set before Run

	mu      sync.Mutex
	runners []*runner // by shard; guarded by mu
}

// New checks the configuration; nothing is read or written before Run.
func New(cfg Config, d Deps) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("writer: configuration: %w", err)
	}
	if d.Store == nil || d.Kafka == nil || d.Topic == "" || d.Placements == nil || d.Owner == "" {
		return nil, errors.New("writer: store, kafka, topic, placements and owner are needed")
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Tenants == nil {
		b := builtin(tenants.Builtin())
		b.MaxColumns = cfg.MaxColumns
		d.Tenants = b
	}
	if d.LogMetrics == nil {
		d.LogMetrics = shardlog.NewMetrics(d.Registerer)
	}
	w := &Writer{
		cfg: cfg, d: d, log: d.Logger,
		hasher:      event.NewHasher(event.Seed(d.Meta.Seed)),
		incarnation: chain.NewNonce(),
		logMetrics:  d.LogMetrics,
		encoders:    make(chan struct{}, runtime.GOMAXPROCS(0)),
		uploads:     make(chan struct{}, cfg.UploadConcurrency),
		shardWatch:  5 * time.Second,
		lossWatch:   5 * time.Second,
		endWatch:    endWatch,
	}
	w.columns = fragment.NewRegistry(d.Store, fragment.RegistryConfig{MaxColumnsOf: func(t event.TenantID) int { return w.d.Tenants.Get(t).MaxColumns }})
	w.reading = newReading(w)
	w.group = &group{w: w, offsets: map[int32]int64{}}
	if d.Registerer != nil {
		if err := d.Registerer.Register(collector{w}); err != nil {
			return nil, fmt.Errorf("writer: metrics: %w", err)
		}
	}
	return w, nil
}

// Run claims the shards and works until ctx ends; then it commits what it holds
// and releases the shards, within StopTimeout.
func (w *Writer) Run(ctx context.Context) error {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	stopTimer := context.AfterFunc(ctx, func() {
		time.AfterFunc(w.cfg.StopTimeout, kill)
	})
	defer stopTimer()
	return w.run(ctx, hard)
}

// run works until stop ends, then stops in good order, or at once when hard ends.
func (w *Writer) run(stop, hard context.Context) error {
	var helpers, shards sync.WaitGroup
	helperCtx, endHelpers := context.WithCancel(hard)
	defer endHelpers()
	helpers.Go(func() { w.reading.run(helperCtx) })
	helpers.Go(func() { w.reading.watchEnds(helperCtx) })
	helpers.Go(func() { w.group.run(helperCtx) })

	tick := time.NewTicker(w.shardWatch)
	defer tick.Stop()
	err := w.startShards(&shards, stop, hard)
	for err == nil && stop.Err() == nil {
		select {
		case <-stop.Done():
		case <-tick.C:
			err = w.startShards(&shards, stop, hard)
		}
	}
	w.mu.Lock()
	for _, r := range w.runners {
		r.release()
	}
	w.mu.Unlock()
	shards.Wait()
	if hard.Err() == nil {
		w.group.commit(hard) // so that exporters see the last commits, too
	}
	endHelpers()
	helpers.Wait()
	w.log.Info("writer stopped", "shards", len(w.runners))
	return err
}

// startShards starts the runners of shards that have none.
func (w *Writer) startShards(wg *sync.WaitGroup, stop, hard context.Context) error {
	table := w.d.Placements.Current()
	if table == nil {
		return errors.New("writer: the placements are not loaded")
	}
	ids := w.cfg.Shards
	if len(ids) == 0 {
		for s := range table.Shards() {
			ids = append(ids, event.ShardID(s))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	have := map[event.ShardID]bool{}
	for _, r := range w.runners {
		have[r.shard] = true
	}
	for _, s := range ids {
		if int(s) >= table.Shards() {
			return fmt.Errorf("writer: shard %s is configured, but there are only %d", s, table.Shards())
		}
		if have[s] {
			continue
		}
		r := newRunner(w, s, len(ids))
		w.runners = append(w.runners, r)
		w.reading.subscribe(r)
		wg.Go(func() { r.run(stop, hard) })
	}
	return nil
}

// Status describes each shard, in order.
func (w *Writer) Status() []shard.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]shard.Status, 0, len(w.runners))
	for _, r := range w.runners {
		out = append(out, r.snapshot().status)
	}
	return out
}

// Ready is nil if every shard does its work.
func (w *Writer) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runners) == 0 {
		return errors.New("writer: not started")
	}
	var errs []error
	for _, r := range w.runners {
		errs = append(errs, r.snapshot().ready)
	}
	return errors.Join(errs...)
}
