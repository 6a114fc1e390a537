package objstore

import (
	"context"
	"iter"
	"time"
)

var _ Multipart = (*Instrumented)(nil)

// Kinds of operations that only metrics know: an upload is counted once, when it is
// finished or fails, with all its bytes and the time within the store.
const (
	opUpload        Op = "upload"
	opListUploads   Op = "list_uploads"
	opAbandonUpload Op = "abandon_upload"
)

type instrumentedUpload struct {
	metrics *Instrumented
	inner   Upload
	spent   time.Duration // within the store so far
	bytes   int
	counted bool
}

// CreateUpload begins an upload of the wrapped store. If that takes objects whole, the
// body is collected here and counts as a Put.
func (m *Instrumented) CreateUpload(ctx context.Context, key string) (Upload, error) {
	if _, ok := m.inner.(Multipart); !ok {
		return Create(ctx, wholeOnly{m}, key)
	}
	begin := time.Now()
	inner, err := Create(ctx, m.inner, key)
	if err != nil {
		m.done(opUpload, begin, 0, err)
		return nil, err
	}
	return &instrumentedUpload{metrics: m, inner: inner, spent: time.Since(begin)}, nil
}

// wholeOnly hides that a store has uploads.
type wholeOnly struct{ Store }

func (u *instrumentedUpload) Write(piece []byte) (int, error) {
	begin := time.Now()
	n, err := u.inner.Write(piece)
	u.spent += time.Since(begin)
	u.bytes += n
	if err != nil {
		u.count(err)
	}
	return n, err
}

func (u *instrumentedUpload) Seal(ctx context.Context) error {
	begin := time.Now()
	err := u.inner.Seal(ctx)
	u.spent += time.Since(begin)
	if err != nil {
		u.count(err)
	}
	return err
}

func (u *instrumentedUpload) Finish(ctx context.Context) error {
	begin := time.Now()
	err := u.inner.Finish(ctx)
	u.spent += time.Since(begin)
	u.count(err)
	return err
}

// Cancel counts an upload that neither finished nor failed as canceled.
func (u *instrumentedUpload) Cancel(ctx context.Context) error {
	u.count(context.Canceled)
	return u.inner.Cancel(ctx)
}

func (u *instrumentedUpload) count(err error) {
	if u.counted {
		return
	}
	u.counted = true
	u.metrics.done(opUpload, time.Now().Add(-u.spent), u.bytes, err)
}

// Uploads yields the pending uploads of the wrapped store.
func (m *Instrumented) Uploads(ctx context.Context, prefix string) iter.Seq2[PendingUpload, error] {
	return func(yield func(PendingUpload, error) bool) {
		begin := time.Now()
		var last error
		defer func() { m.done(opListUploads, begin, 0, last) }()
		for upload, err := range PendingUploads(ctx, m.inner, prefix) {
			last = err
			if !yield(upload, err) {
				return
			}
		}
	}
}

// AbandonUpload ends a pending upload of the wrapped store.
func (m *Instrumented) AbandonUpload(ctx context.Context, upload PendingUpload) error {
	begin := time.Now()
	err := AbandonUpload(ctx, m.inner, upload)
	m.done(opAbandonUpload, begin, 0, err)
	return err
}
