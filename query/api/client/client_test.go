package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// engine gives Request.Limit rows of the request's text, then the error.
type engine struct{ err error }

func (e engine) Query(_ context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
	if err := out.Columns([]exec.Output{{Name: "t", Type: vec.Text}, {Name: "n", Type: vec.Int}}); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s|%s|%s|%s|%s", r.Tenant, r.SQL, r.Snapshot, r.From, r.To)
	for left := r.Limit; left > 0; left -= 1000 {
		n := int(min(left, 1000))
		cols := []*vec.Vector{vec.Constant(vec.Text, vec.Value{Type: vec.Text, Text: text}, n), vec.Constant(vec.Int, vec.Value{Type: vec.Int, Int: 1}, n)}
		if err := out.Batch(&vec.Batch{Len: n, Cols: cols}); err != nil {
			return nil, err
		}
	}
	stats := &scan.Stats{}
	stats.StoreBytes.Store(77)
	stats.RowGroups.Store(5)
	stats.RowGroupsPruned.Store(2)
	return &query.Summary{Rows: r.Limit, More: true, Snapshot: "s1", Stats: stats, Elapsed: 3 * time.Millisecond, Positions: []query.Position{{Shard: 1, Position: 2}}}, e.err
}

func (e engine) Schema(_ context.Context, tenant event.TenantID, table string, from, to *event.Timestamp) (*query.Schema, error) {
	return &query.Schema{Table: table, Columns: []query.SchemaColumn{{Name: fmt.Sprintf("%s|%s|%v", tenant, from, to == nil)}}}, e.err
}

func serve(t *testing.T, err error) *Client {
	t.Helper()
	h, newErr := api.New(api.DefaultConfig(), api.Deps{
		Engine: engine{err}, Logger: slog.New(slog.DiscardHandler),
		Tokens: access.Tokens{"hush": {Tenants: []string{"acme"}, Roles: []access.Role{access.Query}}},
	})
	if newErr != nil {
		t.Fatal(newErr)
	}
	mux := http.NewServeMux()
	h.Register(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, newErr := New(s.URL, "hush")
	if newErr != nil {
		t.Fatal(newErr)
	}
	return c
}

// sink counts rows and keeps the last text.
type sink struct {
	rows int64
	text string
	err  error
}

func (s *sink) Columns([]exec.Output) error { return nil }
func (s *sink) Batch(b *vec.Batch) error {
	s.rows += int64(b.Len)
	s.text = strings.Clone(b.Cols[0].At(0).Text)
	return s.err
}

func request(limit int64) query.Request {
	from, to := event.Timestamp(-1<<63), event.Timestamp(1_793_620_800_000_000_001)
	return query.Request{Tenant: "acme", SQL: "select 'ä'", Snapshot: "s0", From: &from, To: &to, Limit: limit}
}

func TestQuery(t *testing.T) {
	for _, limit := range []int64{1, 100_000} { // statistics in headers, and in trailers
		var got sink
		s, err := serve(t, nil).Query(t.Context(), request(limit), &got)
		if err != nil || got.rows != limit || got.text != "acme|select 'ä'|s0|1677-09-21T00:12:43.145224192Z|2026-11-02T12:00:00.000000001Z" {
			t.Fatalf("%d rows of %q, %v", got.rows, got.text, err)
		}
		if s.Rows != limit || !s.More || s.Snapshot != "s1" || s.Elapsed != 3*time.Millisecond || len(s.Positions) != 1 || s.Positions[0].Position != 2 ||
			s.Stats.StoreBytes.Load() != 77 || s.Stats.RowGroups.Load() != 5 || s.Stats.RowGroupsPruned.Load() != 2 {
			t.Errorf("got %+v", s)
		}
	}
}

// TestErrors come as the server has them, before and behind the first rows.
func TestErrors(t *testing.T) {
	want := &fail.Error{Code: fail.OutOfRange, Message: "too big", Line: 2, Column: 5}
	for _, limit := range []int64{1, 100_000} {
		_, err := serve(t, want).Query(t.Context(), request(limit), &sink{})
		var got *fail.Error
		if !errors.As(err, &got) || got.Code != want.Code || got.Error() != want.Error() {
			t.Errorf("behind %d rows: %v", limit, err)
		}
	}
	own := errors.New("the disk is full")
	if _, err := serve(t, nil).Query(t.Context(), request(1), &sink{err: own}); !errors.Is(err, own) {
		t.Errorf("the sink's error became %v", err)
	}
	c := serve(t, nil)
	c.token = "wrong"
	if _, err := c.Query(t.Context(), request(1), &sink{}); fail.CodeOf(err) != fail.Unauthorized {
		t.Errorf("a wrong token: %v", err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	c, _ = New(other.URL, "")
	if _, err := c.Query(t.Context(), request(1), &sink{}); err == nil || !strings.Contains(err.Error(), "404 Not Found") || !strings.Contains(err.Error(), "role query") {
		t.Errorf("another server: %v", err)
	}
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://"} {
		if _, err := New(bad, ""); err == nil {
			t.Errorf("%q is taken for a server", bad)
		}
	}
}

func TestSchema(t *testing.T) {
	from := event.Timestamp(5)
	s, err := serve(t, nil).Schema(t.Context(), "acme", "dead_letters", &from, nil)
	if err != nil || s.Table != "dead_letters" || len(s.Columns) != 1 || s.Columns[0].Name != "acme|1970-01-01T00:00:00.000000005Z|true" {
		t.Errorf("%+v, %v", s, err)
	}
}
