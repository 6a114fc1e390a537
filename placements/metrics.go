package placements

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	version     prometheus.Gauge
	horizon     prometheus.Gauge
	appended    *prometheus.CounterVec
	races       prometheus.Counter
	failures    prometheus.Counter
	checkpoints *prometheus.CounterVec
}

// newMetrics registers the metrics on r; nil keeps them to themselves.
func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		version: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "togo_placements_version", Help: "Newest version of the placement table that this process has read."}),
		horizon: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "togo_placements_horizon_timestamp_seconds", Help: "Event time below which placements no longer change; intake waits at it."}),
		appended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_placements_records_total", Help: "Records that this process added to the placement chain, by kind."}, []string{"kind"}),
		races: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_placements_lost_races_total", Help: "Records of this process that another's record came before; each was judged anew."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_placements_refresh_failures_total", Help: "Rounds that could not read the placement chain or raise its horizon."}),
		checkpoints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_placements_checkpoints_total", Help: "Checkpoints of the placement table, by result (written, failed)."}, []string{"result"}),
	}
	if r != nil {
		r.MustRegister(m.version, m.horizon, m.appended, m.races, m.failures, m.checkpoints)
	}
	return m
}
