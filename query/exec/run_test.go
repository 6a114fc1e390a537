package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/query/exec/exectest"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// watched counts what a source gives.
type watched struct {
	scan.Source
	request *scan.Request
	rows    atomic.Int64
	before  func() // each batch
}

func (w *watched) Scan(ctx context.Context, r *scan.Request, workers int, emit func(int, *vec.Batch) error) error {
	w.request = r
	return w.Source.Scan(ctx, r, workers, func(worker int, b *vec.Batch) error {
		w.rows.Add(int64(b.Len))
		if w.before != nil {
			w.before()
		}
		return emit(worker, b)
	})
}

// many is a table of n rows: a time that rises, n distinct texts.
func many(n int) (*exectest.Source, *Schema) {
	columns := []scan.Column{{Name: "timestamp", Type: vec.TimestampTZ}, {Name: "id", Type: vec.Text}, {Name: "i", Type: vec.Int}}
	var rows [][]any
	for i := range n {
		rows = append(rows, []any{time.Unix(int64(i), 0), fmt.Sprintf("%040d", i), i})
	}
	src := exectest.New(columns, rows...)
	src.Batch = 100
	schema := &Schema{Table: "events"}
	for _, c := range columns {
		schema.Columns = append(schema.Columns, SchemaColumn{Name: c.Name, Type: c.Type})
	}
	return src, schema
}

func TestALimitEndsTheScan(t *testing.T) {
	src, schema := many(20_000)
	for _, c := range []struct {
		sql  string
		rows int64 // read at most
		want int
	}{
		{"SELECT i FROM events LIMIT 5", 400, 5},
		{"SELECT i FROM events LIMIT 5 OFFSET 150", 600, 5},
		{"SELECT DISTINCT i FROM events LIMIT 50", 400, 50},
		{"SELECT i FROM events LIMIT 0", 0, 0},
		{"SELECT count(*) FROM events GROUP BY i LIMIT 0", 0, 0},
	} {
		w := &watched{Source: src}
		rows, err := answer(c.sql, w, schema, Limits{}, 2)
		if err != nil || len(rows) != c.want || w.rows.Load() > c.rows {
			t.Errorf("%s: %d rows of %d that were read, %v", c.sql, len(rows), w.rows.Load(), err)
		}
		if c.rows == 400 && c.want == 5 && w.request.Rows != 5 {
			t.Errorf("%s: the scan is asked for %d rows", c.sql, w.request.Rows)
		}
	}
}

// Clients that want all rows send the largest LIMIT that there is.
func TestALimitAboveAllRows(t *testing.T) {
	src, schema := many(1000)
	for _, limit := range []string{"9223372036854775807", "9223372036854775800 OFFSET 7", "4611686018427387904", "5000000000000000000 OFFSET 4611686018427387904", "2147483648"} {
		for _, text := range []string{
			"SELECT i FROM events", "SELECT i FROM events ORDER BY timestamp DESC", "SELECT i FROM events ORDER BY id, i", "SELECT DISTINCT i FROM events ORDER BY 1",
			"SELECT i, count(*) FROM events GROUP BY 1 ORDER BY 2, 1 DESC",
		} {
			want := map[bool]int{true: 993, false: 1000}[strings.HasSuffix(limit, "OFFSET 7")]
			if strings.HasSuffix(limit, "4611686018427387904") && strings.Contains(limit, "OFFSET") {
				want = 0
			}
			if rows, err := answer(text+" LIMIT "+limit, src, schema, Limits{}, 2); err != nil || len(rows) != want {
				t.Errorf("%s LIMIT %s: %d rows, want %d, %v", text, limit, len(rows), want, err)
			}
		}
	}
}

