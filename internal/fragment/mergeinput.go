package fragment

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// mergeInput is an open input: of its footer only what a merge needs.
type mergeInput struct {
	key     string
	n       int // in the order of the inputs
	bytes   int64
	info    Info
	columns []mergeColumn // of the file
	groups  []inputGroup
	streams []*stream // by column of the outputs; nil: the file has it not
	// ofColumn has the same by column of the file.
	ofColumn []*stream

	body     []byte // the whole object if it is small
	ordered  int64  // rows that have their place in the outputs, or lie below the floor
	rowBytes float64
}

// inputGroup is a row group of an input.
type inputGroup struct {
	first, rows int64 // in the file
	raw         int64 // bytes, unpacked
	chunks      []inputChunk
}

type inputChunk struct {
	from, to int64 // in the object
	raw      int64 // bytes of its pages, unpacked
}

func (m *merger) open(n int, in MergeInput) (*mergeInput, error) {
	var r *Reader
	var err error
	var body []byte
	if in.Bytes > 0 && in.Bytes <= m.wholeBytes() {
		if body, err = m.get(&mergeInput{key: in.Key, bytes: in.Bytes}, 0, in.Bytes); err != nil {
			return nil, err
		}
		r, err = OpenBytes(in.Key, body)
	} else {
		r, err = Open(m.ctx, m.store, in.Key, in.Bytes)
	}
	if err != nil {
		return nil, &InputError{in.Key, err}
	}
	opened, err := m.digest(r, n, in)
	if err != nil {
		return nil, &InputError{in.Key, fmt.Errorf("%w: %s: %w", ErrCorrupt, in.Key, err)}
	}
	opened.body = body
	return opened, nil
}

func (m *merger) digest(r *Reader, n int, in MergeInput) (*mergeInput, error) {
	info := r.Info()
	if info.Tenant != m.spec.Tenant || info.Kind != m.spec.Kind || info.Bucket != m.spec.Bucket {
		return nil, fmt.Errorf("it holds %v of tenant %q and bucket %d, not %v of tenant %q and bucket %d",
			info.Kind, info.Tenant, info.Bucket, m.spec.Kind, m.spec.Tenant, m.spec.Bucket)
	}
	out := &mergeInput{key: in.Key, n: n, bytes: in.Bytes, info: info, rowBytes: float64(in.Bytes) / float64(max(1, info.Rows))}
	meta := r.file.Metadata()
	out.columns = make([]mergeColumn, len(meta.Schema)-1)
	for i := range out.columns {
		e := &meta.Schema[i+1]
		out.columns[i] = mergeColumn{
			Field: parquetfile.Field{Name: e.Name, FieldID: e.FieldID, Required: e.RepetitionType.V == format.Required},
			seed:  seedOf(e.Name, e.FieldID),
		}
	}
	for name, i := range r.own {
		s := ownColumn(name, info.Kind)
		c := &out.columns[i]
		c.Kind = ownSchema[s].kind
		if c.FieldID != int32(s+1) || c.Required != ownSchema[s].required {
			return nil, fmt.Errorf("column %q has field id %d", name, c.FieldID)
		}
	}
	for _, a := range r.attrs {
		c := &out.columns[a.index]
		c.Kind, c.path, c.typ = fileKind(a.Type), a.Path, a.Type
		if c.Required || c.FieldID < firstFieldID {
			return nil, fmt.Errorf("column %q has field id %d and is required: %t", c.Name, c.FieldID, c.Required)
		}
	}
	rows := int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if len(g.Columns) != len(out.columns) || g.NumRows <= 0 {
			return nil, fmt.Errorf("row group %d has %d rows and %d columns of %d", i, g.NumRows, len(g.Columns), len(out.columns))
		}
		group := inputGroup{first: rows, rows: g.NumRows, chunks: make([]inputChunk, len(g.Columns))}
		for c := range g.Columns {
			m := &g.Columns[c].MetaData
			from, to := chunkSpan(m)
			if from < 0 || to < from || to > in.Bytes || m.TotalUncompressedSize < 0 || m.NumValues != g.NumRows {
				return nil, fmt.Errorf("row group %d: column %q lies at [%d, %d) with %d values", i, out.columns[c].Name, from, to, m.NumValues)
			}
			group.chunks[c] = inputChunk{from, to, m.TotalUncompressedSize}
			group.raw += m.TotalUncompressedSize
		}
		rows += g.NumRows
		out.groups = append(out.groups, group)
	}
	if rows != info.Rows {
		return nil, fmt.Errorf("row groups of %d rows in a file of %d", rows, info.Rows)
	}
	return out, nil
}

// groupOf is the row group that has a row.
func (in *mergeInput) groupOf(row int64) *inputGroup {
	for i := range in.groups {
		if g := &in.groups[i]; row < g.first+g.rows {
			return g
		}
	}
	return &in.groups[len(in.groups)-1]
}
