package exec

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/exec/exectest"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/funcs"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// numbers is a table of i from 0 to 9: k = i % 3, s = 'S' || k, d = i * 1.5, n = i if it is even, and mixed values.
func numbers() (*exectest.Source, *Schema) {
	columns := []scan.Column{
		{Name: "timestamp", Type: vec.TimestampTZ}, {Name: "id", Type: vec.Text}, {Name: scan.Event, Type: vec.JSON},
		{Name: "i", Type: vec.Int}, {Name: "k", Type: vec.Int}, {Name: "s", Type: vec.Text}, {Name: "d", Type: vec.Double}, {Name: "n", Type: vec.Int},
		{Name: "m", Type: vec.Int}, {Name: "m@string", Type: vec.Text}, {Name: "b", Type: vec.Bool},
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var rows [][]any
	for i := range 10 {
		var n, m, text any
		if i%2 == 0 {
			n = i
		}
		switch i % 5 {
		case 0:
			text = "text"
		case 1, 2:
			m = i
		}
		rows = append(rows, []any{begin.Add(time.Duration(i) * time.Second), fmt.Sprint("id", i), fmt.Sprintf(`{"i":%d}`, i),
			i, i % 3, fmt.Sprint("S", i%3), float64(i) * 1.5, n, m, text, i < 4})
	}
	src := exectest.New(columns, rows...)
	schema := &Schema{Table: "events", Kind: fragment.Events}
	for i, c := range columns {
		sc := SchemaColumn{Name: c.Name, Type: c.Type}
		if i > 2 {
			sc.Path, _, _ = strings.Cut(c.Name, "@")
		}
		schema.Columns = append(schema.Columns, sc)
	}
	return src, schema
}

func environment() *expr.Env {
	return &expr.Env{Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), MaxText: 1 << 20, MaxPattern: 1 << 10, Functions: funcs.Library()}
}

func bound(text string, schema *Schema) (*Plan, error) {
	st, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	if st.Select.From == nil {
		schema = nil
	}
	return Bind(st.Select, schema, environment())
}

// answer runs a query and gives its rows as text, those of a query without ORDER BY sorted.
func answer(text string, src scan.Source, schema *Schema, limits Limits, workers int) ([]string, error) {
	p, err := bound(text, schema)
	if err != nil {
		return nil, err
	}
	var rows []string
	err = p.Run(context.Background(), src, limits, workers, func(b *vec.Batch) error {
		if len(b.Cols) != len(p.Outputs) {
			return fmt.Errorf("%d columns for %d outputs", len(b.Cols), len(p.Outputs))
		}
		for i := range b.Len {
			var row []string
			for j, c := range b.Cols {
				if c.Type != p.Outputs[j].Type && c.Type != vec.Null {
					return fmt.Errorf("column %d is %s, not %s", j, c.Type, p.Outputs[j].Type)
				}
				row = append(row, show(c.At(i)))
			}
			rows = append(rows, strings.Join(row, ","))
		}
		return nil
	})
	if len(p.order) == 0 {
		sort.Strings(rows)
	}
	return rows, err
}

func show(v vec.Value) string {
	if v.Type == vec.Null {
		return "NULL"
	}
	return value.Format(v)
}

// forms are ways in which a scan may give the same rows.
func forms(src *exectest.Source) []*exectest.Source {
	var out []*exectest.Source
	for _, batch := range []int{1, 3, 100} {
		for _, coded := range []bool{false, true} {
			c := *src
			c.Batch, c.Fragment, c.Coded, c.Const = batch, 2, coded, batch == 3
			out = append(out, &c)
		}
	}
	return out
}

