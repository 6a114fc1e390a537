package scan

import (
	"strconv"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// boundsFunc gives what is known of a slot's values in some rows.
type boundsFunc func(slot int) expr.Bounds

// judge tells what bounds say of a stage.
func (p *plan) judge(r *Request, s *stage, bounds boundsFunc) expr.Verdict {
	if s.cond != nil {
		return expr.Judge(s.cond, bounds)
	}
	b := bounds(p.time)
	switch floor := int64(r.Floor); {
	case !b.Known:
		return expr.Maybe
	case b.Max.Int < floor:
		return expr.Never
	case b.Min.Int >= floor:
		return expr.Always
	}
	return expr.Maybe
}

// unknown are the bounds of values of which nothing is known.
func unknown(rows int64) expr.Bounds { return expr.Bounds{Rows: rows, Nulls: -1} }

// ofRecord are the bounds that a fragment's commit record gives.
func (p *plan) ofRecord(f *Fragment) boundsFunc {
	return func(slot int) expr.Bounds {
		c := &p.columns[slot]
		if c.Name == Timestamp {
			return values(f.Rows, 0, vec.TimestampTZ, vec.Value{Int: int64(f.Min)}, vec.Value{Int: int64(f.Max)})
		}
		for i := range f.Ranges {
			if r := &f.Ranges[i]; r.Column == c.Name {
				return ofRange(f.Rows, c.Type, r)
			}
		}
		return unknown(f.Rows)
	}
}

// values are bounds with a type.
func values(rows, nulls int64, t vec.Type, least, largest vec.Value) expr.Bounds {
	least.Type, largest.Type = t, t
	return expr.Bounds{Rows: rows, Nulls: nulls, Known: true, Min: least, Max: largest}
}

// ofRange are the bounds that a record's range gives; see fragment.Range.
func ofRange(rows int64, t vec.Type, r *shardlog.ColumnRange) expr.Bounds {
	if r.Nulls == rows {
		return expr.Bounds{Rows: rows, Nulls: rows, Known: true}
	}
	var least, largest vec.Value
	read := func(text string, v *vec.Value) (ok bool) {
		var err error
		switch t {
		case vec.Text, vec.JSON:
			v.Text = text
		case vec.Int:
			v.Int, err = strconv.ParseInt(text, 10, 64)
		case vec.Double:
			v.Double, err = strconv.ParseFloat(text, 64)
		case vec.Bool:
			v.Int = 0
			if text == "true" {
				v.Int = 1
			}
		default:
			return false
		}
		return err == nil
	}
	if !read(r.Min, &least) || !read(r.Max, &largest) {
		return expr.Bounds{Rows: rows, Nulls: r.Nulls}
	}
	return values(rows, r.Nulls, t, least, largest)
}

// ofPages are the bounds that a file gives of a column's values in some rows.
func (b *binding) ofPages(typ vec.Type, column *fragment.FileColumn, rows int64, p parquetfile.PageBounds) expr.Bounds {
	switch {
	case p.Nulls == rows:
		return expr.Bounds{Rows: rows, Nulls: rows, Known: true}
	case p.Least == nil || p.Largest == nil:
		return expr.Bounds{Rows: rows, Nulls: p.Nulls}
	case column.Kind.Text():
		return values(rows, p.Nulls, typ, vec.Value{Text: string(p.Least)}, vec.Value{Text: string(p.Largest)})
	}
	least, largest := parquetfile.Number(p.Least), parquetfile.Number(p.Largest)
	switch column.Kind {
	case parquetfile.Double:
		return values(rows, p.Nulls, typ, vec.Value{Double: double(least)}, vec.Value{Double: double(largest)})
	case parquetfile.TimestampMicros:
		least, largest = least*1000, largest*1000
		if b.nanos >= 0 {
			largest += 999
		}
	}
	return values(rows, p.Nulls, typ, vec.Value{Int: least}, vec.Value{Int: largest})
}

// ofGroup are the bounds that a file's footer gives of a row group.
func (o *opened) ofGroup(p *plan, g *fragment.FileGroup) boundsFunc {
	return func(slot int) expr.Bounds {
		b := &o.slots[slot]
		switch {
		case b.event:
			return expr.Bounds{Rows: g.Rows}
		case b.column < 0:
			return expr.Bounds{Rows: g.Rows, Nulls: g.Rows, Known: true}
		}
		c := &g.Chunks[b.column]
		return b.ofPages(p.columns[slot].Type, &o.footer.Columns[b.column], g.Rows, parquetfile.PageBounds{Nulls: c.Nulls, Least: c.Least, Largest: c.Largest})
	}
}
