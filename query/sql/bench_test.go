package sql

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"dashboard": `SELECT date_trunc('minute', timestamp) AS minute, service, count(*) AS n, count(*) FILTER (WHERE status >= 500) AS errors,
			quantile_cont(duration, 0.99) AS p99 FROM events WHERE timestamp >= '2026-01-01' AND timestamp < '2026-01-02' AND "http.method" IN ('GET', 'POST')
			AND message ILIKE '%timeout%' GROUP BY 1, 2 HAVING count(*) > 10 ORDER BY errors DESC NULLS LAST LIMIT 100`,
		"list of 10,000": "SELECT a IN (1" + strings.Repeat(", 1", 9_999) + ")",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
