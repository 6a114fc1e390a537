package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

func stamp(t time.Time) *event.Timestamp {
	at := event.Timestamp(t.UnixNano())
	return &at
}

// TestWaysToAsk: each of them is the same request.
func TestWaysToAsk(t *testing.T) {
	noon := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	full := query.Request{Tenant: "shop", SQL: "select 'ä' --\n", From: stamp(noon), To: stamp(noon.Add(time.Nanosecond)), Snapshot: "s0", Limit: 5}
	params := url.Values{"sql": {full.SQL}, "from": {"2026-11-02T13:00:00+01:00"}, "to": {"2026-11-02T12:00:00.000000001Z"}, "snapshot": {"s0"}, "limit": {"5"}, "format": {"csv"}}
	others := url.Values{}
	for name, v := range params {
		if name != "sql" {
			others[name] = v
		}
	}
	object, _ := json.Marshal(map[string]any{"sql": full.SQL, "from": "2026-11-02T12:00:00Z", "to": params.Get("to"), "snapshot": "s0", "limit": 5, "format": "csv"})
	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		want               query.Request
	}{
		"text":                  {"POST", "/v1/query", "select 1", []string{"Content-Type: text/plain"}, query.Request{Tenant: "shop", SQL: "select 1"}},
		"no type":               {"POST", "/v1/query", "select 1", nil, query.Request{Tenant: "shop", SQL: "select 1"}},
		"as curl has it":        {"POST", "/v1/query", "select 1 = 1 & 2", []string{"Content-Type: application/x-www-form-urlencoded"}, query.Request{Tenant: "shop", SQL: "select 1 = 1 & 2"}},
		"text, rest in the URL": {"POST", "/v1/query?" + others.Encode(), full.SQL, nil, full},
		"form":                  {"POST", "/v1/query", params.Encode(), []string{"Content-Type: application/x-www-form-urlencoded"}, full},
		"object":                {"POST", "/v1/query", string(object), []string{"Content-Type: application/json; charset=utf-8"}, full},
		"object with nulls":     {"POST", "/v1/query", `{"sql":"select 1","from":null,"limit":null}`, []string{"Content-Type: application/json"}, query.Request{Tenant: "shop", SQL: "select 1"}},
		"milliseconds":          {"POST", "/v1/query", `{"sql":"x","from":1793620800000}`, []string{"Content-Type: application/json"}, query.Request{Tenant: "shop", SQL: "x", From: stamp(noon)}},
		"parameters":            {"GET", "/v1/query?" + params.Encode(), "", nil, full},
		"no time is no bound":   {"GET", "/v1/query?sql=x&from=&to=", "", nil, query.Request{Tenant: "shop", SQL: "x"}},
		"a day":                 {"GET", "/v1/query?sql=x&from=2026-11-02&to=2026-11-02T12:00:00", "", nil, query.Request{Tenant: "shop", SQL: "x", From: stamp(noon.Add(-12 * time.Hour)), To: stamp(noon)}},
	} {
		e := &engine{}
		resp, text := call(t, serverOf(t, e, nil), tc.method, tc.path, tc.body, append(tc.headers, shop)...)
		if resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
			continue
		}
		got, _ := json.Marshal(e.last(t))
		want, _ := json.Marshal(tc.want)
		if string(got) != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if tc.want.Limit > 0 && (resp.Header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || text != "n\n0\n") {
			t.Errorf("%s: %q as %s", name, text, resp.Header.Get("Content-Type"))
		}
	}
}

