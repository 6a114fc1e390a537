package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
)

// process is what the roles of one process share. Its parts are started in order
// and stopped in the reverse one.
type process struct {
	cfg        *config.Config
	log        *slog.Logger
	reg        *prometheus.Registry
	store      objstore.Store
	meta       objstore.Meta
	hasher     *event.Hasher
	keeper     *placements.Keeper
	settings   *tenants.Keeper
	clusters   map[string]*kafka.Client
	intake     map[string]kafka.TopicInfo
	roles      map[string]role
	logMetrics *shardlog.Metrics // of the shard logs that all roles read

	stops  []func()
	failed chan error // the first part that ended by itself
	once   sync.Once
}

func newProcess(c *config.Config, store objstore.Store, log *slog.Logger) *process {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &process{
		cfg: c, log: log, reg: reg,
		store:      objstore.Instrument(store, reg),
		clusters:   map[string]*kafka.Client{},
		intake:     map[string]kafka.TopicInfo{},
		roles:      map[string]role{},
		failed:     make(chan error, 1),
		logMetrics: shardlog.NewMetrics(reg),
	}
}

// onStop adds a part's end; ends run in reverse order.
func (p *process) onStop(f func()) { p.stops = append(p.stops, f) }

func (p *process) stop() {
	for _, f := range slices.Backward(p.stops) {
		f()
	}
	p.stops = nil
}

// spawn runs a part until stop; run ends when its context does.
func (p *process) spawn(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return
		}
		if err == nil {
			err = errors.New("it ended by itself")
		}
		p.once.Do(func() { p.failed <- fmt.Errorf("%s: %w", name, err) })
	}()
	p.onStop(func() {
		cancel()
		<-done
	})
}

// wait returns when ctx ends (nil) or a part fails.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		return err
	}
}

// openStore makes sure that the store can be trusted, and that it is one.
func (p *process) openStore(ctx context.Context) error {
	if err := objstore.Probe(ctx, p.store); err != nil {
		return err
	}
	minTime, err := time.Parse(time.RFC3339, p.cfg.Store.MinTime)
	if err != nil {
		return err
	}
	p.meta, err = objstore.OpenMeta(ctx, p.store, objstore.MetaDefaults{MinTime: minTime, MaxFuture: p.cfg.Store.MaxFuture})
	if err != nil {
		return err
	}
	p.hasher = event.NewHasher(event.Seed(p.meta.Seed))
	return nil
}

// openForReading is for a process that only answers queries: it writes nothing to the store, so it needs no right
// to, and reads it only when it is asked something.
func (p *process) openForReading(ctx context.Context) error {
	var err error
	if p.meta, err = readMeta(ctx, p.store); err != nil {
		return err
	}
	p.hasher = event.NewHasher(event.Seed(p.meta.Seed))
	p.keeper, err = placements.NewKeeper(placements.Config{Store: p.store, Hasher: p.hasher, Logger: p.log, Registerer: p.reg})
	if err != nil {
		return err
	}
	if err := p.keeper.Load(ctx); err != nil {
		return err
	}
	p.settings, err = newSettings(p.cfg, p.store, p.meta, tenants.Config{Logger: p.log, Registerer: p.reg})
	if err != nil {
		return err
	}
	return p.settings.Load(ctx)
}

// limits bound event times, the same for everybody who reads the store.
func (p *process) limits() event.Limits {
	return event.Limits{MinTime: event.Timestamp(p.meta.MinTime.UnixNano()), MaxFuture: p.meta.MaxFuture}
}

