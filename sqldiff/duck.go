package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/vec"
)

// duck is DuckDB with each tenant's tables in a schema of the tenant's name.
type duck struct{ db *sql.DB }

func openDuck() (*duck, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // settings are the connection's
	d := &duck{db}
	return d, d.exec(
		"SET TimeZone = 'UTC'", "SET threads = 1",
		// A number as JSON has it, for a double that stands in a text.
		`CREATE MACRO main.jsonnumber(x) AS CASE WHEN x = trunc(x) AND abs(x) < 1e15 THEN (CASE WHEN x = 0 AND x::VARCHAR = '-0.0' THEN '-0' ELSE x::BIGINT::VARCHAR END) ELSE x::VARCHAR END`,
	)
}

func (d *duck) exec(list ...string) error {
	for _, s := range list {
		if _, err := d.db.Exec(s); err != nil {
			return fmt.Errorf("%.300s: %w", s, err)
		}
	}
	return nil
}

func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

var duckTypes = map[fragment.Type]string{
	fragment.Boolean: "BOOLEAN", fragment.Int64: "BIGINT", fragment.Double: "DOUBLE", fragment.String: "VARCHAR", fragment.JSON: "JSON",
}

// Columns that every file has, as Togo's SQL has them.
var ownTypes = map[shardlog.Table][][2]string{
	shardlog.TableEvents: {
		{"id", "VARCHAR"}, {"ingested_at", "TIMESTAMPTZ"}, {"source_partition", "BIGINT"}, {"source_offset", "BIGINT"}, {"_seq", "BIGINT"},
		{"_rest", "JSON"}, {"_keys", "JSON"}, {"_raw", "BLOB"},
	},
	shardlog.TableDeadLetters: {
		{"id", "VARCHAR"}, {"ingested_at", "TIMESTAMPTZ"}, {"source_partition", "BIGINT"}, {"source_offset", "BIGINT"}, {"_seq", "BIGINT"},
		{"reason", "VARCHAR"}, {"detail", "VARCHAR"}, {"source_cluster", "VARCHAR"}, {"source_topic", "VARCHAR"}, {"format", "VARCHAR"}, {"payload", "BLOB"},
	},
}

// load makes a tenant's table of its live files; suffix is added to its name.
func (d *duck) load(tenant event.TenantID, table shardlog.Table, suffix string, files []string, columns *fragment.Columns, nanos bool, floor event.Timestamp, sent map[string]string) error {
	schema := ident(string(tenant))
	if err := d.exec("CREATE SCHEMA IF NOT EXISTS " + schema); err != nil {
		return err
	}
	type want struct{ name, kind string }
	var wants []want
	for _, c := range ownTypes[table] {
		wants = append(wants, want{c[0], c[1]})
	}
	if table == shardlog.TableEvents {
		for _, c := range columns.All() {
			wants = append(wants, want{c.Name, duckTypes[c.Type]})
		}
	}
	from, have := "(SELECT 1 WHERE false)", map[string]bool{}
	if len(files) > 0 {
		from = fmt.Sprintf("read_parquet(['%s'], union_by_name = true)", strings.Join(files, "','"))
		rows, err := d.db.Query("SELECT column_name FROM (DESCRIBE SELECT * FROM " + from + ")")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			have[name] = true
		}
	}
	at := "NULL::TIMESTAMPTZ"
	switch {
	case nanos && have["nanos"]:
		at = "make_timestamp_ns(epoch_us(timestamp) * 1000 + coalesce(nanos, 0))"
	case nanos:
		at = "NULL::TIMESTAMP_NS"
	case len(files) > 0:
		at = "timestamp"
	}
	list := []string{at + " AS timestamp"}
	for _, w := range wants {
		value := "NULL"
		if have[w.name] {
			value = ident(w.name)
		}
		list = append(list, fmt.Sprintf("%s::%s AS %s", value, w.kind, ident(w.name)))
	}
	name := schema + "." + ident(string(table)+suffix)
	if table != shardlog.TableEvents {
		return d.exec(fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM %s", name, strings.Join(list, ", "), from))
	}
	if err := d.exec("CREATE OR REPLACE TEMP TABLE sent (sent_id VARCHAR, sent_event VARCHAR)"); err != nil {
		return err
	}
	conn, err := d.db.Conn(context.Background())
	if err != nil {
		return err
	}
	err = conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderFromConn(c.(*duckdb.Conn), "", "sent")
		if err != nil {
			return err
		}
		for id, payload := range sent {
			if err := a.AppendRow(id, payload); err != nil {
				return err
			}
		}
		return a.Close()
	})
	if err := conn.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return d.exec(fmt.Sprintf("CREATE TABLE %s AS SELECT s.sent_event AS _event, t.* FROM (SELECT %s FROM %s) t LEFT JOIN sent s ON s.sent_id = t.id WHERE epoch_ns(t.timestamp) >= %d", name, strings.Join(list, ", "), from, int64(floor)))
}

