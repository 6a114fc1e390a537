package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
)

// stream is events of four ages, with what is sent of them.
type stream struct {
	p     *path
	begin time.Time
	ages  []time.Duration
}

func newStream(t *testing.T) *stream {
	return &stream{p: newPath(t, event.DefaultMapping()), begin: time.Now().Truncate(time.Millisecond),
		ages: []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, 0}}
}

const perAge = 20

// values are all events in the order of their times, with what text says of each.
func (s *stream) values(text string) (out [][]byte) {
	for _, age := range s.ages {
		for n := range perAge {
			at := s.begin.Add(-age + time.Duration(n)*time.Second).UTC().Format(time.RFC3339Nano)
			out = append(out, fmt.Appendf(nil, `{"event_id":"e%d","timestamp":%q,"text":%q}`, n, at, text))
		}
	}
	return out
}

// TestFault_old_copy: copies an hour, a day and a week after the first, over restarts, the newest first: one row of each.
func TestFault_old_copy(t *testing.T) {
	s := newStream(t)
	first := s.values("first")
	s.p.send("acme", s.begin, first...)
	for range 3 {
		rows := s.p.all(s.p.run())
		for offset := range int64(len(first)) {
			if got := rows[offset]; got.reason != "" || got.payload == "" {
				t.Errorf("offset %d is %+v", offset, got)
			}
		}
		if len(rows) != len(first) {
			t.Fatalf("%d rows of %d events", len(rows), len(first))
		}
		copies := slices.Clone(first)
		slices.Reverse(copies)
		s.p.send("acme", s.begin, copies...)
	}
	if got := s.p.run().Totals(); got.Stored != int64(len(first)) || got.Duplicate != 3*int64(len(first)) {
		t.Errorf("%+v of %d events and three copies of each", got, len(first))
	}
}

// TestFault_conflict: other payloads of known identities, in the same commit, in a later one, after a restart: the first is the event, each
// other one a letter, whole; and copies of the first are duplicates still.
func TestFault_conflict(t *testing.T) {
	s := newStream(t)
	first, other := s.values("first"), s.values("other")
	n := int64(len(first))
	s.p.send("acme", s.begin, first...)
	s.p.send("acme", s.begin, other...)
	s.p.run()
	s.p.send("acme", s.begin, s.values("third")...)
	s.p.send("acme", s.begin, first...)
	v := s.p.run()
	rows := s.p.all(v)
	want := map[int64]string{} // payload of each letter
	for i := range n {
		want[n+i], want[2*n+i] = string(other[i]), string(s.values("third")[i])
	}
	for offset, row := range rows {
		switch text, letter := want[offset]; {
		case letter && (row.reason != event.ReasonConflict || row.payload != text):
			t.Errorf("offset %d is %+v, want the conflict %s", offset, row, text)
		case !letter && (row.reason != "" || offset >= n):
			t.Errorf("offset %d is %+v", offset, row)
		}
	}
	if got := v.Totals(); int64(len(rows)) != 3*n || got.Stored != n || got.Conflict != 2*n || got.Duplicate != n {
		t.Errorf("%d rows, %+v", len(rows), got)
	}
}
