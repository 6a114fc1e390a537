package intake

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	requests *prometheus.CounterVec
	lines    prometheus.Counter
	refused  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_intake_requests_total", Help: "Requests to POST /v1/ingest, by status.",
		}, []string{"status"}),
		lines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_intake_lines_total", Help: "Lines that Kafka acknowledged.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_intake_refused_lines_total", Help: "Lines that did not get into Kafka.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.lines, m.refused)
	}
	return m
}
