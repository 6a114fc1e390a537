package query_test

import (
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/queryset"
)

// TestListsAreReadOncePerMoment: a second query of the same positions does not ask for the tenant's columns, one of later positions sees every
// column that they have, and a tenant's list is none of another's.
func TestListsAreReadOncePerMoment(t *testing.T) {
	s := newStage(t, 2, nil)
	s.commit(20)
	lists := 0
	s.store.Decide = func(call objstore.Call) *objstore.Rule {
		if strings.HasPrefix(call.Key, "columns/") {
			lists++
		}
		return nil
	}
	s.rows("SELECT count(*) FROM events")
	if lists == 0 {
		t.Error("the columns come from nowhere")
	}
	lists = 0
	s.rows("SELECT count(service) FROM events")
	s.rows("SELECT count(*) FROM dead_letters")
	if lists > 0 {
		t.Errorf("%d requests for the columns of positions that were asked for before", lists)
	}
	s.put(queryset.Row{Tenant: s.gen.Tenant, Timestamp: 1767000000e9, ID: "new", Payload: `{"brand_new":"x"}`})
	if rows := s.rows("SELECT brand_new FROM events WHERE brand_new IS NOT NULL"); len(rows) != 1 || lists == 0 {
		t.Errorf("a column that came with a later position: %q, after %d requests", rows, lists)
	}
	if _, _, err := s.ask(s.node, query.Request{Tenant: "other", SQL: "SELECT brand_new FROM events"}); err == nil {
		t.Error("another tenant has the column, too")
	}
}
