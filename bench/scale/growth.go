package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/compactor/retain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

// follower is a process that reads the log as it grows.
type follower struct {
	log      *shardlog.Log
	state    *shardlog.State
	registry *prometheus.Registry
	before   counts
}

func (s *shardModel) follow(ctx context.Context) (*follower, error) {
	f := &follower{registry: prometheus.NewRegistry()}
	f.log = s.open(f.registry)
	var err error
	if f.state, err = f.log.Load(ctx); err != nil {
		return nil, err
	}
	f.before, err = counted(f.registry)
	return f, err
}

// poll reads to the log's head.
func (f *follower) poll(ctx context.Context) error {
	_, err := f.log.Follow(ctx, f.state)
	return err
}

// counts are its requests for an hour.
func (f *follower) counts(took time.Duration) (counts, error) {
	c, err := counted(f.registry)
	c = c.less(f.before)
	hours := took.Hours()
	return counts{reads: int64(float64(c.reads) / hours), lists: int64(float64(c.lists) / hours), bytesRead: int64(float64(c.bytesRead) / hours)}, err
}

// measure looks at the log as it is, and lives the next hour.
func (s *shardModel) measure(ctx context.Context) (Growth, *hour, error) {
	g := Growth{Days: int(s.hour.Add(time.Hour).Sub(s.first).Hours() / 24)}
	h, err := s.run(ctx)
	if err != nil {
		return g, nil, err
	}
	g.CommitCPUUs, g.CommitMaxCPUMs = meanUs(h.waits), ms(slices.Max(append(h.waits, 0)))
	g.CheckpointCPUMs, g.CheckpointMaxCPUMs = meanUs(h.checkpoints)/1e3, ms(slices.Max(append(h.checkpoints, 0)))
	records := float64(h.commits + 2*h.merges)
	g.RecordRequests = float64(h.log.total()) / records
	g.RecordBytes = float64(h.log.bytesWritten) / records
	g.FragmentsPerCommit = float64(h.flushed) / float64(max(1, h.commits))
	if err := s.start(ctx, &g); err != nil {
		return g, nil, err
	}
	s.look(&g)
	s.pickAll(&g)
	return g, h, s.expire(ctx, &g)
}

func sum(list []time.Duration) time.Duration {
	total := time.Duration(0)
	for _, d := range list {
		total += d
	}
	return total
}

func meanUs(list []time.Duration) float64 {
	return float64(sum(list).Nanoseconds()) / 1e3 / float64(max(1, len(list)))
}

// start measures a process that begins with this log.
func (s *shardModel) start(ctx context.Context, g *Growth) error {
	registry := prometheus.NewRegistry()
	log := s.open(registry)
	before := heap()
	began := cpuTime()
	state, err := log.Load(ctx)
	if err != nil {
		return err
	}
	g.StartCPUMs = ms(cpuTime() - began)
	g.MemoryBytes = heap() - before
	fragments, segments := state.Counts()
	g.Fragments, g.Segments = int64(fragments), int64(segments)
	if want, _ := s.state.Counts(); want != fragments {
		return fmt.Errorf("%d fragments were loaded, %d are live", fragments, want)
	}
	c, err := counted(registry)
	g.StartRequests, g.StartBytes = c.total(), c.bytesRead
	return err
}

// look measures how long the files of a tenant's day are looked for.
func (s *shardModel) look(g *Growth) {
	to := s.hour.Unix()
	began := cpuTime()
	for _, m := range s.world.tenants {
		s.state.Fragments(m.name, to-86_400, to, func(shardlog.Fragment) bool { return true })
	}
	g.LookupCPUUs = float64((cpuTime() - began).Nanoseconds()) / 1e3 / float64(len(s.world.tenants))
}

// pickAll measures the picker over every bucket, as a compactor does once after its start.
func (s *shardModel) pickAll(g *Growth) {
	type slot struct {
		tenant event.TenantID
		bucket int64
	}
	buckets := map[slot][]shardlog.Fragment{}
	began := cpuTime()
	s.state.Fragments("", shardlog.MinBucket, shardlog.MaxBucket, func(f shardlog.Fragment) bool {
		at := slot{f.Tenant, f.Bucket}
		buckets[at] = append(buckets[at], f)
		return true
	})
	for at, list := range buckets {
		pick.Pick(pick.Bucket{Tenant: at.tenant, Table: shardlog.TableEvents, Bucket: at.bucket, Fragments: list, Idle: time.Hour}, s.policy)
	}
	g.PickCPUMs, g.Buckets = ms(cpuTime()-began), int64(len(buckets))
}

// retention is a setting that all tenants have.
type retention struct{ time.Duration }

func (r retention) Get(event.TenantID) tenants.Settings {
	s := tenants.Builtin()
	s.Retention, s.LettersRetention = r.Duration, r.Duration
	return s
}

func (retention) Tenants() []event.TenantID { return nil }

// expire takes the history's first hour out, as a compactor does each hour, if it has lived as long.
func (s *shardModel) expire(ctx context.Context, g *Growth) error {
	keep := time.Duration(s.cfg.RetentionDays) * 24 * time.Hour
	if s.hour.Sub(s.first) < keep {
		return nil
	}
	before, _ := s.state.Counts()
	began := cpuTime()
	x := retain.Expire(s.state, retain.Rules{Settings: retention{keep}, DataBucketSeconds: dataBucket, IDBucketSeconds: idBucket}, event.Timestamp(s.first.Add(keep+time.Hour).UnixNano()))
	if x == nil {
		return errors.New("retention finds nothing to drop")
	}
	if _, err := s.append(ctx, &shardlog.Record{Kind: shardlog.KindExpire, Expire: x}); err != nil {
		return err
	}
	g.ExpireCPUMs = ms(cpuTime() - began)
	after, _ := s.state.Counts()
	g.Expired = int64(before - after)
	return nil
}
