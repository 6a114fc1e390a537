package shardlog

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the shard logs of a process.
type Metrics struct {
	appends     *prometheus.CounterVec
	appendBytes prometheus.Counter
	appendTime  prometheus.Histogram
	lost        prometheus.Counter
	retries     prometheus.Counter
	read        prometheus.Counter
	checkpoints *prometheus.CounterVec
	ckptBytes   prometheus.Counter
	fallbacks   prometheus.Counter
	trimmed     *prometheus.CounterVec
}

// NewMetrics registers the metrics; a nil registerer keeps them to us.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "togo_shardlog_" + name, Help: help})
	}
	m := &Metrics{
		appends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_shardlog_appends_total", Help: "Records appended, by kind.",
		}, []string{"kind"}),
		appendBytes: counter("append_bytes_total", "Bytes of the records appended."),
		appendTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "togo_shardlog_append_seconds", Help: "Time until an append was settled as ours.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		lost:    counter("lost_races_total", "Appends that found another's record at their position."),
		retries: counter("append_retries_total", "Tries of an append that did not settle its position."),
		read:    counter("records_read_total", "Records read."),
		checkpoints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_shardlog_checkpoints_total", Help: "Checkpoints, by result.",
		}, []string{"result"}),
		ckptBytes: counter("checkpoint_bytes_total", "Bytes written for checkpoints."),
		fallbacks: counter("checkpoint_fallbacks_total", "Checkpoints that could not be used at a start."),
		trimmed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_shardlog_trimmed_total", Help: "Old objects deleted, by what they were.",
		}, []string{"what"}),
	}
	if reg != nil {
		reg.MustRegister(m.appends, m.appendBytes, m.appendTime, m.lost, m.retries, m.read,
			m.checkpoints, m.ckptBytes, m.fallbacks, m.trimmed)
	}
	return m
}

func (m *Metrics) appended(kind Kind, bytes int, took time.Duration) {
	m.appends.WithLabelValues(string(kind)).Inc()
	m.appendBytes.Add(float64(bytes))
	m.appendTime.Observe(took.Seconds())
}
