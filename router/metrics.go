package router

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// metrics show what the Core did and where its partitions stand.
type metrics struct {
	records, events, skipped, intakeBytes prometheus.Counter
	dead                                  *prometheus.CounterVec
	batches, batchBytes, refused, waits   prometheus.Counter
	commits                               *prometheus.CounterVec
	sessions                              prometheus.Counter
	held                                  prometheus.Gauge
	lag, waiting, stopped                 *prometheus.GaugeVec

	seen Stats // what the counters show
}

func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		reg.MustRegister(c)
		return c
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"topic", "partition"})
		reg.MustRegister(g)
		return g
	}
	m := &metrics{
		records:     counter("togo_router_records_total", "Intake records routed."),
		events:      counter("togo_router_events_total", "Intake records that were events."),
		dead:        counters("togo_router_dead_total", "Intake records that became dead letters, by reason.", "reason"),
		skipped:     counter("togo_router_skipped_offsets_total", "Intake offsets that held no record (transaction markers, aborted, compacted)."),
		intakeBytes: counter("togo_router_intake_bytes_total", "Bytes of the values of intake records routed."),
		batches:     counter("togo_router_batches_total", "Records written to the shard topic."),
		batchBytes:  counter("togo_router_batch_bytes_total", "Bytes of records written to the shard topic, uncompressed."),
		refused:     counter("togo_router_refused_batches_total", "Records that the shard topic refused as too large; they were divided."),
		waits:       counter("togo_router_waits_total", "Times that a partition waited for a newer version of the placements."),
		commits:     counters("togo_router_commits_total", "Commits of intake offsets, by outcome.", "outcome"),
		sessions:    counter("togo_router_sessions_total", "Times that the router joined its group."),
		held:        prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_router_held_bytes", Help: "Bytes read and not acknowledged by the shard topic."}),
		lag:         gauges("togo_router_lag_records", "Intake offsets between the committed one and the end."),
		waiting:     gauges("togo_router_waiting", "1 if the partition waits for a newer version of the placements."),
		stopped:     gauges("togo_router_stopped", "1 if the partition was stopped because records are lost; see the log."),
	}
	reg.MustRegister(m.held)
	m.seen.Dead = map[event.Reason]uint64{}
	return m
}

// show brings the metrics up to date.
func (m *metrics) show(c *Core) {
	s := c.Stats()
	add := func(to prometheus.Counter, now uint64, seen *uint64) {
		if now > *seen {
			to.Add(float64(now - *seen))
			*seen = now
		}
	}
	add(m.records, s.Records, &m.seen.Records)
	add(m.events, s.Events, &m.seen.Events)
	add(m.skipped, s.Skipped, &m.seen.Skipped)
	add(m.intakeBytes, s.IntakeBytes, &m.seen.IntakeBytes)
	add(m.batches, s.Batches, &m.seen.Batches)
	add(m.batchBytes, s.BatchBytes, &m.seen.BatchBytes)
	add(m.refused, s.Refused, &m.seen.Refused)
	add(m.waits, s.Waits, &m.seen.Waits)
	for reason, now := range s.Dead {
		seen := m.seen.Dead[reason]
		add(m.dead.WithLabelValues(string(reason)), now, &seen)
		m.seen.Dead[reason] = seen
	}
	m.held.Set(float64(c.Bytes()))
	m.lag.Reset()
	m.waiting.Reset()
	for _, l := range c.Lags() {
		labels := []string{l.Topic, strconv.Itoa(int(l.Partition))}
		m.lag.WithLabelValues(labels...).Set(float64(l.End - max(l.Committed, 0)))
		waiting := 0.0
		if l.Waiting {
			waiting = 1
		}
		m.waiting.WithLabelValues(labels...).Set(waiting)
	}
}

func (m *metrics) stop(tp kafka.TopicPartition) {
	m.stopped.WithLabelValues(tp.Topic, strconv.Itoa(int(tp.Partition))).Set(1)
}

// session begins the counting of a new Core.
func (m *metrics) session() {
	m.sessions.Inc()
	m.seen = Stats{Dead: map[event.Reason]uint64{}}
	m.stopped.Reset()
}
