package query

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
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
	Columns(ctx context.Context, r *scan.Request, f *scan.Fragment) ([]scan.ColumnBounds, error)
	// Prune gives the fragments that a scan would open, by their records.
	Prune(r *scan.Request) []scan.Fragment
}

const (
	// describeFiles bounds the footers that one Schema reads, newest events first.
	describeFiles    = 1000
	describeParallel = 8
	describeExamples = 3 // of a column
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
		slices.SortFunc(files, func(a, b scan.Fragment) int { return cmp.Compare(b.Bucket, a.Bucket) })
		sampled := len(files) > describeFiles
		err = d.read(ctx, e.Files, &scan.Request{
			Tenant: tenant, Kind: kind, TenantColumns: len(columns.All()), Fragments: files[:min(len(files), describeFiles)], Stats: new(scan.Stats),
		})
		if err == nil {
			return &Schema{Table: table, Columns: d.shown(), Snapshot: e.Snapshots.Token(snap.Vector), Sampled: sampled}, nil
		}
		if err = e.Snapshots.Explain(ctx, snap, err); !errors.Is(err, snapshot.ErrPlanAgain) || try == planTries {
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

// read takes the footers of some files at a time, in their order.
func (d *description) read(ctx context.Context, of Files, r *scan.Request) error {
	d.examples = map[string][]string{}
	for part := range slices.Chunk(r.Fragments, describeParallel) {
		columns, errs := make([][]scan.ColumnBounds, len(part)), make([]error, len(part))
		var all sync.WaitGroup
		for i := range part {
			all.Go(func() { columns[i], errs[i] = of.Columns(ctx, r, &part[i]) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for _, c := range slices.Concat(columns...) {
			if c.Bounds.Nulls != c.Bounds.Rows {
				d.add(c.Name, c.Bounds)
			}
		}
	}
	return nil
}

// add takes a file's smallest and largest value of a column as examples. Of long text the footer has the start of the smallest
// alone: the largest is cut and raised, so it is no value.
func (d *description) add(name string, b expr.Bounds) {
	seen, known := d.examples[name]
	if !known {
		d.examples[name] = nil
	}
	if !b.Known {
		return
	}
	for i, v := range []vec.Value{b.Min, b.Max} {
		long := v.Type.HasTexts() && len(v.Text) > parquetfile.BoundBytes-utf8.UTFMax
		if v.Type == vec.Null || v.Type == vec.Blob || long && i > 0 || len(seen) == describeExamples {
			continue
		}
		text := value.Format(v)
		if long {
			text += "…"
		}
		if !slices.Contains(seen, text) {
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