// TestNamesOfAnAnswer: a column is named as the table names it, grouped or not; anything else as it is written.
func TestNamesOfAnAnswer(t *testing.T) {
	_, schema := numbers()
	for text, want := range map[string]string{
		`SELECT "I", e.S, I::BIGINT, "m@string", "i@int64", "M" FROM events e`:    "i|s|CAST(I AS BIGINT)|m@string|i@int64|m",
		`SELECT "m@string", e.S, "M", K + 1, count(*) FROM events e GROUP BY ALL`: "m@string|s|m|(K + 1)|count(*)",
		`SELECT K AS "a.b", K kk, max(i) FROM events GROUP BY 1, 2`:               "a.b|kk|max(i)",
		`SELECT DISTINCT "S", e."m@string" FROM events e ORDER BY s`:              "s|m@string",
		`SELECT k + 1 AS x, X, max(x) FROM events GROUP BY x`:                     "x|X|max(x)",
	} {
		p, err := bound(text, schema)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var names []string
		for _, o := range p.Outputs {
			names = append(names, o.Name)
		}
		if got := strings.Join(names, "|"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestAnswers has what DuckDB answers on the same rows.
func TestAnswers(t *testing.T) {
	src, schema := numbers()
	for _, c := range []struct{ sql, want string }{
		{"SELECT i FROM events WHERE i < 3", "0 1 2"},
		{"SELECT i FROM events WHERE i > 100", ""},
		{"SELECT i, s FROM events WHERE k = 1 AND i > 2", "4,S1 7,S1"},
		{"SELECT count(*) FROM events", "10"},
		{"SELECT count(*), count(n), count(1), count(NULL), count() FROM events", "10,5,10,0,10"},
		{"SELECT k, count(*) FROM events GROUP BY k", "0,4 1,3 2,3"},
		{"SELECT s, k, count(*), sum(i), min(i), max(d), avg(i) FROM events GROUP BY s, k ORDER BY s DESC", "S2,2,3,15,2,12.0,5.0 S1,1,3,12,1,10.5,4.0 S0,0,4,18,0,13.5,4.5"},
		{"SELECT max(s), min(s), max(timestamp), min(b), max(b) FROM events", "S2,S0,2026-01-01 00:00:09+00,false,true"},
		{"SELECT n, count(*) FROM events GROUP BY n ORDER BY n NULLS FIRST", "NULL,5 0,1 2,1 4,1 6,1 8,1"},
		{"SELECT i FROM events ORDER BY n DESC, i LIMIT 7", "8 6 4 2 0 1 3"},
		{"SELECT i FROM events ORDER BY n NULLS FIRST, i LIMIT 3", "1 3 5"},
		{"SELECT i FROM events ORDER BY 0 - i LIMIT 2 OFFSET 3", "6 5"},
		{"SELECT i FROM events ORDER BY i LIMIT 0", ""},
		{"SELECT i FROM events ORDER BY i OFFSET 8", "8 9"},
		{"SELECT -i AS i FROM events ORDER BY i LIMIT 2", "-9 -8"},
		{"SELECT -i AS i FROM events ORDER BY i+0 LIMIT 2", "0 -1"},
		{"SELECT -i AS x FROM events ORDER BY x+0 LIMIT 2", "-9 -8"},
		{"SELECT i AS k FROM events WHERE k = 1", "1 4 7"},
		{"SELECT i+1 AS b2, b2*2 AS c FROM events WHERE b2 = 3", "3,6"},
		{"SELECT k, sum(i) AS k FROM events GROUP BY k ORDER BY k", "1,12 2,15 0,18"},
		{"SELECT k, count(*) AS c FROM events GROUP BY k HAVING c > 3", "0,4"},
		{"SELECT k+1, count(*) FROM events GROUP BY k ORDER BY 1", "1,4 2,3 3,3"},
		{"SELECT (k+1)*2, count(*) FROM events GROUP BY K+1 ORDER BY 1", "2,4 4,3 6,3"},
		{"SELECT i%2 AS p, sum(i) FROM events GROUP BY 1 ORDER BY 2 DESC", "1,25 0,20"},
		{"SELECT k, count(*) AS c FROM events GROUP BY ALL ORDER BY ALL", "0,4 1,3 2,3"},
		{"SELECT count(*) FROM events GROUP BY k ORDER BY k", "4 3 3"},
		{"SELECT k FROM events GROUP BY k ORDER BY count(*) DESC, k DESC", "0 2 1"},
		{"SELECT 1 FROM events HAVING count(*) > 5", "1"},
		{"SELECT 1 FROM events HAVING count(*) > 50", ""},
		{"SELECT count(*) AS c, c * 2 FROM events", "10,20"},
		{"SELECT DISTINCT k FROM events ORDER BY k+1 DESC", "2 1 0"},
		{"SELECT DISTINCT k, s FROM events", "0,S0 1,S1 2,S2"},
		{"SELECT DISTINCT n FROM events ORDER BY n LIMIT 2", "0 2"},
		{"SELECT DISTINCT count(*) FROM events GROUP BY k ORDER BY 1", "3 4"},
		{"SELECT count(*) FILTER (WHERE k = 1), sum(i) FILTER (WHERE n IS NULL), sum(i) FILTER (WHERE i > 99) FROM events", "3,25,NULL"},
		{"SELECT k, count(*) FILTER (WHERE i > 5) FROM events GROUP BY k ORDER BY k", "0,2 1,1 2,1"},
		{"SELECT count(DISTINCT k), count(DISTINCT n), sum(DISTINCT k), avg(DISTINCT k), max(DISTINCT k) FROM events", "3,5,3,1.0,2"},
		{"SELECT k, count(DISTINCT i % 2), sum(DISTINCT i % 2) FROM events GROUP BY k ORDER BY k", "0,2,1 1,2,1 2,2,1"},
		{"SELECT sum(i), max(s) FROM events WHERE false", "NULL,NULL"},
		{"SELECT k, max(s) FROM events WHERE i < 0 GROUP BY k", ""},
		{"SELECT sum(b), count_if(b), bool_and(b), bool_or(b) FROM events", "4,4,false,true"},
		{"SELECT stddev_pop(i), var_samp(d), stddev(i) FILTER (WHERE i = 1) FROM events", "2.8722813232690143,20.625,NULL"},
		{"SELECT sum(m), count(m), max(m), count(\"m@string\"), count(\"m@int64\") FROM events", "16,6,7,2,4"},
		{"SELECT m, count(*) FROM events GROUP BY m ORDER BY m", "1,1 2,1 6,1 7,1 text,2 NULL,4"},
		{"SELECT 1+1, 'x' AS y", "2,x"},
		{"SELECT 1 WHERE 1 = 0", ""},
		{"SELECT count(*) WHERE 1 = 0", "0"},
		{"SELECT count(*)", "1"},
		{"SELECT e.i FROM events AS e WHERE e.i = 3", "3"},
		{"SELECT events.i FROM events WHERE EVENTS.I = 3", "3"},
		{"SELECT * FROM events WHERE i = 3", `2026-01-01 00:00:03+00,id3,{"i":3}`},
		{"SELECT i FROM events ORDER BY timestamp DESC LIMIT 3", "9 8 7"},
		{"SELECT i FROM events ORDER BY timestamp, i DESC LIMIT 3 OFFSET 2", "2 3 4"},
		{"SELECT min(timestamp), max(timestamp), count(timestamp) FROM events", "2026-01-01 00:00:00+00,2026-01-01 00:00:09+00,10"},
		{"SELECT avg(timestamp) FROM events WHERE i IN (1, 3)", "2026-01-01 00:00:02+00"},
		{"SELECT NULL, sum(NULL), min(NULL)", "NULL,NULL,NULL"},
		{"SELECT 5 AS x, count(*) FROM events GROUP BY x", "5,10"},
		{"SELECT i FROM events WHERE NULL", ""},
		{"SELECT 5, count(*) FROM events WHERE false GROUP BY ALL", "5,0"},
		{"SELECT 5 FROM events WHERE i < 2 GROUP BY ALL", "5 5"},
		{"SELECT 5, count(*) FROM events WHERE false GROUP BY 1", ""},
		{"SELECT DISTINCT i % 2 FROM events WHERE i < 4 GROUP BY ALL", "0 1"},
		{"SELECT i FROM events WHERE i = 1 LIMIT NULL", "1"},
		{"SELECT median(i), median(s), median(b), median(timestamp), median(n) FROM events", "4.5,S1,false,2026-01-01 00:00:04.5+00,4.0"},
		{"SELECT quantile_cont(i, 0.25), quantile_cont(d, 0.9), quantile_cont(i, 0), quantile_cont(i, 1), quantile_cont(i, -0.1) FROM events", "2.25,12.149999999999999,0.0,9.0,8.1"},
		{"SELECT quantile_disc(i, 0.29), quantile_disc(i, 0.3), quantile_disc(i, -0.3), quantile_disc(s, 0.5), quantile_disc(d, 1.0), quantile_disc(b, 0.5) FROM events", "2,2,7,S1,13.5,false"},
		{"SELECT quantile_cont(timestamp, 0.33), quantile_disc(timestamp, 0.33) FROM events", "2026-01-01 00:00:02.97+00,2026-01-01 00:00:03+00"},
		{"SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY i DESC), percentile_disc(0.3) WITHIN GROUP (ORDER BY i), mode() WITHIN GROUP (ORDER BY k) FROM events", "8.1,2,0"},
		{"SELECT k, quantile_cont(i, 0.5), quantile_disc(i, 0.9), median(d) FROM events GROUP BY k ORDER BY k", "0,4.5,9,6.75 1,4.0,7,6.0 2,5.0,8,7.5"},
		{"SELECT k, quantile_cont(DISTINCT i % 2, 0.5) FROM events GROUP BY k ORDER BY k", "0,0.5 1,0.5 2,0.5"},
		{"SELECT arg_min(s, i), arg_max(s, i), arg_max(n, i), max_by(i, timestamp), min_by(i, -i) FROM events", "S0,S0,8,9,9"},
		{"SELECT k, arg_max(i, d), arg_min(id, timestamp) FROM events GROUP BY k ORDER BY k", "0,9,id0 1,7,id1 2,8,id2"},
		{"SELECT string_agg(s, ',' ORDER BY i), string_agg(DISTINCT s, '|' ORDER BY s DESC), string_agg(i, '' ORDER BY i DESC) FROM events", "S0,S1,S2,S0,S1,S2,S0,S1,S2,S0,S2|S1|S0,9876543210"},
		{"SELECT k, string_agg(n ORDER BY i DESC), string_agg(s, '') FROM events GROUP BY k ORDER BY k", "0,6,0,S0S0S0S0 1,4,S1S1S1 2,8,2,S2S2S2"},
		{"SELECT first(n ORDER BY i DESC), last(n ORDER BY i DESC), any_value(n ORDER BY i DESC), first(i ORDER BY k, i DESC) FROM events", "NULL,0,8,9"},
		{"SELECT mode(k), mode(s), mode(n), k % 1 AS x FROM events GROUP BY x", "0,S0,0,0"},
		{"SELECT approx_count_distinct(s), approx_count_distinct(n), approx_count_distinct(d) FROM events", "3,5,10"},
		{"SELECT k, approx_count_distinct(id) FROM events GROUP BY k ORDER BY k", "0,4 1,3 2,3"},
		{"SELECT count(DISTINCT s) FILTER (WHERE k > 0), string_agg(s, ',' ORDER BY i) FILTER (WHERE i < 3) FROM events", "2,S0,S1,S2"},
		{"SELECT median(i) FILTER (WHERE i > 100), arg_max(i, i) FILTER (WHERE false), string_agg(s) FILTER (WHERE false), mode(i) FILTER (WHERE false), any_value(i) FILTER (WHERE false) FROM events", "NULL,NULL,NULL,NULL,NULL"},
		{"SELECT sum(DISTINCT k), count(DISTINCT b), avg(DISTINCT d), min(DISTINCT s) FROM events", "3,2,6.75,S0"},
		{"SELECT avg(timestamp::DATE), min(timestamp::DATE) FROM events", "2026-01-01 00:00:00,2026-01-01"},
		{"SELECT max(CASE WHEN i > 8 THEN INTERVAL '1 month 1 hour' ELSE INTERVAL '2 hours' END), min(CASE WHEN i = 1 THEN INTERVAL '30 days' WHEN i > 1 THEN INTERVAL '1 month 1 hour' END) AS x FROM events", "1 month 01:00:00,30 days"},
		{"SELECT sum(i), sum(d), avg(i), avg(d) FROM events WHERE i > 3", "39,58.5,6.5,9.75"},
		{"SELECT k, sum(i) * 100.0 / count(*) AS share FROM events GROUP BY k ORDER BY share DESC", "2,500.0 0,450.0 1,400.0"},
		{"SELECT b, n IS NULL AS x, count(*) FROM events GROUP BY b, x ORDER BY b, x", "false,false,3 false,true,3 true,false,2 true,true,2"},
		{"SELECT CASE WHEN i < 5 THEN 'low' ELSE 'high' END AS c, count(*), max(i) FROM events GROUP BY c ORDER BY c", "high,5,9 low,5,4"},
		{"SELECT k, count(*) FROM events WHERE i <> 4 GROUP BY k HAVING sum(i) > 5 AND k < 2 ORDER BY k", "0,4 1,2"},
		{"SELECT i, d FROM events ORDER BY k DESC, d DESC LIMIT 4 OFFSET 1", "5,7.5 2,3.0 7,10.5 4,6.0"},
		{"SELECT DISTINCT k, b FROM events ORDER BY b, k", "0,false 1,false 2,false 0,true 1,true 2,true"},
	} {
	forms:
		for f, form := range forms(src) {
			for _, workers := range []int{1, 3} {
				got, err := answer(c.sql, form, schema, Limits{}, workers)
				if err != nil {
					t.Errorf("%s: %v", c.sql, err)
				} else if text := strings.Join(got, " "); text != strings.ReplaceAll(c.want, "\n", " ") {
					t.Errorf("%s (form %d, %d workers):\n got %s\nwant %s", c.sql, f, workers, text, c.want)
				} else {
					continue
				}
				break forms
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	_, schema := numbers()
	for _, c := range []struct{ sql, want string }{
		{"SELECT i, count(*) FROM events", `line 1, column 8: column i must stand in GROUP BY or within an aggregate; any_value(i) takes the value of any row`},
		{"SELECT sum(i) FROM events ORDER BY i", `line 1, column 36: column i must stand in GROUP BY`},
		{"SELECT k AS s, count(*) FROM events GROUP BY s", `line 1, column 8: column k must stand in GROUP BY`},
		{"SELECT count(*) FROM events WHERE sum(i) > 1", `line 1, column 35: sum is an aggregate, which cannot stand in WHERE; conditions on aggregates stand in HAVING`},
		{"SELECT count(*) AS c FROM events WHERE c > 1", `count is an aggregate, which cannot stand in WHERE`},
		{"SELECT sum(sum(i)) FROM events", `line 1, column 12: aggregates cannot be nested`},
		{"SELECT count(*) FILTER (WHERE sum(i) > 1) FROM events", `aggregates cannot be nested`},
		{"SELECT k FROM events GROUP BY sum(i)", `sum is an aggregate, which cannot stand in GROUP BY`},
		{"SELECT k, sum(i) FROM events GROUP BY 2", `cannot stand in GROUP BY`},
		{"SELECT k FROM events GROUP BY 2", `GROUP BY 2 is no position in the select list, which has 1`},
		{"SELECT k FROM events ORDER BY 0", `ORDER BY 0 is no position`},
		{"SELECT k FROM events ORDER BY -1", `is no position`},
		{"SELECT k FROM events ORDER BY 'k'", `ORDER BY 'k' has no effect`},
		{"SELECT DISTINCT k FROM events ORDER BY i", `with SELECT DISTINCT, ORDER BY can only use what is in the select list, where i is not`},
		{"SELECT i FROM events LIMIT -1", `LIMIT cannot be negative`},
		{"SELECT i FROM events LIMIT i", `LIMIT takes a number, not a column`},
		{"SELECT i FROM events LIMIT 'x'", `LIMIT takes a whole number`},
		{"SELECT nn FROM events", `there is no column "nn" in events; did you mean`},
		{"SELECT x.i FROM events", `there is no table "x" here; the table of this query is "events"`},
		{"SELECT events.i FROM events AS e", `there is no table "events" here; the table of this query is "e"`},
		{"SELECT i", `there is no column "i": the query has no FROM`},
		{"SELECT *", `* needs a FROM`},
		{"SELECT sum(s) FROM events", `sum does not take VARCHAR; write sum(TRY_CAST(... AS DOUBLE)) if the text holds numbers`},
		{"SELECT sum(timestamp) FROM events", `sum does not take TIMESTAMPTZ`},
		{"SELECT sum(*) FROM events", `only count takes a *`},
		{"SELECT sum(i, k) FROM events", `sum takes sum(x)`},
		{"SELECT sum(9223372036854775807) FROM events", `sum: the result is beyond the range of BIGINT`},
		{"SELECT i FROM events", `the answer has more than 3 rows, the limit`},
		{"SELECT i FROM events ORDER BY i", `the answer has more than 3 rows, the limit`},
		{"SELECT DISTINCT i FROM events", `the answer has more than 3 rows, the limit`},
		{"SELECT i, count(*) FROM events GROUP BY i LIMIT 5", `the answer has more than 3 rows, the limit`},
		{"SELECT i+i AS x0, x0+x0 AS x1, x1+x1 AS x2, x2+x2 AS x3, x3+x3 AS x4, x4+x4 AS x5, x5+x5 AS x6, x6+x6 AS x7, x7+x7 AS x8, x8+x8 AS x9, x9+x9 AS x10, x10+x10 AS x11, x11+x11 AS x12, x12+x12 AS x13, x13+x13 AS x14, x14+x14 AS x15 FROM events",
			`with its aliases written out the query has more than 50000 parts`},
	} {
		src, _ := numbers()
		_, err := answer(c.sql, src, schema, Limits{Rows: 3}, 2)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.sql, err, c.want)
		}
	}
}

func TestTimesOfAPlan(t *testing.T) {
	_, schema := numbers()
	at := func(s string) int64 {
		tm, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm.UnixNano()
	}
	for _, c := range []struct {
		where    string
		from, to int64
	}{
		{"i = 1", math.MinInt64, math.MaxInt64},
		{"timestamp >= '2026-01-01'", at("2026-01-01T00:00:00Z"), math.MaxInt64},
		{"timestamp > '2026-01-01'", at("2026-01-01T00:00:00.000000001Z"), math.MaxInt64},
		{"timestamp >= '2026-01-01' AND timestamp < '2026-01-02' AND i = 1", at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")},
		{"timestamp BETWEEN '2026-01-01' AND '2026-01-02'", at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00.000000001Z")},
		{"timestamp < '2026-01-01' AND timestamp > '2026-01-02'", 0, 0},
		{"timestamp >= '2026-01-01' OR i = 1", math.MinInt64, math.MaxInt64},
	} {
		p, err := bound("SELECT i FROM events WHERE "+c.where, schema)
		if err != nil {
			t.Fatal(err)
		}
		from, to := p.Times(t.Context())
		if int64(from) != c.from || int64(to) != c.to {
			t.Errorf("%s: times from %v to %v", c.where, from, to)
		}
	}
}
