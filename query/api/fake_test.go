package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// engine stands for query.Engine: it remembers what it was asked, and answers as it is told.
type engine struct {
	answer func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error)

	mu     sync.Mutex
	asked  []query.Request // guarded by mu
	schema []string        // guarded by mu
}

func (e *engine) Query(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	e.mu.Unlock()
	if e.answer != nil {
		return e.answer(ctx, r, out)
	}
	return rows(1)(ctx, r, out)
}

func (e *engine) Schema(_ context.Context, tenant event.TenantID, table string, from, to *event.Timestamp) (*query.Schema, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := string(tenant) + " " + table
	for _, t := range []*event.Timestamp{from, to} {
		if t != nil {
			text += " " + t.String()
		}
	}
	e.schema = append(e.schema, text)
	return &query.Schema{Table: table, Columns: []query.SchemaColumn{{Name: "status", Type: "BIGINT", Path: "status", Examples: []string{"200"}}}, Snapshot: "s1"}, nil
}

// last is the newest request.
func (e *engine) last(t *testing.T) query.Request {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.asked) == 0 {
		t.Fatal("nothing was asked")
	}
	return e.asked[len(e.asked)-1]
}

func (e *engine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked) + len(e.schema)
}

func summary(n int64) *query.Summary {
	stats := &scan.Stats{}
	stats.StoreBytes.Store(1234)
	stats.Rows.Store(99)
	return &query.Summary{Rows: n, Snapshot: "s1", Stats: stats, Elapsed: time.Millisecond, Positions: []query.Position{{Shard: 2, Position: 7}}}
}

// rows answers with n rows of one number, a thousand in a batch.
func rows(n int) func(context.Context, query.Request, query.Sink) (*query.Summary, error) {
	return func(_ context.Context, _ query.Request, out query.Sink) (*query.Summary, error) {
		if err := out.Columns([]exec.Output{{Name: "n", Type: vec.Int}}); err != nil {
			return nil, err
		}
		for from := 0; from < n; from += 1000 {
			v := &vec.Vector{Type: vec.Int}
			for i := from; i < min(n, from+1000); i++ {
				v.Ints = append(v.Ints, int64(i))
			}
			v.Len = len(v.Ints)
			if err := out.Batch(&vec.Batch{Len: v.Len, Cols: []*vec.Vector{v}}); err != nil {
				return nil, err
			}
		}
		return summary(int64(n)), nil
	}
}

// fails answers with rows and then an error.
func fails(n int, err error) func(context.Context, query.Request, query.Sink) (*query.Summary, error) {
	return func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		if n > 0 {
			if s, err := rows(n)(ctx, r, out); err != nil {
				return s, err
			}
		}
		return summary(int64(n)), err
	}
}

var tokens = access.Tokens{
	"of-shop":  {Tenants: []string{"shop"}, Roles: []access.Role{access.Ingest, access.Query}},
	"of-bank":  {Tenants: []string{"bank"}, Roles: []access.Role{access.Query}},
	"of-two":   {Tenants: []string{"shop", "mill"}, Roles: []access.Role{access.Query, access.Operator}},
	"writer":   {Tenants: []string{"shop"}, Roles: []access.Role{access.Ingest}},
	"operator": {Tenants: []string{"*"}, Roles: []access.Role{access.Query, access.Operator}},
}

func serverOf(t *testing.T, e query.Answerer, change func(*Config, *Deps)) *httptest.Server {
	t.Helper()
	cfg := DefaultConfig()
	deps := Deps{
		Engine: e, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Tenants: func(context.Context) ([]Tenant, error) {
			return []Tenant{{Tenant: "shop", Rows: 3}, {Tenant: "bank", Rows: 4}, {Tenant: "mill", Rows: 5}}, nil
		},
	}
	if change != nil {
		change(&cfg, &deps)
	}
	h, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	h.Register(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// call sends a request; headers are "Name: value".
func call(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, "<broken off>"...)
	}
	return resp, string(text)
}

const shop = "X-Scope-OrgID: shop"