// same checks that a table has the rows that it had before compaction.
func (d *duck) same(tenant event.TenantID, table shardlog.Table) error {
	a, b := ident(string(tenant))+"."+ident(string(table)), ident(string(tenant))+"."+ident(string(table)+"_before")
	var differ, n int
	q := fmt.Sprintf("SELECT (SELECT count(*) FROM (FROM %[1]s EXCEPT ALL FROM %[2]s)) + (SELECT count(*) FROM (FROM %[2]s EXCEPT ALL FROM %[1]s)), (SELECT count(*) FROM %[1]s)", a, b)
	if err := d.db.QueryRow(q).Scan(&differ, &n); err != nil {
		return err
	}
	if differ > 0 {
		return fmt.Errorf("%s: %d of %d rows are not those from before compaction", a, differ, n)
	}
	return nil
}

// use makes a tenant's tables those that names mean.
func (d *duck) use(tenant event.TenantID) error {
	return d.exec("SET schema = " + literal(string(tenant)))
}

// query answers in the form that answers are compared in. kinds are what Togo's columns are: JSON is asked for as text, and nanoseconds have
// no time zone in DuckDB.
func (d *duck) query(text string, kinds []kind) *answer.Answer {
	out := &answer.Answer{}
	rows, err := d.db.Query(text)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		out.Error = err.Error()
		return out
	}
	values, places := make([]any, len(types)), make([]any, len(types))
	for i := range places {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			out.Error = err.Error()
			return out
		}
		row := make(answer.Row, len(values))
		for i, v := range values {
			row[i] = cell(v, types[i].DatabaseTypeName())
			if i < len(kinds) {
				switch {
				case kinds[i] == kJSON && row[i][0] == 's':
					row[i] = answer.JSON(string(row[i][1:]))
				case kinds[i] == kTime && row[i][0] == 'w':
					row[i] = "t" + row[i][1:]
				}
			}
		}
		out.Rows = append(out.Rows, row)
	}
	if err := rows.Err(); err != nil {
		out.Error = err.Error()
	}
	return out
}

func cell(v any, name string) answer.Cell {
	switch v := v.(type) {
	case nil:
		return answer.Null
	case bool:
		if v {
			return "b1"
		}
		return "b0"
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return answer.Cell(fmt.Sprintf("i%d", v))
	case *big.Int:
		return answer.Cell("i" + v.String())
	case float32:
		return answer.Double(float64(v))
	case float64:
		return answer.Double(v)
	case duckdb.Decimal:
		return answer.Double(v.Float64())
	case string:
		return answer.Cell("s" + v)
	case []byte:
		return answer.Cell(fmt.Sprintf("x%x", v))
	case duckdb.Interval:
		return answer.Interval(vec.Span{Months: v.Months, Days: v.Days, Nanos: v.Micros * 1000})
	case time.Time:
		switch name {
		case "DATE":
			return answer.Int('a', v.Unix()/86400)
		case "TIMESTAMPTZ":
			return answer.Int('t', v.UnixNano())
		}
		return answer.Int('w', v.UnixNano())
	}
	return answer.Cell(fmt.Sprintf("?%T %v", v, v))
}
