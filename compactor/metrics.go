package compactor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/shardlog"
)

// metrics of a process's compaction. The names are part of what users build on.
type metrics struct {
	merges      *prometheus.CounterVec // by why
	jobs        *prometheus.CounterVec // those that were given up, by result
	inputs      prometheus.Counter
	outputs     prometheus.Counter
	readBytes   prometheus.Counter
	wroteBytes  prometheus.Counter
	rows        prometheus.Counter
	ids         prometheus.Counter
	seconds     prometheus.Histogram
	quarantined prometheus.Counter
	expires     prometheus.Counter

	collections   *prometheus.CounterVec // by result
	garbage       *prometheus.GaugeVec   // of the last collection, by verdict
	garbageBytes  prometheus.Gauge
	waiting       prometheus.Gauge
	removed       prometheus.Counter
	deleted       prometheus.Counter
	deletedBytes  prometheus.Counter
	abandonedUpld prometheus.Counter
	trimmed       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "togo_compactor_" + name + "_total", Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "togo_compactor_" + name + "_total", Help: help}, []string{label})
	}
	m := &metrics{
		merges:      vec("merges", "Merges done, by reason.", "why"),
		jobs:        vec("given_up", "Merges begun and given up, by reason.", "why"),
		inputs:      counter("inputs", "Objects that merges replaced."),
		outputs:     counter("outputs", "Objects that merges made."),
		readBytes:   counter("read_bytes", "Bytes of the objects that merges replaced."),
		wroteBytes:  counter("written_bytes", "Bytes of the objects that merges made."),
		rows:        counter("rows", "Rows that merges wrote again."),
		ids:         counter("ids", "Identities that merges wrote again."),
		quarantined: counter("quarantined", "Fragments that were set aside because they cannot be read."),
		expires:     counter("expires", "Expire records."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "togo_compactor_merge_seconds", Help: "Time of a merge, from its begin to its end.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 18),
		}),
		collections: vec("collections", "Listings of the store for garbage, by result.", "result"),
		garbage: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "togo_compactor_objects", Help: "Objects that the last listing saw, by verdict.",
		}, []string{"verdict"}),
		garbageBytes:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_compactor_garbage_bytes", Help: "Bytes of garbage that the last listing found."}),
		waiting:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_compactor_garbage_waiting", Help: "Objects that logs have removed, or a listing has found, and that wait for query_grace."}),
		removed:       counter("deleted_by_log", "Objects deleted because a log has removed them, without a listing."),
		deleted:       counter("deleted", "Objects deleted as garbage."),
		deletedBytes:  counter("deleted_bytes", "Bytes of them."),
		abandonedUpld: counter("uploads_ended", "Unfinished uploads ended as garbage."),
		trimmed:       counter("trimmed", "Old records, checkpoints and manifests of shard logs and placements deleted."),
	}
	if reg != nil {
		reg.MustRegister(m.merges, m.jobs, m.inputs, m.outputs, m.readBytes, m.wroteBytes, m.rows, m.ids, m.quarantined, m.expires,
			m.seconds, m.collections, m.garbage, m.garbageBytes, m.waiting, m.removed, m.deleted, m.deletedBytes, m.abandonedUpld, m.trimmed)
	}
	return m
}

func (m *metrics) merged(do *task, end *shardlog.MergeEnd, took time.Duration) {
	m.merges.WithLabelValues(do.why).Inc()
	m.inputs.Add(float64(len(do.inputs)))
	m.outputs.Add(float64(len(end.Fragments) + len(end.IDs)))
	m.readBytes.Add(float64(do.bytes))
	for _, f := range end.Fragments {
		m.wroteBytes.Add(float64(f.Bytes))
		m.rows.Add(float64(f.Rows))
	}
	for _, f := range end.IDs {
		m.wroteBytes.Add(float64(f.Bytes))
		m.ids.Add(float64(f.IDs))
	}
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) deletedGarbage(d garbage.Deleted, waiting int) {
	m.waiting.Set(float64(waiting))
	m.removed.Add(float64(d.Removed))
	m.deleted.Add(float64(d.Objects))
	m.deletedBytes.Add(float64(d.Bytes))
	m.abandonedUpld.Add(float64(d.Uploads))
}

func (m *metrics) listed(l garbage.Listed, err error) {
	if err != nil {
		m.collections.WithLabelValues("incomplete").Inc()
		return
	}
	m.collections.WithLabelValues("complete").Inc()
	m.garbageBytes.Set(float64(l.GarbageBytes))
	for verdict, n := range map[string]int64{"named": l.Named, "may_commit": l.MayCommit, "garbage": l.Garbage, "unknown": l.Unknown, "skipped": l.Skipped} {
		m.garbage.WithLabelValues(verdict).Set(float64(n))
	}
}
