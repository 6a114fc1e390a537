package expr

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/query/vec"
)

// BenchmarkEval measures conditions and values over batches of 4,096 rows; ns/row is what a row costs.
func BenchmarkEval(b *testing.B) {
	const rows = 4096
	r := rand.New(rand.NewPCG(1, 1))
	in := &vec.Batch{Len: rows}
	for _, c := range wide.columns {
		v := vec.New(c.T, rows)
		for i := range rows {
			switch c.Name {
			case "i", "k":
				v.Ints[i] = r.Int64N(1000)
			case "d":
				v.Doubles[i] = r.Float64() * 100
			case "t":
				v.Texts[i] = fmt.Sprintf("GET /api/v1/users/%d/orders?page=%d HTTP/1.1 from 10.0.%d.%d took %d ms, Status OK", r.IntN(1e6), r.IntN(100), r.IntN(256), r.IntN(256), r.IntN(5000))
			case "s":
				v.Texts[i] = fmt.Sprintf("service-%d", r.IntN(20))
			case "ts":
				v.Ints[i] = 1767225600e9 + r.Int64N(3600e9)
			}
		}
		if c.Name == "k" {
			for i := range rows {
				if r.IntN(10) == 0 {
					v.SetNull(i)
				}
			}
		}
		if c.Name == "s" {
			v = encode(v)
		}
		in.Cols = append(in.Cols, v)
	}
	for _, q := range []string{"i = 500", "i < 500 AND d > 50", "k > 500", "i + k", "d * 2 + 1", "i / 3", "t LIKE '%orders%'", "t ILIKE '%TIMEOUT%'", "t ILIKE '%status ok'", "t LIKE 'GET %'",
		"s = 'service-3'", "s IN ('service-3', 'service-4')", "s LIKE '%-1%'", "i IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", "CASE WHEN i > 500 THEN 'slow' ELSE 'fast' END", "coalesce(k, 0)",
		"CAST(i AS VARCHAR)", "m", "n", "ts - INTERVAL 1 HOUR", "ts >= '2026-01-01T00:30:00Z'", "i BETWEEN 100 AND 200", "k IS NULL", "NOT (k > 5)", "greatest(i, k)"} {
		e := bind(b, wide, q)
		b.Run(q, func(b *testing.B) {
			b.ReportAllocs()
			s := &Scratch{Ctx: context.Background()}
			for range b.N {
				if _, err := e.Eval(s, in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
