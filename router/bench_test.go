package router

import (
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

const benchEvent = `{"event_id":"%016x","timestamp":"2026-03-01T11:59:%02d.123456Z","level":"info","service":{"name":"checkout","version":"1.42.7"},` +
	`"message":"order placed","host":"ip-10-1-2-3.eu-west-1.compute.internal","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7",` +
	`"http":{"method":"POST","status_code":201,"path":"/api/v1/orders","user_agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36","duration_ms":42.7},` +
	`"user":{"id":12345678,"plan":"pro"},"tags":["a","b","c"],"amount":199.99,"currency":"EUR","retry":false}`

// benchBatches are polls of 1,000 records of the given number of tenants.
func benchBatches(tenants int) []kafka.Batch {
	var batches []kafka.Batch
	offset := int64(0)
	for range 20 {
		b := kafka.Batch{Topic: "events", Source: source(0)}
		for range 1000 {
			r := record(offset, fmt.Sprintf(benchEvent, offset*0x9e3779b97f4a7c, offset%60))
			b.Records = append(b.Records, of(r, fmt.Sprintf("tenant-%d", int(offset)%tenants)))
			offset++
		}
		b.Next, b.End = offset, offset
		batches = append(batches, b)
	}
	return batches
}

// BenchmarkCore is an event's whole way through the Core: three fields decoded,
// placed, and put into an envelope that is acknowledged later.
func BenchmarkCore(b *testing.B) {
	for _, tenants := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			keeper := newKeeper(b, nil)
			c := NewCore(CoreConfig{Config: DefaultConfig(), Hasher: hasher, Limits: limits, MaxRecordBytes: 1 << 20}, keeper.Current())
			batches := benchBatches(tenants)
			now := start
			c.Step(now, Assigned{[]kafka.Assignment{{TopicPartition: tp(0), Source: source(0)}}})
			var ids []BatchID
			m := cpu.Start(b)
			events := 0
			for i := 0; b.Loop(); i++ {
				in := batches[i%len(batches)]
				records := make([]*kafka.Record, len(in.Records)) // the Core takes them over
				copy(records, in.Records)
				for _, r := range records {
					if i >= len(batches) {
						r.Offset += 20_000
					}
				}
				in.Records = records
				now = now.Add(5 * time.Millisecond)
				ids = ids[:0]
				for _, p := range c.Step(now, Fetched{in}).Produce {
					ids = append(ids, p.Batch)
				}
				for _, id := range ids {
					c.Step(now, Acked{Batch: id})
				}
				events += len(records)
			}
			m.PerEvent(events)
		})
	}
}

// BenchmarkExtract is the decoding of the three fields alone.
func BenchmarkExtract(b *testing.B) {
	x, err := event.Compile(event.DefaultMapping(), limits)
	if err != nil {
		b.Fatal(err)
	}
	records := benchBatches(10)[0].Records
	var item event.Item
	var tenant event.TenantID
	m := cpu.Start(b)
	n := 0
	for b.Loop() {
		for _, r := range records {
			x.Extract(&event.RecordView{Value: r.Value, KafkaTimestamp: ts(start), Origin: event.Origin{Source: source(0), Offset: r.Offset}}, &item, &tenant)
		}
		n += len(records)
	}
	m.PerEvent(n)
}

// BenchmarkPlace is a look-up of the placements with its hash.
func BenchmarkPlace(b *testing.B) {
	table := newKeeper(b, nil).Current()
	id := []byte("0123456789abcdef")
	m := cpu.Start(b)
	n := 0
	for b.Loop() {
		if _, ok := table.Shard("tenant-7", ts(start), hasher.Routing(id)); !ok {
			b.Fatal("above the horizon")
		}
		n++
	}
	m.PerEvent(n)
}

// BenchmarkShardTopic is the cost of the shard topic by codec: envelopes of 100 events
// produced to a broker in the same process, and read back.
func BenchmarkShardTopic(b *testing.B) {
	for _, codec := range []string{"none", "lz4", "zstd", "snappy"} {
		b.Run(codec, func(b *testing.B) {
			k := kafkatest.New(b)
			k.Topic("shards", 1, nil)
			c := k.Client()
			info, err := c.Topic(b.Context(), "shards")
			if err != nil {
				b.Fatal(err)
			}
			p, err := c.NewProducer(info, kafka.ProducerConfig{Compression: codec, MaxBufferedBytes: 16 << 20})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			var values [][]byte
			raw := 0
			for _, batch := range benchBatches(1) {
				for at := 0; at < len(batch.Records); at += 100 {
					env := event.Envelope{Tenant: "tenant-0"}
					for _, r := range batch.Records[at : at+100] {
						env.Items = append(env.Items, event.Item{
							Kind: event.KindEvent, Timestamp: ts(start), FirstSeen: ts(start), ID: r.Value[13:29], HasID: true,
							Origin: event.Origin{Source: source(0), Offset: r.Offset}, Format: event.FormatJSON, Payload: r.Value,
						})
					}
					values = append(values, event.AppendEnvelope(nil, &env))
					raw += len(values[len(values)-1])
				}
			}
			m := cpu.Start(b)
			n := 0
			for b.Loop() {
				p.Produce(b.Context(), kafka.Message{Value: values[n/100%len(values)]}, func(_ int64, err error) {
					if err != nil {
						b.Error(err)
					}
				})
				n += 100
			}
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			m.PerEvent(n)
			b.ReportMetric(float64(raw)/20_000, "raw-B/event")
		})
	}
}
