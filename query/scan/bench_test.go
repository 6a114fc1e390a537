package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/vec"
)

const benchRows = 256 << 10

// benchStore is a fragment of web-like events with 25 attributes.
var benchStore = sync.OnceValues(func() (*store, error) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	in := fragment.Input{Tenant: "t", Kind: fragment.Events}
	for i := range benchRows {
		payload := fmt.Sprintf(`{"service":"%s","status":%d,"level":"%s","host":"host-%03d","region":"eu-west-%d","env":"prod","version":"1.%d.%d",`+
			`"http":{"method":"%s","path":"/api/v1/items/%d","route":"/api/v1/items/:id","bytes":%d,"duration_ms":%.3f},"user":{"id":%d,"plan":"%s","country":"%s"},"trace_id":"%016x%016x","span_id":"%016x",`+
			`"cached":%t,"retries":%d,"queue":"q%d","pod":"web-%x-%d","message":"request %d %s after %d ms for the user %x"}`,
			pick("checkout", "cart", "frontend", "payment", "search", "shipping", "email", "ads"), []int{200, 200, 200, 201, 404, 500}[r.IntN(6)], pick("info", "info", "warn", "error"),
			r.IntN(200), 1+r.IntN(3), r.IntN(4), r.IntN(9), pick("GET", "POST", "PUT"), r.IntN(1e6), r.IntN(1e5), r.Float64()*100, r.IntN(1e6),
			pick("free", "pro", "team"), pick("DE", "FR", "US", "JP", "BR"), r.Uint64(), r.Uint64(), r.Uint64(), r.IntN(2) == 0, r.IntN(3), r.IntN(16), r.IntN(4096), r.IntN(9),
			i, pick("finished", "finished", "finished", "timed out", "was refused"), r.IntN(5000), r.Uint32())
		in.Rows = append(in.Rows, fragment.Row{
			Timestamp: base + event.Timestamp(i)*13_000_000 + event.Timestamp(r.IntN(1e6))*1000, ID: fmt.Appendf(nil, "%016x%016x", r.Uint64(), r.Uint64()),
			IngestedAt: base + event.Timestamp(i/100)*1_000_000, Source: &event.Source{Partition: int32(i % 4)}, Offset: int64(i), Format: event.FormatJSON, Payload: []byte(payload),
		})
	}
	registry := fragment.NewRegistry(objstore.NewMemory(), fragment.RegistryConfig{})
	file, err := fragment.Encode(context.Background(), in, registry)
	if err != nil {
		return nil, err
	}
	s := &store{objects: map[string][]byte{"data/t/0/bench.parquet": file.Body}}
	f := shardlog.Fragment{Key: "data/t/0/bench.parquet", Tenant: "t", Rows: file.Rows, Bytes: int64(len(file.Body)), Min: file.Min, Max: file.Max}
	for _, r := range file.Ranges {
		f.Ranges = append(f.Ranges, shardlog.ColumnRange(r))
	}
	s.fragments = []Fragment{{Fragment: f}}
	s.columns, err = registry.Ensure(context.Background(), "t", nil)
	return s, err
})

// BenchmarkScan measures scans that queries on logs are made of, on one core, in nanoseconds a row of the file.
func BenchmarkScan(b *testing.B) {
	s, err := benchStore()
	if err != nil {
		b.Fatal(err)
	}
	count := func(batch *vec.Batch) int { return batch.Len }
	for _, c := range []struct {
		name, where string
		output      []string
		top         int
	}{
		{"CountByService", "", []string{"service"}, 0},
		{"ThreeNumbers", "", []string{"http.bytes", "http.duration_ms", "user.id"}, 0},
		{"Times", "", []string{"timestamp"}, 0},
		{"Message", "", []string{"message"}, 0},
		{"Ilike", "message ILIKE '%TIMED OUT after 77%'", []string{"id"}, 0},
		{"Like", "message LIKE '%refused after 1234 %'", []string{"id"}, 0},
		{"Rare", "status = 500 AND level = 'error' AND \"user.plan\" = 'free'", []string{"http.duration_ms"}, 0},
		{"Needle", "trace_id = '00000000000000000000000000000000'", []string{"id"}, 0},
		{"Last100", "", []string{"timestamp", "id", Event}, 100},
		{"ErrorsByMinute", "status >= 500", []string{"timestamp"}, 0},
		{"Events", "status = 500 AND level = 'error' AND retries = 1", []string{Event}, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			scanner := NewScanner(s, Config{})
			n := 0
			for b.Loop() {
				r := s.request()
				r.Output = nil
				for _, name := range c.output {
					r.Output = append(r.Output, r.slot(name))
				}
				if c.where != "" {
					r.where(b, c.where)
				}
				if c.top > 0 {
					r.Top = &Top{Descending: true, Rows: c.top}
				}
				n = 0
				if err := scanner.Scan(b.Context(), r, 1, func(_ int, batch *vec.Batch) error {
					n += count(batch)
					return nil
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
			b.ReportMetric(float64(n), "rows-out")
		})
	}
}
