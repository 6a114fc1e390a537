package query

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/snapshot"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// Files tell what can be told of files without reading their rows; *scan.Scanner does.
type Files interface {
	// Columns are those that a file has, with their bounds.
	Columns(ctx context.Context, f scan.Fragment, stats *scan.Stats) ([]scan.ColumnBounds, error)
	// Prune gives the fragments that a scan would open, by their records.
	Prune(r *scan.Request) []scan.Fragment
}

const (
	// describeFiles bounds the footers that one Schema reads, newest events first.
	describeFiles = 1000
	// describeExamples of a column are shown, of at most describeText bytes.
	describeExamples, describeText = 3, 64
)

// Schema is Answerer's. What it tells comes from footers alone.
func (e *Engine) Schema(ctx context.Context, tenant event.TenantID, table string, from, to *event.Timestamp) (schema *Schema, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.MaxTime)
	defer cancel()
	defer func() { err = e.answer(ctx, Request{Tenant: tenant, SQL: "schema"}, err) }()
	if table == "" {
		table = "events"
	}
	kind, ok := tables[table]
	if !ok {
		return nil, fail.New(fail.UnknownTable, "there is no table %q; there are events and dead_letters", table)
	}
	for try := 1; ; try++ {
		snap, columns, err := e.see(ctx, tenant, kind, "")
		if err != nil {
			return nil, err
		}
		d := &description{columns: schemaOf(table, columns).Columns}
		files := snap.Fragments(bound(from, math.MinInt64), bound(to, snapshot.Unbounded))
		slices.SortFunc(files, func(a, b scan.Fragment) int { return int(b.Bucket - a.Bucket) })
		sampled := len(files) > describeFiles
		err = d.read(ctx, e.Files, files[:min(len(files), describeFiles)])
		if err == nil {
			return &Schema{Table: table, Columns: d.shown(), Snapshot: e.Snapshots.Token(snap.Vector), Sampled: sampled}, nil
		}
		if err = e.Snapshots.Explain(ctx, snap, err); err != snapshot.ErrPlanAgain || try == planTries {
			return nil, err
		}
	}
}

func bound(t *event.Timestamp, otherwise event.Timestamp) event.Timestamp {
	if t == nil {
		return otherwise
	}
	return *t
}

// description gathers what files say of a table's columns.
type description struct {
	columns  []exec.SchemaColumn
	examples map[string][]string // of columns that have a value
}

func (d *description) read(ctx context.Context, of Files, files []scan.Fragment) error {
	d.examples = map[string][]string{}
	stats := &scan.Stats{}
	for _, f := range files {
		columns, err := of.Columns(ctx, f, stats)
		if err != nil {
			return err
		}
		for _, c := range columns {
			if c.Bounds.Nulls != c.Bounds.Rows {
				d.add(c.Name, c.Bounds)
			}
		}
	}
	return nil
}

// add takes a file's smallest and largest value of a column as examples: they are cut, if they are long.
func (d *description) add(name string, b expr.Bounds) {
	seen, known := d.examples[name]
	if !known {
		d.examples[name] = nil
	}
	if !b.Known {
		return
	}
	for _, v := range []vec.Value{b.Min, b.Max} {
		text := value.Format(v)
		if len(text) > describeText {
			text = strings.ToValidUTF8(text[:describeText], "")
		}
		if v.Type != vec.Null && v.Type != vec.Blob && len(seen) < describeExamples && !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	d.examples[name] = seen
}

// shown are the columns that some file has a value of.
func (d *description) shown() []SchemaColumn {
	out := []SchemaColumn{}
	for _, c := range d.columns {
		if examples, has := d.examples[c.Name]; has && !c.Hidden {
			out = append(out, SchemaColumn{Name: c.Name, Type: c.Type.String(), Path: c.Path, Examples: examples})
		}
	}
	return out
}