func TestRefused(t *testing.T) {
	object := "Content-Type: application/json"
	for name, tc := range map[string]struct {
		method, path, body string
		header             string
		status             int
		want               string
	}{
		"no sql":            {"POST", "/v1/query", " \n", "", 400, "there is no SQL"},
		"no body":           {"POST", "/v1/query", "", "", 400, "there is no SQL"},
		"no parameter":      {"GET", "/v1/query", "", "", 400, "there is no SQL"},
		"query for sql":     {"GET", "/v1/query?query=select+1", "", "", 400, "the text of the query is sql"},
		"unknown parameter": {"GET", "/v1/query?sql=x&form=csv", "", "", 400, "no parameter \\\"form\\\", but sql, from"},
		"twice":             {"GET", "/v1/query?sql=x&sql=y", "", "", 400, "sql stands more than once"},
		"URL and body":      {"POST", "/v1/query?sql=x", "y", "", 400, "sql stands in the URL and in the body"},
		"bad escape":        {"GET", "/v1/query?sql=%zz", "", "", 400, "cannot be read"},
		"semicolons":        {"GET", "/v1/query?sql=x;sql=y", "", "", 400, "cannot be read"},
		"time":              {"GET", "/v1/query?sql=x&from=noon", "", "", 400, "from: \\\"noon\\\" is no time"},
		"order":             {"GET", "/v1/query?sql=x&from=2026-01-02&to=2026-01-01", "", "", 400, "from is later than to"},
		"limit":             {"GET", "/v1/query?sql=x&limit=-1", "", "", 400, "no whole number above 0"},
		"limit of 0":        {"GET", "/v1/query?sql=x&limit=0", "", "", 400, "no whole number above 0"},
		"format":            {"GET", "/v1/query?sql=x&format=xml", "", "", 400, "no format \\\"xml\\\", but json, ndjson, csv, arrow"},
		"accept":            {"GET", "/v1/query?sql=x", "", "Accept: image/png", 400, "the header Accept names no format"},
		"no JSON":           {"POST", "/v1/query", "select 1", object, 400, "the body is no JSON"},
		"a list":            {"POST", "/v1/query", `["select 1"]`, object, 400, "no JSON object"},
		"cut off":           {"POST", "/v1/query", `{"sql":"select 1"`, object, 400, "no JSON"},
		"more behind":       {"POST", "/v1/query", `{"sql":"x"}{"sql":"y"}`, object, 400, "more behind"},
		"twice in JSON":     {"POST", "/v1/query", `{"sql":"x","sql":"y"}`, object, 400, "more than once"},
		"another case":      {"POST", "/v1/query", `{"SQL":"x"}`, object, 400, "no parameter"},
		"a number as sql":   {"POST", "/v1/query", `{"sql":1}`, object, 400, "sql is no text"},
		"an object as sql":  {"POST", "/v1/query", `{"sql":{"a":1}}`, object, 400, "neither a text nor a number"},
		"not UTF-8":         {"POST", "/v1/query", "select '\xff'", "", 400, "not UTF-8"},
		"not UTF-8 in JSON": {"POST", "/v1/query", "{\"sql\":\"\xff\"}", object, 400, "not UTF-8"},
		"packed":            {"POST", "/v1/query", "x", "Content-Encoding: gzip", 400, "send the body unpacked"},
		"a form of parts":   {"POST", "/v1/query", "x", "Content-Type: multipart/form-data; boundary=x", 400, "not as a form of parts"},
		"bad type":          {"POST", "/v1/query", "x", "Content-Type: ;", 400, "Content-Type"},
		"too large":         {"POST", "/v1/query", strings.Repeat("x", 1<<20+1), "", 413, "max_body_bytes"},
		"delete":            {"DELETE", "/v1/query", "", "", 405, "method"},
		"head":              {"HEAD", "/v1/query?sql=x", "", "", 405, ""},
		"post to schema":    {"POST", "/v1/schema", "", "", 405, "method"},
		"schema's table":    {"GET", "/v1/schema?tables=x", "", "", 400, "table, from, to"},
		"schema's time":     {"GET", "/v1/schema?from=x", "", "", 400, "no time"},
		"tenants":           {"GET", "/v1/tenants?x=y", "", "", 400, "no parameter"},
	} {
		e := &engine{}
		headers := []string{shop}
		if tc.header != "" {
			headers = append(headers, tc.header)
		}
		resp, text := call(t, serverOf(t, e, nil), tc.method, tc.path, tc.body, headers...)
		if resp.StatusCode != tc.status || !strings.Contains(text, tc.want) || e.count() > 0 {
			t.Errorf("%s: %d %s, %d asked", name, resp.StatusCode, text, e.count())
		}
		if resp.Header.Get("Content-Type") != "application/json" || text != "" && !json.Valid([]byte(text)) {
			t.Errorf("%s: %s is %q", name, resp.Header.Get("Content-Type"), text)
		}
	}
}

