// Package memory measures what a writer holds in memory against its budgets.
package memory

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/writer"
)

const (
	memoryBudget = 256 << 20
	dedupBudget  = 32 << 20
	fetchBytes   = 64 << 20
	// backlog of events: what comes after the first budget's worth finds the writer full.
	backlog = 2 * memoryBudget
	// uploadTime is about what a put takes on S3; a body is in memory for as long.
	uploadTime = 20 * time.Millisecond
)

// BenchmarkWriter has a writer take a backlog of events of 300 columns. One op is the whole
// backlog. The heap in use is sampled, garbage included, while the collector has
// the limit that belongs to the budgets (writer.Config.HeapBytes). That the limit is not
// bought with endless collection is seen by the collector's share of the CPU time.
func BenchmarkWriter(b *testing.B) {
	for _, tenants := range []int{10, 200, 2000} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			for range b.N {
				measure(b, tenants)
			}
		})
	}
}

func measure(b *testing.B, tenants int) {
	b.StopTimer()
	addr, records := startBroker(b, load{tenants: tenants, bytes: backlog, hours: 1, events: perEnvelope})
	// On disk: what the store holds is no memory of the writer.
	dir, err := objstore.OpenDir(b.TempDir())
	must(b, err)
	_, keeper, err := newPlacements(dir)
	must(b, err)
	client, err := kafka.Connect(b.Context(), kafka.ClusterConfig{Brokers: []string{addr}}, kafkatest.Quiet(), nil)
	must(b, err)
	defer client.Close()
	cfg := writer.DefaultConfig()
	cfg.MemoryBudget, cfg.DedupBudget, cfg.FetchBytes = memoryBudget, dedupBudget, fetchBytes
	registry := prometheus.NewRegistry()
	meta := objstore.NewMeta(objstore.MetaDefaults{}, traffic.Start)
	meta.Seed = seed
	w, err := writer.New(cfg, writer.Deps{
		Store: &sink{Store: dir}, Meta: meta, Kafka: client, Topic: shardTopic, Placements: keeper, Owner: "bench",
		Logger: kafkatest.Quiet(), Registerer: registry,
	})
	must(b, err)

	defer debug.SetMemoryLimit(debug.SetMemoryLimit(cfg.HeapBytes()))
	runtime.GC()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	p := startSampler(w)
	gc, used := seconds(gcSeconds), cpu.Time()
	b.StartTimer()
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	for end := time.Now().Add(5 * time.Minute); int64(counter(b, registry, "togo_writer_records_total")) < records; {
		if time.Now().After(end) {
			b.Fatal("the writer does not read on")
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	running.Wait()
	b.StopTimer()
	p.stop()
	if n := int64(counter(b, registry, "togo_writer_stored_total")); n != records*perEnvelope {
		b.Fatalf("%d events stored, want %d", n, records*perEnvelope)
	}
	const budget = memoryBudget + dedupBudget + fetchBytes
	const mib = 1 << 20
	b.ReportMetric(float64(p.heap-p.base)/mib, "peak-heap-MiB")
	b.ReportMetric(float64(p.held)/mib, "peak-events-MiB")
	b.ReportMetric(float64(p.dedup)/mib, "peak-ids-MiB")
	b.ReportMetric(budget/mib, "budget-MiB")
	b.ReportMetric(float64(p.heap-p.base)/float64(budget), "heap/budget")
	b.ReportMetric(100*(seconds(gcSeconds)-gc)/(cpu.Time()-used).Seconds(), "%gc")
	b.ReportMetric(counter(b, registry, "togo_writer_fragments_total"), "files")
	b.StartTimer()
}

// gcSeconds is the CPU time of the collector, without what it takes of idle processors.
var gcSeconds = []string{"/cpu/classes/gc/mark/assist:cpu-seconds", "/cpu/classes/gc/mark/dedicated:cpu-seconds", "/cpu/classes/gc/pause:cpu-seconds"}

func seconds(names []string) (total float64) {
	for _, name := range names {
		s := []metrics.Sample{{Name: name}}
		metrics.Read(s)
		total += s[0].Value.Float64()
	}
	return total
}

// sampler holds the peaks.
type sampler struct {
	base, heap  int64 // bytes of the heap in use, before and at most
	held, dedup int64 // what the writer says it holds, at most
	end, ended  chan struct{}
}

func startSampler(w *writer.Writer) *sampler {
	p := &sampler{base: heapInUse(), end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-p.end:
				return
			case <-time.After(2 * time.Millisecond):
			}
			var held, dedup int64
			for _, s := range w.Status() {
				held += s.MemoryBytes
				dedup += s.DedupBytes
			}
			p.heap, p.held, p.dedup = max(p.heap, heapInUse()), max(p.held, held), max(p.dedup, dedup)
		}
	}()
	return p
}

func (p *sampler) stop() { close(p.end); <-p.ended }

// heapInUse is the memory of spans with objects in them, garbage included.
func heapInUse() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
}

// sink is a store that takes time and keeps no fragments, which nobody reads.
type sink struct{ objstore.Store }

func (s *sink) Put(ctx context.Context, key string, body []byte) error {
	time.Sleep(uploadTime)
	if strings.HasPrefix(key, "data/") {
		return nil
	}
	return s.Store.Put(ctx, key, body)
}

func counter(b testing.TB, r *prometheus.Registry, name string) (total float64) {
	families, err := r.Gather()
	must(b, err)
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
