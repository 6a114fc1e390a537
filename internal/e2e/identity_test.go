package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// TestFault_odd_ids: each is its own identity, however it is spelt, and in each tenant; equal ones are one, in one commit and
// over a restart. Empty ones count as missing.
func TestFault_odd_ids(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	long := strings.Repeat("x", 10_000)
	ids := []string{
		"a", "A", "a ", " a", "é", "e\u0301", "\u212b", "Å", "ß", "SS", "ss", "ﬁ", "fi", "I", "ı", "i", "İ", "0", "00", "0.0", "-0", "1e0", "1", "null", "true", "@", "@@", "@a",
		"@test/00000000000000000000000000000000/0/0/0/0", "a/dead", "\u0000", "a\u0000b", "\u202ea", "🐕", "../a", "a\nb",
		long, long[1:] + "y", "y" + long[1:], strings.ToUpper(long), long + "x", strings.Repeat("é", 5_000), strings.Repeat("e\u0301", 5_000),
	}
	text := func(id string) string {
		b, err := json.Marshal(id)
		p.must(err)
		return string(b)
	}
	at := `"timestamp":"2026-03-01T12:00:00Z"`
	var stored, all [][]byte
	for _, id := range ids {
		stored = append(stored, fmt.Appendf(nil, `{%s,"event_id":%s}`, at, text(id)))
	}
	missing := [][]byte{fmt.Appendf(nil, `{%s,"event_id":""}`, at), fmt.Appendf(nil, `{%s,"event_id":null}`, at), fmt.Appendf(nil, `{%s}`, at)}
	bad := [][]byte{fmt.Appendf(nil, `{%s,"event_id":%s}`, at, text(strings.Repeat("x", 70_000))), fmt.Appendf(nil, `{%s,"event_id":"\ud800"}`, at), fmt.Appendf(nil, `{%s,"event_id":{}}`, at)}
	all = append(append(append(all, stored...), missing...), bad...)
	rounds := 0
	for range 2 {
		for range 2 {
			for _, tenant := range []string{"one", "two"} {
				p.send(tenant, time.Now(), all...)
			}
			rounds++
		}
		v := p.run()
		rows := p.all(v)
		for tenant, first := range map[string]int64{"one": 0, "two": int64(len(all))} {
			for i, id := range ids {
				if strings.HasPrefix(id, "@") {
					id = "@" + id // positions begin with one
				}
				if got := rows[first+int64(i)]; got.id != id || got.reason != "" {
					t.Errorf("%s: id %.40q of %d bytes is %.40q of %d bytes (%s)", tenant, id, len(id), got.id, len(got.id), got.reason)
				}
			}
		}
		events, letters := 0, 0
		for offset, row := range rows {
			at := int(offset) % len(all)
			switch {
			case row.reason == event.ReasonBadID && at >= len(stored)+len(missing):
				letters++
			case row.reason == "" && at < len(stored)+len(missing):
				events++
			default:
				t.Errorf("offset %d: %s, id %.40q", offset, row.reason, row.id)
			}
		}
		if want := 2 * (len(stored) + rounds*len(missing)); events != want || letters != 2*rounds*len(bad) {
			t.Errorf("after %d rounds: %d events, want %d; %d letters, want %d", rounds, events, want, letters, 2*rounds*len(bad))
		}
	}
}

// TestFault_clock_off: routers, writers and compactors whose clocks are a year ahead, and a year behind, one after the other. No event
// is dead, placed, expired or missing because of it, and the horizon stays where the right clocks want it: a process whose clock
// is behind raises none, and waits for another's.
func TestFault_clock_off(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	p.keep("acme", "500d") // more than the oldest event's age, less than that and a year
	begin := time.Now().Truncate(time.Millisecond)
	cases := []struct {
		value string        // with places for a number and a time
		after time.Duration // the record's Kafka timestamp
		dead  event.Reason
	}{
		{`{"event_id":"%d","at":%q}`, 0, ""}, // a time that no rule asks for
		{`{"event_id":"%d","timestamp":%q}`, -24 * time.Hour, ""},
		{`{"event_id":"%d","timestamp":%q}`, -400 * 24 * time.Hour, ""},
		{`{"event_id":"%d","timestamp":%q}`, 9 * time.Minute, ""},
		{`{"event_id":"%d","timestamp":%q}`, 11 * time.Minute, event.ReasonTooFarInFuture},
		{`{"event_id":"%d","timestamp":%q}`, 365 * 24 * time.Hour, event.ReasonTooFarInFuture},
		{`{"event_id":"%d","timestamp":%q}`, -40 * 365 * 24 * time.Hour, event.ReasonTooFarInPast},
		{`{"event_id":"%d","timestamp":%q`, 0, event.ReasonMalformed},
	}
	const year = 365 * 24 * time.Hour
	type lot struct {
		at      time.Time
		records [][]byte
	}
	var lots []lot
	for round, skew := range []time.Duration{0, year, -year, year, 0} {
		l := lot{at: begin.Add(time.Duration(round) * 5 * time.Minute)} // so that each round needs a horizon of its own
		for _, c := range cases {
			l.records = append(l.records, fmt.Appendf(nil, c.value, round, l.at.Add(c.after).UTC().Format(time.RFC3339Nano)))
		}
		lots = append(lots, l)
		for _, l := range lots { // what was sent before comes again
			p.send("acme", l.at, l.records...)
		}
		highest := l.at.Add(9 * time.Minute)
		if skew < 0 {
			_, err := p.keeper.Extend(t.Context(), event.Timestamp(highest.UnixNano()))
			p.must(err)
		}
		p.skew = skew
		p.run()
		rows := p.all(p.compact())
		events := 0
		for offset, row := range rows {
			if c := cases[offset%int64(len(cases))]; row.reason != c.dead {
				t.Errorf("clock off by %s: offset %d is dead %q, want %q: %s", skew, offset, row.reason, c.dead, c.value)
			}
			if row.reason == "" {
				events++
			}
		}
		if want := 4 * (round + 1); events != want {
			t.Errorf("clock off by %s: %d events, want %d", skew, events, want)
		}
		table, err := p.keeper.Refresh(t.Context())
		p.must(err)
		if h := time.Unix(0, int64(table.Horizon())); !h.After(highest) || h.After(highest.Add(5*time.Minute)) {
			t.Errorf("clock off by %s: the horizon is at %s, and the last event at %s", skew, h, highest)
		}
	}
}
