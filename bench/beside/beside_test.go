// Package beside measures what ingestion costs while a compactor works on the same
// shards: each role is a process of its own, so that the kernel says what each used.
package beside

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
)

const (
	tenants    = 20
	partitions = 2
	perPoll    = 1000
)

// configuration flushes small fragments, so that there is much to compact.
const configuration = `
log: {level: error}
shard_topic: {partitions: 2}
intake:
  topics:
    - cluster: main
      name: events
      partitions: 2
      mapping:
        format: json
        tenant: [{header: X-Scope-OrgID}]
        timestamp: [{field: timestamp}]
        id: [{field: event_id}]
writer: {flush_bytes: 256KiB, flush_age: 1s, small_tenant_age: 1s}
compactor: {poll: 100ms, fan_in: 8, ratio: 4, quiet_after: 3s, quiet_newest_after: 3s, query_grace: 5s, collect_every: 5s}
`

// BenchmarkIngestion takes b.N thousand events through router and writer, first alone, then
// with a compactor beside them.
func BenchmarkIngestion(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "togo")
	build := exec.Command("go", "build", "-o", bin, "github.com/togodb/togo/cmd/togo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build the program: %v\n%s", err, out)
	}
	alone, _, _ := measure(b, bin, false)
	beside, compactor, left := measure(b, bin, true)
	events := float64(b.N * perPoll)
	b.ReportMetric(alone/events, "alone-cpu-ns/event")
	b.ReportMetric(beside/events, "beside-cpu-ns/event")
	b.ReportMetric(beside/alone, "beside/alone")
	b.ReportMetric(compactor/events, "compactor-cpu-ns/event")
	b.ReportMetric(left, "fragments-left")
}

// measure is one run; CPU times in nanoseconds.
func measure(b *testing.B, bin string, withCompactor bool) (ingestion, compaction, fragments float64) {
	dir := b.TempDir()
	broker, err := kafka.StartEmbedded(b.Context(), kafka.EmbeddedConfig{Dir: filepath.Join(dir, "kafka"), Addr: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	must(b, err)
	defer broker.Close()
	cfg := filepath.Join(dir, "togo.yaml")
	must(b, os.WriteFile(cfg, []byte(configuration), 0o600))
	http, err := proc.FreeAddr()
	must(b, err)
	t := tool.Tool{Bin: bin, Args: []string{
		"--config", cfg, "--dir", dir, "--set", "kafka={main: {brokers: [\"" + broker.Addr() + "\"]}}",
	}}
	start := func(roles, listen string) *proc.Process {
		p, err := proc.Start(bin, append(append([]string{}, t.Args...), "--set", "http.listen="+listen, "run", "--target", roles), os.Stderr)
		must(b, err)
		if listen != "" {
			must(b, p.WaitOK(b.Context(), "http://"+listen+"/ready"))
		}
		return p
	}
	ingesting := start("router,writer", http)
	var compactor *proc.Process
	if withCompactor {
		compactor = start("compactor", "")
	}
	produce(b, broker.Addr())
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	status, err := t.Await(ctx, "everything is stored", tool.Status.Done)
	must(b, err)
	if status.Totals.Stored != int64(b.N*perPoll) {
		b.Fatalf("%d events stored of %d", status.Totals.Stored, b.N*perPoll)
	}
	must(b, ingesting.Stop(20*time.Second))
	if compactor != nil {
		must(b, compactor.Stop(20*time.Second))
		compaction = float64(compactor.CPU().Nanoseconds())
	}
	return float64(ingesting.CPU().Nanoseconds()), compaction, float64(status.Fragments)
}

// produce sends the events, a thousand at a time.
func produce(b *testing.B, addr string) {
	client, err := kafka.Connect(b.Context(), kafka.ClusterConfig{Brokers: []string{addr}}, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	must(b, err)
	defer client.Close()
	info, err := client.Topic(b.Context(), "events")
	must(b, err)
	p, err := client.NewProducer(info, kafka.ProducerConfig{})
	must(b, err)
	defer p.Close()
	events := traffic.Plain(2, 0)
	now := time.Now().Add(-time.Hour)
	for range b.N {
		for i := range perPoll {
			now = now.Add(100 * time.Microsecond)
			e := events.Next(tenants, now, nil)
			p.Produce(b.Context(), kafka.Message{
				Partition: int32(i % partitions), Timestamp: now, Value: e.Payload,
				Headers: []kafka.Header{{Key: "X-Scope-OrgID", Value: []byte(fmt.Sprintf("tenant-%02d", e.Tenant))}},
			}, func(_ int64, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, p.Flush(b.Context()))
		time.Sleep(10 * time.Millisecond) // so that it takes some seconds, and many commits
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
