package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/queryset"
)

// realServer serves a realNode to those who have a token.
func realServer(t *testing.T, rows int, change func(*query.Config)) *httptest.Server {
	t.Helper()
	return serverOf(t, realNode(t, rows, change), func(_ *Config, d *Deps) { d.Tokens = tokens })
}

// realNode is an engine over a store with two tenants: shop's rows say "mine", bank's say "theirs".
func realNode(t *testing.T, rows int, change func(*query.Config)) *query.Node {
	t.Helper()
	set, err := queryset.New(t.Context(), objstore.NewMemory(), queryset.Config{Shards: 2, Spread: 2})
	if err != nil {
		t.Fatal(err)
	}
	var all []queryset.Row
	for i := range rows {
		at := event.Timestamp(queryset.Begin.Add(time.Duration(i) * time.Second).UnixNano())
		all = append(all, queryset.Row{Tenant: "shop", Timestamp: at, ID: fmt.Sprintf("mine-%06d", i), Payload: fmt.Sprintf(`{"text":"mine %d","n":%d}`, i, i)})
	}
	for i := range 20 {
		at := event.Timestamp(queryset.Begin.Add(time.Duration(i) * time.Second).UnixNano())
		all = append(all, queryset.Row{Tenant: "bank", Timestamp: at, ID: fmt.Sprintf("theirs-%d", i), Payload: fmt.Sprintf(`{"text":"theirs %d","n":-1,"theirs_alone":true}`, i)})
	}
	all = append(all, queryset.Row{Tenant: "bank", Timestamp: event.Timestamp(queryset.Begin.UnixNano()), ID: "letter", Payload: "theirs", Reason: event.ReasonBadTenant})
	if err := set.Commit(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	cfg := query.DefaultConfig()
	cfg.Workers = 2
	if change != nil {
		change(&cfg)
	}
	node, err := query.Open(cfg, query.Parts{Store: set.Store, Meta: set.Meta, Placements: set.Placements})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node
}

// ask sends SQL for shop.
func ask(t *testing.T, s *httptest.Server, sql string, params ...string) (*http.Response, string) {
	t.Helper()
	return call(t, s, http.MethodPost, "/v1/query?format=ndjson&"+strings.Join(params, "&"), sql, "Authorization: Bearer of-shop")
}

// TestFault_cross_tenant_sql: SQL of shop tries to reach bank's rows, files or columns, or the machine. It is refused, or it sees
// shop's rows alone.
func TestFault_cross_tenant_sql(t *testing.T) {
	s := realServer(t, 50, nil)
	foreign := snapshotOf(t, s, "of-bank")
	tries := []string{
		`select * from bank.events`, `select * from "bank".events`, `select * from "bank/events"`, `select * from bank`, `select * from "bank"`, `select * from "../bank/events"`,
		`select * from 'data/bank/1.parquet'`, `select * from "data/bank"`, `select * from read_parquet('data/bank/*.parquet')`, `select * from parquet_scan('data/**')`, `select * from read_csv('/etc/passwd')`,
		`select * from '/etc/passwd'`, `select * from glob('*')`, `select * from read_text('/proc/self/environ')`, `select * from read_json_auto('togo.json')`, `select * from query('select 1')`, `select * from query_table('bank')`,
		`select * from "s3://bucket/data/bank"`, `select * from read_parquet('https://example.org/x')`, `select read_text('togo.json')`, `select getenv('HOME')`, `select current_setting('http.tokens')`, `select pg_read_file('/etc/passwd')`,
		`select * from information_schema.tables`, `select * from pg_catalog.pg_tables`, `select * from duckdb_tables()`, `select * from sqlite_master`, `show tables`, `describe events`, `pragma database_list`,
		`attach 'x' as bank`, `copy events to '/tmp/x'`, `copy (select 1) to 's3://x'`, `install httpfs`, `load httpfs`, `set tenant = 'bank'`, `set search_path = bank`, `use bank`, `call x()`, `checkpoint`, `vacuum`, `explain analyze delete from events`,
		`insert into events values (1)`, `update events set n = 1`, `delete from events`, `drop table events`, `create table x as select 1`, `create view v as select * from bank.events`, `alter table events rename to x`, `truncate events`, `grant all on events to shop`,
		`select * from events union all select * from bank.events`, `select * from events union select * from events`, `select * from events, bank.events`, `select * from events join bank.events using (id)`, `select * from events e join events f on true`, `select * from (select * from bank.events)`,
		`select (select max(text) from bank.events)`, `with bank as (select * from events) select * from bank`, `select * from events where id in (select id from bank.events)`, `select exists (select 1 from bank.events)`, `select * from events, lateral (select * from bank.events) b`, `values (1)`, `table events`, `from events`, `from bank.events select *`,
		`select 1; select * from bank.events`, `select * from events; drop table events`, `select 1;; select 2`, "select * from events --\n; select * from bank.events", `select * from events /* ; */ ; select 1`, `select /*! * from bank.events */ 1; select 2`,
		`select * from events where tenant = 'bank'`, `select tenant from events`, `select _tenant from events`, `select "X-Scope-OrgID" from events`, `select theirs_alone from events`, `select current_user`, `select version()`, `select * from events for update`, `select * from events at (version => 1)`, `select * from events tablesample 10%`,
		`prepare x as select 1`, `execute x`, `select $1`, `select ?`, `select @@version`, `select * from events@bank`, `select * from events."bank"`, `select bank.text from events`, `select bank.* from events`, `select * from events bank, bank.events`, `select nextval('x')`, `select pg_sleep(10)`, `select dblink('x')`, `select xp_cmdshell('x')`, `select load_extension('x')`,
		// These are queries of one's own rows, whatever they look like.
		`select * from events where text = 'theirs 1' or 1 = 1`, `select * from events where text like '%theirs%'`, `select bank.text from events as bank`, `select * from events bank where bank.n = -1`, `select '../bank' || text from events`, `select * from dead_letters`, `select count(*) from dead_letters`, `select min(n), max(text) from events`,
		`select * from events where _event like '%theirs%'`, `select _raw, _rest from events`, `select distinct n from events order by n limit 3`, `explain select * from events`, `explain analyze select * from events where n < 0`,
	}
	if len(tries) < 60 {
		t.Fatalf("only %d tries", len(tries))
	}
	refused := 0
	for _, sql := range tries {
		resp, text := ask(t, s, sql)
		if resp.StatusCode != 200 {
			refused++
		}
		if resp.StatusCode != 200 && resp.StatusCode != 400 || leaks(sql, text) {
			t.Errorf("%s: %d %.500s", sql, resp.StatusCode, text)
		}
	}
	if refused < 90 || refused == len(tries) {
		t.Errorf("%d of %d were refused", refused, len(tries))
	}
	for name, snapshot := range map[string]string{
		"another tenant's": foreign, "its begin": foreign[:len(foreign)/2], "with something behind": foreign + "AA", "a path": "../bank", "empty bytes": "AAAA", "text": "bank", "long": strings.Repeat("A", 10_000),
	} {
		resp, text := ask(t, s, "select * from events", "snapshot="+url.QueryEscape(snapshot))
		if resp.StatusCode < 400 || resp.StatusCode >= 500 || leaks("", text) {
			t.Errorf("the snapshot of %s: %d %.300s", name, resp.StatusCode, text)
		}
	}
	if resp, text := call(t, s, "GET", "/v1/schema", "", "Authorization: Bearer of-shop"); resp.StatusCode != 200 || leaks("", text) || !strings.Contains(text, `"text"`) {
		t.Errorf("schema: %d %s", resp.StatusCode, text)
	}
}

// leaks tells whether an answer holds what is bank's, or where things lie, beyond what the query itself said.
func leaks(sql, answer string) bool {
	for _, word := range []string{"theirs", "bank", "data/", "shards/", ".parquet", "togo.json", "letter\""} {
		if strings.Contains(answer, word) && !strings.Contains(sql, word) {
			return true
		}
	}
	return strings.Contains(answer, `"n":-1`) || strings.Contains(answer, "theirs-")
}

func snapshotOf(t *testing.T, s *httptest.Server, token string) string {
	t.Helper()
	resp, text := call(t, s, "GET", "/v1/query?sql=select+count(*)+from+events", "", "Authorization: Bearer "+token)
	if resp.StatusCode != 200 || !strings.Contains(text, "[20]") {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	return resp.Header.Get("Togo-Snapshot")
}

// TestHostileQueries end with an error that names the limit, soon, and hurt nothing else.
func TestHostileQueries(t *testing.T) {
	s := realServer(t, 20_000, func(c *query.Config) {
		c.MaxMemory, c.MaxText, c.MaxRows, c.MaxTime = 1<<20, 1<<20, 30_000, 30*time.Second
	})
	long := strings.Repeat("x", 300<<10)
	for name, tc := range map[string]struct {
		sql  string
		want string // codes
	}{
		"huge text":               {`select repeat('x', 2000000000)`, "too_large invalid_value out_of_range"},
		"huge text by row":        {`select max(repeat(text, 1000000)) from events`, "too_large invalid_value out_of_range"},
		"texts that grow":         {`select repeat(repeat(repeat(repeat(text, 100), 100), 100), 100) from events`, "too_large invalid_value out_of_range"},
		"padding":                 {`select lpad(text, 2000000000, 'x') from events`, "too_large invalid_value out_of_range"},
		"as many groups as rows":  {`select id, text, count(*) from events group by id, text`, "too_large"},
		"distinct ids":            {`select count(distinct id), count(distinct text) from events`, "too_large"},
		"distinct rows":           {`select distinct id, text from events`, "too_large"},
		"everything sorted":       {`select id, text from events order by text desc, id`, "too_large"},
		"all texts in one":        {`select string_agg(repeat(text, 100), ',') from events`, "too_large"},
		"deep parentheses":        {`select ` + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), "syntax too_large"},
		"deep functions":          {`select ` + strings.Repeat("lower(", 5000) + "'a'" + strings.Repeat(")", 5000), "syntax too_large"},
		"deep NOT":                {`select ` + strings.Repeat("not ", 50_000) + "true", "syntax too_large"},
		"deep minus":              {`select ` + strings.Repeat("- ", 100_000) + "1", "syntax too_large"},
		"long sum":                {`select ` + strings.Repeat("1+", 100_000) + "1", "syntax too_large"},
		"long list":               {`select * from events where n in (` + strings.Repeat("1,", 100_000) + "1)", "syntax too_large"},
		"long text":               {`select '` + long + `'`, "syntax too_large"},
		"long name":               {`select "` + long + `" from events`, "syntax too_large unknown_column"},
		"long pattern":            {`select * from events where regexp_matches(text, '` + strings.Repeat("(a|b)*", 2000) + `')`, "invalid_value too_large syntax"},
		"pattern that multiplies": {`select * from events where regexp_matches(text, '((((a{1000}){1000}){1000}){1000})')`, "invalid_value too_large syntax"},
		"overflow":                {`select sum(n * 9223372036854775807) from events`, "out_of_range"},
		"overflow of a constant":  {`select 9223372036854775807 + 1`, "out_of_range"},
		"a cast":                  {`select cast(text as bigint) from events`, "invalid_value"},
		"huge limit":              {`select id from events limit 99999999999999999999`, "syntax semantic type_mismatch invalid_value out_of_range"},
		"negative limit":          {`select id from events limit -1`, "syntax semantic type_mismatch invalid_value out_of_range"},
	} {
		start := time.Now()
		resp, text := ask(t, s, tc.sql)
		took := time.Since(start)
		code := ""
		for _, c := range strings.Fields(tc.want) {
			if strings.Contains(text, `{"error":{"code":"`+c+`"`) {
				code = c
			}
		}
		if code == "" || resp.StatusCode != 400 && resp.StatusCode != 413 || len(text) > 2000 || took > 20*time.Second {
			t.Errorf("%s: %d in %s: %.300s", name, resp.StatusCode, took, text)
		}
		if resp, text := ask(t, s, "select count(*) as n from events"); resp.StatusCode != 200 || text != "{\"n\":20000}\n" {
			t.Fatalf("after %s: %d %.300s", name, resp.StatusCode, text)
		}
	}
}

// TestRowsAndTimeAreBounded by limits that the errors name.
func TestRowsAndTimeAreBounded(t *testing.T) {
	s := realServer(t, 20_000, func(c *query.Config) { c.MaxRows = 1000 })
	if resp, text := ask(t, s, "select id from events"); resp.StatusCode != 413 || !strings.Contains(text, "max_rows") {
		t.Errorf("rows: %d %.300s", resp.StatusCode, text)
	}
	if resp, text := ask(t, s, "select id from events", "limit=1000"); resp.StatusCode != 200 || strings.Count(text, "\n") != 1000 || !strings.Contains(resp.Header.Get("Togo-Statistics"), `"more":true`) {
		t.Errorf("a limit: %d %s", resp.StatusCode, resp.Header.Get("Togo-Statistics"))
	}
	s = realServer(t, 20_000, func(c *query.Config) { c.MaxTime = time.Nanosecond })
	if resp, text := ask(t, s, "select count(distinct text) from events"); resp.StatusCode != 504 || !strings.Contains(text, `"timeout"`) {
		t.Errorf("time: %d %.300s", resp.StatusCode, text)
	}
	s = realServer(t, 20_000, func(c *query.Config) { c.MaxScanBytes = 1000 })
	if resp, text := ask(t, s, "select count(distinct text) from events"); resp.StatusCode != 413 || !strings.Contains(text, "reads more than 1000 bytes") {
		t.Errorf("bytes: %d %.300s", resp.StatusCode, text)
	}
}
