package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// queryStore is a store with two tenants, in a folder.
func queryStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	store, err := objstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	set, err := queryset.New(t.Context(), store, queryset.Config{Shards: 2, Spread: 2})
	if err != nil {
		t.Fatal(err)
	}
	at := event.Timestamp(time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC).UnixNano())
	if err := set.Commit(t.Context(),
		queryset.Row{Tenant: "acme", Timestamp: at, ID: "a1", Payload: `{"service":"api","status":200}`},
		queryset.Row{Tenant: "acme", Timestamp: at + 1e9, ID: "a2", Payload: `{"service":"日本","status":500}`},
		queryset.Row{Tenant: "acme", Timestamp: at + 2e9, ID: "a3", Payload: `{"service":"\u001b[2J","note":"x"}`},
		queryset.Row{Tenant: "globex", Timestamp: at, ID: "g1", Payload: `{"service":"secret"}`},
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestQueryOfAStore(t *testing.T) {
	a := &app{cli: &cli{}, log: quiet, ctx: t.Context()}
	dir := queryStore(t)
	file := filepath.Join(t.TempDir(), "q.sql")
	if err := os.WriteFile(file, []byte("-- all\nselect count(*) as n\nfrom events\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = "select service, status, id from events order by id"
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		// command() makes one space of many.
		"table":   {[]string{all}, "service status id\n------- ------ --\napi 200 a1\n日本 500 a2\n\\x1b[2J NULL a3\n(3 rows)\n"},
		"csv":     {[]string{all, "--format=csv"}, "service,status,id\napi,200,a1\n日本,500,a2\n\x1b[2J,,a3\n"},
		"ndjson":  {[]string{all, "--format=ndjson", "--limit=1"}, "{\"service\":\"api\",\"status\":200,\"id\":\"a1\"}\n"},
		"file":    {[]string{"--file=" + file}, "n\n-\n3\n(1 row)\n"},
		"a span":  {[]string{"select id from events", "--from=2026-11-02T10:00:01Z", "--to=2026-11-02T10:00:02Z", "--format=csv"}, "id\na2\n"},
		"nothing": {[]string{"select id from events where status = 1"}, "id\n--\n(0 rows)\n"},
	} {
		got, err := command(t, a, append([]string{"--set", "store.dir=" + dir, "query", "--tenant=acme"}, tc.args...)...)
		if err != nil || got != tc.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"mistake":  {[]string{"select\n  nosuch\nfrom events"}, "line 2, column 3: there is no column \"nosuch\""},
		"two":      {[]string{"select 1", "--file=" + file}, "not both"},
		"limit":    {[]string{"select 1", "--limit=-1"}, "negative"},
		"snapshot": {[]string{"select 1 from events", "--snapshot=x"}, "snapshot"},
		"format":   {[]string{"select 1", "--format=xml"}, "xml"},
	} {
		if got, err := command(t, a, append([]string{"--set", "store.dir=" + dir, "query", "--tenant=acme"}, tc.args...)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := command(t, a, "--set", "store.dir="+dir, "query", "--tenant=a/b", "select 1"); err == nil {
		t.Error("a bad tenant is taken")
	}
}

// TestQueryOfAServer: the role answers as the store does, for the token's tenant.
func TestQueryOfAServer(t *testing.T) {
	store, err := objstore.OpenDir(queryStore(t))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.HTTP.Tokens = access.Tokens{
		"hush": {Tenants: []string{"acme"}, Roles: []access.Role{access.Query}},
		"root": {Tenants: []string{"*"}, Roles: []access.Role{access.Operator}},
	}
	c.Query.Engine.MaxTime = time.Minute
	p := newProcess(c, readOnly{store}, quiet)
	if err := p.start(t.Context(), []string{roleQuery}); err != nil { // without Kafka
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	mux := handler(c, p.reg, p.roles)
	if err := p.startQuery(mux); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	a := &app{cli: &cli{}, log: quiet, ctx: t.Context()}
	ask := func(tenant, token, sql string) (string, error) {
		return command(t, a, "query", "--tenant="+tenant, "--server="+s.URL, "--token="+token, "--format=csv", sql)
	}
	if got, err := ask("acme", "hush", "select service from events order by id limit 1"); err != nil || got != "service\napi\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask("globex", "hush", "select service from events"); err == nil || !strings.Contains(err.Error(), "may not see such a tenant") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask("acme", "hush", "select nosuch from events"); err == nil || !strings.Contains(err.Error(), "\n         ^") {
		t.Errorf("%q, %v", got, err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/tenants", nil)
	r.Header.Set("Authorization", "Bearer root")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	if text := w.Body.String(); !strings.Contains(text, `"tenant": "acme"`) || !strings.Contains(text, `"rows": 3`) || !strings.Contains(text, `"last": "2026-11-02T10:00:02Z"`) || !strings.Contains(text, "globex") {
		t.Errorf("tenants: %s", text)
	}
	if code, text := get(t, mux, "/status"); code != 200 || !strings.Contains(text, `"running": 0`) {
		t.Errorf("status: %s", text)
	}
	if code, text := get(t, mux, "/metrics"); code != 200 || !strings.Contains(text, `togo_query_requests_total{code="ok",route="query"} 1`) {
		t.Errorf("metrics: %d %s", code, text)
	}
}

// readOnly is a store that may only be read.
type readOnly struct{ objstore.Store }

var errReadOnly = errors.New("this store may only be read")

func (readOnly) Put(context.Context, string, []byte) error         { return errReadOnly }
func (readOnly) PutIfAbsent(context.Context, string, []byte) error { return errReadOnly }
func (readOnly) Delete(context.Context, ...string) error           { return errReadOnly }

func TestTable(t *testing.T) {
	var out strings.Builder
	w := &table{out: &out, cut: 8}
	batch := &vec.Batch{Len: 3, Cols: []*vec.Vector{
		{Type: vec.Text, Len: 3, Texts: []string{"ab", "日本\n", "e\u0301\u202ex"}},
		{Type: vec.Double, Len: 3, Doubles: []float64{1, -2.5, 0}, Nulls: []bool{false, false, true}},
		{Type: vec.Text, Len: 3, Texts: []string{"123456789", "12345678", ""}},
	}}
	if err := errors.Join(w.Columns([]exec.Output{{Name: "t", Type: vec.Text}, {Name: "num\x00", Type: vec.Double}, {Name: "long", Type: vec.Text}}), w.Batch(batch), w.End(nil, format.Statistics{})); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`t         num\x00  long`,
		`--------  -------  --------`,
		`ab              1  1234567…`,
		`日本\n       -2.5  12345678`,
		"e\u0301\\u202ex     NULL",
		`(3 rows)`, ``,
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestLocated(t *testing.T) {
	e := &fail.Error{Code: fail.Syntax, Message: "no", Line: 2, Column: 4}
	for sql, want := range map[string]string{
		"a\n\tb日c": "line 2, column 4: no\n  \\tb日c\n       ^",
		"a\nb":     "line 2, column 4: no\n  b\n   ^",
		"a":        "line 2, column 4: no",
	} {
		if got := located(sql, e); got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
	if got := located("a", errors.New("no")); got != "no" {
		t.Error(got)
	}
}

func TestProgress(t *testing.T) {
	s := &scan.Stats{}
	if got := progressLine(1500*time.Millisecond, s); got != "1.5 s" {
		t.Error(got)
	}
	s.Fragments.Store(10)
	s.PrunedByTime.Store(3)
	s.Read.Store(2)
	s.Rows.Store(77)
	s.StoreBytes.Store(1_500_000)
	if got := progressLine(0, s); got != "0.0 s  5 of 10 files  77 rows  1.5 MB" {
		t.Error(got)
	}
	p := startProgress(nil, s)
	p.stop()
	p.stop()
}

// TestAQueryIsInterrupted by the context of the program.
func TestAQueryIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app{cli: &cli{}, log: quiet, ctx: ctx}
	if _, err := command(t, a, "--set", "store.dir="+queryStore(t), "query", "--tenant=acme", "select count(*) from events where status > 1"); err == nil {
		t.Error("it went on")
	}
}
