package intake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// topic stands for Kafka: it acknowledges each line, or answers it with an error.
type topic struct {
	lines   []string
	tenants []string
	fail    map[string]error
	silent  string // a line that is never answered
}

func (k *topic) MaxRecordBytes() int { return 1000 + len(access.TenantHeader) + maxTenantBytes }

func (k *topic) TryProduce(_ context.Context, m kafka.Message, done func(int64, error)) {
	line := string(m.Value)
	if line == k.silent && line != "" {
		return
	}
	if err := k.fail[line]; err != nil {
		done(0, err)
		return
	}
	k.lines = append(k.lines, line)
	tenant := ""
	for _, h := range m.Headers {
		tenant = h.Key + "=" + string(h.Value)
	}
	k.tenants = append(k.tenants, tenant)
	done(int64(len(k.lines)), nil)
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

// ingest is a token that may write for a tenant.
func ingest(token, tenant string) access.Tokens {
	return access.Tokens{token: {Tenants: []string{tenant}, Roles: []access.Role{access.Ingest}}}
}

func TestIngest(t *testing.T) {
	big := strings.Repeat("x", 1001)
	tests := []struct {
		name    string
		method  string
		body    string
		headers map[string]string
		tokens  access.Tokens
		fail    map[string]error
		status  int
		lines   []string
		tenant  string // of the first line
		errs    []int  // lines named
	}{
		{name: "lines", body: "{\"a\":1}\n{\"a\":2}\n", status: 200, lines: []string{`{"a":1}`, `{"a":2}`}},
		{name: "last line without end, CRLF, blank lines", body: "a\r\n\n  \r\nb", status: 200, lines: []string{"a", "b"}},
		{name: "empty body", body: "", status: 200},
		{name: "bad JSON is a dead letter later", body: "{", status: 200, lines: []string{"{"}},
		{name: "tenant", body: "a", headers: map[string]string{"X-Scope-OrgID": "shop"}, status: 200, lines: []string{"a"}, tenant: "X-Scope-OrgID=shop"},
		{name: "bad tenant", body: "a", headers: map[string]string{"X-Scope-OrgID": "a/b"}, status: 400},
		{name: "the operators' tenant", body: "a", headers: map[string]string{"X-Scope-OrgID": "_unroutable"}, status: 400},
		{name: "gzip", body: zipped("a\nb\n"), headers: map[string]string{"Content-Encoding": "gzip"}, status: 200, lines: []string{"a", "b"}},
		{name: "broken gzip", body: zipped("a\nb\n")[:20], headers: map[string]string{"Content-Encoding": "gzip"}, status: 400},
		{name: "gzip that is none", body: "abc", headers: map[string]string{"Content-Encoding": "gzip"}, status: 400},
		{name: "gzip bomb", body: zipped(strings.Repeat("a\n", 10_000)), headers: map[string]string{"Content-Encoding": "gzip"}, status: 413},
		{name: "other encoding", body: "a", headers: map[string]string{"Content-Encoding": "br"}, status: 415},
		{name: "form", body: "a", headers: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, status: 415},
		{name: "curl's default type", body: "a", headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 200, lines: []string{"a"}},
		{name: "too large", body: strings.Repeat("a\n", 2049), status: 413},
		{name: "long line", body: "a\n" + big + "\nb", status: 400, lines: []string{"a", "b"}, errs: []int{2}},
		{name: "get", method: "GET", status: 405},
		{name: "no token", tokens: ingest("s", "shop"), body: "a", status: 401},
		{name: "wrong token", tokens: ingest("s", "shop"), headers: map[string]string{"Authorization": "Bearer t"}, body: "a", status: 401},
		{name: "basic", tokens: ingest("s", "shop"), headers: map[string]string{"Authorization": "Basic s"}, body: "a", status: 401},
		{name: "token's tenant", tokens: ingest("s", "shop"), headers: map[string]string{"Authorization": "Bearer s"}, body: "a", status: 200, lines: []string{"a"}, tenant: "X-Scope-OrgID=shop"},
		{name: "token for all", tokens: ingest("s", "*"), headers: map[string]string{"Authorization": "Bearer s", "X-Scope-OrgID": "bank"}, body: "a", status: 200, lines: []string{"a"}, tenant: "X-Scope-OrgID=bank"},
		{name: "token that may only read", tokens: access.Tokens{"s": {Tenants: []string{"shop"}, Roles: []access.Role{access.Query}}}, headers: map[string]string{"Authorization": "Bearer s"}, body: "a", status: 403},
		{name: "token of an operator", tokens: access.Tokens{"s": {Tenants: []string{"*"}, Roles: []access.Role{access.Ingest, access.Operator}}}, headers: map[string]string{"Authorization": "Bearer s", "X-Scope-OrgID": "_unroutable"}, body: "a", status: 400},
		{name: "buffer full", body: "a\nb\nc", fail: map[string]error{"b": kafka.ErrBufferFull}, status: 429, lines: []string{"a", "c"}, errs: []int{2}},
		{name: "kafka fails", body: "a\nb\nc", fail: map[string]error{"a": errors.New("no"), "b": kafka.ErrBufferFull}, status: 503, lines: []string{"c"}, errs: []int{1, 2}},
		{name: "kafka refuses a line", body: "a\nb", fail: map[string]error{"a": kafka.ErrTooLarge}, status: 400, lines: []string{"b"}, errs: []int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := &topic{fail: tt.fail}
			cfg := DefaultConfig()
			cfg.MaxBodyBytes, cfg.Tokens = 4096, tt.tokens
			h, err := New(cfg, k, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.method == "" {
				tt.method = http.MethodPost
			}
			r := httptest.NewRequest(tt.method, "/v1/ingest", strings.NewReader(tt.body))
			for k, v := range tt.headers {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var a Answer
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatalf("answer %q: %v", w.Body, err)
			}
			if w.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if !slices.Equal(k.lines, tt.lines) || a.Accepted != len(tt.lines) {
				t.Fatalf("lines %q, accepted %d, want %q", k.lines, a.Accepted, tt.lines)
			}
			if len(k.tenants) > 0 && k.tenants[0] != tt.tenant {
				t.Fatalf("tenant %q, want %q", k.tenants[0], tt.tenant)
			}
			var named []int
			for _, e := range a.Errors {
				named = append(named, e.Line)
			}
			if !slices.Equal(named, tt.errs) {
				t.Fatalf("errors %v, want lines %v", a.Errors, tt.errs)
			}
		})
	}
}

// TestFault_cross_tenant: who may write for one tenant names another in every place. It is refused, alike whether the other
// exists or not, or it does not count; nothing lands with the other.
func TestFault_cross_tenant(t *testing.T) {
	ask := func(change func(*http.Request)) (status int, answer string, tenants []string) {
		k := &topic{}
		cfg := DefaultConfig()
		cfg.Tokens = access.Tokens{
			"of-shop": {Tenants: []string{"shop"}, Roles: []access.Role{access.Ingest}},
			"of-bank": {Tenants: []string{"bank"}, Roles: []access.Role{access.Ingest}},
		}
		h, err := New(cfg, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/ingest", strings.NewReader(`{"tenant":"bank","X-Scope-OrgID":"bank"}`))
		r.Header.Set("Authorization", "Bearer of-shop")
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String(), k.tenants
	}
	var first string
	for _, name := range []string{"bank", "nobody", "SHOP", "shop2", "shop*", "*", "shop.", "sho"} {
		status, answer, tenants := ask(func(r *http.Request) { r.Header.Set(access.TenantHeader, name) })
		if first == "" {
			first = answer
		}
		if status != http.StatusForbidden || answer != first || len(tenants) > 0 {
			t.Errorf("%q: status %d, %s; stored %v", name, status, answer, tenants)
		}
	}
	for _, name := range []string{"../bank", "shop/../bank", "shop/bank", "shop\\bank", "..", ".", "shop%2fbank", "shop\x00bank", "shop,bank", "shop|bank", "shop bank", "_unroutable"} {
		if status, answer, tenants := ask(func(r *http.Request) { r.Header.Set(access.TenantHeader, name) }); status < 400 || status >= 500 || len(tenants) > 0 {
			t.Errorf("%q: status %d, %s; stored %v", name, status, answer, tenants)
		}
	}
	for what, change := range map[string]func(*http.Request){
		"body alone":    func(*http.Request) {},
		"query":         func(r *http.Request) { r.URL.RawQuery = "tenant=bank&X-Scope-OrgID=bank&token=of-bank" },
		"cookie":        func(r *http.Request) { r.Header.Set("Cookie", "X-Scope-OrgID=bank; token=of-bank") },
		"path":          func(r *http.Request) { r.URL.Path = "/v1/ingest/../bank" },
		"headers alike": func(r *http.Request) { r.Header.Set("X-Scope-Org-ID", "bank"); r.Header.Set("X-Tenant", "bank") },
		"own, then another's": func(r *http.Request) {
			r.Header[http.CanonicalHeaderKey(access.TenantHeader)] = []string{"shop", "bank"}
		},
	} {
		status, answer, tenants := ask(change)
		if status >= 500 || slices.ContainsFunc(tenants, func(s string) bool { return s != access.TenantHeader+"=shop" }) {
			t.Errorf("%s: status %d, %s; stored %v", what, status, answer, tenants)
		}
	}
}

func TestIngestDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &topic{silent: "b"}
		cfg := DefaultConfig()
		cfg.Timeout = 3 * time.Second
		h, err := New(cfg, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		began := time.Now()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/ingest", strings.NewReader("a\nb\nc")))
		if w.Code != 503 || time.Since(began) != cfg.Timeout || !strings.Contains(w.Body.String(), `"line":2`) {
			t.Fatalf("status %d after %s: %s", w.Code, time.Since(began), w.Body)
		}
	})
}

// slowBody blocks until it is let go.
type slowBody struct{ let chan struct{} }

func (b slowBody) Read([]byte) (int, error) { <-b.let; return 0, errors.New("gone") }

func TestIngestBoundsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.MaxConcurrent = 1
		h, err := New(cfg, &topic{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := slowBody{make(chan struct{})}
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/ingest", body))
		synctest.Wait()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/ingest", strings.NewReader("a")))
		if w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Fatalf("status %d", w.Code)
		}
		close(body.let)
		synctest.Wait()
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/ingest", strings.NewReader("a")))
		if w.Code != 200 {
			t.Fatalf("status %d", w.Code)
		}
	})
}

func TestIngestIntoKafka(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 3, nil)
	c := k.Client()
	info, err := c.Topic(t.Context(), "events")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProducer(info, kafka.ProducerConfig{Spread: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h, err := New(DefaultConfig(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/ingest", strings.NewReader(strings.Repeat("{\"a\":1}\n", 100)))
	r.Header.Set(access.TenantHeader, "shop")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	logs, err := c.Offsets(t.Context(), "events")
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, l := range logs {
		total += l.End - l.Start
	}
	if total != 100 {
		t.Fatalf("%d records in Kafka", total)
	}
}
