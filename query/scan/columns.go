package scan

import (
	"context"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/value"
)

// ColumnBounds are those of one column of a fragment.
type ColumnBounds struct {
	Name   string
	Bounds expr.Bounds
}

// Columns gives the bounds of the columns of one of r's fragments over all of its rows, from its footer.
func (s *Scanner) Columns(ctx context.Context, r *Request, f *Fragment) ([]ColumnBounds, error) {
	stats := r.Stats
	if stats == nil {
		stats = new(Stats)
	}
	x := &run{Scanner: s, ctx: ctx, r: r, stats: stats}
	k, _, err := x.footer(f, false)
	if err != nil {
		return nil, err
	}
	var out []ColumnBounds
	for i := range k.footer.Columns {
		c := &k.footer.Columns[i]
		if i == k.footer.Nanos() {
			continue
		}
		b := binding{column: i, nanos: -1}
		if c.Name == Timestamp {
			b.nanos = k.footer.Nanos()
		}
		out = append(out, ColumnBounds{c.Name, b.ofFile(k.footer)})
	}
	return out, nil
}

// ofFile are the bounds of a column over all row groups.
func (b *binding) ofFile(footer *fragment.Footer) expr.Bounds {
	all := expr.Bounds{Known: true}
	column := &footer.Columns[b.column]
	for i := range footer.Groups {
		g := &footer.Groups[i]
		c := &g.Chunks[b.column]
		of := b.ofPages(types[column.Kind], column, g.Rows, parquetfile.PageBounds{Nulls: c.Nulls, Least: c.Least, Largest: c.Largest})
		if of.Known && of.Nulls < of.Rows {
			if all.Nulls == all.Rows || value.Compare(of.Min, all.Min) < 0 {
				all.Min = of.Min
			}
			if all.Nulls == all.Rows || value.Compare(of.Max, all.Max) > 0 {
				all.Max = of.Max
			}
		}
		all.Known = all.Known && of.Known
		all.Rows += of.Rows
		all.Nulls += of.Nulls
	}
	return all
}
