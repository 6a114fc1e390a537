package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/scan"
)

// ways are the ways to read that must not change an answer.
var ways = map[string]scan.Options{
	"no pruning": {NoPruning: true}, "no dictionaries": {NoDictionaries: true}, "no late reading": {NoLateReading: true},
	"none of all": {NoPruning: true, NoDictionaries: true, NoLateReading: true},
}

// conditions are every comparison of a column with constants below, within, at the edges of and above its values, and of other types.
func conditions() (out []string) {
	constants := map[string][]string{
		"status":    {"0", "200", "404", "500", "599.5", "1000"},
		"n":         {"-11", "-10", "0", "7", "29", "30"},
		"duration":  {"-1", "0", "12.5", "250", "1e9"}, // int64, double, string and others in one path
		"ratio":     {"-1.5", "0", "-0.0", "0.25", "1e15"},
		"bytes":     {"-9223372036854775808", "0", "9007199254740993", "9007199254740992.0", "9223372036854775807"},
		"load":      {"-1e308", "0", "0.30000000000000004", "1e308"},
		"service":   {"''", "'api'", "'web'", "'web-2'", "'zzz'", "'Übersicht'"},
		"id":        {"'e00007'", "'nothing'", "'😀'"},
		"timestamp": {"'2025-06-30T22:00:00Z'", "'2025-06-30T23:30:00Z'", "'2025-07-01T01:00:00.000000001Z'", "'2030-01-01'"},
	}
	for column, values := range constants {
		for i, v := range values {
			for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
				out = append(out, fmt.Sprintf("%s %s %s", column, op, v))
			}
			w := values[(i+1)%len(values)]
			out = append(out,
				fmt.Sprintf("%s IN (%s, %s)", column, v, w), fmt.Sprintf("%s NOT IN (%s, %s)", column, v, w), fmt.Sprintf("%s NOT IN (%s, NULL)", column, v),
				fmt.Sprintf("%s BETWEEN %s AND %s", column, v, w), fmt.Sprintf("NOT (%s < %s)", column, v), fmt.Sprintf("%s IS DISTINCT FROM %s", column, v),
				fmt.Sprintf("%s = %s OR n IS NULL", column, v), fmt.Sprintf("%s >= %s AND service = 'web'", column, v))
		}
		out = append(out, column+" IS NULL", column+" IS NOT NULL")
	}
	return append(out, `"duration@string" = 'slow'`, "ok", "NOT ok", "ok IS NULL", "message LIKE 'err%'", "trace_id LIKE '0%' AND trace_id < '08'", `"user.id" = 7`, "nothing_at_all IS NULL OR n = 1")
}

// TestFault_pruning: each condition with and without pruning, dictionaries and late reading, over files of writers and of merges, which
// have int64 and double columns of one path, nulls, and columns that other files have not.
func TestFault_pruning(t *testing.T) {
	s := newStage(t, 2, nil)
	s.put(queryset.Row{Tenant: "acme", Timestamp: event.Timestamp(queryset.Begin.UnixNano()), ID: "has-all", Payload: `{"nothing_at_all":1}`})
	for range 5 {
		s.commit(80)
	}
	pruned := int64(0)
	for _, merged := range []bool{false, true} {
		if merged {
			if err := s.compact(s.compactor(s.store.Inner(), 0)); err != nil {
				t.Fatal(err)
			}
			s.commit(20)
		}
		for i, condition := range conditions() {
			text := "SELECT count(*), count(DISTINCT id), min(id), max(timestamp), sum(n) FROM events WHERE " + condition
			want, sum, err := s.ask(s.node, query.Request{SQL: text})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			pruned += sum.Stats.PrunedByTime.Load() + sum.Stats.PrunedByRange.Load() + sum.Stats.PrunedByFilter.Load() + sum.Stats.RowGroupsPruned.Load() + sum.Stats.PagesPruned.Load()
			for _, name := range []string{"none of all", []string{"no pruning", "no dictionaries", "no late reading"}[i%3]} {
				if got, _, err := s.ask(s.node, query.Request{SQL: text, Options: ways[name]}); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %q, with %s %q; %v", condition, want, name, got, err)
				}
			}
		}
	}
	if pruned < 500 {
		t.Errorf("only %d files, row groups and pages were pruned", pruned)
	}
}

