package fragment

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/internal/objstore"
)

// mergeFile is an output while it is written.
type mergeFile struct {
	MergedFile
	m      *merger
	to     io.Writer
	summer *objstore.Summer
	w      *parquetfile.Writer
	so     int64  // bytes of the row groups that are done
	last   []byte // leading values of the last row's key
	ranges []rangeColumn
}

// rangeColumn is a column of the sort key with its bounds in the file so far.
type rangeColumn struct {
	column int
	bounds parquetfile.Bounds
}

// Write takes what the Parquet writer writes out.
func (f *mergeFile) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, fmt.Errorf("fragment: write output %d of a merge: %w", len(f.m.result.Files), err)
	}
	_, _ = f.summer.Write(b)
	f.Bytes += int64(n)
	return n, nil
}

// startFile begins an output if none is open.
func (m *merger) startFile(g *rowGroup) error {
	if m.file != nil {
		return nil
	}
	to, err := m.create(len(m.result.Files))
	if err != nil {
		return fmt.Errorf("fragment: create output %d of a merge: %w", len(m.result.Files), err)
	}
	f := &mergeFile{m: m, to: to, summer: objstore.NewSummer()}
	f.Min, f.Max, f.SeqMin, f.SortKey = math.MaxInt64, math.MinInt64, math.MaxUint64, SortKeyText(m.key)
	f.KeyMin = m.keyTextOf(g.first)
	fields := make([]parquetfile.Field, len(m.columns))
	for i := range m.columns {
		fields[i] = m.columns[i].Field
	}
	o := parquetfile.Options{CreatedBy: createdBy, Metadata: []parquetfile.KeyValue{
		{Key: metaFormat, Value: strconv.Itoa(FormatVersion)},
		{Key: metaTenant, Value: string(m.spec.Tenant)},
		{Key: metaTable, Value: m.spec.Kind.String()},
		{Key: metaBucket, Value: strconv.FormatInt(m.spec.Bucket, 10)},
		{Key: metaSortKey, Value: strings.Join(m.key, ",")},
	}}
	for _, columns := range m.byPath {
		for _, c := range columns {
			o.SortedBy = append(o.SortedBy, m.columns[c].Name)
			f.ranges = append(f.ranges, rangeColumn{column: c})
		}
	}
	for _, name := range []string{colTimestamp, colNanos} {
		if c := m.columnOf(name); c >= 0 {
			o.SortedBy = append(o.SortedBy, name)
		}
	}
	f.w = parquetfile.NewWriter(f, fields, o, m.check.add)
	m.file = f
	return nil
}

// endRows ends a row group of the file, and the file if it is the last.
func (f *mergeFile) endRows(g *rowGroup) error {
	if err := f.w.EndRowGroup(g.rows); err != nil {
		return err
	}
	f.Rows += int64(g.rows)
	f.Min, f.Max = min(f.Min, g.min), max(f.Max, g.max)
	f.m.expected += g.expect
	f.m.written += float64(f.w.Bytes() - f.so)
	f.so = f.w.Bytes()
	f.last = append(f.last[:0], g.last...)
	for i := range f.ranges {
		r := &f.ranges[i]
		r.bounds.Widen(f.w.Bounds(r.column))
	}
	seq := f.w.Bounds(f.m.columnOf(colSeq))
	low, high := seq.Numbers()
	f.SeqMin, f.SeqMax = min(f.SeqMin, uint64(low)), max(f.SeqMax, uint64(high))
	if g.ends {
		return f.m.endFile()
	}
	return nil
}

// endFile ends the open output.
func (m *merger) endFile() error {
	f := m.file
	if f == nil {
		return nil
	}
	if err := f.w.Close(parquetfile.KeyValue{Key: metaSeq, Value: strconv.FormatUint(f.SeqMax, 10)}); err != nil {
		return err
	}
	f.KeyMax = m.keyTextOf(f.last)
	f.Sum = f.summer.Sum()
	for i := range f.ranges {
		f.Ranges = append(f.Ranges, m.rangeOf(&f.ranges[i]))
	}
	m.result.Files = append(m.result.Files, f.MergedFile)
	m.file = nil
	return nil
}

func (m *merger) rangeOf(r *rangeColumn) Range {
	c := &m.columns[r.column]
	out := Range{Column: c.Name, Nulls: r.bounds.Nulls}
	switch {
	case r.bounds.Least == nil:
	case c.Kind.Text():
		out.Min, out.Max = string(r.bounds.Least), string(r.bounds.Largest)
	default:
		low, high := r.bounds.Numbers()
		out.Min, out.Max = numberText(c.typ, low), numberText(c.typ, high)
	}
	return out
}

// filePlan says when the open output, or the next one, ends.
type filePlan struct {
	m      *merger
	so     float64 // bytes of the output so far
	left   float64 // of all rows that are left, by the sizes of the inputs
	scale  float64 // what a byte of the inputs has become
	target float64
	goal   float64 // size at which to look for a change of the key
}

// planFile parts what is left evenly, so that no small output remains at the end.
func (m *merger) planFile() filePlan {
	p := filePlan{m: m, scale: 1, target: float64(m.spec.TargetBytes)}
	for _, in := range m.inputs {
		p.left += float64(in.info.Rows-in.ordered) * in.rowBytes
	}
	if m.expected > 0 {
		p.scale = m.written / m.expected
	}
	if m.file != nil {
		p.so = float64(m.file.w.Bytes())
	}
	all := p.so + p.left*p.scale
	p.goal = all / max(1, math.Round(all/p.target))
	return p
}

// cut tells whether the output ends before the next row, after expect bytes of the
// inputs' in the row group at hand.
func (p *filePlan) cut(expect float64, keyChanges bool) bool {
	size := p.so + expect*p.scale
	left := (p.left - expect) * p.scale
	switch {
	case size < 0.9*p.goal || left < 0.25*p.target:
		return false
	case keyChanges:
		return true
	}
	return size >= 1.5*p.goal
}
