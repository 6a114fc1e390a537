package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/compactor/retain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/router/intake"
	"github.com/togodb/togo/writer"
)

// The roles that a process can have.
const (
	roleRouter    = "router"
	roleWriter    = "writer"
	roleCompactor = "compactor"
	roleIntake    = "intake" // POST /v1/ingest
	roleQuery     = "query"  // POST /v1/query
)

var allRoles = []string{roleRouter, roleWriter, roleCompactor, roleIntake, roleQuery}

// storeRoles need no Kafka.
var storeRoles = []string{roleCompactor, roleQuery}

type runCmd struct {
	Target []string `help:"Roles to run: router, writer, compactor, intake and query (HTTP), or all." default:"all" placeholder:"ROLE,..."`
}

func (c runCmd) Run(a *app) error {
	roles, err := parseRoles(c.Target)
	if err != nil {
		return err
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	return a.run(cfg, roles, nil)
}

func parseRoles(targets []string) ([]string, error) {
	var out []string
	for _, t := range targets {
		switch {
		case t == "all":
			out = append(out, allRoles...)
		case slices.Contains(allRoles, t):
			out = append(out, t)
		default:
			return nil, fmt.Errorf("--target %s: no such role; there are %s, and all", t, strings.Join(allRoles, ", "))
		}
	}
	return out, nil
}

// run starts the shared parts and the roles, tells started (if set) that all of them
// are there, and waits until the process is asked to end.
func (a *app) run(cfg *config.Config, roles []string, started func(*process, string)) error {
	store, err := a.store(cfg)
	if err != nil {
		return err
	}
	limitMemory(cfg, roles)
	p := newProcess(cfg, store, a.log)
	defer p.stop()
	if err := p.start(a.ctx, roles); err != nil {
		return err
	}
	mux := handler(cfg, p.reg, p.roles)
	if slices.Contains(roles, roleIntake) && cfg.Intake.HTTP != "" {
		if err := p.startIntake(mux); err != nil {
			return err
		}
	}
	if slices.Contains(roles, roleQuery) {
		if err := p.startQuery(mux); err != nil {
			return err
		}
	}
	addr := ""
	if cfg.HTTP.Listen != "" {
		s, err := serve(cfg.HTTP.Listen, mux, a.log)
		if err != nil {
			return err
		}
		p.onStop(func() { s.stop(10 * time.Second) })
		addr = s.addr
	}
	a.log.Info("started", "version", programVersion(), "roles", strings.Join(roles, ","), "store", p.meta.ID, "http", addr)
	if started != nil {
		started(p, addr)
	}
	err = p.wait(a.ctx)
	a.log.Info("stopping")
	return err
}

// otherBytes is what a process needs beside its roles' budgets: clients, the HTTP
// server, placements, the state of shard logs.
const otherBytes = 128 << 20

// queryGC is GOGC of a process that only answers queries: its heap is small between them, and at 100 a quarter of a
// short query's time went to collecting a few megabytes. What queries hold is bounded by their own limits.
const queryGC = 400

// limitMemory tells Go's collector what the budgets add up to; without it the heap
// would grow to twice as much before it is collected. GOMEMLIMIT and GOGC go before.
func limitMemory(c *config.Config, roles []string) {
	if os.Getenv("GOGC") == "" && slices.Equal(roles, []string{roleQuery}) {
		debug.SetGCPercent(queryGC)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := int64(otherBytes)
	if slices.Contains(roles, roleWriter) {
		limit += c.Writer.HeapBytes()
	}
	if slices.Contains(roles, roleCompactor) {
		limit += c.Compactor.HeapBytes()
	}
	if slices.Contains(roles, roleQuery) {
		limit += c.Query.HeapBytes()
	}
	if slices.Contains(roles, roleRouter) {
		clusters := map[string]bool{}
		for _, t := range c.Intake.Topics {
			clusters[t.Cluster] = true
		}
		// Twice max_bytes (its own doc), and what the collector needs to keep up.
		limit += int64(len(clusters)) * c.Router.MaxBytes * 5 / 2
	}
	debug.SetMemoryLimit(limit)
}

func (p *process) start(ctx context.Context, roles []string) error {
	if slices.Equal(roles, []string{roleQuery}) {
		return p.openForReading(ctx)
	}
	if err := p.openStore(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(roles, func(r string) bool { return !slices.Contains(storeRoles, r) }) {
		if err := p.openTopics(ctx); err != nil {
			return err
		}
	}
	if err := p.openPlacements(ctx); err != nil {
		return err
	}
	if err := p.openSettings(ctx); err != nil {
		return err
	}
	if slices.Contains(roles, roleWriter) {
		if err := p.startWriter(); err != nil {
			return err
		}
	}
	if slices.Contains(roles, roleCompactor) {
		if err := p.startCompactor(); err != nil {
			return err
		}
	}
	if slices.Contains(roles, roleRouter) {
		return p.startRouters(ctx)
	}
	return nil
}

// owner is the process's name in claims, for people.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func (p *process) startWriter() error {
	w, err := writer.New(p.cfg.Writer, writer.Deps{
		Store: p.store, Meta: p.meta, Kafka: p.clusters[p.cfg.ShardTopic.Cluster], Topic: p.cfg.ShardTopic.Name,
		Placements: p.keeper, Tenants: p.settings, Owner: owner(), Logger: p.log, LogMetrics: p.logMetrics, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	p.spawn(roleWriter, w.Run)
	p.roles[roleWriter] = role{w.Ready, func() any { return w.Status() }}
	return nil
}

func (p *process) startCompactor() error {
	c, err := compactor.New(p.cfg.Compactor, compactor.Deps{
		Store: p.store, Meta: p.meta, Tenants: p.settings, Worker: owner(),
		Shards: func() int { return p.keeper.Current().Shards() },
		MayHold: func(id event.ShardID) func(event.TenantID) (bool, bool) {
			return retain.Holders(p.keeper.Current(), id, time.Now())
		},
		Placements: p.keeper, LogMetrics: p.logMetrics, Logger: p.log, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	p.spawn(roleCompactor, c.Run)
	p.roles[roleCompactor] = role{c.Ready, func() any { return c.Status() }}
	return nil
}

// startRouters starts one router for each cluster that has intake topics.
func (p *process) startRouters(ctx context.Context) error {
	topics := map[string][]string{}
	for _, t := range p.cfg.Intake.Topics {
		topics[t.Cluster] = append(topics[t.Cluster], t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		cluster, err := p.connect(ctx, name)
		if err != nil {
			return err
		}
		r, err := router.New(p.cfg.Router, router.Deps{
			Intake: cluster, Topics: topics[name], Shards: p.clusters[p.cfg.ShardTopic.Cluster], ShardTopic: p.cfg.ShardTopic.Name,
			Placements: p.keeper, Hasher: p.hasher, Limits: p.limits(),
			Log:        p.log.With("intake", name),
			Registerer: prometheus.WrapRegistererWith(prometheus.Labels{"intake": name}, p.reg),
		})
		if err != nil {
			return err
		}
		label := roleRouter
		if len(topics) > 1 {
			label += "-" + name
		}
		p.spawn(label, r.Run)
		p.roles[label] = role{r.Ready, func() any { return r.Status() }}
	}
	return nil
}

// startIntake lets producers send over HTTP.
func (p *process) startIntake(mux *http.ServeMux) error {
	info := p.intake[p.cfg.Intake.HTTP]
	cluster := p.clusters[p.topicCluster(info.Name)]
	producer, err := cluster.NewProducer(info, kafka.ProducerConfig{Spread: true, Compression: p.cfg.Router.Compression})
	if err != nil {
		return err
	}
	p.onStop(producer.Close)
	cfg := p.cfg.Intake.Limits
	cfg.Tokens = p.cfg.HTTP.Tokens
	h, err := intake.New(cfg, producer, p.reg)
	if err != nil {
		return err
	}
	mux.Handle("POST /v1/ingest", h)
	return nil
}

func (p *process) topicCluster(name string) string {
	for _, t := range p.cfg.Intake.Topics {
		if t.Name == name {
			return t.Cluster
		}
	}
	panic("bug: a valid configuration has a topic " + name)
}
