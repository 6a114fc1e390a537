package tenants

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	version  prometheus.Gauge
	failures prometheus.Counter
}

// newMetrics registers the metrics on r; nil keeps them to themselves.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		version: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "togo_tenants_version", Help: "Newest version of the tenants' settings that this process has read."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_tenants_refresh_failures_total", Help: "Rounds that could not read the tenants' settings; the version that was read last holds on."}),
	}
	if r != nil {
		r.MustRegister(m.version, m.failures)
	}
	return m
}
