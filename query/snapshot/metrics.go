package snapshot

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	snapshots *prometheus.CounterVec
	follows   *prometheus.CounterVec
	loads     prometheus.Counter
	rebuilt   prometheus.Counter
	retries   prometheus.Counter
	dropped   prometheus.Counter
	states    prometheus.Gauge
	bytes     prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "togo_query_" + name, Help: help})
	}
	m := &metrics{
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_query_snapshots_total", Help: "Snapshots given to queries, by what they show (present, past) or why there was none (gone).",
		}, []string{"what"}),
		follows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_query_log_polls_total", Help: "Readings of a shard log to its head, by result.",
		}, []string{"result"}),
		loads:   counter("log_loads_total", "Shard logs read from a checkpoint."),
		rebuilt: counter("past_states_total", "States of past positions read from checkpoints."),
		retries: counter("log_retries_total", "Readings of placements and shard logs that were tried again."),
		dropped: counter("states_dropped_total", "States of shards dropped from memory, idle or above the bound."),
		states:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_query_states", Help: "States of shards in memory."}),
		bytes:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_query_state_bytes", Help: "About what they take."}),
	}
	if reg != nil {
		reg.MustRegister(m.snapshots, m.follows, m.loads, m.rebuilt, m.retries, m.dropped, m.states, m.bytes)
	}
	return m
}
