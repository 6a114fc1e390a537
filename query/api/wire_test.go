package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/vec"
)

// wire sends bytes and takes all that comes until the connection ends.
func wire(t *testing.T, s *httptest.Server, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, request)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestHTTP10NeverGetsHalfAnAnswer: it has no end that tells a whole answer from one that broke off.
func TestHTTP10NeverGetsHalfAnAnswer(t *testing.T) {
	slow := func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		if err := out.Columns([]exec.Output{{Name: "n", Type: vec.Int}}); err != nil {
			return nil, err
		}
		s := (*reply)(out.(*sink))
		s.flushed = s.flushed.Add(-2 * flushAfter)
		return summary(1), out.Batch(&vec.Batch{Len: 1, Cols: []*vec.Vector{vec.Constant(vec.Int, vec.Value{Type: vec.Int, Int: 8}, 1)}})
	}
	for name, tc := range map[string]struct {
		engine       *engine
		status, want string
	}{
		"short": {&engine{answer: rows(3)}, "200 OK", "n\n0\n1\n2\n"},
		"slow":  {&engine{answer: slow}, "200 OK", "n\n8\n"},
		"long":  {&engine{answer: rows(300_000)}, "400 Bad Request", "HTTP/1.0"},
	} {
		got := wire(t, serverOf(t, tc.engine, nil), "GET /v1/query?sql=x&format=csv HTTP/1.0\r\nX-Scope-OrgID: shop\r\n\r\n")
		header, body, _ := strings.Cut(got, "\r\n\r\n")
		if !strings.HasPrefix(header, "HTTP/1.0 "+tc.status) || !strings.Contains(body, tc.want) || !strings.Contains(header, fmt.Sprint("Content-Length: ", len(body))) {
			t.Errorf("%s: %.300q", name, got)
		}
	}
}

// TestAPostWithoutABody takes its SQL from the URL, and its query may take longer than a body.
func TestAPostWithoutABody(t *testing.T) {
	const timeout = 50 * time.Millisecond
	e := &engine{answer: func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * timeout):
			return rows(1)(ctx, r, out)
		}
	}}
	s := serverOf(t, e, func(c *Config, _ *Deps) { c.SendTimeout = timeout })
	got := wire(t, s, "POST /v1/query?sql=x&format=csv HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: shop\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.HasSuffix(got, "n\n0\n") {
		t.Errorf("got %q", got)
	}
}
