package objstore

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Instrumented is a Store that counts what goes through it.
type Instrumented struct {
	inner    Store
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// Instrument wraps a store. Its metrics are registered on r, once for each
// registerer.
func Instrument(inner Store, r prometheus.Registerer) *Instrumented {
	m := &Instrumented{
		inner: inner,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_objstore_requests_total",
			Help: "Operations on the object store, by kind and result (ok, not_found, exists, conflict, range, unavailable, canceled, error). A listing is one.",
		}, []string{"op", "result"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "togo_objstore_bytes_total",
			Help: "Bytes of object bodies written and read, by kind of operation.",
		}, []string{"op"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "togo_objstore_request_duration_seconds",
			Help: "Time that operations on the object store took, retries within them included.",
			// 0.5 ms (a local directory) to 65 s (a request's time limit).
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
		}, []string{"op"}),
	}
	r.MustRegister(m.requests, m.bytes, m.seconds)
	return m
}

// String names the store in messages.
func (m *Instrumented) String() string { return Name(m.inner) }

// result is the label value for an operation's error.
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrNotFound):
		return "not_found"
	case errors.Is(err, ErrExists):
		return "exists"
	case errors.Is(err, ErrConflict):
		return "conflict"
	case errors.Is(err, ErrRange):
		return "range"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return "error"
}

// done notes the end of an operation that began at begin.
func (m *Instrumented) done(op Op, begin time.Time, bytes int, err error) {
	m.requests.WithLabelValues(string(op), result(err)).Inc()
	m.seconds.WithLabelValues(string(op)).Observe(time.Since(begin).Seconds())
	if err == nil && bytes > 0 {
		m.bytes.WithLabelValues(string(op)).Add(float64(bytes))
	}
}

// Put creates or replaces the object.
func (m *Instrumented) Put(ctx context.Context, key string, body []byte) error {
	begin := time.Now()
	err := m.inner.Put(ctx, key, body)
	m.done(OpPut, begin, len(body), err)
	return err
}

// PutIfAbsent creates the object.
func (m *Instrumented) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	begin := time.Now()
	err := m.inner.PutIfAbsent(ctx, key, body)
	m.done(OpPutIfAbsent, begin, len(body), err)
	return err
}

// Get returns the whole object.
func (m *Instrumented) Get(ctx context.Context, key string) ([]byte, error) {
	begin := time.Now()
	body, err := m.inner.Get(ctx, key)
	m.done(OpGet, begin, len(body), err)
	return body, err
}

// GetRange returns a part of the object.
func (m *Instrumented) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	begin := time.Now()
	body, err := m.inner.GetRange(ctx, key, off, n)
	m.done(OpGetRange, begin, len(body), err)
	return body, err
}

// List yields objects by key. Its time is the whole iteration's, the caller's own
// work between the objects included.
func (m *Instrumented) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		begin := time.Now()
		var last error
		defer func() { m.done(OpList, begin, 0, last) }()
		for object, err := range m.inner.List(ctx, prefix, after) {
			last = err
			if !yield(object, err) {
				return
			}
		}
	}
}

// Delete removes the objects.
func (m *Instrumented) Delete(ctx context.Context, keys ...string) error {
	begin := time.Now()
	err := m.inner.Delete(ctx, keys...)
	m.done(OpDelete, begin, 0, err)
	return err
}

// Date is the store's own clock.
func (m *Instrumented) Date(ctx context.Context) (time.Time, error) {
	begin := time.Now()
	now, err := m.inner.Date(ctx)
	m.done(OpDate, begin, 0, err)
	return now, err
}
