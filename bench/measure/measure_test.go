package measure

import (
	"bytes"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/togodb/togo/internal/event/jsonscan"
	"github.com/togodb/togo/internal/objstore"
	"net/http/httptest"
)

// TestMetricsAreRead: as client_golang writes them, from the real wrapper of the store.
func TestMetricsAreRead(t *testing.T) {
	reg := prometheus.NewRegistry()
	store := objstore.Instrument(objstore.NewMemory(), reg)
	for _, key := range []string{"a", "b", "c"} {
		if err := store.Put(t.Context(), key, []byte("12345")); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = store.Get(t.Context(), "a")
	_, _ = store.Get(t.Context(), "none")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	m := parseMetrics(w.Body.String())
	const requests = "togo_objstore_requests_total"
	if got := m.sum(requests); got != 5 {
		t.Errorf("%g requests", got)
	}
	if by := m.by(requests, "op"); by["put"] != 3 || by["get"] != 2 || len(by) != 2 {
		t.Errorf("by op: %v", by)
	}
	if by := m.by(requests, "result"); by["ok"] != 4 || by["not_found"] != 1 {
		t.Errorf("by result: %v", by)
	}
	if by := m.by("togo_objstore_bytes_total", "op"); by["put"] != 15 || by["get"] != 5 {
		t.Errorf("bytes: %v", by)
	}
}

// TestEveryRequestHasAPrice: of all kinds that the store's wrapper counts.
func TestEveryRequestHasAPrice(t *testing.T) {
	p, err := ReadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"put", "put_if_absent", "get", "get_range", "list", "delete", "date", "upload", "list_uploads", "abandon_upload"} {
		if _, err := p.Requests(map[string]int64{kind: 1}); err != nil {
			t.Error(err)
		}
	}
	if cost, err := p.Requests(map[string]int64{"put": 2000, "get": 10_000}); err != nil || cost < 0.01399 || cost > 0.01401 {
		t.Errorf("%g dollars, %v", cost, err)
	}
	if _, err := p.Requests(map[string]int64{"conjure": 1}); err == nil {
		t.Error("a request without a price costs nothing")
	}
	path := t.TempDir() + "/prices.yaml"
	if err := os.WriteFile(path, []byte("source: mine\nper_tousand: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrices(path); err == nil || !strings.Contains(err.Error(), "per_tousand") {
		t.Error(err)
	}
}

func TestProcIsRead(t *testing.T) {
	stat := "1234 (a (b) c) S 1 1234 1234 0 -1 4194560 1000 0 0 0 250 150 0 0 20 0 12 0 100 200 300"
	if got := statCPU([]byte(stat)); got != 4*time.Second {
		t.Error(got)
	}
	if got := statCPU([]byte("1 (x) S")); got != 0 {
		t.Error(got)
	}
	now, most := statusMemory("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n")
	if now != 200<<10 || most != 300<<10 {
		t.Error(now, most)
	}
}

// TestProfilesAreRead: a real profile of this process, which scans JSON.
func TestProfilesAreRead(t *testing.T) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	scan(300 * time.Millisecond)
	took := time.Since(began)
	pprof.StopCPUProfile()
	p, err := readProfile(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if p.total <= 0 || p.total > 20*took.Nanoseconds() {
		t.Errorf("%d ns of CPU time in %s", p.total, took)
	}
	if p.steps["decode"]*2 < p.total {
		t.Errorf("of %d ns only %d are of the scanner: %v", p.total, p.steps["decode"], p.steps)
	}
	var sum int64
	for _, v := range p.steps {
		sum += v
	}
	if sum != p.total {
		t.Errorf("steps add up to %d of %d", sum, p.total)
	}
	for cut := range 200 {
		_, _ = readProfile(b.Bytes()[:b.Len()*cut/200]) // no panic
	}
}

func scan(d time.Duration) {
	var tape jsonscan.Tape
	text := []byte(`{"a": [1, 2, 3, {"b": "` + strings.Repeat("x", 2000) + `"}]}`)
	for began := time.Now(); time.Since(began) < d; {
		for range 100 {
			_ = tape.Parse(text)
		}
	}
}

func TestStepsGoByTheInnermostFunction(t *testing.T) {
	for _, c := range []struct{ want, stack string }{
		{"encode", "runtime.mallocgc github.com/togodb/togo/internal/fragment/parquetfile.(*Writer).Write github.com/togodb/togo/writer.(*session).encodeFile"},
		{"store", "syscall.write github.com/togodb/togo/internal/objstore.(*Dir).Put github.com/togodb/togo/writer.(*session).upload"},
		{"zstd", "github.com/klauspost/compress/zstd.(*Encoder).EncodeAll github.com/togodb/togo/internal/fragment/parquetfile.(*Writer).Write"},
		{"network", "syscall.write net.(*conn).Write github.com/twmb/franz-go/pkg/kgo.(*brokerCxn).writeRequest"},
		{"gc", "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker"},
		{"other", "runtime.mcall runtime.schedule"},
		{"decode", "github.com/togodb/togo/internal/event.Extract github.com/togodb/togo/router.(*Core).Step"},
	} {
		if got := stepOf(strings.Fields(c.stack)); got != c.want {
			t.Errorf("%s: %s, not %s", c.stack, got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		if got := quantile(all, q); got != want {
			t.Errorf("%g: %d, not %d", q, got, want)
		}
	}
	if got := quantile(all[:1], 0.99); got != 1 {
		t.Error(got)
	}
}

// TestQueriesAreThoseOfBenchQueries, so that figures of both are of the same.
func TestQueriesAreThoseOfBenchQueries(t *testing.T) {
	text, err := os.ReadFile("../queries/queries.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		sql := strings.ReplaceAll(q.sql, needle, "$needle")
		if q.sql == schema {
			sql = "SQL: schemaQuery"
		}
		if !strings.Contains(string(text), `Name: "`+q.name+`"`) || !strings.Contains(string(text), sql) {
			t.Errorf("%s: not as in bench/queries", q.name)
		}
	}
	if n := strings.Count(string(text), "{Name: "); n != len(questions) {
		t.Errorf("%d queries, there %d", len(questions), n)
	}
}
