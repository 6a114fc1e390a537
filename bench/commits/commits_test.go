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
	// topic is a topic id.
	topic = "000102030405060708090a0b0c0d0e0f"
)

var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Unix()

// windows are commits [from, to). Checkpoints come every 64 commits, and every eighth of
// them merges what the seven before it wrote, every 64th what those merges wrote: a
// window that lies between two merges would leave most of the cost out. So the first one
// holds a merge of eight, and the second one, which ends at commit 5,000, is a whole
// cycle: a merge of 64 and all smaller ones.
var windows = []struct {
	name     string
	from, to int
}{{"@10", 10, 10 + 512}, {"@5000", 5000 - 4096, 5000}}

// BenchmarkCommit measures the log's part of a commit: its record, and its share of
// checkpoints; fragments and identities are objects of their own. One op is a whole
// log of 5,000 commits.
//
// "us" is what a commit waits for: the record is put and folded, and a checkpoint is planned
// when one is due. "beside-us" is the writing of checkpoints, which a writer does while
// commits go on. "longest" are the worst single ones of the log.
func BenchmarkCommit(b *testing.B) {
	warm := newLog(b) // so that the first commits do not pay for the process's start
	for range 512 {
		warm.commit()
	}
	for range b.N {
		l := newLog(b)
		values := map[string]float64{}
		for _, w := range windows {
			l.measure(values, w.name, w.from, w.to)
		}
		for unit, v := range values {
			b.ReportMetric(v, unit)
		}
		b.ReportMetric(l.longestWait.Seconds()*1e3, "longest-ms")
		b.ReportMetric(l.longestBeside.Seconds()*1e3, "longest-beside-ms")
		last := windows[len(windows)-1]
		l.meter.PerEvent((last.to - last.from) * tenants * rows)
		if fragments, _ := l.state.Counts(); fragments != last.to*tenants {
			b.Fatalf("%d fragments, want %d", fragments, last.to*tenants)
		}
	}
}

// measure notes the mean commit of [from, to). It reports nothing itself: the start of a
// meter forgets what was reported before.
func (l *log) measure(values map[string]float64, name string, from, to int) {
	for l.commits < from {
		l.commit()
	}
	l.meter = cpu.Start(l.b)
	l.meter.Stop()
	before := l.cost()
	l.wait, l.beside = 0, 0
	for l.commits < to {
		l.commit()
	}
	after, n := l.cost(), float64(to-from)
	values["put-B"+name] = (after.put - before.put) / n
	values["read-B"+name] = (after.read - before.read) / n
	values["requests"+name] = (after.requests - before.requests) / n
	values["us"+name] = float64(l.wait.Microseconds()) / n
	values["beside-us"+name] = float64(l.beside.Microseconds()) / n
}

type log struct {
	b        *testing.B
	registry *prometheus.Registry
	log      *shardlog.Log
	state    *shardlog.State
	epoch    shardlog.Epoch
	commits  int
	meter    *cpu.Meter // runs during commits, and not while records are made

	wait, beside               time.Duration
	longestWait, longestBeside time.Duration
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
	l.meter.Start()
	defer l.meter.Stop()
	begin := time.Now()
	won, found, stored, err := l.log.Settle(ctx, l.state.Head(), r)
	l.must(err)
	if !won {
		l.b.Fatal("the position is another's")
	}
	l.must(l.state.Apply(found, stored))
	var beside time.Duration
	if l.log.CheckpointDue(l.state) {
		l.state.Own(l.state.ClaimNonce())
		plan := l.state.PlanCheckpoint()
		writing := time.Now()
		l.must(l.log.WriteCheckpoint(ctx, plan))
		beside = time.Since(writing)
		l.state.CheckpointWritten(plan)
	}
	wait := time.Since(begin) - beside
	l.wait, l.beside = l.wait+wait, l.beside+beside
	l.longestWait, l.longestBeside = max(l.longestWait, wait), max(l.longestBeside, beside)
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
