package fragment

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// Footer is what a fragment's end says: what it is, and where the pages of each column lie in each row group.
// It is immutable.
type Footer struct {
	Info
	Columns []FileColumn
	Groups  []FileGroup
	Memory  int64 // bytes that it takes, about
	// Indexes is where all column indexes and offset indexes lie, one behind the other.
	Indexes Span

	sums   *parquetfile.Sums // nil: of a file without; its indexes and filters prove nothing
	byName map[string]int
}

// FileColumn is a column of a file.
type FileColumn struct {
	parquetfile.Field
	Attribute Column // of an attribute; the zero value of our own columns
}

// FileGroup is a row group.
type FileGroup struct {
	Rows   int64
	Chunks []Chunk // by column
}

// Chunk is a column's part of a row group.
type Chunk struct {
	Span        // all of its pages, the dictionary's first
	Data  int64 // where its pages of rows begin: behind Span.From, if there is a dictionary
	Raw   int64 // bytes of its pages, unpacked
	Nulls int64
	// Least and Largest bound the values as parquetfile.Bounds do; nil if no row has one.
	Least, Largest                  []byte
	Bloom, ColumnIndex, OffsetIndex Span // empty: there is none

	filter int // of the file's Bloom filters, from 0
}

// Span is the bytes [From, To) of an object.
type Span struct{ From, To int64 }

// Len is how many bytes it has.
func (s Span) Len() int64 { return s.To - s.From }

// TailBytes is how much of an object's end is worth reading at first: the footer and the indexes of most files.
const TailBytes = tailBytes

// FooterBytes is how many bytes of the end of the object hold its footer; tail has at least the last 8 bytes.
func FooterBytes(key string, tail []byte) (int64, error) {
	n, err := parquetfile.TailBytes(tail)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, key, err)
	}
	return n, nil
}

// ParseFooter reads the footer of the object key of size bytes, whose end tail is.
func ParseFooter(key string, size int64, tail []byte) (*Footer, error) {
	f, err := parseFooter(key, size, tail)
	if err != nil && !errors.Is(err, ErrNewerFormat) {
		err = fmt.Errorf("%w: %s: %w", ErrCorrupt, key, err)
	}
	return f, err
}

func parseFooter(key string, size int64, tail []byte) (*Footer, error) {
	if err := parquetfile.CheckFooter(tail); err != nil {
		return nil, err
	}
	n, err := parquetfile.TailBytes(tail)
	if err != nil {
		return nil, err
	}
	var meta format.FileMetaData
	text := parquetfile.FooterText(tail)
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, text, &meta); err != nil {
		return nil, err
	}
	f := &Footer{byName: map[string]int{}, Memory: int64(4 * len(text))}
	if f.Info, err = infoOf(key, &meta); err != nil {
		return nil, err
	}
	if len(meta.Schema) == 0 {
		return nil, errors.New("no schema")
	}
	own, attrs, err := columnsOf(meta.Schema[1:], f.Kind)
	if err != nil {
		return nil, err
	}
	if err := f.columns(meta.Schema[1:], own, attrs); err != nil {
		return nil, err
	}
	rows := int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if err := f.group(g, size-n); err != nil {
			return nil, fmt.Errorf("row group %d: %w", i, err)
		}
		rows += g.NumRows
	}
	if rows != f.Rows {
		return nil, fmt.Errorf("row groups of %d rows in a file of %d", rows, f.Rows)
	}
	return f, f.checksums(&meta)
}

// checksums takes those of the indexes and filters.
func (f *Footer) checksums(meta *format.FileMetaData) error {
	filters := 0
	for i := range f.Groups {
		for c := range f.Groups[i].Chunks {
			if k := &f.Groups[i].Chunks[c]; k.Bloom.Len() > 0 {
				k.filter = filters
				filters++
			}
		}
	}
	for _, kv := range meta.KeyValueMetadata {
		if kv.Key == parquetfile.SumsKey {
			sums, err := parquetfile.ParseSums(kv.Value, filters)
			if err != nil {
				return err
			}
			f.sums = &sums
		}
	}
	return nil
}

