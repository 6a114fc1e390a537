package memory

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/writer"
)

// TestFault_many_tenants: every tenant sends a day of wide events, so that each event wants a file of its own. The writer
// flushes under pressure, goes on to the end, and the heap stays within what the budgets allow. TOGO_TEST_LONG=1 tries
// 2,000 tenants in 2 GiB (minutes).
func TestFault_many_tenants(t *testing.T) {
	l := load{tenants: 50, hours: 24, events: 2, bytes: 10 << 20}
	cfg := writer.DefaultConfig()
	cfg.MemoryBudget, cfg.DedupBudget, cfg.FetchBytes = 12<<20, 8<<20, 16<<20
	if os.Getenv("TOGO_TEST_LONG") != "" {
		l = load{tenants: 2000, hours: 24, events: 20, bytes: 1200 << 20}
		cfg.MemoryBudget, cfg.DedupBudget, cfg.FetchBytes = 1<<30, 256<<20, 256<<20
	}
	cfg.StopTimeout = 20 * time.Minute // the end of the test stores what is in memory
	addr, records := startBroker(t, l)
	dir, err := objstore.OpenDir(t.TempDir())
	must(t, err)
	_, keeper, err := newPlacements(dir)
	must(t, err)
	client, err := kafka.Connect(t.Context(), kafka.ClusterConfig{Brokers: []string{addr}}, kafkatest.Quiet(), nil)
	must(t, err)
	defer client.Close()
	registry := prometheus.NewRegistry()
	meta := objstore.NewMeta(objstore.MetaDefaults{}, traffic.Start)
	meta.Seed = seed
	w, err := writer.New(cfg, writer.Deps{
		Store: &sink{Store: dir}, Meta: meta, Kafka: client, Topic: shardTopic, Placements: keeper, Owner: "test",
		Logger: kafkatest.Quiet(), Registerer: registry,
	})
	must(t, err)

	defer debug.SetMemoryLimit(debug.SetMemoryLimit(cfg.HeapBytes()))
	runtime.GC()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	p := startSampler(w)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(20 * time.Minute); int64(counter(t, registry, "togo_writer_records_total")) < records; {
		if time.Now().After(end) {
			t.Fatal("the writer does not read on")
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	running.Wait()
	p.stop()
	if n := int64(counter(t, registry, "togo_writer_stored_total")); n != records*int64(l.events) {
		t.Errorf("%d events stored, want %d", n, records*int64(l.events))
	}
	const mib = 1 << 20
	t.Logf("%d tenants, %d hours, %d events in %s: %.0f files in %.0f commits; heap %d MiB above %d, events at most %d MiB; allowed %d MiB", l.tenants, l.hours, records*int64(l.events), time.Since(began).Round(time.Millisecond),
		counter(t, registry, "togo_writer_fragments_total"), counter(t, registry, "togo_writer_commits_total"), (p.heap-p.base)/mib, p.base/mib, p.held/mib, cfg.HeapBytes()/mib)
	if held := p.heap - p.base; held > cfg.HeapBytes()*5/4 {
		t.Errorf("a heap of %d bytes, where the budgets allow %d", held, cfg.HeapBytes())
	}
	if p.held > cfg.MemoryBudget {
		t.Errorf("%d bytes of events, the budget is %d", p.held, cfg.MemoryBudget)
	}
}