func TestFirstRowsByTimeBoundTheScan(t *testing.T) {
	src, schema := many(2000)
	for _, c := range []struct {
		sql   string
		top   bool
		bound int64
		rows  int
	}{
		{"SELECT i FROM events ORDER BY timestamp DESC LIMIT 10", true, 1990e9, 10},
		{"SELECT i FROM events ORDER BY timestamp, id LIMIT 10 OFFSET 5", true, 14e9, 15},
		{"SELECT i, timestamp AS t FROM events ORDER BY t LIMIT 10", true, 9e9, 10},
		{"SELECT i FROM events ORDER BY timestamp", false, 0, 0},
		{"SELECT i FROM events ORDER BY id, timestamp LIMIT 3", false, 0, 0},
		{"SELECT DISTINCT timestamp FROM events ORDER BY timestamp LIMIT 3", false, 0, 0},
		{"SELECT max(timestamp) FROM events GROUP BY i ORDER BY max(timestamp) LIMIT 3", false, 0, 0},
	} {
		w := &watched{Source: src}
		if _, err := answer(c.sql, w, schema, Limits{}, 3); err != nil {
			t.Fatal(err)
		}
		top := w.request.Top
		if (top != nil) != c.top {
			t.Errorf("%s: a bound of the scan: %v", c.sql, top != nil)
		}
		if top == nil || !c.top {
			continue
		}
		// A worker bounds by its own rows: the bound is never beyond the last row of the answer.
		bound, desc := top.Bound.Load(), strings.Contains(c.sql, "DESC")
		if !top.Full.Load() || top.Rows != c.rows || desc && bound > c.bound || !desc && bound < c.bound || top.Descending != desc {
			t.Errorf("%s: bound %d (%v), %d rows, want %d", c.sql, bound, top.Full.Load(), top.Rows, c.bound)
		}
	}
}

func TestFirstRowsOfAnyOrderNarrowTheScan(t *testing.T) {
	src, schema := many(20_000)
	for _, c := range []struct {
		sql   string
		first int // rows that the scan is asked for; 0: it is not told
	}{
		{"SELECT id FROM events ORDER BY i LIMIT 10", 10},
		{"SELECT id FROM events ORDER BY i, id DESC LIMIT 10 OFFSET 5", 15},
		{"SELECT id FROM events ORDER BY -i DESC NULLS FIRST LIMIT 10", 0}, // -i may be an error
		{"SELECT id FROM events ORDER BY CAST(i AS VARCHAR) LIMIT 10", 10},
		{"SELECT id FROM events ORDER BY i", 0},
		{"SELECT DISTINCT id FROM events ORDER BY id LIMIT 10", 0},
	} {
		w := &watched{Source: src}
		if _, err := answer(c.sql, w, schema, Limits{}, 1); err != nil { // of several workers one may run far ahead
			t.Fatal(err)
		}
		first := w.request.First
		if first == nil != (c.first == 0) || first != nil && first.Rows != c.first {
			t.Errorf("%s: the scan is asked for %+v", c.sql, first)
		}
		if first != nil && w.rows.Load() > 3000 {
			t.Errorf("%s: %d rows were read", c.sql, w.rows.Load())
		}
	}
}

func TestTheSelectListIsComputedForTheAnswerAlone(t *testing.T) {
	src, schema := many(2000)
	for _, c := range []struct{ sql, want string }{
		{"SELECT 10 // (i - 1999), 9223372036854775807 - 1999 + (2000 - i) FROM events ORDER BY i DESC LIMIT 1", "NULL,9223372036854773809"},
		{"SELECT 9223372036854773809 + i FROM events ORDER BY i LIMIT 2", "9223372036854773809 9223372036854773810"},
		{"SELECT count(*) * 9223372036854773000, i FROM events WHERE i < 5 OR i = 7 GROUP BY i ORDER BY i LIMIT 1 OFFSET 1", "9223372036854773000,1"},
		{"SELECT i AS a, a + i, 'x' FROM events ORDER BY id DESC, 2 LIMIT 2", "1999,3998,x 1998,3996,x"},
	} {
		for _, workers := range []int{1, 3} {
			got, err := answer(c.sql, src, schema, Limits{}, workers)
			if text := strings.Join(got, " "); err != nil || text != c.want {
				t.Errorf("%s: %s, %v; want %s", c.sql, text, err, c.want)
			}
		}
	}
	if _, err := answer("SELECT 9223372036854773809 + i FROM events ORDER BY i DESC LIMIT 2", src, schema, Limits{}, 2); fail.CodeOf(err) != fail.OutOfRange {
		t.Errorf("an error within the answer: %v", err)
	}
}

