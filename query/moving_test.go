package query_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/snapshot"
	"github.com/togodb/togo/query/vec"
)

// work commits, merges, makes checkpoints and deletes old records until stop is closed.
func (s *stage) work(stop chan struct{}) {
	c := s.compactor(s.store.Inner(), 1000*time.Hour)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		s.commit(1 + i%17)
		if i%5 == 4 {
			if err := s.compact(c); err != nil {
				s.t.Error(err)
			}
		}
		if i%10 == 9 {
			if err := s.set.Checkpoint(s.t.Context()); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// page reads one page behind a key.
func (s *stage) page(size int, descending bool, token string, at event.Timestamp, id string, first bool) (*keyed, *query.Summary) {
	s.t.Helper()
	order, beyond := "ORDER BY timestamp, id", ">"
	if descending {
		order, beyond = "ORDER BY timestamp DESC, id DESC", "<"
	}
	where := ""
	if !first {
		where = fmt.Sprintf("WHERE (timestamp, id) %s (%s, %s)", beyond, instant(at), literal(id))
	}
	text := fmt.Sprintf("SELECT timestamp, id FROM events %s %s LIMIT %d", where, order, size)
	k := &keyed{}
	sum, err := s.node.Query(s.t.Context(), query.Request{Tenant: s.gen.Tenant, SQL: text, Snapshot: token}, k)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return k, sum
}

// Pages by key, of one snapshot, hold each of its rows once, in order, while commits, merges and trims go on; without a snapshot
// no row that was there at the beginning is lost or comes twice.
func TestPagesLoseAndRepeatNothing(t *testing.T) {
	s := newStage(t, 2, func(c *query.Config) { c.CacheDir = t.TempDir() })
	s.commit(100)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { s.work(stop) })
	defer wait.Wait()
	defer close(stop)
	for pass := range 6 {
		descending, pinned := pass%2 == 1, pass%3 != 2
		s.mu.Lock()
		before := maps.Clone(s.sent)
		s.mu.Unlock()
		seen := map[string]event.Timestamp{}
		token := ""
		var at event.Timestamp
		var id string
		for first := true; ; first = false {
			k, sum := s.page(41, descending, token, at, id, first)
			if pinned {
				token = sum.Snapshot
			}
			for i := range k.ids {
				if _, twice := seen[k.ids[i]]; twice {
					t.Fatalf("pass %d: %q comes twice", pass, k.ids[i])
				}
				if !first || i > 0 {
					if after := k.at[i] > at || k.at[i] == at && k.ids[i] > id; after == descending {
						t.Fatalf("pass %d: %s %q behind %s %q", pass, k.at[i], k.ids[i], at, id)
					}
				}
				at, id = k.at[i], k.ids[i]
				seen[id] = at
			}
			if len(k.ids) < 41 {
				break
			}
		}
		for id, at := range before {
			if seen[id] != at {
				t.Fatalf("pass %d: %q of %s is lost", pass, id, at)
			}
		}
		if !pinned {
			continue
		}
		got, _, err := s.ask(s.node, query.Request{SQL: "SELECT count(*), count(DISTINCT id), min(timestamp) = " + instant(slices.Min(slices.Collect(maps.Values(seen)))) + " FROM events", Snapshot: token})
		if want := fmt.Sprintf("%d\t%d\ttrue", len(seen), len(seen)); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("pass %d: the snapshot has %q, its pages %q; %v", pass, got, want, err)
		}
	}
}

// ledger is a question whose answer no merge changes.
const ledger = `SELECT count(*), count(DISTINCT id), sum(n), sum(status), min(timestamp), max(timestamp), count(DISTINCT message), count("duration@string") FROM events`

// TestFault_double_count_queries: a compactor is killed after each single request, merging and collecting, while a node
// is asked after each change of the store. The answer never changes.
func TestFault_double_count_queries(t *testing.T) {
	crashes := 0
	for _, applied := range []bool{false, true} {
		for k := 1; ; k++ {
			s := newStage(t, 1, nil)
			for range 4 {
				s.commit(6)
			}
			want := s.rows(ledger)
			check := func(call objstore.Call) {
				if got := s.rows(ledger); !slices.Equal(got, want) {
					t.Fatalf("killed at %d, applied %t: after %s %s the answer is %q, it was %q", k, applied, call.Op, call.Key, got, want)
				}
			}
			dies := objstore.NewFault(s.store.Inner())
			dies.Decide = func(call objstore.Call) *objstore.Rule {
				if !call.Op.IsWrite() {
					return nil
				}
				return &objstore.Rule{Effect: objstore.Pass, After: check}
			}
			dies.CrashAt(k, applied)
			err := s.compact(s.compactor(dies, 0))
			if crashed := dies.Crashed(); (err != nil) != crashed {
				t.Fatalf("killed at %d: crashed %t, %v", k, crashed, err)
			}
			check(objstore.Call{Op: "crash"})
			if !dies.Crashed() {
				break
			}
			crashes++
		}
	}
	if crashes < 60 {
		t.Errorf("only %d moments to die at", crashes)
	}
}

