package inspect

import (
	"context"
	"iter"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"

	"github.com/togodb/togo/internal/event"
)

// Events yields a tenant's events whose time lies in the span, file by file in the
// order of buckets. An event is valid until the next. It ends at the first error; one
// that is ErrVanished means that a new view has what is missing.
func (v *View) Events(ctx context.Context, tenant event.TenantID, span Span) iter.Seq2[*fragment.Event, error] {
	return func(yield func(*fragment.Event, error) bool) {
		for _, f := range v.Files(tenant, shardlog.TableEvents, span) {
			r, err := fragment.Open(ctx, v.Objects, f.Key, f.Bytes)
			if err != nil {
				yield(nil, v.explain(ctx, f, err))
				return
			}
			for e, err := range r.Events() {
				if err != nil {
					yield(nil, v.explain(ctx, f, err))
					return
				}
				if span.holds(e.Timestamp) && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Letters is Events for a tenant's dead letters; their time is their record's
// Kafka timestamp.
func (v *View) Letters(ctx context.Context, tenant event.TenantID, span Span) iter.Seq2[*fragment.DeadLetter, error] {
	return func(yield func(*fragment.DeadLetter, error) bool) {
		for _, f := range v.Files(tenant, shardlog.TableDeadLetters, span) {
			r, err := fragment.Open(ctx, v.Objects, f.Key, f.Bytes)
			if err != nil {
				yield(nil, v.explain(ctx, f, err))
				return
			}
			for l, err := range r.DeadLetters() {
				if err != nil {
					yield(nil, v.explain(ctx, f, err))
					return
				}
				if span.holds(l.Timestamp) && !yield(l, nil) {
					return
				}
			}
		}
	}
}
