package path

import (
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/router"
)

const (
	perPoll = 1000
	// The rate at which the clock of the benchmark lets events come: it decides how
	// much a flush holds.
	eventsPerSecond = 100_000
	pollsAtOnce     = 50 // made outside of the measurement at a time
)

// BenchmarkCores takes events through the cores of router and writer, and through all
// that their shells do but Kafka: intake record, three fields, placement,
// envelope; decoded, judged, buffered, encoded, put and committed. One op is a
// poll of 1,000 records; the last commit is included.
func BenchmarkCores(b *testing.B) {
	w := newWorld(b, 1)
	events := traffic.Plain(1, repeats)
	rt := router.NewCore(router.CoreConfig{
		Config: router.DefaultConfig(), Hasher: w.hasher, Limits: w.limits(), MaxRecordBytes: 1 << 20,
	}, w.keeper.Current())
	part := kafka.TopicPartition{Topic: "events"}
	src := event.Source{Cluster: "bench", Topic: event.TopicID{1}}
	now := traffic.Start
	rt.Step(now, router.Assigned{Partitions: []kafka.Assignment{{TopicPartition: part, Source: src}}})
	wr := w.newShell(0, now)

	var sent, unique, offset int64
	var polls []kafka.Batch
	makePolls := func(n int) {
		polls = polls[:0]
		for range n {
			p := kafka.Batch{Topic: "events", Source: src}
			for range perPoll {
				now = now.Add(time.Second / eventsPerSecond)
				e := events.Next(tenants, now, nil)
				if !e.Repeat {
					unique++
				}
				p.Records = append(p.Records, &kafka.Record{Topic: "events", Offset: offset, Timestamp: now, Value: e.Payload,
					Headers: []kafka.Header{{Key: tenantHeader, Value: tenantNames[e.Tenant]}}})
				offset++
			}
			p.Next, p.End = offset, offset
			polls = append(polls, p)
			sent += perPoll
		}
	}
	var ids []router.BatchID
	var envelopes [][]byte
	route := func(at time.Time, in router.Input) {
		ids, envelopes = ids[:0], envelopes[:0]
		for _, p := range rt.Step(at, in).Produce {
			ids, envelopes = append(ids, p.Batch), append(envelopes, p.Value)
		}
		if len(ids) > 0 {
			wr.take(at, envelopes)
		}
		for _, id := range ids {
			rt.Step(at, router.Acked{Batch: id})
		}
	}

	m := cpu.Start(b)
	for done := 0; done < b.N; {
		m.Stop()
		makePolls(min(pollsAtOnce, b.N-done))
		m.Start()
		for _, p := range polls {
			route(p.Records[len(p.Records)-1].Timestamp, router.Fetched{Batch: p})
		}
		done += len(polls)
	}
	route(now, router.Flush{})
	wr.end()
	m.PerEvent(int(sent))
	stored := w.check(1, sent, unique)
	b.ReportMetric(float64(stored)/float64(unique), "file-bytes/event")
	b.ReportMetric(float64(wr.waited), "id-reads")
}