// TestFault_inputs_vanish_queries: all files that a query has planned to read are merged and collected before it reads
// them. It is planned again, and answers as before.
func TestFault_inputs_vanish_queries(t *testing.T) {
	for _, text := range []string{
		ledger, "SELECT id, _event FROM events ORDER BY timestamp, id", "SELECT service, count(*) FROM events GROUP BY ALL", "SELECT DISTINCT host FROM events WHERE message LIKE '%e%'",
	} {
		s := newStage(t, 2, nil)
		for range 5 {
			s.commit(30)
		}
		asked := s.open(s.store.Inner(), nil)
		want, _, err := s.ask(asked, query.Request{SQL: text})
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %d rows, %v", text, len(want), err)
		}
		collected := false
		s.store.Add(objstore.Rule{Op: objstore.OpGetRange, Key: "data/**", Effect: objstore.Pass, Before: func(objstore.Call) {
			if err := s.compact(s.compactor(s.store.Inner(), 0)); err != nil {
				t.Error(err)
			}
			collected = true
		}})
		var out sheet
		sum, err := s.node.Query(t.Context(), query.Request{Tenant: s.gen.Tenant, SQL: text}, &out)
		if columns := strings.Count(out.rows[0], "\t") + 1; len(out.names) != columns {
			t.Errorf("%s: the client is told of columns %q, and rows have %d", text, out.names, columns)
		}
		got := out.rows
		if err != nil || !same(got, want) || !collected {
			t.Errorf("%s: %d rows, %d before; collected %v; %v", text, len(got), len(want), collected, err)
			for i := range got {
				if got[i] != want[i] {
					t.Logf("%s\n%s", got[i], want[i])
				}
			}
		}
		if sum.Stats.Fragments.Load() > 15 {
			t.Errorf("%s: %d fragments, as before the merge", text, sum.Stats.Fragments.Load())
		}
	}
}

// slowSink takes a while over its first batch.
type slowSink struct {
	sheet
	meanwhile func()
}

func (s *slowSink) Batch(b *vec.Batch) error {
	if s.meanwhile != nil {
		s.meanwhile()
		s.meanwhile = nil
	}
	return s.sheet.Batch(b)
}

// A client that is slow, slower than the grace: what it got stays a part of the right answer, and the end says that it is
// no more than that, with what to do. Within the grace nothing is deleted, and it gets all.
func TestFault_inputs_vanish_slow_client(t *testing.T) {
	for _, grace := range []time.Duration{0, 1000 * time.Hour} {
		s := newStage(t, 2, func(c *query.Config) { c.Workers = 1 })
		for range 30 {
			s.commit(40)
		}
		want := s.rows("SELECT id, message FROM events")
		fresh := s.open(s.store.Inner(), func(c *query.Config) { c.Workers = 1 })
		out := &slowSink{meanwhile: func() {
			if err := s.compact(s.compactor(s.store.Inner(), grace)); err != nil {
				t.Error(err)
			}
		}}
		_, err := fresh.Query(t.Context(), query.Request{Tenant: "acme", SQL: "SELECT id, message FROM events"}, out)
		switch {
		case grace > 0 && (err != nil || !same(out.rows, want)):
			t.Errorf("within the grace: %d of %d rows, %v", len(out.rows), len(want), err)
		case grace == 0 && (fail.CodeOf(err) != fail.Gone || !strings.Contains(err.Error(), "query_grace")):
			t.Errorf("beyond the grace: %v", err)
		}
		known := map[string]bool{}
		for _, row := range want {
			known[row] = true
		}
		for _, row := range out.rows {
			if !known[row] {
				t.Fatalf("a row that is none: %q", row)
			}
			delete(known, row)
		}
	}
}

// A past snapshot whose files are gone says so, and never answers with what came in their place.
func TestFault_inputs_vanish_past(t *testing.T) {
	s := newStage(t, 2, nil)
	for range 5 {
		s.commit(30)
	}
	_, sum, err := s.ask(s.node, query.Request{SQL: "SELECT 1 FROM events LIMIT 0"})
	if err != nil {
		t.Fatal(err)
	}
	before := s.rows(ledger)
	s.commit(10)
	got, _, err := s.ask(s.node, query.Request{SQL: ledger, Snapshot: sum.Snapshot})
	if err != nil || !slices.Equal(got, before) {
		t.Errorf("%q, it was %q; %v", got, before, err)
	}
	if err := s.compact(s.compactor(s.store.Inner(), 0)); err != nil {
		t.Fatal(err)
	}
	fresh := s.open(s.store, nil) // no footer in memory
	if got, _, err := s.ask(fresh, query.Request{SQL: ledger, Snapshot: sum.Snapshot}); fail.CodeOf(err) != fail.Gone || errors.Is(err, snapshot.ErrPlanAgain) {
		t.Errorf("%q, %v", got, err)
	}
}

// A past snapshot has the columns of then: what is a number there is one still when others have sent text since.
func TestPastSnapshotHasItsColumns(t *testing.T) {
	s := newStage(t, 2, nil)
	at := event.Timestamp(queryset.Begin.UnixNano())
	s.put(queryset.Row{Tenant: "acme", Timestamp: at, ID: "a", Payload: `{"d":1,"e":2}`})
	const text = "SELECT typeof(d), d FROM events ORDER BY id"
	got, sum, err := s.ask(s.node, query.Request{SQL: text})
	if err != nil || !slices.Equal(got, []string{"BIGINT\t1"}) {
		t.Fatalf("%q, %v", got, err)
	}
	s.put(queryset.Row{Tenant: "acme", Timestamp: at, ID: "b", Payload: `{"d":"x","new":1}`})
	if got := s.rows(text); !slices.Equal(got, []string{"VARCHAR\t1", "VARCHAR\tx"}) {
		t.Errorf("now: %q", got)
	}
	for _, node := range []*query.Node{s.node, s.open(s.store, nil)} {
		if got, _, err := s.ask(node, query.Request{SQL: text, Snapshot: sum.Snapshot}); err != nil || !slices.Equal(got, []string{"BIGINT\t1"}) {
			t.Errorf("then: %q, %v", got, err)
		}
		if _, _, err := s.ask(node, query.Request{SQL: "SELECT new FROM events", Snapshot: sum.Snapshot}); fail.CodeOf(err) != fail.UnknownColumn {
			t.Errorf("a column of later: %v", err)
		}
	}
}