// CheckIndexes compares the bytes of Indexes with their checksum. It tells whether there is one: column indexes without prove nothing.
func (f *Footer) CheckIndexes(key string, b []byte) (checked bool, err error) {
	if f.sums == nil {
		return false, nil
	}
	if err := parquetfile.CheckSum(b, f.sums.Indexes); err != nil {
		return false, fmt.Errorf("%w: %s: indexes: %w", ErrCorrupt, key, err)
	}
	return true, nil
}

// Filter reads the bytes of a chunk's Bloom filter; nil if it proves nothing.
func (f *Footer) Filter(key string, c *Chunk, b []byte) (*parquetfile.Filter, error) {
	if f.sums == nil {
		return nil, nil
	}
	err := parquetfile.CheckSum(b, f.sums.Blooms[c.filter])
	if err == nil {
		var filter *parquetfile.Filter
		if filter, err = parquetfile.ReadFilter(b); err == nil {
			return filter, nil
		}
	}
	return nil, fmt.Errorf("%w: %s: Bloom filter: %w", ErrCorrupt, key, err)
}

// columns takes the file's columns.
func (f *Footer) columns(schema []format.SchemaElement, own map[string]int, attrs []attribute) error {
	f.Columns = make([]FileColumn, len(schema))
	for i := range schema {
		e := &schema[i]
		f.Columns[i].Field = parquetfile.Field{Name: e.Name, FieldID: e.FieldID, Required: e.RepetitionType.V == format.Required}
		if _, twice := f.byName[e.Name]; twice {
			return fmt.Errorf("column %q is there twice", e.Name)
		}
		f.byName[e.Name] = i
	}
	for name, i := range own {
		s := ownColumn(name, f.Kind)
		c := &f.Columns[i]
		c.Kind = ownSchema[s].kind
		if c.Required != ownSchema[s].required {
			return fmt.Errorf("column %q is required: %t", name, c.Required)
		}
	}
	for _, a := range attrs {
		c := &f.Columns[a.index]
		c.Kind, c.Attribute = fileKind(a.Type), a.Column
		if c.Required {
			return fmt.Errorf("column %q is required", c.Name)
		}
	}
	return nil
}

// group takes a row group; what it names lies below end.
func (f *Footer) group(g *format.RowGroup, end int64) error {
	if len(g.Columns) != len(f.Columns) || g.NumRows <= 0 || g.NumRows > maxGroupRows {
		return fmt.Errorf("%d rows and %d columns of %d", g.NumRows, len(g.Columns), len(f.Columns))
	}
	out := FileGroup{Rows: g.NumRows, Chunks: make([]Chunk, len(g.Columns))}
	for i := range g.Columns {
		c, m := &g.Columns[i], &g.Columns[i].MetaData
		k := &out.Chunks[i]
		k.From, k.To = chunkSpan(m)
		k.Data, k.Raw, k.Nulls = m.DataPageOffset, m.TotalUncompressedSize, m.Statistics.NullCount
		k.Least, k.Largest = bytes.Clone(m.Statistics.MinValue), bytes.Clone(m.Statistics.MaxValue)
		k.Bloom = Span{m.BloomFilterOffset, m.BloomFilterOffset + int64(m.BloomFilterLength)}
		k.ColumnIndex = Span{c.ColumnIndexOffset, c.ColumnIndexOffset + int64(c.ColumnIndexLength)}
		k.OffsetIndex = Span{c.OffsetIndexOffset, c.OffsetIndexOffset + int64(c.OffsetIndexLength)}
		for _, s := range []Span{k.Span, k.Bloom, k.ColumnIndex, k.OffsetIndex} {
			if s.From < 0 || s.To < s.From || s.To > end {
				return fmt.Errorf("column %q names bytes [%d, %d) of a file of %d", f.Columns[i].Name, s.From, s.To, end)
			}
		}
		if k.OffsetIndex.Len() == 0 {
			return fmt.Errorf("column %q has no offset index", f.Columns[i].Name)
		}
		if k.Raw < 0 || k.Data < k.From || k.Data > k.To || m.NumValues != g.NumRows || k.Nulls < 0 || k.Nulls > g.NumRows || m.Codec != format.Zstd {
			return fmt.Errorf("column %q has %d values of which %d are null, compressed by %v", f.Columns[i].Name, m.NumValues, k.Nulls, m.Codec)
		}
		if size := f.Columns[i].BoundBytes(); size > 0 && (k.Least != nil && len(k.Least) != size || k.Largest != nil && len(k.Largest) != size) {
			return fmt.Errorf("column %q has bounds of %d and %d bytes", f.Columns[i].Name, len(k.Least), len(k.Largest))
		}
		f.index(k.ColumnIndex)
		f.index(k.OffsetIndex)
	}
	f.Groups = append(f.Groups, out)
	return nil
}