type spot struct{}

func (spot) Place() (int, int) { return 3, 14 }

// TestErrorsHaveTheirStatus, a place where there is one, and nothing of their cause.
func TestErrorsHaveTheirStatus(t *testing.T) {
	secret := errors.New("GET https://s3.internal/bucket/data/bank: refused")
	for name, tc := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"syntax":      {fail.At(spot{}, fail.Syntax, "no such word"), 400, `{"error":{"code":"syntax","message":"no such word","position":{"line":3,"column":14}}}`},
		"no place":    {fail.New(fail.Semantic, "no"), 400, `{"error":{"code":"semantic","message":"no"}}`},
		"wrapped":     {fmt.Errorf("read data/bank: %w", fail.New(fail.OutOfRange, "too big")), 400, `{"error":{"code":"out_of_range","message":"too big"}}`},
		"gone":        {fail.New(fail.Gone, "collected"), 410, `"gone"`},
		"too large":   {fail.New(fail.TooLarge, "memory"), 413, `"too_large"`},
		"unavailable": {&fail.Error{Code: fail.Unavailable, Message: "the store does not answer", Err: secret}, 503, `{"error":{"code":"unavailable","message":"the store does not answer"}}`},
		"timeout":     {fail.New(fail.Timeout, "60 s"), 504, `"timeout"`},
		"deadline":    {context.DeadlineExceeded, 504, `"timeout"`},
		"no tenant":   {fail.New(fail.NotFound, "no such tenant"), 404, `"not_found"`},
		"bug":         {&fail.Error{Code: fail.Internal, Message: "data/bank is damaged", Err: secret}, 500, `"code":"internal","message":"something is wrong here; the log of the server has it under `},
		"plain":       {secret, 500, `"code":"internal"`},
	} {
		resp, text := call(t, serverOf(t, &engine{answer: fails(10, tc.err)}, nil), "POST", "/v1/query", "x", shop)
		if resp.StatusCode != tc.status || !strings.Contains(text, tc.want) || strings.Contains(text, "bank") || strings.Contains(text, "s3") || !json.Valid([]byte(text)) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
		if (resp.Header.Get("Retry-After") != "") != (tc.status == 503) {
			t.Errorf("%s: Retry-After %q", name, resp.Header.Get("Retry-After"))
		}
	}
}

