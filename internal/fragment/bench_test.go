package fragment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/event/jsonscan"
)

// benchRows makes web-like events of 25 attributes and about 566 bytes.
func benchRows(n int) []Row {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, n)
	services := []string{"checkout", "cart", "frontend", "payment", "search", "shipping", "email", "ads"}
	for i := range rows {
		payload := fmt.Sprintf(`{"timestamp":"2024-03-01T12:%02d:%02d.%06dZ","event_id":"%016x%016x","service":"%s","status":%d,"level":"%s","host":"host-%03d","region":"eu-west-%d","env":"prod","version":"1.%d.%d",`+
			`"http":{"method":"%s","path":"/api/v1/items/%d","route":"/api/v1/items/:id","bytes":%d,"duration_ms":%.3f},"user":{"id":%d,"plan":"%s","country":"%s"},"trace_id":"%016x%016x","span_id":"%016x",`+
			`"cached":%t,"retries":%d,"queue":"q%d","pod":"web-%x-%d","message":"request %d finished in time for the user"}`,
			i/3600%60, i/60%60, r.IntN(1e6), r.Uint64(), r.Uint64(), services[r.IntN(8)], []int{200, 200, 200, 201, 404, 500}[r.IntN(6)], []string{"info", "info", "warn", "error"}[r.IntN(4)],
			r.IntN(200), 1+r.IntN(3), r.IntN(4), r.IntN(9), []string{"GET", "POST", "PUT"}[r.IntN(3)], r.IntN(1e6), r.IntN(1e5), r.Float64()*100, r.IntN(1e6),
			[]string{"free", "pro", "team"}[r.IntN(3)], []string{"DE", "FR", "US", "JP", "BR"}[r.IntN(5)], r.Uint64(), r.Uint64(), r.Uint64(), r.IntN(2) == 0, r.IntN(3), r.IntN(16), r.IntN(4096), r.IntN(9), i)
		rows[i] = Row{
			Timestamp: event.Timestamp(1_709_294_400_000_000_000 + int64(i)*18_000_000 + int64(r.IntN(1e6))*1000), ID: fmt.Appendf(nil, "%016x%016x", r.Uint64(), r.Uint64()),
			IngestedAt: event.Timestamp(1_709_294_500_000_000_000 + int64(i/100)*1_000_000), Source: &event.Source{Partition: int32(i % 4)}, Offset: int64(i),
			Format: event.FormatJSON, Payload: []byte(payload),
		}
	}
	return rows
}

// perEvent runs f, which handles n events, and reports figures of one event.
func perEvent(b *testing.B, n int, f func()) {
	b.Helper()
	f()
	m := cpu.Start(b)
	for b.Loop() {
		f()
	}
	m.PerEvent(b.N * n)
}

func benchEncode(b *testing.B, rows []Row) {
	columns := newRegistry()
	var f *File
	size := 0
	for i := range rows {
		size += len(rows[i].Payload)
	}
	perEvent(b, len(rows), func() {
		var err error
		if f, err = Encode(context.Background(), Input{Tenant: "t", Kind: Events, Rows: rows}, columns); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(float64(len(f.Body))/float64(len(rows)), "file-bytes/event")
	b.ReportMetric(float64(size)/float64(len(rows)), "json-bytes/event")
}

func BenchmarkEncode200k(b *testing.B) { benchEncode(b, benchRows(200_000)) }

// 64 MiB of JSON: a full flush.
func BenchmarkEncodeFlush(b *testing.B) { benchEncode(b, benchRows(115_000)) }
func BenchmarkEncode10k(b *testing.B)   { benchEncode(b, benchRows(10_000)) }
func BenchmarkEncode100(b *testing.B)   { benchEncode(b, benchRows(100)) }

// BenchmarkEncodeDotted has keys with dots, so that each row has _keys.
func BenchmarkEncodeDotted(b *testing.B) {
	rows := benchRows(20_000)
	for i := range rows {
		rows[i].Payload = []byte(strings.NewReplacer(`"http":{"method"`, `"http.x":{"http.method"`, `"host":`, `"host.name":`, `"cached":true`, `"cached":null`).Replace(string(rows[i].Payload)))
	}
	benchEncode(b, rows)
}

func BenchmarkScan(b *testing.B) {
	rows := benchRows(20_000)
	var tape jsonscan.Tape
	perEvent(b, len(rows), func() {
		for i := range rows {
			if err := tape.Parse(rows[i].Payload); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchRead(b *testing.B, read func(r *Reader)) {
	const n = 100_000
	f := encode(b, newRegistry(), benchRows(n))
	perEvent(b, n, func() {
		r, err := OpenBytes("k", f.Body)
		if err != nil {
			b.Fatal(err)
		}
		read(r)
	})
}

func BenchmarkDecodeAsSent(b *testing.B) {
	var buf []byte
	benchRead(b, func(r *Reader) {
		for e, err := range r.Events() {
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = e.AppendJSON(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeMeta(b *testing.B) {
	benchRead(b, func(r *Reader) {
		for _, err := range r.Meta() {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEnsureKnown(b *testing.B) {
	r := newRegistry()
	var n []PathType
	for i := range 25 {
		n = append(n, PathType{fmt.Sprint("path", i), String})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Ensure(context.Background(), "t", n); err != nil {
			b.Fatal(err)
		}
	}
}