// maxGroupRows is far above what a row group has.
const maxGroupRows = 1 << 24

func (f *Footer) index(s Span) {
	switch {
	case s.Len() == 0:
	case f.Indexes.Len() == 0:
		f.Indexes = s
	default:
		f.Indexes.From, f.Indexes.To = min(f.Indexes.From, s.From), max(f.Indexes.To, s.To)
	}
}

// Column is the place of a column among the file's, by its name; -1 if the file has it not.
func (f *Footer) Column(name string) int {
	if i, ok := f.byName[name]; ok {
		return i
	}
	return -1
}

// Nanos is the place of the column with the last three digits of timestamp; -1: they are 0 in all rows.
func (f *Footer) Nanos() int { return f.Column(colNanos) }

// infoOf reads a file's metadata.
func infoOf(key string, file *format.FileMetaData) (Info, error) {
	meta := map[string]string{}
	for _, kv := range file.KeyValueMetadata {
		meta[kv.Key] = kv.Value
	}
	var info Info
	version, err := strconv.Atoi(meta[metaFormat])
	if err != nil || version < 1 {
		return info, fmt.Errorf("format number %q", meta[metaFormat])
	}
	if version > FormatVersion {
		return info, fmt.Errorf("%w: %s has format %d, this version reads up to %d", ErrNewerFormat, key, version, FormatVersion)
	}
	info = Info{
		Tenant: event.TenantID(meta[metaTenant]), Rows: file.NumRows, Format: version, Writer: file.CreatedBy,
		SortKey: strings.Split(meta[metaSortKey], ","),
	}
	switch meta[metaTable] {
	case Events.String():
		info.Kind = Events
	case DeadLetters.String():
		info.Kind = DeadLetters
	default:
		return info, fmt.Errorf("table %q", meta[metaTable])
	}
	if info.Bucket, err = strconv.ParseInt(meta[metaBucket], 10, 64); err != nil {
		return info, fmt.Errorf("bucket: %w", err)
	}
	if info.Seq, err = strconv.ParseUint(meta[metaSeq], 10, 64); err != nil {
		return info, fmt.Errorf("seq: %w", err)
	}
	return info, nil
}

// columnsOf tells our own columns and attributes apart and checks their types.
func columnsOf(schema []format.SchemaElement, kind Kind) (own map[string]int, attrs []attribute, err error) {
	own = map[string]int{}
	for i, e := range schema {
		if n, _ := e.NumChildren.Get(); n > 0 {
			return nil, nil, fmt.Errorf("column %q is nested", e.Name)
		}
		if s := ownColumn(e.Name, kind); s >= 0 {
			if want := physicalOf(s); e.Type.V != want {
				return nil, nil, fmt.Errorf("column %q is %v, not %v", e.Name, e.Type.V, want)
			}
			own[e.Name] = i
			continue
		}
		t := typeOfElement(&e)
		if t == 0 || kind != Events {
			return nil, nil, fmt.Errorf("column %q of an unknown type", e.Name)
		}
		attrs = append(attrs, attribute{Column{pathOfName(e.Name), t, e.Name, e.FieldID}, i})
	}
	for i := range ownSchema {
		s := &ownSchema[i]
		if _, ok := own[s.name]; !ok && s.required && s.name != colNanos && (s.tables == 0 || s.tables == kind) {
			return nil, nil, fmt.Errorf("no column %q", s.name)
		}
	}
	return own, attrs, nil
}
