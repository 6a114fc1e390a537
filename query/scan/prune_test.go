package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// scope resolves the columns of a request.
type scope struct{ r *Request }

func (s scope) Column(id *sql.Ident) (expr.Resolved, error) {
	slot := s.r.slot(id.Name)
	if slot < 0 {
		return expr.Resolved{}, fmt.Errorf("no column %q", id.Name)
	}
	return expr.Resolved{Expr: &expr.Column{Slot: slot, Name: id.Name, T: s.r.Columns[slot].Type}}, nil
}

func (s scope) Call(*sql.Call) (expr.Expr, bool, error) { return nil, false, nil }

// where sets the request's filter.
func (r *Request) where(t testing.TB, text string) *Request {
	t.Helper()
	statement, err := sql.Parse("SELECT 1 FROM events WHERE " + text)
	if err != nil {
		t.Fatal(err)
	}
	cond, err := expr.BindCondition(statement.Select.Where, scope{r}, &expr.Env{Now: time.Unix(1_800_000_000, 0), MaxText: 1 << 20, MaxPattern: 1 << 16, Functions: expr.Library{}})
	if err != nil {
		t.Fatal(err)
	}
	r.Filter = expr.Conjuncts(cond)
	return r
}

// ids are those of the rows that a scan gives.
func (s *store) ids(t testing.TB, r *Request) []string {
	t.Helper()
	var mu sync.Mutex
	var out []string
	slot := r.slot("id")
	if err := NewScanner(s, Config{}).Scan(t.Context(), r, 2, func(_ int, b *vec.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range b.Len {
			out = append(out, strings.Clone(text(b.Cols[slot], i)))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

var conditions = []string{
	"service = 'svc-3'", "service <> 'svc-3'", "service > 'svc-2' AND status = 204", "service IN ('svc-1', 'other')", "service NOT IN ('svc-1', 'svc-2')",
	"status = 205", "status >= 207", "status IS NULL", "status IS NOT NULL AND NOT (status < 206)", "status <> 200", "status = 1000", "status BETWEEN 203 AND 204",
	"duration > 100000", "duration <= 0.25", "duration IS NULL AND ok", "duration_text = '7 ms'", "duration_text IS NULL", "NOT ok", "ok IS NULL",
	"n = 12345", "n = 12345 OR n = 77", "n > 17790", "n * 2 = 24690", "n IN (1, 2, 3, 400, 17810)", "n < 0", "n / (n - 5) > 1",
	"id = 'id-4711'", "id = 'id-no'", "id IN ('id-1', 'id-15000', 'id-x')", "id LIKE 'id-199%'", "message LIKE '%of ab%'", "message ILIKE 'REQUEST 77 %'",
	"\"http.code\" = 1", "\"http.dotted\" = 2", "\"http.path\" > '/f'", "big LIKE 'x%'", "_rest IS NOT NULL", "_keys IS NULL AND status = 203",
	"timestamp >= '2023-11-14 22:20:00Z'", "timestamp < '2023-11-14T22:13:20.5Z'", "timestamp > '2030-01-01'", "timestamp >= '2023-11-14 22:15:00Z' AND timestamp < '2023-11-14 22:16:00Z' AND service = 'svc-0'",
	"CAST(n AS VARCHAR) = '99'", "coalesce(status, 0) = 0", "CASE WHEN service = 'svc-1' THEN status = 201 ELSE n = 5 END", "service = 'svc-1' OR status = 203", "true", "false", "NULL",
	"ingested_at = '2023-11-14 22:13:25Z'", "source_offset = 300", "_seq = 1 AND n < 310", "\"mixed@string\" = 'three'", "\"mixed@json\" = '[4]'", "\"mixed@boolean\"",
}

// TestNoVariantChangesAnAnswer: what is pruned, decided by dictionaries and read late are the same rows as a plain scan gives.
func TestNoVariantChangesAnAnswer(t *testing.T) {
	s := newStore(t, 3, 1, 300, 17500, 50)
	for _, cond := range conditions {
		r := s.request()
		if slices.ContainsFunc([]string{"mixed", "mixed@string", "mixed@json", "mixed@boolean"}, func(name string) bool { return strings.Contains(cond, name) && r.slot(name) < 0 }) {
			continue // that column got another name
		}
		r.Options = Options{NoPruning: true, NoDictionaries: true, NoLateReading: true}
		r.Output = []int{r.slot("id"), r.slot("message"), r.slot(Timestamp)}
		want := s.ids(t, r.where(t, cond))
		for _, o := range variants {
			r := s.request()
			r.Options = o
			r.Output = []int{r.slot("id"), r.slot("message"), r.slot(Timestamp)}
			if got := s.ids(t, r.where(t, cond)); !slices.Equal(got, want) {
				t.Errorf("%s with %+v: %d rows, not %d", cond, o, len(got), len(want))
			}
			if o == (Options{}) {
				for _, id := range want[:min(20, len(want))] {
					if s.rows[id] == nil {
						t.Errorf("%s: a row %q that is not there", cond, id)
					}
				}
			}
		}
	}
}

// TestPruningReadsLess: each level of pruning takes something out.
func TestPruningReadsLess(t *testing.T) {
	s := newStore(t, 4, 300, 40000)
	plain := s.request()
	s.ids(t, plain)
	for _, c := range []struct {
		cond string
		read func(st *Stats) bool
	}{
		{"timestamp > '2030-01-01'", func(st *Stats) bool { return st.PrunedByTime.Load() == 2 && st.StoreBytes.Load() == 0 }},
		{"service = 'zzz'", func(st *Stats) bool { return st.PrunedByRange.Load() == 2 && st.StoreBytes.Load() == 0 }},
		{"n = 40", func(st *Stats) bool { return st.PrunedByFilter.Load() == 1 && st.RowGroupsPruned.Load() == 1 }},
		{"n < 0", func(st *Stats) bool { return st.PrunedByFilter.Load() == 2 }},
		{"id = 'id-4711x'", func(st *Stats) bool { return st.PrunedByFilter.Load() == 2 }},
		{"service = 'svc-2'", func(st *Stats) bool { return st.PagesPruned.Load() > 20 }},
		{"n = 31000", func(st *Stats) bool { return st.PagesPruned.Load() > st.Pages.Load() }},
		{"message LIKE '%of ab%'", func(st *Stats) bool { return st.PagesPruned.Load() < st.Pages.Load() }},
		{"\"http.code\" = 7", func(st *Stats) bool { return st.StoreBytes.Load() < plain.Stats.StoreBytes.Load()/4 }},
	} {
		r := s.request().where(t, c.cond)
		n := len(s.ids(t, r))
		if !c.read(r.Stats) {
			st := r.Stats
			t.Errorf("%s: %d rows; fragments by time %d, range %d, filter %d; row groups %d of %d; pages %d, pruned %d; bytes %d of %d", c.cond, n, st.PrunedByTime.Load(), st.PrunedByRange.Load(),
				st.PrunedByFilter.Load(), st.RowGroupsPruned.Load(), st.RowGroups.Load(), st.Pages.Load(), st.PagesPruned.Load(), st.StoreBytes.Load(), plain.Stats.StoreBytes.Load())
		}
	}
}

func TestTopGivesTheFirstRowsAtLeast(t *testing.T) {
	s := newStore(t, 3, 1, 300, 17500, 50)
	var times []int64
	for _, row := range s.rows {
		var at int64
		fmt.Sscan(row[Timestamp], &at)
		times = append(times, at)
	}
	slices.Sort(times)
	for _, descending := range []bool{false, true} {
		for _, rows := range []int{0, 1, 100} {
			for _, workers := range []int{1, 3} {
				r := s.request()
				r.Top = &Top{Descending: descending, Rows: rows}
				const want = 100
				var mu sync.Mutex
				var got []int64
				if err := NewScanner(s, Config{}).Scan(t.Context(), r, workers, func(_ int, b *vec.Batch) error {
					mu.Lock()
					defer mu.Unlock()
					for i := range b.Len {
						got = append(got, b.Cols[r.slot(Timestamp)].At(i).Int)
					}
					slices.Sort(got)
					if descending {
						slices.Reverse(got)
					}
					if n := max(1, min(rows, want)); rows > 0 && len(got) >= n {
						r.Top.Bound.Store(got[n-1])
						r.Top.Full.Store(true)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				sorted := slices.Clone(times)
				if descending {
					slices.Reverse(sorted)
				}
				n := rows
				if n == 0 {
					n = len(sorted)
				}
				if len(got) < n || !slices.Equal(got[:n], sorted[:n]) {
					t.Errorf("descending %t, %d rows: the first are others", descending, rows)
				}
				if rows > 0 && len(got) > 5*rows+5 {
					t.Errorf("descending %t: %d rows came for %d", descending, len(got), rows)
				}
			}
		}
	}
}

func TestRowsThatAreEnough(t *testing.T) {
	s := newStore(t, 4, 300, 40000)
	r := s.request()
	r.Rows = 10
	if got := s.ids(t, r); len(got) < 10 || len(got) > 20 {
		t.Errorf("%d rows where 10 are enough", len(got))
	}
	r = s.request().where(t, "status = 204")
	r.Rows = 10
	if got := s.ids(t, r); len(got) < 10 || len(got) > 20 {
		t.Errorf("%d rows where 10 are enough", len(got))
	}
}

func TestWholeFragments(t *testing.T) {
	s := newStore(t, 7, 100, 200)
	last := s.fragments[0].Max
	for _, f := range s.fragments {
		last = max(last, f.Max)
	}
	for _, c := range []struct {
		cond  string
		floor event.Timestamp
		whole int
	}{
		{"true", math.MinInt64, 2}, {"true", base - 1, 2}, {"true", last, 0}, {"timestamp >= '2023-01-01'", math.MinInt64, 2},
		{"timestamp < '2023-11-14T22:13:20.5Z'", math.MinInt64, 0}, {"service >= 'a'", math.MinInt64, 2}, {"message LIKE '%'", math.MinInt64, 0},
	} {
		r := s.request().where(t, c.cond)
		r.Floor = c.floor
		var asked, rows atomic.Int64
		r.Whole = func(_ int, f *shardlog.Fragment) bool {
			asked.Add(1)
			rows.Add(f.Rows)
			return true
		}
		n := len(s.ids(t, r))
		if int(asked.Load()) != c.whole || c.whole == 2 && (n != 0 || rows.Load() != 300 || r.Stats.StoreBytes.Load() != 0) {
			t.Errorf("%s: %d fragments were whole, %d rows read", c.cond, asked.Load(), n)
		}
	}
}

// TestDamageIsAnError: whatever byte is damaged, the scan gives the same rows or an error that names the object.
func TestDamageIsAnError(t *testing.T) {
	s := makeStore(t, 8, 2500)
	key := s.fragments[0].Key
	whole := s.objects[key]
	conditions := []string{"", "true", "id = 'id-1200'", "service = 'svc-1' AND status = 204", "timestamp > '1970-01-01' AND status IS NULL", "message LIKE '%9%'"}
	want := map[string][]string{}
	asking := func(cond string) *Request {
		if cond == "" { // which needs no indexes
			return s.request()
		}
		return s.request().where(t, cond)
	}
	for _, cond := range conditions {
		want[cond] = s.ids(t, asking(cond))
	}
	all := 0
	for at := 0; at < len(whole); at += 1 + len(whole)/400 {
		body := bytes.Clone(whole)
		body[at] ^= 1 << (at % 8)
		s.objects[key] = body
		for _, cond := range conditions {
			r := asking(cond)
			var got []string
			slot := r.slot("id")
			err := NewScanner(s, Config{}).Scan(t.Context(), r, 1, func(_ int, b *vec.Batch) error {
				for i := range b.Len {
					got = append(got, strings.Clone(text(b.Cols[slot], i)))
				}
				return nil
			})
			if err != nil {
				all++
				if !errors.Is(err, fragment.ErrCorrupt) || !strings.Contains(err.Error(), key) {
					t.Fatalf("byte %d: %v", at, err)
				}
			} else if slices.Sort(got); !slices.Equal(got, want[cond]) {
				t.Fatalf("byte %d: %s: other rows", at, cond)
			}
		}
	}
	if all < 400 {
		t.Errorf("only %d errors", all)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	s := newStore(t, 4, 300, 40000)
	ctx, cancel := context.WithCancel(t.Context())
	batches := 0
	err := NewScanner(s, Config{}).Scan(ctx, s.request(), 1, func(int, *vec.Batch) error {
		batches++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || batches != 1 {
		t.Errorf("%v after %d batches", err, batches)
	}
	if list := newPlan(s.request()).prune(ctx, s.request(), new(Stats)); len(list) != 0 {
		t.Errorf("%d fragments are judged after the end", len(list))
	}
	stop := errors.New("enough")
	if err := NewScanner(s, Config{}).Scan(t.Context(), s.request(), 2, func(int, *vec.Batch) error { return stop }); err != stop {
		t.Errorf("an error of emit ends as %v", err)
	}
	if err := NewScanner(s, Config{}).Scan(t.Context(), s.request(), 2, func(int, *vec.Batch) error { panic("no") }); err == nil || strings.Contains(err.Error(), "panic") {
		t.Errorf("a panic of emit ends as %v", err)
	}
	r := s.request()
	r.MaxBytes = 10000
	if err := NewScanner(s, Config{}).Scan(t.Context(), r, 2, func(int, *vec.Batch) error { return nil }); err == nil || !strings.Contains(err.Error(), "10000 bytes") {
		t.Errorf("a scan of more bytes than it may ends as %v", err)
	}
}

func TestColumnsOfAFile(t *testing.T) {
	s := newStore(t, 10, 5000)
	got, err := NewScanner(s, Config{}).Columns(t.Context(), &Request{Tenant: "t", Kind: fragment.Events, Stats: nil}, &s.fragments[0])
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]expr.Bounds{}
	for _, c := range got {
		found[c.Name] = c.Bounds
	}
	if b := found[Timestamp]; !b.Known || b.Min.Int > int64(s.fragments[0].Min) || b.Max.Int < int64(s.fragments[0].Max) || b.Max.Int-b.Min.Int > 1e12 || b.Rows != 5000 {
		t.Errorf("timestamp: %+v", b)
	}
	if b := found["n"]; !b.Known || b.Min.Int != 0 || b.Max.Int != 4999 || b.Nulls != 0 {
		t.Errorf("n: %+v", b)
	}
	if b := found["service"]; !b.Known || b.Min.Text != "svc-0" || b.Max.Text != "svc-4" {
		t.Errorf("service: %+v", b)
	}
	if b := found["status"]; !b.Known || b.Nulls < 2000 || b.Nulls > 3000 || b.Min.Int != 200 || b.Max.Int != 208 {
		t.Errorf("status: %+v", b)
	}
	if _, ok := found["nanos"]; ok || len(got) < 15 {
		t.Errorf("columns: %v", found)
	}
}

// TestBoundsHoldWhatTheyBound: the first and the last rows by time, to the nanosecond, and texts longer than bounds are found in spite of all
// that is pruned.
func TestBoundsHoldWhatTheyBound(t *testing.T) {
	s := newStore(t, 3, 1, 300, 17500, 50)
	type row struct {
		id string
		at int64
	}
	var rows []row
	for id, values := range s.rows {
		var at int64
		fmt.Sscan(values[Timestamp], &at)
		rows = append(rows, row{id, at})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	for _, w := range append(slices.Clone(rows[:8]), rows[len(rows)-8:]...) {
		text := time.Unix(0, w.at).UTC().Format("2006-01-02 15:04:05.999999999Z")
		for _, cond := range []string{"timestamp = '" + text + "'", "timestamp >= '" + text + "' AND timestamp <= '" + text + "'"} {
			if got := s.ids(t, s.request().where(t, cond)); !slices.Equal(got, []string{w.id}) {
				t.Errorf("%s: %v, not %s", cond, got, w.id)
			}
		}
	}
	long := 0
	for _, values := range s.rows {
		if v, ok := values["big"]; ok && v != "NULL" {
			long++
		}
	}
	for _, cond := range []string{"big = '" + strings.Repeat("x", 40000) + "'", "big > '" + strings.Repeat("x", 100) + "'", "big < '" + strings.Repeat("x", 40001) + "'"} {
		if got := len(s.ids(t, s.request().where(t, cond))); got != long || long == 0 {
			t.Errorf("%.30s...: %d rows, not %d", cond, got, long)
		}
	}
}