func TestRecordsAnswerForWholeFragments(t *testing.T) {
	src, schema := many(2000)
	for _, c := range []struct {
		sql  string
		read bool
		want string
	}{
		{"SELECT count(*) FROM events", false, "2000"},
		{"SELECT count(*), count(timestamp), min(timestamp), max(timestamp), count(1) FROM events", false,
			"2000,2000,1970-01-01 00:00:00+00,1970-01-01 00:33:19+00,2000"},
		{"SELECT count(*) + 1 FROM events HAVING count(*) > 10", false, "2001"},
		{"SELECT timestamp::DATE, count(*), max(timestamp) FROM events GROUP BY 1", false, "1970-01-01,2000,1970-01-01 00:33:19+00"},
		{"SELECT date_trunc('day', timestamp), count(*) FROM events GROUP BY ALL", false, "1970-01-01 00:00:00+00,2000"},
		{"SELECT time_bucket(INTERVAL '1 hour', timestamp) AS h, min(timestamp) FROM events GROUP BY h", false, "1970-01-01 00:00:00+00,1970-01-01 00:00:00+00"},
		{"SELECT count(*), date_trunc('minute', timestamp) AS m FROM events GROUP BY m ORDER BY m DESC LIMIT 1", true, "20,1970-01-01 00:33:00+00"},
		{"SELECT 1 AS one, count(*) FROM events GROUP BY one", false, "1,2000"},
		{"SELECT i < 0, count(*) FROM events GROUP BY 1", true, "false,2000"},
		{"SELECT timestamp > '2000-01-01', count(*) FROM events GROUP BY 1", true, "false,2000"},
		{"SELECT count(*) FROM events WHERE i < 500", true, "500"},
		{"SELECT count(*), sum(i) FROM events", true, "2000,1999000"},
		{"SELECT count(i) FROM events", true, "2000"},
		{"SELECT max(id) > '0' FROM events", true, "true"},
		{"SELECT count(*) FILTER (WHERE i < 3) FROM events", true, "3"},
		{"SELECT count(DISTINCT timestamp) FROM events", true, "2000"},
	} {
		w := &watched{Source: src}
		rows, err := answer(c.sql, w, schema, Limits{}, 3)
		if err != nil || len(rows) != 1 || rows[0] != c.want || w.rows.Load() > 0 != c.read {
			t.Errorf("%s: %v (%v), %d rows read", c.sql, rows, err, w.rows.Load())
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	src, schema := many(30_000)
	src.Batch = 1000
	for _, sql := range []string{
		"SELECT id, count(*) FROM events GROUP BY id",
		"SELECT DISTINCT id, i FROM events",
		"SELECT id FROM events ORDER BY id",
		"SELECT count(DISTINCT id) FROM events",
		"SELECT i % 2, count(DISTINCT id) FROM events GROUP BY 1",
		"SELECT string_agg(id) FROM events",
		"SELECT string_agg(id ORDER BY i) FROM events",
		"SELECT mode(id), quantile_disc(id, 0.5) FROM events",
		"SELECT max(id) FROM events GROUP BY i",
		"SELECT i, approx_count_distinct(id), approx_quantile(i, 0.5) FROM events GROUP BY i",
		"SELECT median(i), median(timestamp), median(i + 1), median(i + 2), median(i+3), median(i+4), median(i+5) FROM events",
	} {
		_, err := answer(sql, src, schema, Limits{Memory: 1 << 20}, 2)
		if fail.CodeOf(err) != fail.TooLarge {
			t.Errorf("%s within 1 MiB: %v", sql, err)
		}
		if _, err := answer(sql, src, schema, Limits{Memory: 1 << 26}, 2); err != nil && !strings.Contains(sql, "string_agg") {
			t.Errorf("%s within 64 MiB: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"SELECT id FROM events ORDER BY id LIMIT 10",
		"SELECT count(*), sum(i), max(id) FROM events",
		"SELECT i % 100, max(id), avg(i) FROM events GROUP BY 1",
		"SELECT approx_count_distinct(id), approx_quantile(i, 0.5) FROM events",
	} {
		if _, err := answer(sql, src, schema, Limits{Memory: 1 << 20}, 2); err != nil {
			t.Errorf("%s within 1 MiB: %v", sql, err)
		}
	}
}

// TestMemoryOfThePoolComesBack after an answer, and after one that was too large.
func TestMemoryOfThePoolComesBack(t *testing.T) {
	pool := memory.NewPool(64<<10, 8<<20)
	src, schema := many(50_000)
	for sql, want := range map[string]fail.Code{
		"SELECT i, count(*) FROM events GROUP BY i LIMIT 3":               "",
		"SELECT i FROM events ORDER BY CAST(i AS VARCHAR)":                "",
		"SELECT id, i, count(*), string_agg(id) FROM events GROUP BY ALL": fail.Unavailable,
	} {
		_, err := answer(sql, src, schema, Limits{Pool: pool}, 2)
		if err != nil && fail.CodeOf(err) != want || err == nil && want != "" {
			t.Errorf("%s: %v", sql, err)
		}
		if pool.Used() != 0 {
			t.Fatalf("%s: %d bytes of the pool are left", sql, pool.Used())
		}
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	src, schema := many(5000)
	for _, sql := range []string{
		"SELECT i FROM events", "SELECT i FROM events ORDER BY i", "SELECT i, count(*) FROM events GROUP BY i", "SELECT DISTINCT i FROM events",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		var once sync.Once
		w := &watched{Source: src, before: func() { once.Do(cancel) }}
		p, err := bound(sql, schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(ctx, w, Limits{}, 2, func(*vec.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// last ends the context when the scan is over.
type last struct {
	scan.Source
	cancel func()
}

func (l last) Scan(ctx context.Context, r *scan.Request, workers int, emit func(int, *vec.Batch) error) error {
	err := l.Source.Scan(ctx, r, workers, emit)
	l.cancel()
	return err
}

func TestNothingIsMadeOfRowsOnceTheContextHasEnded(t *testing.T) {
	src, schema := many(20_000)
	for _, sql := range []string{
		"SELECT i FROM events ORDER BY i", "SELECT i FROM events ORDER BY i * 0, id", "SELECT i, count(*) FROM events GROUP BY i", "SELECT DISTINCT i FROM events",
		"SELECT count(DISTINCT id) FROM events GROUP BY i % 2", "SELECT string_agg(id ORDER BY i) FROM events", "SELECT mode(i), median(i) FROM events GROUP BY i % 5",
	} {
		p, err := bound(sql, schema)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		err = p.Run(ctx, last{src, cancel}, Limits{}, 2, func(*vec.Batch) error {
			t.Errorf("%s: rows after the end", sql)
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestErrorsOfTheReaderAndTheScanComeBack(t *testing.T) {
	src, schema := many(5000)
	gone := errors.New("the client is gone")
	p, err := bound("SELECT i FROM events", schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(context.Background(), src, Limits{}, 2, func(*vec.Batch) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("an error of out: %v", err)
	}
	for _, sql := range []string{
		"SELECT CAST(id AS DATE) FROM events",
		"SELECT count(*) FROM events GROUP BY 10 // (i + 9223372036854775000)",
		"SELECT sum(i + 9223372036854775000) FROM events",
		"SELECT i FROM events ORDER BY i * 9223372036854775000",
	} {
		if _, err := answer(sql, src, schema, Limits{}, 2); fail.CodeOf(err) != fail.Value && fail.CodeOf(err) != fail.OutOfRange {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestExplainedPlans(t *testing.T) {
	_, schema := numbers()
	for _, c := range []struct{ sql, want string }{
		{"SELECT s, count(*) AS c FROM events WHERE i > 3 AND d < 9 GROUP BY s HAVING c > 1 ORDER BY c DESC LIMIT 5 OFFSET 2", `LIMIT 5 OFFSET 2
  ORDER BY c DESC, keeping 7 rows
    SELECT s, count(*)
      HAVING (count(*) > 1)
        AGGREGATE count(*) BY s
          FILTER (i > 3) AND (d < 9.0)
            SCAN events: i, d, s`},
		{"SELECT * FROM events ORDER BY timestamp DESC LIMIT 100", `LIMIT 100
  ORDER BY timestamp DESC, which bounds the scan
    SELECT timestamp, id, _event
      SCAN events: timestamp, id, _event`},
		{"SELECT DISTINCT k FROM events", "DISTINCT\n  SELECT k\n    SCAN events: k"},
		{"SELECT count(*), max(timestamp) FROM events", "SELECT count(*), max(timestamp)\n  AGGREGATE count(*), max(timestamp) (whole fragments by their records)\n    SCAN events: timestamp"},
		{"SELECT 1 WHERE 1 = 0", "SELECT 1\n  FILTER false\n    ONE ROW"},
	} {
		p, err := bound(c.sql, schema)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(p.Explain(), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.sql, got, c.want)
		}
	}
}