// TestFault_zones: where the process runs does not matter, and a range holds its first nanosecond and not its last.
func TestFault_zones(t *testing.T) {
	s := newStage(t, 2, nil)
	s.commit(200)
	edge := event.Timestamp(queryset.Begin.UnixNano() + 3600e9)
	for i, at := range []event.Timestamp{edge - 1, edge, edge + 1, edge + 2} {
		s.put(queryset.Row{Tenant: "acme", Timestamp: at, ID: fmt.Sprintf("edge%d", i), Payload: `{"edge":true}`})
	}
	texts := []string{
		"SELECT timestamp, id FROM events ORDER BY timestamp, id LIMIT 50",
		"SELECT date_trunc('day', timestamp), count(*) FROM events GROUP BY 1",
		"SELECT CAST(timestamp AS DATE), extract(hour FROM timestamp), count(*) FROM events GROUP BY ALL",
		"SELECT count(*) FROM events WHERE timestamp >= '2025-06-30 23:00:00'",
		"SELECT count(*) FROM events WHERE timestamp >= '2025-07-01' AND timestamp < TIMESTAMPTZ '2025-07-01 03:00:00+02'",
		"SELECT CAST(timestamp AS TIMESTAMP), CAST(timestamp AS VARCHAR) FROM events WHERE edge",
		"SELECT date_trunc('day', timestamp, 'America/New_York'), timestamp AT TIME ZONE 'Asia/Kathmandu' FROM events WHERE edge",
		"SELECT time_bucket(INTERVAL '1 day', timestamp), count(*) FROM events GROUP BY 1",
	}
	want := map[string][]string{}
	defer func(local *time.Location) { time.Local = local }(time.Local)
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Kathmandu"} {
		local, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = local
		t.Setenv("TZ", zone)
		for _, text := range texts {
			got := s.rows(text)
			if want[text] == nil {
				want[text] = got
			}
			if !same(got, want[text]) || len(got) == 0 {
				t.Errorf("%s in %s: %q, in UTC %q", text, zone, got, want[text])
			}
		}
		ids := func(from, to event.Timestamp) (list []string) {
			a := s.rows(fmt.Sprintf("SELECT id FROM events WHERE edge AND timestamp >= %s AND timestamp < %s ORDER BY timestamp", instant(from), instant(to)))
			b, _, err := s.ask(s.node, query.Request{SQL: "SELECT id FROM events WHERE edge ORDER BY timestamp", From: &from, To: &to})
			c := s.rows(fmt.Sprintf("SELECT id FROM events WHERE edge AND NOT (timestamp < %s) AND NOT timestamp >= %s ORDER BY timestamp", instant(from), instant(to)))
			if err != nil || !slices.Equal(a, b) || !slices.Equal(a, c) {
				t.Errorf("[%s, %s): %q by SQL, %q by the request, %q; %v", from, to, a, b, c, err)
			}
			return a
		}
		for from := range 4 {
			for to := range 4 {
				var right []string
				for i := from; i < to; i++ {
					right = append(right, fmt.Sprintf("edge%d", i))
				}
				if got := ids(edge-1+event.Timestamp(from), edge-1+event.Timestamp(to)); !slices.Equal(got, right) {
					t.Errorf("%s: from %d to %d: %q, want %q", zone, from, to, got, right)
				}
			}
		}
	}
}

