// Package commits measures what a commit of a shard costs as its log grows.
package commits

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

const (
	tenants = 100 // a fragment of each in every commit
	rows    = 500 // of a fragment
	// commitEvery is a writer's flush age: 5,000 commits are seven hours.
	commitEvery = 5 * time.Second
	// window is how many commits are measured: two checkpoints' worth, so that theirs is in
	// the figure by its share.
	window = 128
	// topic is a topic id.
	topic = "000102030405060708090a0b0c0d0e0f"
)

var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Unix()

// BenchmarkCommit measures the log's part of a commit (its record, and its share of
// checkpoints; fragments and identities are objects of their own) over the 128 commits
// from the 10th on and those up to the 5,000th. One op is a whole log.
func BenchmarkCommit(b *testing.B) {
	warm := newLog(b) // so that the first commits do not pay for the process's start
	for range 4 * window {
		warm.commit()
	}
	for range b.N {
		l := newLog(b)
		for _, at := range []int{10, 5000 - window} {
			for l.commits < at {
				l.commit()
			}
			before := l.cost()
			l.wall, l.cpu, l.measured = 0, 0, true
			for range window {
				l.commit()
			}
			l.measured = false
			after := l.cost()
			name := "@" + map[bool]string{true: "10", false: "5000"}[at == 10]
			b.ReportMetric((after.put-before.put)/window, "put-B"+name)
			b.ReportMetric((after.read-before.read)/window, "read-B"+name)
			b.ReportMetric((after.requests-before.requests)/window, "requests"+name)
			b.ReportMetric(float64(l.wall.Microseconds())/window, "us"+name)
			b.ReportMetric(float64(l.cpu.Microseconds())/window, "cpu-us"+name)
		}
		l.meter.PerEvent(2 * window * tenants * rows)
		if fragments, _ := l.state.Counts(); fragments != 5000*tenants {
			b.Fatalf("%d fragments, want %d", fragments, 5000*tenants)
		}
	}
}

type log struct {
	b        *testing.B
	registry *prometheus.Registry
	log      *shardlog.Log
	state    *shardlog.State
	epoch    shardlog.Epoch
	commits  int
	measured bool // commits are metered; the making of their records is not
	meter    *cpu.Meter
	wall     time.Duration
	cpu      time.Duration
}

func newLog(b *testing.B) *log {
	l := &log{b: b, registry: prometheus.NewRegistry(), state: shardlog.NewState(0)}
	l.log = shardlog.OpenWith(objstore.Instrument(objstore.NewMemory(), l.registry), 0, shardlog.Config{Logger: slog.New(slog.DiscardHandler)})
	var err error
	l.epoch, _, err = l.log.Claim(context.Background(), l.state, "bench", "bench")
	l.must(err)
	l.meter = cpu.Start(b)
	l.meter.Stop()
	return l
}

func (l *log) must(err error) {
	l.b.Helper()
	if err != nil {
		l.b.Fatal(err)
	}
}

// commit appends as a writer does, with a checkpoint when one is due.
func (l *log) commit() {
	ctx := context.Background()
	r := l.record()
	if l.measured {
		l.meter.Start()
	}
	wall, used := time.Now(), cpu.Time()
	won, found, stored, err := l.log.Settle(ctx, l.state.Head(), r)
	l.must(err)
	if !won {
		l.b.Fatal("the position is another's")
	}
	l.must(l.state.Apply(found, stored))
	if l.log.CheckpointDue(l.state) {
		plan := l.state.PlanCheckpoint()
		l.must(l.log.WriteCheckpoint(ctx, plan))
		l.state.CheckpointWritten(plan)
	}
	l.wall += time.Since(wall)
	l.cpu += cpu.Time() - used
	if l.measured {
		l.meter.Stop()
	}
	l.commits++
}

// record is the next commit's: events of the last seconds of all tenants.
func (l *log) record() *shardlog.Record {
	n := int64(l.commits)
	at := begin + n*int64(commitEvery/time.Second)
	bucket, idBucket := at-at%3600, at-at%600
	total := int64(tenants * rows)
	a := &shardlog.Append{
		Epoch: l.epoch, Seq: l.state.Seq() + 1, LowWater: uint64(n+1) * (tenants + 1),
		Progress: []shardlog.Progress{{
			Source: shardlog.Source{Cluster: "kafka", Topic: topic}, TopicName: "shards",
			From: n * tenants, Next: (n + 1) * tenants, Records: tenants,
		}},
		Ledger: shardlog.Ledger{Events: total + total/50, Stored: total, Duplicate: total / 50},
	}
	for t := range tenants {
		tenant := event.TenantID(fmt.Sprintf("tenant-%03d", t))
		a.Fragments = append(a.Fragments, shardlog.Fragment{
			Key:    fmt.Sprintf("data/%s/%s/0-1-%s-%d.parquet", tenant, time.Unix(bucket, 0).UTC().Format("2006-01-02T15"), topic, n*(tenants+1)+int64(t)),
			Tenant: tenant, Table: shardlog.TableEvents, Bucket: bucket, Rows: rows, Bytes: 80_000 + int64(t), Sum: sum(n, int64(t)),
			Min: event.Timestamp(at * 1e9), Max: event.Timestamp((at + 5) * 1e9), SeqMin: a.Seq, SeqMax: a.Seq,
			Ranges: []shardlog.ColumnRange{{Column: "service", Min: "ads", Max: "shipping"}, {Column: "status", Min: "200", Max: "500"}},
		})
	}
	a.IDs = &shardlog.IDSegment{
		Key: fmt.Sprintf("ids/0/1-%s-%d.ids", topic, n*(tenants+1)+tenants), Bytes: total*22 + 100, Sum: sum(n, -1), IDs: total,
		Buckets: []shardlog.IDBucket{{Bucket: idBucket, IDs: total, Offset: 8, Length: total * 22}},
	}
	intake := shardlog.NewIntake()
	events := a.Ledger.Events
	intake.AddRange(shardlog.Source{Cluster: "kafka", Topic: strings.Repeat("ab", 16)}, n*events, (n+1)*events)
	a.Intake = intake.ToIntake()
	return &shardlog.Record{Kind: shardlog.KindAppend, Append: a}
}

// sum looks like a checksum: it does not compress.
func sum(commit, file int64) string { return objstore.Sum(fmt.Appendf(nil, "%d %d", commit, file)) }

// cost is what went through the store so far.
type cost struct{ requests, put, read float64 }

func (l *log) cost() (c cost) {
	families, err := l.registry.Gather()
	l.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			op := ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "op" {
					op = label.GetValue()
				}
			}
			v := m.GetCounter().GetValue()
			switch f.GetName() {
			case "togo_objstore_requests_total":
				c.requests += v
			case "togo_objstore_bytes_total":
				if op == string(objstore.OpGet) || op == string(objstore.OpGetRange) {
					c.read += v
				} else {
					c.put += v
				}
			}
		}
	}
	return c
}
