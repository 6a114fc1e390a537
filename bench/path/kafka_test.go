package path

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/writer"
)

const (
	intakePartitions = 2
	shards           = 2
)

// BenchmarkThroughKafka takes a backlog of events through a router and a writer as
// they run in production, with a broker in the same process: its CPU time, and that of
// its clients, is part of the figure. Producing to the intake is reported apart.
func BenchmarkThroughKafka(b *testing.B) {
	w := newWorld(b, shards)
	cluster := kafkatest.New(b)
	cluster.Topic("events", intakePartitions, nil)
	cluster.Topic("shards", shards, router.ShardTopicConfigs(1<<20, false))
	client := cluster.Client()
	sent, unique, producing := produce(b, client, b.N)

	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	m := cpu.Start(b)
	r := startRouter(ctx, b, &running, w, client)
	registry := startWriter(ctx, b, &running, w, client)
	await(b, "all is routed", func() bool { return committed(r) == sent })
	ends, err := client.Offsets(b.Context(), "shards")
	must(b, err)
	var envelopes int64
	for _, e := range ends {
		envelopes += e.End
	}
	await(b, "all is read", func() bool { return int64(sum(b, registry, "togo_writer_records_total")) == envelopes })
	cancel() // and what is left is committed
	running.Wait()
	m.PerEvent(int(sent))
	w.check(shards, sent, unique)
	b.ReportMetric(float64(producing.Nanoseconds())/float64(sent), "produce-cpu-ns/event")
	b.ReportMetric(float64(sent)/float64(envelopes), "events/envelope")
}

// BenchmarkRouterThroughKafka is the router's half of it: from the intake to what the
// shard topic has acknowledged, with the broker in the same process.
func BenchmarkRouterThroughKafka(b *testing.B) {
	w := newWorld(b, shards)
	cluster := kafkatest.New(b)
	cluster.Topic("events", intakePartitions, nil)
	cluster.Topic("shards", shards, router.ShardTopicConfigs(1<<20, false))
	client := cluster.Client()
	sent, _, _ := produce(b, client, b.N)

	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	m := cpu.Start(b)
	r := startRouter(ctx, b, &running, w, client)
	await(b, "all is routed", func() bool { return committed(r) == sent })
	cancel()
	running.Wait()
	m.PerEvent(int(sent))
}

// committed is how much of the intake the router has committed.
func committed(r *router.Router) (n int64) {
	for _, l := range r.Status().Partitions {
		n += l.Committed
	}
	return n
}

// sum is a metric over all its labels.
func sum(b *testing.B, r *prometheus.Registry, name string) (total float64) {
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

// produce fills the intake topic.
func produce(b *testing.B, client *kafka.Client, polls int) (sent, unique int64, spent time.Duration) {
	info, err := client.Topic(b.Context(), "events")
	must(b, err)
	p, err := client.NewProducer(info, kafka.ProducerConfig{})
	must(b, err)
	defer p.Close()
	events := traffic.Plain(2, repeats)
	now := traffic.Start
	for range polls {
		messages := make([]kafka.Message, perPoll)
		for i := range messages {
			now = now.Add(time.Second / eventsPerSecond)
			e := events.Next(tenants, now, nil)
			messages[i] = kafka.Message{Partition: int32(sent % intakePartitions), Timestamp: now, Value: e.Payload,
				Headers: []kafka.Header{{Key: tenantHeader, Value: tenantNames[e.Tenant]}}}
			sent++
			if !e.Repeat {
				unique++
			}
		}
		begin := cpu.Time()
		for _, msg := range messages {
			p.Produce(b.Context(), msg, func(_ int64, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, p.Flush(b.Context()))
		spent += cpu.Time() - begin
	}
	return sent, unique, spent
}

func startRouter(ctx context.Context, b *testing.B, running *sync.WaitGroup, w *world, client *kafka.Client) *router.Router {
	r, err := router.New(router.DefaultConfig(), router.Deps{
		Intake: client, Topics: []string{"events"}, Shards: client, ShardTopic: "shards",
		Placements: w.keeper, Hasher: w.hasher, Limits: w.limits(), Log: kafkatest.Quiet(),
	})
	must(b, err)
	run(ctx, b, running, r.Run)
	return r
}

// startWriter returns the writer's metrics.
func startWriter(ctx context.Context, b *testing.B, running *sync.WaitGroup, w *world, client *kafka.Client) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	wr, err := writer.New(writer.DefaultConfig(), writer.Deps{
		Store: w.store, Meta: w.meta, Kafka: client, Topic: "shards", Placements: w.keeper, Owner: "bench",
		Logger: kafkatest.Quiet(), Registerer: registry,
	})
	must(b, err)
	run(ctx, b, running, wr.Run)
	return registry
}

func run(ctx context.Context, b *testing.B, running *sync.WaitGroup, f func(context.Context) error) {
	running.Go(func() {
		if err := f(ctx); err != nil {
			b.Error(err)
		}
	})
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// await looks again and again; the time between is short beside what is measured.
func await(b *testing.B, what string, done func() bool) {
	b.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("waited too long until %s", what)
		}
	}
}