// TestTheLogHasTheCause under the id that the client got.
func TestTheLogHasTheCause(t *testing.T) {
	var log strings.Builder
	cause := &fail.Error{Code: fail.Internal, Message: "damaged", Err: errors.New("data/bank/1.parquet: checksum")}
	s := serverOf(t, &engine{answer: fails(0, cause)}, func(_ *Config, d *Deps) { d.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	_, text := call(t, s, "POST", "/v1/query", "x", shop)
	_, id, _ := strings.Cut(text, "under ")
	id, _, _ = strings.Cut(id, `"`)
	if len(id) < 8 || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "data/bank/1.parquet: checksum") {
		t.Errorf("%s; the log has %s", text, log.String())
	}
}

func TestAPanicHurtsItsQueryAlone(t *testing.T) {
	e := &engine{answer: func(context.Context, query.Request, query.Sink) (*query.Summary, error) { panic("secret of bank") }}
	s := serverOf(t, e, func(c *Config, _ *Deps) { c.Concurrent = 1 })
	for range 2 { // its turn in the queue is given back
		if resp, text := call(t, s, "POST", "/v1/query", "x", shop); resp.StatusCode != 500 || strings.Contains(text, "bank") {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	}
}

// TestALongAnswerThatFailsIsBrokenOff: its status is sent, so the transfer must not end as if it were whole.
func TestALongAnswerThatFailsIsBrokenOff(t *testing.T) {
	e := &engine{answer: fails(300_000, fail.New(fail.OutOfRange, "too big"))}
	for format, says := range map[string]bool{"json": true, "ndjson": true, "csv": false, "arrow": true} {
		resp, text := call(t, serverOf(t, e, nil), "GET", "/v1/query?sql=x&format="+format, "", shop)
		if resp.StatusCode != 200 || !strings.HasSuffix(text, "<broken off>") || len(text) < holdBytes || strings.Contains(text, `{"code":"out_of_range"`) != says {
			t.Errorf("%s: %d, %d bytes, ends with %q", format, resp.StatusCode, len(text), text[max(0, len(text)-100):])
		}
	}
}

// TestStatisticsComeWithEveryFormat: in the headers of a short answer, in the trailers of a long one.
func TestStatisticsComeWithEveryFormat(t *testing.T) {
	for _, n := range []int{1, 300_000} {
		for _, name := range []string{"json", "ndjson", "csv", "arrow"} {
			resp, text := call(t, serverOf(t, &engine{answer: rows(n)}, nil), "GET", "/v1/query?sql=x&format="+name, "", shop)
			from := resp.Header
			if n > 1 {
				from = resp.Trailer
			}
			if from.Get(format.SnapshotHeader) != "s1" || !strings.Contains(from.Get(format.StatisticsHeader), `"store_bytes":1234`) {
				t.Errorf("%s of %d rows: %v", name, n, from)
			}
			if name == "json" && (!json.Valid([]byte(text)) || !strings.Contains(text, `"snapshot":"s1"`) || !strings.Contains(text, `"positions":[{"shard":2,"position":7}]`)) {
				t.Errorf("got %.200s", text)
			}
		}
	}
}

// TestRowsDoNotWait: what is there for a second is sent, though the query goes on.
func TestRowsDoNotWait(t *testing.T) {
	read := make(chan struct{})
	e := &engine{answer: func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		if _, err := rows(1)(ctx, r, out); err != nil {
			return nil, err
		}
		s := (*reply)(out.(*sink))
		s.flushed = s.flushed.Add(-2 * flushAfter)
		if err := out.Batch(&vec.Batch{Len: 1, Cols: []*vec.Vector{vec.Constant(vec.Int, vec.Value{Type: vec.Int, Int: 8}, 1)}}); err != nil {
			return nil, err
		}
		select {
		case <-read:
			return summary(2), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	s := serverOf(t, e, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/query?sql=x&format=ndjson", nil)
	req.Header.Set("X-Scope-OrgID", "shop")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{`{"n":0}`, `{"n":8}`} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, %v", lines.Text(), lines.Err())
		}
	}
	close(read)
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("more: %q, %v", lines.Text(), lines.Err())
	}
}

// TestAClientThatLeavesEndsItsQuery while it runs, and while it waits.
func TestAClientThatLeavesEndsItsQuery(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		started, ended := make(chan struct{}, 9), make(chan error, 9)
		e := &engine{answer: func(ctx context.Context, _ query.Request, out query.Sink) (*query.Summary, error) {
			started <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}}
		s := serverOf(t, e, func(c *Config, _ *Deps) { c.Concurrent = 1 })
		ask := func() (cancel func(), done chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			done = make(chan error, 1)
			body := ""
			if method == "POST" {
				body = "x"
			}
			r, _ := http.NewRequestWithContext(ctx, method, s.URL+"/v1/query?"+map[string]string{"GET": "sql=x"}[method], strings.NewReader(body))
			r.Header.Set("X-Scope-OrgID", "shop")
			go func() {
				resp, err := s.Client().Do(r)
				if err == nil {
					resp.Body.Close()
				}
				done <- err
			}()
			return cancel, done
		}
		leaveFirst, first := ask()
		<-started
		leaveSecond, second := ask() // waits for the first
		leaveSecond()
		if err := <-second; err == nil {
			t.Errorf("%s: the second got an answer", method)
		}
		leaveFirst()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: ended with %v", method, err)
		}
		<-first
		leaveThird, third := ask() // the turn was given back
		<-started
		leaveThird()
		<-ended
		<-third
		if e.count() != 2 {
			t.Errorf("%s: %d queries ran", method, e.count())
		}
	}
}