// TestFault_nan: JSON has no NaN, so it arises in queries; both zeros are stored, and are equal.
func TestFault_nan(t *testing.T) {
	s := newStage(t, 1, nil)
	n := 0
	commit := func(values ...string) { // one file
		var rows []queryset.Row
		for _, v := range values {
			rows = append(rows, queryset.Row{Tenant: "acme", Timestamp: event.Timestamp(queryset.Begin.UnixNano() + int64(n)*1e9), ID: fmt.Sprintf("%02d", n), Payload: v})
			n++
		}
		s.put(rows...)
	}
	commit(`{"z":0.5}`)                                           // 00
	commit(`{"z":0.0}`)                                           // 01
	commit(`{"z":-0.0}`)                                          // 02
	commit(`{"z":-0.0}`, `{"z":0.0}`)                             // 03 04
	commit(`{"z":1e308}`, `{"z":-1e308}`, `{}`, `{"z":5e-324}`)   // 05 06 07 08
	commit(`{"y":1}`, `{"z":null}`)                               // 09 10
	commit(`{"z":-1.5}`, `{"z":0.0}`, `{"z":"nan"}`, `{"z":"x"}`) // 11 12 13 14
	nan, inf, neg := "CAST('nan' AS DOUBLE)", "CAST('inf' AS DOUBLE)", "CAST('-inf' AS DOUBLE)"
	for condition, want := range map[string]string{
		"z = 0": "01 02 03 04 12", "z = -0.0": "01 02 03 04 12", "z < 0": "06 11", "z < -0.0": "06 11", "z <= -0.0": "01 02 03 04 06 11 12",
		"z > 0": "00 05 08", "z >= 0.0": "00 01 02 03 04 05 08 12", "z != 0": "00 05 06 08 11", "z IN (0, 7)": "01 02 03 04 12", "z NOT IN (0, 7)": "00 05 06 08 11",
		"z BETWEEN -0.0 AND 0.0": "01 02 03 04 12",
		// NaN is equal to itself and above all else.
		"z = " + nan: "", "z < " + nan: "00 01 02 03 04 05 06 08 11 12", "z > " + nan: "", "z != " + nan: "00 01 02 03 04 05 06 08 11 12",
		"z < " + inf: "00 01 02 03 04 05 06 08 11 12", "z > " + neg: "00 01 02 03 04 05 06 08 11 12", "z <= " + neg: "",
		"z / 0 = " + nan: "01 02 03 04 12", "z / 0 > 1e308": "00 01 02 03 04 05 08 12", "z / 0 = " + inf: "00 05 08", "z / 0 = " + neg: "06 11",
		"z / 0 != z / 0": "", "z / 0 IS NULL": "07 09 10 13 14", "z / 0 >= " + nan: "01 02 03 04 12",
		`TRY_CAST("z@string" AS DOUBLE) = ` + nan: "13", `TRY_CAST("z@string" AS DOUBLE) > 1`: "13",
		"z * 10 > 1e308": "05", "y IS NULL OR z IS NULL": "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14",
	} {
		text := "SELECT id FROM events WHERE " + condition + " ORDER BY id"
		options := map[string]scan.Options{"as it is": {}}
		for name, o := range ways {
			options[name] = o
		}
		for name, o := range options {
			got, _, err := s.ask(s.node, query.Request{SQL: text, Options: o})
			if err != nil && strings.Contains(condition, "* 10") && fail.CodeOf(err) == fail.OutOfRange {
				continue // overflow of a double is an error in DuckDB, too
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s, %s: %q, want %q; %v", condition, name, strings.Join(got, " "), want, err)
			}
		}
	}
	if got := s.rows("SELECT count(DISTINCT z / 0), max(z / 0), min(z / 0), count(*) FILTER (WHERE isnan(z / 0)) FROM events"); got[0] != "3\tnan\t-inf\t5" {
		t.Errorf("%q", got)
	}
	if got := s.rows("SELECT z + 0.0, count(*) FROM events WHERE z = 0 GROUP BY 1"); len(got) != 1 {
		t.Errorf("the two zeros are %d groups: %q", len(got), got)
	}
}

