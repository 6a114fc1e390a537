package router

import (
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// TestFault_mapping_change: a router forwards records and dies before it
// commits their offsets; the topic's mapping changes; another reads the records again. Each
// record has the identity of its first reading, and those from the new mapping's time on have the new
// mapping's.
func TestFault_mapping_change(t *testing.T) {
	e := newEnv(t, 1)
	old := event.Mapping{Format: event.JSON, Tenant: []event.Rule{{Field: "old.tenant"}}, ID: []event.Rule{{Field: "old.id"}}}
	changed := event.Mapping{Format: event.JSON, Tenant: []event.Rule{{Field: "new.tenant"}}, ID: []event.Rule{{Field: "new.id"}}}
	_, err := e.keeper.Propose(t.Context(), placements.SetMapping("events", old, nil))
	if err != nil {
		t.Fatal(err)
	}
	record := func(n int, at time.Time) *kafka.Record {
		r := intakeRecord(0, nil, fmt.Appendf(nil, `{"old":{"tenant":"before","id":"o%d"},"new":{"tenant":"after","id":"n%d"}}`, n, n))
		r.Timestamp = at
		return r
	}
	now := time.Now().Truncate(time.Millisecond)
	e.k.Produce(record(0, now), record(1, now), record(2, now))
	allow := e.k.RefuseCommits()
	r, stop := e.start()
	e.awaitStatus(r, func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].Next == 3 && s.HeldBytes == 0 })
	stop()
	allow()

	from := e.keeper.Current().Horizon() // the earliest that may change
	edge := time.Unix(0, int64(from)).Truncate(time.Millisecond).Add(time.Millisecond)
	at := event.Timestamp(edge.UnixNano())
	if _, err := e.keeper.Propose(t.Context(), placements.SetMapping("events", changed, &at)); err != nil {
		t.Fatal(err)
	}
	e.k.Produce(record(3, now), record(4, edge.Add(-time.Millisecond)), record(5, edge))
	e.start()
	e.awaitCommit(0, 6)
	want := []string{"before o0", "before o1", "before o2", "before o3", "before o4", "after n5"}
	times := make([]int, len(want))
	for _, s := range e.stored() {
		if got := fmt.Sprint(s.tenant, " ", string(s.ID)); got != want[s.Origin.Offset] || s.Kind != event.KindEvent {
			t.Errorf("offset %d is %s (kind %d, %s), want %s", s.Origin.Offset, got, s.Kind, s.Detail, want[s.Origin.Offset])
		}
		times[s.Origin.Offset]++
	}
	if got := fmt.Sprint(times); got != "[2 2 2 1 1 1]" {
		t.Errorf("stored %s times", got)
	}
}