// TestAClientThatDoesNotReadIsLeft, and its query ends.
func TestAClientThatDoesNotReadIsLeft(t *testing.T) {
	ended := make(chan error, 1)
	e := &engine{answer: func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		if err := out.Columns([]exec.Output{{Name: "t", Type: vec.Text}}); err != nil {
			return nil, err
		}
		big := vec.Constant(vec.Text, vec.Value{Type: vec.Text, Text: strings.Repeat("x", 1<<20)}, 1)
		for {
			if err := out.Batch(&vec.Batch{Len: 1, Cols: []*vec.Vector{big}}); err != nil {
				ended <- err
				return nil, err
			}
		}
	}}
	s := serverOf(t, e, func(c *Config, _ *Deps) { c.SendTimeout = 200 * time.Millisecond })
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/query?sql=x&format=csv", nil)
	r.Header.Set("X-Scope-OrgID", "shop")
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := <-ended; !errors.Is(err, errLeft) {
		t.Errorf("ended with %v", err)
	}
}

// TestABodyMayNotTakeForEver; the query behind it may, until its client leaves.
func TestABodyMayNotTakeForEver(t *testing.T) {
	const timeout = 100 * time.Millisecond
	late, ended := make(chan struct{}), make(chan error, 1)
	e := &engine{answer: func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		select {
		case <-time.After(3 * timeout):
		case <-ctx.Done():
			t.Error("a query that takes longer than a body may was ended")
		}
		close(late)
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
		case <-time.After(20 * time.Second):
			ended <- errors.New("nothing: it went on without its client")
		}
		return nil, ctx.Err()
	}}
	s := serverOf(t, e, func(c *Config, _ *Deps) { c.SendTimeout = timeout })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/query HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: shop\r\nContent-Length: 100\r\n\r\nselect 1")
	answer, err := io.ReadAll(conn) // to the end of the connection
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || e.count() > 0 {
		t.Errorf("a body that does not come: %q, %v", answer, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/query", strings.NewReader("x"))
	r.Header.Set("X-Scope-OrgID", "shop")
	go func() {
		<-late
		leave()
	}()
	if resp, err := s.Client().Do(r); err == nil {
		resp.Body.Close()
		t.Errorf("status %d", resp.StatusCode)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended by %v", err)
	}
}

func TestAFullQueueIs429(t *testing.T) {
	started, end := make(chan struct{}, 9), make(chan struct{})
	e := &engine{answer: func(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
		started <- struct{}{}
		<-end
		return rows(1)(ctx, r, out)
	}}
	s := serverOf(t, e, func(c *Config, _ *Deps) { c.Concurrent, c.TenantConcurrent, c.TenantQueue = 2, 1, 1 })
	answers := make(chan int, 9)
	ask := func(tenant string) {
		resp, _ := call(t, s, "POST", "/v1/query", "x", "X-Scope-OrgID: "+tenant)
		answers <- resp.StatusCode
	}
	go ask("shop")
	<-started
	go ask("shop")
	go ask("shop") // one of the two waits, the other is refused
	if status := <-answers; status != http.StatusTooManyRequests {
		t.Errorf("status %d", status)
	}
	go ask("bank") // is not held up
	<-started
	close(end)
	for range 3 {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
}

func TestSchema(t *testing.T) {
	e := &engine{}
	s := serverOf(t, e, nil)
	resp, text := call(t, s, "GET", "/v1/schema?table=dead_letters&from=2026-01-01&to=2026-01-02", "", shop)
	if resp.StatusCode != 200 || !strings.Contains(text, `"name": "status"`) || !strings.Contains(text, `"examples"`) || !strings.Contains(text, `"snapshot": "s1"`) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	call(t, s, "GET", "/v1/schema", "", shop)
	want := "shop dead_letters 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z, shop events"
	if got := strings.Join(e.schema, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBadConfig(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := Config{}.Validate()
	for _, name := range []string{"max_body_bytes", "max_concurrent", "tenant_concurrent", "tenant_queue", "queue", "queue_wait", "send_timeout", "slow_after"} {
		if err == nil || !strings.Contains(err.Error(), name+": 0 is not positive") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Config{}, Deps{}); err == nil {
		t.Error("an empty configuration is taken")
	}
}