// connectKafka connects to a configured cluster; one that asks for AWS credentials and
// names none gets those of AWS's own chain.
func connectKafka(ctx context.Context, c *config.Config, name string, log *slog.Logger, reg prometheus.Registerer) (*kafka.Client, error) {
	cluster := c.Kafka[name]
	if cluster.SASL.Mechanism == kafka.MechanismAWSMSKIAM && cluster.SASL.AccessKey == "" {
		keys, err := s3store.DefaultChain(ctx)
		if err != nil {
			return nil, fmt.Errorf("kafka.%s: %w", name, err)
		}
		cluster.SASL.AWS = func(ctx context.Context) (k kafka.AWSKeys, err error) {
			k.AccessKey, k.SecretKey, k.SessionToken, err = keys(ctx)
			return k, err
		}
	}
	client, err := kafka.Connect(ctx, cluster, log, reg)
	if err != nil {
		return nil, fmt.Errorf("kafka.%s: %w", name, err)
	}
	return client, nil
}

func (p *process) connect(ctx context.Context, name string) (*kafka.Client, error) {
	if c := p.clusters[name]; c != nil {
		return c, nil
	}
	reg := prometheus.WrapRegistererWith(prometheus.Labels{"cluster": name}, p.reg)
	c, err := connectKafka(ctx, p.cfg, name, p.log.With("cluster", name), reg)
	if err != nil {
		return nil, err
	}
	p.clusters[name] = c
	p.onStop(c.Close)
	return c, nil
}

// openTopics creates or checks the intake topics and the topic between router and
// writer, which must take whatever the intake topics hold.
func (p *process) openTopics(ctx context.Context) error {
	intakeMax := 0
	for _, t := range p.cfg.Intake.Topics {
		cluster, err := p.connect(ctx, t.Cluster)
		if err != nil {
			return err
		}
		var info kafka.TopicInfo
		if t.Partitions > 0 {
			info, _, err = cluster.EnsureTopic(ctx, t.Name, t.Partitions, nil)
		} else {
			info, err = cluster.Topic(ctx, t.Name)
		}
		if err != nil {
			return fmt.Errorf("intake topic %s: %w", t.Name, err)
		}
		for _, w := range kafka.CheckIntake(info) {
			p.log.Warn("intake topic", "topic", t.Name, "warning", w)
		}
		intakeMax = max(intakeMax, info.MaxMessageBytes())
		p.intake[t.Name] = info
	}
	t := p.cfg.ShardTopic
	cluster, err := p.connect(ctx, t.Cluster)
	if err != nil {
		return err
	}
	_, warnings, err := cluster.EnsureTopic(ctx, t.Name, t.Partitions, router.ShardTopicConfigs(intakeMax, t.Replicated))
	if err != nil {
		return fmt.Errorf("shard_topic: %w", err)
	}
	for _, w := range warnings {
		p.log.Warn("shard topic", "topic", t.Name, "warning", w)
	}
	return nil
}

// openPlacements makes the first table of a new store, adds shards that the
// configuration has more, and follows the chain.
func (p *process) openPlacements(ctx context.Context) error {
	keeper, err := placements.NewKeeper(placements.Config{
		Store: p.store, Hasher: p.hasher,
		Logger: p.log, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	if _, err := keeper.Init(ctx, p.cfg.Genesis()); err != nil {
		return fmt.Errorf("placements: %w", err)
	}
	if have := keeper.Current().Shards(); have < int(p.cfg.ShardTopic.Partitions) {
		if _, err := keeper.AddShards(ctx, int(p.cfg.ShardTopic.Partitions)); err != nil {
			return fmt.Errorf("placements: add shards: %w", err)
		}
	}
	if err := addMappings(ctx, keeper, p.cfg, p.log); err != nil {
		return err
	}
	p.keeper = keeper
	p.spawn("placements", keeper.Run)
	return nil
}

// openSettings reads the settings of tenants, and follows them.
func (p *process) openSettings(ctx context.Context) error {
	k, err := newSettings(p.cfg, p.store, p.meta, tenants.Config{Logger: p.log, Registerer: p.reg})
	if err != nil {
		return err
	}
	if err := k.Load(ctx); err != nil {
		return err
	}
	p.settings = k
	p.spawn("tenants", k.Run)
	return nil
}
