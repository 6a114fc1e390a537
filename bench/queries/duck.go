package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

// duck is DuckDB on one thread, over the large tenant's files.
type duck struct {
	w     *world
	db    *sql.DB
	files string // as SQL has it

	footers int64 // bytes of the files'
}

func openDuck(ctx context.Context, w *world) (*duck, error) {
	paths, err := w.files()
	if err != nil {
		return nil, err
	}
	d := &duck{w: w, files: "['" + strings.Join(paths, "', '") + "']"}
	if d.footers, err = w.footers(); err != nil {
		return nil, err
	}
	if d.db, err = sql.Open("duckdb", ""); err != nil {
		return nil, err
	}
	d.db.SetMaxOpenConns(1)
	for _, set := range []string{
		"SET threads = 1", "SET TimeZone = 'UTC'",
		"SET parquet_metadata_cache = true", // as Togo keeps footers
		"CREATE VIEW events AS SELECT * FROM read_parquet(" + d.files + ")",
	} {
		if _, err := d.db.ExecContext(ctx, set); err != nil {
			return nil, fmt.Errorf("%.100s: %w", set, err)
		}
	}
	return d, nil
}

func (d *duck) run(ctx context.Context, q *question, out *answer) error {
	rows, err := d.db.QueryContext(ctx, strings.ReplaceAll(q.text(d.w, true), "$files", d.files))
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		out.first()
		for i, v := range values {
			if at, ok := v.(time.Time); ok {
				values[i] = at.UnixNano()
			}
		}
		out.row(values)
	}
	return rows.Err()
}

// needed is how many bytes of the files the columns of a query take, and the footers that say where they lie.
func (d *duck) needed(ctx context.Context, q *question) (int64, error) {
	names := "'" + strings.Join(strings.Fields(q.Columns), "', '") + "'"
	var n int64
	err := d.db.QueryRowContext(ctx, "SELECT coalesce(sum(total_compressed_size), 0)::BIGINT FROM parquet_metadata("+d.files+") WHERE path_in_schema IN ("+names+")").Scan(&n)
	return n + d.footers, err
}
