package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

// TestFault_resend: the same event again is the same; another timestamp makes another event, on both sides of
// an edge of buckets and of placements; without an id each Kafka position is one event, and
// without a timestamp the record's counts. Whether the producer sends again or the router reads again.
func TestFault_resend(t *testing.T) {
	edge := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := edge.Add(-3 * time.Minute)
	p := newPathAt(t, event.DefaultMapping(), func() time.Time { return now })
	from := event.Timestamp(edge.UnixNano())
	for shard, at := range []*event.Timestamp{nil, &from} {
		_, err := p.keeper.Propose(t.Context(), placements.SetTenant("acme", placements.Shards{event.ShardID(shard)}, at))
		p.must(err)
	}
	before := `{"event_id":"a","timestamp":"2026-03-01T11:59:59.999Z"}`
	after := `{"event_id":"a","timestamp":"2026-03-01T12:00:00.000Z"}`
	noID := `{"timestamp":"2026-03-01T11:59:59.999Z","n":1}`
	noTime := `{"event_id":"b"}`
	send := func() {
		for _, value := range []string{before, before, after, after, noID, noID, noTime, noTime} {
			p.send("acme", now, []byte(value))
		}
		p.send("acme", now.Add(time.Millisecond), []byte(noTime))
		p.send("other", now, []byte(before))
	}
	send()
	want := []int64{0, 2, 4, 5, 6, 8, 9}
	for round, again := range []func(){func() {}, p.reread, func() {
		send() // by a producer that had no answer
		want = append(want, 14, 15)
	}, p.reread} {
		again()
		rows := p.all(p.run())
		if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
			t.Fatalf("round %d: rows of offsets %v, want %v", round, got, want)
		}
		for offset, at := range map[int64]time.Time{0: edge.Add(-time.Millisecond), 2: edge, 6: now, 8: now.Add(time.Millisecond)} {
			if got := time.Unix(0, int64(rows[offset].at)); !got.Equal(at) {
				t.Errorf("round %d: offset %d is at %s, want %s", round, offset, got, at)
			}
		}
	}
	table := p.keeper.Current()
	if a, b := table.ShardsOf("acme", 0, from), table.ShardsOf("acme", from, from+1); slices.Equal(a, b) {
		t.Errorf("shards %v on both sides of the edge", a)
	}
}
