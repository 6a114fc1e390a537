package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/chaos"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/fail"
)

// questions read files in every way: by records, footers, filters, whole columns, single rows.
var questions = []string{
	"SELECT count(*), min(timestamp), max(timestamp) FROM events",
	ledger,
	"SELECT service, count(*), max(load), sum(n) FROM events GROUP BY service",
	"SELECT date_trunc('minute', timestamp), count(*) FROM events WHERE status >= 500 GROUP BY 1",
	"SELECT id FROM events WHERE message ILIKE '%error%'",
	"SELECT timestamp, id, _event FROM events ORDER BY timestamp DESC, id LIMIT 20",
	"SELECT host, count(DISTINCT trace_id) FROM events GROUP BY host ORDER BY 2 DESC, 1 LIMIT 5",
	"SELECT id, duration FROM events WHERE duration IS NOT NULL AND status = 404",
	`SELECT "user.name", max(bytes) FROM events GROUP BY ALL HAVING count(*) > 3`,
	"SELECT reason, count(*) FROM dead_letters GROUP BY reason",
}

// filled is a stage with some files, a part of them merged, and the answers over a store that has no faults.
func filled(t *testing.T, inner objstore.Store) (s *stage, want map[string][]string) {
	t.Helper()
	s = newStageOver(t, inner, 2, nil)
	for range 4 {
		s.commit(60)
		s.put(s.gen.Letters(3)...)
	}
	if err := s.compact(s.compactor(inner, 0)); err != nil {
		t.Fatal(err)
	}
	s.commit(60)
	want = map[string][]string{}
	healthy := s.open(inner, nil)
	for _, text := range questions {
		rows, _, err := s.ask(healthy, query.Request{SQL: text})
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", text, len(rows), err)
		}
		want[text] = rows
	}
	return s, want
}

// settle asks everything of a node, and counts right answers and refusals. A wrong answer, or an error of another kind, fails
// the test.
func (s *stage) settle(node *query.Node, want map[string][]string) (right, refused int) {
	s.t.Helper()
	for _, text := range questions {
		rows, _, err := s.ask(node, query.Request{SQL: text})
		switch {
		case err == nil && same(rows, want[text]):
			right++
		case err == nil:
			s.t.Errorf("%s: %d rows, another answer than the %d without faults", text, len(rows), len(want[text]))
		case fail.CodeOf(err) == fail.Unavailable && !strings.Contains(err.Error(), "data/") && len(err.Error()) < 100:
			refused++
		case s.cuts && fail.CodeOf(err) == fail.Internal: // a file seems to be shorter than its record says
			refused++
		default:
			s.t.Errorf("%s: %s: %v", text, fail.CodeOf(err), err)
		}
	}
	return right, refused
}

// TestFault_503_queries: 503 to the first two tries of each request is only slower; a store that is down is an error that says so,
// at once when it comes back the answer is right.
func TestFault_503_queries(t *testing.T) {
	s, want := filled(t, objstore.NewMemory())
	tries := map[string]int{}
	s.store.Decide = func(call objstore.Call) *objstore.Rule {
		if name := fmt.Sprint(call.Op, call.Key); tries[name] < 2 {
			tries[name]++
			return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}
		}
		return nil
	}
	if right, refused := s.settle(s.open(s.store, nil), want); refused > 0 {
		t.Errorf("%d right answers, %d refused", right, refused)
	}
	s.store.Add(objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable, Times: -1})
	if right, refused := s.settle(s.open(s.store, nil), want); right > 0 {
		t.Errorf("a store that is down: %d right answers, %d refused", right, refused)
	}
	s.store.Clear()
	if right, refused := s.settle(s.node, want); refused > 0 {
		t.Errorf("when it is back: %d right answers, %d refused", right, refused)
	}
}

// Reads that fail, that end early with an error and without one: an answer is right, or there is none.
func TestFaultsOfReadsGiveNoWrongAnswer(t *testing.T) {
	s, want := filled(t, objstore.NewMemory())
	random := rand.New(rand.NewPCG(1, 9))
	rate := 0.0
	s.store.Decide = func(call objstore.Call) *objstore.Rule { // called with a lock held
		if random.Float64() >= rate {
			return nil
		}
		switch {
		case call.Op == objstore.OpGetRange && random.IntN(2) == 0:
			rule := &objstore.Rule{Effect: objstore.Truncate, Bytes: random.IntN(2000)}
			if random.IntN(2) == 0 {
				rule.Err = objstore.ErrInjected
			}
			return rule
		case random.IntN(2) == 0:
			return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}
		}
		return &objstore.Rule{Effect: objstore.FailAfter}
	}
	right, refused := 0, 0
	s.cuts = true
	for i := range 24 {
		rate = []float64{0.02, 0.1, 0.3, 0.6}[i%4]
		dir := t.TempDir()
		for range 2 { // the second begins with what the first has left in the cache
			node := s.open(s.store, func(c *query.Config) {
				if i%3 > 0 {
					c.CacheDir = dir
				}
			})
			a, b := s.settle(node, want)
			right, refused = right+a, refused+b
			node.Close()
		}
	}
	t.Logf("%d right answers, %d refused", right, refused)
	if right < 150 || refused < 20 {
		t.Errorf("%d right answers, %d refused: the test has tried little", right, refused)
	}
}

// The same over a real S3 server behind a wire that refuses, resets, delays and cuts answers off.
func TestQueriesOverS3(t *testing.T) {
	server := s3test.Start(t)
	config := server.Config(t)
	direct, err := s3store.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s, want := filled(t, direct)
	if right, _ := s.settle(s.open(direct, func(c *query.Config) { c.CacheDir = t.TempDir() }), want); right != len(questions) {
		t.Errorf("%d right answers of %d without faults", right, len(questions))
	}
	proxy, err := chaos.NewProxy(server.Addr(), 50*time.Millisecond, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	config.Endpoint, config.RequestTimeout, config.MaxRetryPause = proxy.Endpoint, time.Second, 10*time.Millisecond
	wired, err := s3store.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	right, refused := 0, 0
	for _, rate := range []float64{0.1, 0.3, 0.6} {
		proxy.SetRate(rate)
		a, b := s.settle(s.open(wired, nil), want)
		right, refused = right+a, refused+b
	}
	counts, total := proxy.Counts()
	t.Logf("%d right answers, %d refused; %d requests, troubles %v", right, refused, total, counts)
	if right < 10 || counts[chaos.CutAnswer] == 0 || counts[chaos.Refuse503] == 0 {
		t.Errorf("%d right answers, %d refused; troubles %v: the test has tried little", right, refused, counts)
	}
}
