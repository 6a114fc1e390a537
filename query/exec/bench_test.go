package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// batches is a source that gives the same batches again and again, without the cost of a scan.
type batches struct {
	columns []scan.Column
	list    []*vec.Batch
	rows    int
}

func (s *batches) Scan(_ context.Context, r *scan.Request, _ int, emit func(int, *vec.Batch) error) error {
	scratch := &expr.Scratch{Memo: map[any]any{}}
	for done := 0; done < s.rows; {
		for _, from := range s.list {
			b := &vec.Batch{Len: from.Len, Cols: make([]*vec.Vector, len(r.Columns))}
			for slot, c := range r.Columns {
				for i, have := range s.columns {
					if have.Name == c.Name {
						b.Cols[slot] = from.Cols[i]
					}
				}
			}
			if done += b.Len; len(r.Filter) > 0 {
				sel, all, err := selected(r.Filter, scratch, b)
				if err != nil {
					return err
				}
				if !all {
					b = b.Gather(sel)
				}
			}
			if err := emit(0, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// logs are a million rows as logs have them, sorted by service, in batches of 4096.
func logs() (*batches, *Schema) {
	const rows, size = 1 << 20, 4096
	r := rand.New(rand.NewPCG(1, 2))
	s := &batches{rows: rows, columns: []scan.Column{
		{Name: "timestamp", Type: vec.TimestampTZ}, {Name: "service", Type: vec.Text}, {Name: "host", Type: vec.Text}, {Name: "status", Type: vec.Int},
		{Name: "user", Type: vec.Text}, {Name: "duration", Type: vec.Double}, {Name: "bytes", Type: vec.Int}, {Name: "trace_id", Type: vec.Text},
	}}
	dict := func(name string, n int) *vec.Vector {
		v := vec.New(vec.Text, n)
		for i := range v.Texts {
			v.Texts[i] = fmt.Sprintf("%s-%05d", name, i)
		}
		return v
	}
	services, hosts, users := dict("service", 20), dict("host", 200), dict("user", 20000)
	for at := 0; at < rows; at += size {
		b := &vec.Batch{Len: size}
		for _, c := range s.columns {
			b.Cols = append(b.Cols, &vec.Vector{Type: c.Type, Len: size})
		}
		for i := range size {
			n := at + i
			b.Cols[0].Ints = append(b.Cols[0].Ints, int64(1.7e18)+int64(n)*1e6+r.Int64N(1e9))
			b.Cols[1].Codes = append(b.Cols[1].Codes, int32(n*20/rows))
			b.Cols[2].Codes = append(b.Cols[2].Codes, r.Int32N(200))
			b.Cols[3].Ints = append(b.Cols[3].Ints, []int64{200, 200, 200, 404, 500}[r.IntN(5)])
			b.Cols[4].Codes = append(b.Cols[4].Codes, r.Int32N(20000))
			b.Cols[5].Doubles = append(b.Cols[5].Doubles, r.ExpFloat64()*100)
			b.Cols[6].Ints = append(b.Cols[6].Ints, r.Int64N(100000))
			b.Cols[7].Texts = append(b.Cols[7].Texts, fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
		}
		b.Cols[1].Dict, b.Cols[2].Dict, b.Cols[4].Dict = services, hosts, users
		s.list = append(s.list, b)
	}
	schema := &Schema{Table: "events"}
	for _, c := range s.columns {
		schema.Columns = append(schema.Columns, SchemaColumn{Name: c.Name, Type: c.Type})
	}
	return s, schema
}

// processorTime is what the process has had of the processors so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkQueries gives the time of a million rows.
func BenchmarkQueries(b *testing.B) {
	src, schema := logs()
	for _, q := range []struct{ name, sql string }{
		{"count by service", "SELECT service, count(*) FROM events GROUP BY service"},
		{"count by service and status", "SELECT service, status, count(*) FROM events GROUP BY service, status"},
		{"errors per minute", "SELECT timestamp::DATE, count(*) FROM events WHERE status = 500 GROUP BY 1"},
		{"p99 by service", "SELECT service, quantile_cont(duration, 0.99) FROM events GROUP BY service"},
		{"approx p99 by service", "SELECT service, approx_quantile(duration, 0.99) FROM events GROUP BY service"},
		{"users by host", "SELECT host, count(DISTINCT user) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 10"},
		{"about users by host", "SELECT host, approx_count_distinct(user) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 10"},
		{"last 100", "SELECT timestamp, service, trace_id FROM events ORDER BY timestamp DESC LIMIT 100"},
		{"count by trace", "SELECT trace_id, count(*) AS n FROM events GROUP BY trace_id ORDER BY n DESC LIMIT 10"},
		{"count by user", "SELECT user, count(*) AS n FROM events GROUP BY user ORDER BY n DESC LIMIT 10"},
		{"three sums", "SELECT sum(duration), sum(bytes), avg(status) FROM events"},
		{"sort all", "SELECT bytes, service FROM events ORDER BY bytes, service"},
		{"sort text", "SELECT trace_id FROM events ORDER BY trace_id"},
		{"distinct host, status", "SELECT DISTINCT host, status FROM events"},
		{"stddev, min, max by host", "SELECT host, stddev(duration), min(bytes), max(duration) FROM events GROUP BY host"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				p, err := bound(q.sql, schema)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Run(context.Background(), src, Limits{}, 1, func(*vec.Batch) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/float64(src.rows), "cpu-ns/row")
		})
	}
}
