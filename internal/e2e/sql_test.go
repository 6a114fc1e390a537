package e2e

import (
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/vec"
)

// rowSink takes rows one by one.
type rowSink struct{ row func([]vec.Value) }

func (rowSink) Columns([]exec.Output) error { return nil }

func (s rowSink) Batch(b *vec.Batch) error {
	for i := range b.Len {
		values := make([]vec.Value, len(b.Cols))
		for c, v := range b.Cols {
			values[c] = v.At(i)
		}
		s.row(values)
	}
	return nil
}

// sameInSQL wants queries of the tenants to find exactly what was found otherwise, by intake offset.
func (p *path) sameInSQL(tenants []event.TenantID, want map[int64]found) {
	p.t.Helper()
	node, err := query.Open(query.DefaultConfig(), query.Parts{Store: p.store, Meta: p.meta, Placements: p.keeper, Logger: kafkatest.Quiet()})
	p.must(err)
	defer node.Close()
	got := 0
	check := func(offset int64, f found) {
		if got++; want[offset] != f {
			p.t.Errorf("offset %d is, in SQL, %.300v; stored is %.300v", offset, f, want[offset])
		}
	}
	for _, tenant := range tenants {
		ask := func(text string, row func([]vec.Value)) {
			if _, err := node.Query(p.t.Context(), query.Request{Tenant: tenant, SQL: text}, rowSink{row}); err != nil {
				p.t.Errorf("%s: %s: %v", tenant, text, err)
			}
		}
		ask("SELECT source_offset, timestamp, id, _event FROM events", func(v []vec.Value) {
			check(v[0].Int, found{event.Timestamp(v[1].Int), v[2].Text, v[3].Text, ""})
		})
		ask("SELECT source_offset, timestamp, id, payload, reason FROM dead_letters", func(v []vec.Value) {
			check(v[0].Int, found{event.Timestamp(v[1].Int), v[2].Text, v[3].Text, event.Reason(v[4].Text)})
		})
	}
	if got != len(want) {
		p.t.Errorf("%d rows in SQL, %d are stored", got, len(want))
	}
}