// TestFault_many_columns_queries: a field of its own in every event. What the tenant's list does not hold is still to be had; a
// neighbour's columns are as ever.
func TestFault_many_columns_queries(t *testing.T) {
	s := newStage(t, 2, nil)
	var err error
	if s.set, err = queryset.New(t.Context(), objstore.NewMemory(), queryset.Config{Shards: 2, Spread: 2, MaxColumns: 12}); err != nil {
		t.Fatal(err)
	}
	cfg := query.DefaultConfig()
	cfg.MaxAge = 1
	s.node, err = query.Open(cfg, query.Parts{
		Store: s.set.Store, Meta: s.set.Meta, Placements: s.set.Placements, Logger: quiet, Columns: fragment.NewRegistry(s.set.Store, fragment.RegistryConfig{MaxColumns: 12}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.node.Close)
	field := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i*7919, i) }
	for part := range 4 {
		var rows []queryset.Row
		for i := part * 10; i < part*10+10; i++ {
			at := event.Timestamp(queryset.Begin.UnixNano() + int64(i)*1e9)
			rows = append(rows,
				queryset.Row{Tenant: "acme", Timestamp: at, ID: fmt.Sprintf("a%02d", i), Payload: fmt.Sprintf(`{"service":"s","%s":%d}`, field(i), i)},
				queryset.Row{Tenant: "calm", Timestamp: at, ID: fmt.Sprintf("c%02d", i), Payload: fmt.Sprintf(`{"service":"s","n":%d}`, i)})
		}
		s.put(rows...)
	}
	if got := s.rows("SELECT count(*), count(service), count(_rest) FROM events"); got[0] != "40\t40\t29" {
		t.Errorf("%q", got)
	}
	if got := s.rows(fmt.Sprintf(`SELECT id, "%s" FROM events WHERE "%s" IS NOT NULL`, field(3), field(3))); len(got) != 1 || got[0] != "a03\t3" {
		t.Errorf("a field with a column: %q", got)
	}
	if got := s.rows(fmt.Sprintf(`SELECT id, json_extract_string(_rest, '$."%s"') FROM events WHERE json_extract(_rest, '$."%s"') IS NOT NULL`, field(33), field(33))); len(got) != 1 || got[0] != "a33\t33" {
		t.Errorf("a field without a column, by _rest: %q", got)
	}
	if got := s.rows(fmt.Sprintf(`SELECT id FROM events WHERE json_extract_string(_event, '$."%s"') = '33'`, field(33))); len(got) != 1 || got[0] != "a33" {
		t.Errorf("a field without a column, by _event: %q", got)
	}
	_, _, err = s.ask(s.node, query.Request{SQL: fmt.Sprintf(`SELECT "%s" FROM events`, field(33))})
	if fail.CodeOf(err) != fail.UnknownColumn || !strings.Contains(err.Error(), "_rest") {
		t.Errorf("a field without a column, by its name: %v", err)
	}
	got, _, err := s.ask(s.node, query.Request{Tenant: "calm", SQL: "SELECT count(n), count(_rest), sum(n) FROM events"})
	if err != nil || got[0] != "40\t0\t780" {
		t.Errorf("the neighbour: %q, %v", got, err)
	}
}

// TestFault_reshard_queries: a tenant goes from four shards to six in mid-stream. Queries of the time before, of the time after and
// of both hold each event once; a snapshot of before stays what it was.
func TestFault_reshard_queries(t *testing.T) {
	s := newStage(t, 6, nil)
	var edge event.Timestamp
	for _, shards := range []placements.Shards{{0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}} {
		if _, err := s.set.Placements.Propose(t.Context(), placements.SetTenant("moved", shards, nil)); err != nil {
			t.Fatal(err)
		}
		edge = s.set.Placements.Current().Horizon()
		if _, err := s.set.Placements.Extend(t.Context(), edge+60e9); err != nil {
			t.Fatal(err)
		}
		var rows []queryset.Row
		for i := range 100 {
			at := edge + event.Timestamp(i)*5e8
			rows = append(rows, queryset.Row{Tenant: "moved", Timestamp: at, ID: fmt.Sprintf("%d-%d", len(shards), i), Payload: fmt.Sprintf(`{"shards":%d}`, len(shards))})
		}
		s.put(rows...)
	}
	node := s.open(s.store, nil)
	ask := func(where, token string) (string, *query.Summary) {
		t.Helper()
		got, sum, err := s.ask(node, query.Request{Tenant: "moved", SQL: "SELECT count(*), count(DISTINCT id), min(shards), max(shards) FROM events " + where, Snapshot: token})
		if err != nil {
			t.Fatal(err)
		}
		return got[0], sum
	}
	before, after := "WHERE timestamp < "+instant(edge), "WHERE timestamp >= "+instant(edge)
	for where, want := range map[string]string{"": "200\t200\t4\t6", before: "100\t100\t4\t4", after: "100\t100\t6\t6"} {
		if got, _ := ask(where, ""); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
	_, sum := ask("", "")
	if len(sum.Positions) != 6 {
		t.Errorf("%d shards", len(sum.Positions))
	}
	s.put(queryset.Row{Tenant: "moved", Timestamp: edge - 1e9, ID: "late", Payload: `{"shards":4}`}, queryset.Row{Tenant: "moved", Timestamp: edge + 1e9, ID: "new", Payload: `{"shards":6}`})
	if got, _ := ask("", ""); got != "202\t202\t4\t6" {
		t.Errorf("a late and a new one: %q", got)
	}
	if got, _ := ask("", sum.Snapshot); got != "200\t200\t4\t6" {
		t.Errorf("the snapshot: %q", got)
	}
}
