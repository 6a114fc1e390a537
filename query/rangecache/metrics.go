package rangecache

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	bytes    *prometheus.CounterVec
	requests prometheus.Counter
	retries  prometheus.Counter
	damaged  prometheus.Counter
	skipped  prometheus.Counter
	failed   prometheus.Counter
	evicted  prometheus.Counter
	kept     prometheus.Gauge
	parts    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "togo_query_cache_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "togo_query_cache_" + name, Help: help})
	}
	m := &metrics{
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_query_read_bytes_total", Help: "Bytes of files that queries read, by where they came from: store, cache, or shared with another query that read them from the store.",
		}, []string{"from"}),
		requests: counter("store_requests_total", "Range reads of the store."),
		retries:  counter("store_retries_total", "Range reads of the store that were tried again."),
		damaged:  counter("damaged_total", "Parts in the cache that were not as they were written, and were dropped."),
		skipped:  counter("skipped_total", "Parts that were not kept, because too much waited to be written or the part was too large."),
		failed:   counter("write_errors_total", "Parts that could not be written to the cache's disk."),
		evicted:  counter("evicted_total", "Parts dropped because the cache was full."),
		kept:     gauge("bytes", "Bytes in the cache."),
		parts:    gauge("parts", "Parts of files in the cache."),
	}
	if reg != nil {
		reg.MustRegister(m.bytes, m.requests, m.retries, m.damaged, m.skipped, m.failed, m.evicted, m.kept, m.parts)
	}
	return m
}
