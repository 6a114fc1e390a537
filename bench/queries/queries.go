package main

import "strings"

// question is one of the twelve queries. $needle is a trace of the large tenant.
type question struct {
	Name string
	SQL  string
	// Duck is the same for DuckDB, where its text differs.
	Duck string
	// Columns are the columns of the files that it needs.
	Columns string
	// Ordered: the rows have one order.
	Ordered bool
	// Pruned: dictionaries, the order of the rows, metadata or filters answer, so that it should take a fifth of the time.
	Pruned bool
}

// schemaQuery stands for Engine.Schema.
const schemaQuery = "schema"

var queries = []question{
	{Name: "count by service", Pruned: true, Columns: "service",
		SQL: `SELECT service, count(*) FROM events GROUP BY service`},
	{Name: "errors per minute", Columns: "status timestamp",
		SQL: `SELECT date_trunc('minute', timestamp) AS minute, count(*) FROM events WHERE status >= 500 GROUP BY minute`},
	{Name: "p99 by service", Columns: "service http.duration_ms",
		SQL: `SELECT service, quantile_cont("http.duration_ms", 0.99) FROM events GROUP BY service`},
	{Name: "top hosts by distinct users", Columns: "host user.id", Ordered: true,
		SQL: `SELECT host, count(DISTINCT "user.id") AS users FROM events GROUP BY host ORDER BY users DESC, host LIMIT 10`},
	{Name: "needle by trace id", Pruned: true, Columns: "trace_id timestamp service message",
		SQL: `SELECT timestamp, service, message FROM events WHERE trace_id = '$needle'`},
	{Name: "ILIKE in message", Columns: "message",
		SQL: `SELECT count(*) FROM events WHERE message ILIKE '%timeout%'`},
	{Name: "last 100 rows", Pruned: true, Columns: "timestamp service level message", Ordered: true,
		SQL: `SELECT timestamp, service, level, message FROM events ORDER BY timestamp DESC LIMIT 100`},
	{Name: "filter on a rare value", Pruned: true, Columns: "level timestamp host message",
		SQL: `SELECT timestamp, host, message FROM events WHERE level = 'fatal'`},
	{Name: "high-cardinality group-by", Columns: "user.id", Ordered: true,
		SQL: `SELECT "user.id", count(*) AS n FROM events GROUP BY "user.id" ORDER BY n DESC, "user.id" LIMIT 10`},
	{Name: "three numeric columns", Columns: "http.bytes http.duration_ms retries",
		SQL: `SELECT sum("http.bytes"), avg("http.duration_ms"), max(retries) FROM events`},
	{Name: "schema", Pruned: true, SQL: schemaQuery, Duck: `DESCRIBE SELECT * FROM read_parquet($files, union_by_name = true)`},
	{Name: "count of everything", Pruned: true, SQL: `SELECT count(*), min(timestamp), max(timestamp) FROM events`},
}

// text is the query for one of the engines.
func (q *question) text(w *world, duck bool) string {
	s := q.SQL
	if duck && q.Duck != "" {
		s = q.Duck
	}
	return strings.ReplaceAll(s, "$needle", w.Needle)
}
