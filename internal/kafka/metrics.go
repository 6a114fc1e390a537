package kafka

import (
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
)

// metrics counts what crosses the wire; it is a hook of every connection.
type metrics struct {
	written  prometheus.Counter
	read     prometheus.Counter
	connects *prometheus.CounterVec
	requests *prometheus.HistogramVec
}

var _ interface {
	kgo.HookBrokerConnect
	kgo.HookBrokerE2E
} = (*metrics)(nil)

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		written: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_kafka_written_bytes_total", Help: "Bytes written to Kafka brokers.",
		}),
		read: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "togo_kafka_read_bytes_total", Help: "Bytes read from Kafka brokers.",
		}),
		connects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_kafka_connects_total", Help: "Connections to Kafka brokers, by outcome.",
		}, []string{"outcome"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "togo_kafka_request_seconds", Help: "Time of requests to Kafka brokers.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"outcome"}),
	}
	if reg != nil {
		m.written = register(reg, m.written)
		m.read = register(reg, m.read)
		m.connects = register(reg, m.connects)
		m.requests = register(reg, m.requests)
	}
	return m
}

// register lets several clusters of one process share the series.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	err := reg.Register(c)
	if already, ok := err.(prometheus.AlreadyRegisteredError); ok {
		return already.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // two definitions of one name: a bug
	}
	return c
}

func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (m *metrics) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	m.connects.WithLabelValues(outcome(err)).Inc()
}

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (m *metrics) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e2e kgo.BrokerE2E) {
	m.written.Add(float64(e2e.BytesWritten))
	m.read.Add(float64(e2e.BytesRead))
	m.requests.WithLabelValues(outcome(e2e.Err())).Observe(e2e.DurationE2E().Seconds())
}
