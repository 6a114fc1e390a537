package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/oracle"
)

// answer is what POST /v1/ingest says.
type answer struct {
	Accepted int `json:"accepted"`
	Errors   []struct {
		Line  int    `json:"line"`
		Error string `json:"error"`
	} `json:"errors"`
	Error string `json:"error"`
}

// ingest posts a body with headers given as name, value, ...
func (p *process) ingest(body []byte, headers ...string) (int, answer) {
	p.w.t.Helper()
	req, err := http.NewRequestWithContext(p.w.ctx, http.MethodPost, p.url("/v1/ingest"), bytes.NewReader(body))
	p.w.must(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	p.w.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	p.w.must(err)
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		p.w.t.Fatalf("the answer is no JSON: %s", text)
	}
	return resp.StatusCode, a
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestIngestOverHTTP(t *testing.T) {
	kafka := addr(t)
	w := newWorld(t, time.Minute, fmt.Sprintf(`
kafka: {main: {brokers: [%q]}}
http: {tokens: {s3cret: acme, root: "*"}}
intake: {http: {max_body_bytes: 64KiB, max_line_bytes: 1KiB}}
writer: {flush_age: 300ms, small_tenant_age: 300ms}
`, kafka))
	dev := w.process("dev", addr(t), "dev", "--kafka-listen", kafka)
	dev.start()

	const tenant, bearer, any = "X-Scope-OrgID", "Bearer s3cret", "Bearer root"
	line := func(id string) string { return fmt.Sprintf(`{"event_id":%q,"ts":1767000000,"text":"é\u0000"}`, id) }
	long := `{"event_id":"long","text":"` + strings.Repeat("x", 1200) + `"}`
	l := oracle.New()
	want := func(tenant string, ids ...string) {
		for _, id := range ids {
			w.must(l.Sent(oracle.Key{Tenant: tenant, ID: id}, []byte(line(id))))
		}
	}
	for _, c := range []struct {
		name    string
		body    []byte
		headers []string
		status  int
		said    string // in the answer
	}{
		{"two lines and blank ones", []byte(line("a") + "\n\r\n" + line("b") + "\r\n"), []string{"Authorization", bearer}, 200, `"accepted":2`},
		{"again, as gzip", zipped(t, line("a")+"\n"+line("c")), []string{"Authorization", bearer, tenant, "acme", "Content-Encoding", "gzip"}, 200, `"accepted":2`},
		{"any tenant", []byte(line("d")), []string{"Authorization", any, tenant, "beta"}, 200, `"accepted":1`},
		{"one line is too long", []byte(line("e") + "\n" + long + "\n" + line("f")), []string{"Authorization", any, tenant, "beta"}, 400, `"line":2`},
		{"no event, but a record", []byte("{broken"), []string{"Authorization", bearer}, 200, `"accepted":1`},
		{"nothing", nil, []string{"Authorization", bearer}, 200, `"accepted":0`},
		{"no token", []byte(line("x")), []string{tenant, "acme"}, 401, "token"},
		{"another token", []byte(line("x")), []string{"Authorization", "Bearer S3cret", tenant, "acme"}, 401, "not known"},
		{"another's tenant", []byte(line("x")), []string{"Authorization", bearer, tenant, "beta"}, 403, "tenant"},
		{"a bad tenant", []byte(line("x")), []string{"Authorization", any, tenant, "a/b"}, 400, "tenant"},
		{"broken gzip", []byte("this is no gzip"), []string{"Authorization", bearer, "Content-Encoding", "gzip"}, 400, "gzip"},
		{"zstd", []byte("x"), []string{"Authorization", bearer, "Content-Encoding", "zstd"}, 415, "zstd"},
		{"too large", bytes.Repeat([]byte(line("x")+"\n"), 2000), []string{"Authorization", bearer}, 413, "larger"},
		{"too large when unpacked", zipped(t, strings.Repeat(line("x")+"\n", 2000)), []string{"Authorization", bearer, "Content-Encoding", "gzip"}, 413, "larger"},
	} {
		status, a := dev.ingest(c.body, c.headers...)
		said, err := json.Marshal(a)
		w.must(err)
		if status != c.status || !strings.Contains(string(said), c.said) {
			t.Errorf("%s: %d %s; want %d and %q", c.name, status, said, c.status, c.said)
		}
	}
	want("acme", "a", "b", "a", "c")
	want("beta", "d", "e", "f")

	s := w.done()
	stored, err := w.Stored(w.ctx, append(l.Tenants(), "anonymous"))
	w.must(err)
	lost, extra := l.Compare(stored)
	if len(lost)+len(extra) > 0 {
		t.Errorf("lost %v, extra %v", lost, extra)
	}
	if s.Totals.Stored != 6 || s.Totals.Duplicate != 1 || s.Totals.Dead != 1 {
		t.Errorf("classes are %+v", s.Totals)
	}
	if status, body := dev.get("/metrics"); status != 200 || !strings.Contains(body, "togo_") {
		t.Errorf("metrics: %d, %.200s", status, body)
	}
	if _, body := dev.get("/config"); strings.Contains(body, "s3cret") || !strings.Contains(body, `"***"`) {
		t.Errorf("/config shows tokens, or does not hide them: %.2000s", body)
	}
	w.verify()
}
