package writer

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
)

// BenchmarkWriter reads a backlog of events of one hour, or of 24, from Kafka in this
// process and stores it in a directory: events of about 400 bytes and 20 attributes. live-MiB is the
// most that lived in the heap besides Kafka's own data, budget-MiB what events and identities may take.
func BenchmarkWriter(b *testing.B) {
	for _, k := range []struct {
		tenants int
		hours   int64
	}{{10, 1}, {200, 1}, {2000, 1}, {200, 24}} {
		b.Run(fmt.Sprintf("%d tenants, %d hours", k.tenants, k.hours), func(b *testing.B) { benchmarkWriter(b, k.tenants, k.hours) })
	}
}

func benchmarkWriter(b *testing.B, tenants int, hours int64) {
	b.StopTimer()
	dir, err := objstore.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	r := newRig(b, dir, 1)
	r.patience = 5 * time.Minute
	r.backlog(b.N, tenants, hours)
	runtime.GC()
	base := live()
	cfg := DefaultConfig()
	cfg.MemoryBudget, cfg.DedupBudget, cfg.FetchBytes = 64<<20, 32<<20, 8<<20
	cfg.SmallTenantAge, cfg.FlushAge = time.Second, time.Second
	var peak atomic.Uint64
	used := cpu.Time()
	b.StartTimer()
	p := r.start(dir, cfg)
	p.await("all is committed", func() bool {
		peak.Store(max(peak.Load(), live()))
		s := p.w.Status()
		return len(s) == 1 && s[0].LogEnd > 0 && s[0].OldestOpen >= r.sent[0]
	})
	b.StopTimer()
	used = cpu.Time() - used
	p.dead()
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/event")
	b.ReportMetric(float64(int64(peak.Load())-int64(base))/(1<<20), "live-MiB")
	b.ReportMetric(float64(cfg.MemoryBudget+cfg.DedupBudget)/(1<<20), "budget-MiB")
}

// backlog sends events in records of up to 100, without an oracle.
func (r *rig) backlog(n, tenants int, hours int64) {
	var records []*kafka.Record
	for i := 0; i < n; {
		tenant := (i / 100) % tenants
		env := event.Envelope{Tenant: event.TenantID(fmt.Sprintf("tenant-%d", tenant)), PlacementVersion: uint64(r.table.Version())}
		for ; len(env.Items) < 100 && i < n; i++ {
			env.Items = append(env.Items, event.Item{
				Kind: event.KindEvent, HasID: true, ID: fmt.Appendf(nil, "event-%d", i), Format: event.FormatJSON,
				Timestamp: event.Timestamp((1_699_999_200 + int64(i)*7919%(hours*3600)) * 1e9), FirstSeen: 1.7e18,
				Origin:  event.Origin{Source: event.Source{Cluster: "intake"}, Offset: int64(i)},
				Payload: payload(i),
			})
		}
		records = append(records, &kafka.Record{Topic: topic, Value: event.AppendEnvelope(nil, &env)})
		r.sent[0]++
		if len(records) == 1000 || i == n {
			r.kafka.Produce(records...)
			records = nil
		}
	}
}

func payload(i int) []byte {
	p := fmt.Appendf(nil, `{"service":"svc-%d","status":"%d","message":"request %d was handled in the usual way"`, i%7, 200+i%5, i)
	for k := range 17 {
		p = fmt.Appendf(p, `,"attribute_%d":%d`, k, i*k%1000)
	}
	return append(p, '}')
}

func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
