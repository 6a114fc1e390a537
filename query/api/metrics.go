package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/query"
)

// metrics of the HTTP interface. The names are part of what users build on.
type metrics struct {
	requests *prometheus.CounterVec   // by route and code of the answer
	seconds  *prometheus.HistogramVec // by route
	queued   prometheus.Histogram
	rows     prometheus.Counter
	scanned  prometheus.Counter
	store    prometheus.Counter
	cache    prometheus.Counter
	cpu      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, load func() (running, waiting int)) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "togo_query_" + name + "_total", Help: help})
	}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "togo_query_requests_total",
			Help: "Requests by route and by code: ok, or the code of the error."}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "togo_query_request_seconds",
			Help: "How long requests took, their time in the queue included.", Buckets: prometheus.ExponentialBuckets(0.002, 3, 11)}, []string{"route"}),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "togo_query_queue_seconds",
			Help: "How long queries waited for their turn.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		rows:    counter("rows", "Rows of answers."),
		scanned: counter("rows_scanned", "Rows of the row groups that queries read."),
		store:   counter("store_bytes", "Bytes that queries read from the store."),
		cache:   counter("cache_bytes", "Bytes that queries read from the cache."),
		cpu:     counter("cpu_seconds", "CPU time of queries."),
	}
	if reg == nil {
		return m
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "togo_query_" + name, Help: help}, value)
	}
	reg.MustRegister(m.requests, m.seconds, m.queued, m.rows, m.scanned, m.store, m.cache, m.cpu,
		gauge("running", "Queries that run.", func() float64 { running, _ := load(); return float64(running) }),
		gauge("waiting", "Queries that wait for their turn.", func() float64 { _, waiting := load(); return float64(waiting) }))
	return m
}

// cost adds what an answer cost, whether it came to its end or not.
func (m *metrics) cost(s *query.Summary) {
	if s == nil {
		return
	}
	m.rows.Add(float64(s.Rows))
	if n := s.Stats; n != nil {
		m.scanned.Add(float64(n.Rows.Load()))
		m.store.Add(float64(n.StoreBytes.Load()))
		m.cache.Add(float64(n.CacheBytes.Load()))
		m.cpu.Add(float64(n.CPU.Load()) / 1e9)
	}
}
