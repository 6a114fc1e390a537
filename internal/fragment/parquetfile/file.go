package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// KeyValue is one entry of a file's metadata.
type KeyValue struct{ Key, Value string }

// Options are what a file has beside its columns.
type Options struct {
	CreatedBy string
	Metadata  []KeyValue
	SortedBy  []string // names of columns of the file, ascending, nulls last
}

const magic = "PAR1"

// Write appends a file to dst, which must be empty or begin at an object's start. rows
// names the columns' rows in the order in which they are written.
func Write(dst []byte, columns []*Column, rows []int32, o Options) ([]byte, error) {
	fields := make([]Field, len(columns))
	for i, c := range columns {
		fields[i] = c.Field
	}
	w := newWriter(nil, fields, o)
	w.out, w.flushed = append(dst, magic...), -int64(len(dst))
	sizes := rowSizes(columns, len(rows))
	for from := 0; from < len(rows); {
		to := groupEnd(rows, sizes, from)
		if err := w.Rows(columns, rows[from:to], len(rows)); err != nil {
			return nil, err
		}
		from = to
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return w.out, nil
}

// rowSizes are the bytes of each row's byte arrays; nil if a row group holds them all.
func rowSizes(columns []*Column, rows int) []int {
	total := 0
	for _, c := range columns {
		if c.text() {
			total += c.textBytes(nil)
		}
	}
	if total <= RowGroupBytes {
		return nil
	}
	sizes := make([]int, rows)
	for _, c := range columns {
		if c.text() {
			c.textBytes(sizes)
		}
	}
	return sizes
}

// groupEnd is where the row group that begins at from ends.
func groupEnd(rows []int32, sizes []int, from int) int {
	end := min(from+RowGroupRows, len(rows))
	size := 0
	for i := from; i < end && sizes != nil; i++ {
		if size += sizes[rows[i]]; size > RowGroupBytes && i > from {
			return i
		}
	}
	return end
}

// flushBytes is how much of a file waits in memory before it is written out.
const flushBytes = 64 << 10

// Writer writes a file as a stream: row group after row group, each column after the
// other, the indexes and the footer at the end. Its memory is a column's pages at hand and
// the indexes of the row groups so far.
type Writer struct {
	to      io.Writer // nil: all stays in out
	out     []byte
	flushed int64 // bytes of the file before out
	fields  []Field
	options Options
	check   func(column int, page []byte) error
	*scratch

	rows    int64
	groups  []format.RowGroup
	columnI [][]format.ColumnIndex
	offsetI [][]format.OffsetIndex
	filters [][]byte // of the row group that is written
	firsts  firsts   // of its lists
	current chunk    // the column of it that is written
	blooms  []uint32 // checksums of the filters so far
	packers []packer // by column
}

// NewWriter begins a file. check, if there is one, is given each page as it goes into the
// file, header and all, in the file's order; its error ends the file.
func NewWriter(to io.Writer, fields []Field, o Options, check func(column int, page []byte) error) *Writer {
	w := newWriter(to, fields, o)
	w.out, w.check = append(w.out, magic...), check
	return w
}

func newWriter(to io.Writer, fields []Field, o Options) *Writer {
	return &Writer{to: to, fields: fields, options: o, scratch: scratches.Get().(*scratch), packers: make([]packer, len(fields))}
}

func (w *Writer) offset() int64 { return w.flushed + int64(len(w.out)) }

// Bytes is the file's size so far.
func (w *Writer) Bytes() int64 { return w.offset() }

// flush writes out what waits if it is this much.
func (w *Writer) flush(most int) error {
	if w.to == nil || len(w.out) < most {
		return nil
	}
	if _, err := w.to.Write(w.out); err != nil {
		return err
	}
	w.flushed += int64(len(w.out))
	w.out = w.out[:0]
	if cap(w.out) > keepPage {
		w.out = nil
	}
	return nil
}

// Rows writes a row group of whole columns, which have all rows of the file: those rows,
// in this order.
func (w *Writer) Rows(columns []*Column, rows []int32, all int) error {
	w.StartRowGroup()
	for i, c := range columns {
		if err := w.Column(i, c, rows, all); err != nil {
			return err
		}
	}
	return w.EndRowGroup(len(rows))
}

// StartRowGroup begins a row group; each column is written once, in order, then
// EndRowGroup ends it.
func (w *Writer) StartRowGroup() {
	n := len(w.fields)
	w.groups = append(w.groups, format.RowGroup{
		FileOffset: w.offset(), Ordinal: int16(len(w.groups)), Columns: make([]format.ColumnChunk, 0, n),
	})
	w.columnI = append(w.columnI, make([]format.ColumnIndex, n))
	w.offsetI = append(w.offsetI, make([]format.OffsetIndex, n))
	w.filters = make([][]byte, n)
	w.firsts = newFirsts(n)
}

// firsts are the first elements of the lists that each column of a row group has, side by
// side: in a small file, of which there are very many, hardly a list gets longer, and
// a list's own memory would cost more than what is written of it.
type firsts struct {
	nullPages []bool
	nulls     []int64
	bounds    [][]byte
	pages     []format.PageLocation
	path      []string
	encodings []format.Encoding
	stats     []format.PageEncodingStats
}

// of a chunk: levels, dictionary and values; and pages of the dictionary and of values.
const (
	firstEncodings = 3
	firstStats     = 2
)

func newFirsts(columns int) firsts {
	return firsts{
		make([]bool, columns), make([]int64, columns), make([][]byte, 2*columns), make([]format.PageLocation, columns),
		make([]string, columns), make([]format.Encoding, firstEncodings*columns), make([]format.PageEncodingStats, firstStats*columns),
	}
}

// nth is an empty list with room for the n elements of list that belong to column i.
func nth[T any](list []T, i, n int) []T { return list[i*n : i*n : (i+1)*n] }

// chunk begins the next column of the row group.
func (w *Writer) chunk(column int) *chunk {
	g := len(w.groups) - 1
	if column != len(w.groups[g].Columns) {
		panic(fmt.Sprintf("parquetfile: column %d is written where %d is due", column, len(w.groups[g].Columns)))
	}
	w.current = chunk{w: w, f: &w.fields[column], column: column, index: &w.columnI[g][column], offsets: &w.offsetI[g][column]}
	k, first := &w.current, &w.firsts
	k.index.NullPages, k.index.NullCounts = nth(first.nullPages, column, 1), nth(first.nulls, column, 1)
	k.index.MinValues, k.index.MaxValues = nth(first.bounds, 2*column, 1), nth(first.bounds, 2*column+1, 1)
	k.offsets.PageLocations = nth(first.pages, column, 1)
	k.meta = format.ColumnMetaData{
		Type: k.f.physical(), Codec: format.Zstd,
		PathInSchema:  append(nth(first.path, column, 1), k.f.Name),
		Encoding:      append(nth(first.encodings, column, firstEncodings), format.RLE),
		EncodingStats: nth(first.stats, column, firstStats),
	}
	return k
}

// done ends a column of the row group.
func (w *Writer) done(k *chunk, err error) error {
	if err != nil {
		return fmt.Errorf("column %q: %w", k.f.Name, err)
	}
	g := &w.groups[len(w.groups)-1]
	w.filters[k.column] = k.filter
	g.Columns = append(g.Columns, format.ColumnChunk{MetaData: k.meta})
	g.TotalByteSize += k.meta.TotalUncompressedSize
	g.TotalCompressedSize += k.meta.TotalCompressedSize
	return nil
}

// Column writes rows of a column as the next one of the row group. all is how many rows
// the column has, with values or not.
func (w *Writer) Column(i int, c *Column, rows []int32, all int) error {
	if c.Required && c.Len() != all {
		panic(fmt.Sprintf("parquetfile: required column %q has %d values for %d rows", c.Name, c.Len(), all))
	}
	k := w.chunk(i)
	w.pos = grown(w.pos, all)
	return w.done(k, c.write(k, rows))
}

// EndRowGroup writes the row group's Bloom filters.
func (w *Writer) EndRowGroup(rows int) error {
	g := &w.groups[len(w.groups)-1]
	g.NumRows = int64(rows)
	w.rows += int64(rows)
	for i, f := range w.filters {
		if f == nil {
			continue
		}
		meta := &g.Columns[i].MetaData
		meta.BloomFilterOffset = w.offset()
		w.thrift(&format.BloomFilterHeader{
			NumBytes:    int32(len(f)),
			Algorithm:   format.BloomFilterAlgorithm{Value: &format.SplitBlockAlgorithm{}},
			Hash:        format.BloomFilterHash{Value: &format.XxHash{}},
			Compression: format.BloomFilterCompression{Value: &format.BloomFilterUncompressed{}},
		})
		w.out = append(w.out, f...)
		meta.BloomFilterLength = int32(w.offset() - meta.BloomFilterOffset)
		w.blooms = append(w.blooms, crc32.Checksum(w.out[len(w.out)-int(meta.BloomFilterLength):], castagnoli))
	}
	for _, name := range w.options.SortedBy {
		for i := range w.fields {
			if w.fields[i].Name == name {
				g.SortingColumns = append(g.SortingColumns, format.SortingColumn{ColumnIdx: int32(i)})
			}
		}
	}
	return w.flush(flushBytes)
}

// Close ends the file, with more metadata behind that of the options. The Writer is not
// used again.
func (w *Writer) Close(more ...KeyValue) error {
	w.options.Metadata = append(slices.Clip(w.options.Metadata), more...)
	at := len(w.out)
	w.indexes()
	sums := Sums{Indexes: crc32.Checksum(w.out[at:], castagnoli), Blooms: w.blooms}
	w.options.Metadata = append(w.options.Metadata, KeyValue{SumsKey, sums.String()})
	w.footer()
	scratches.Put(w.scratch.trimmed())
	w.scratch = nil
	return w.flush(1)
}

// indexes writes all column indexes, then all offset indexes: a reader that wants
// either reads one range.
func (w *Writer) indexes() {
	for g := range w.groups {
		for i := range w.fields {
			c := &w.groups[g].Columns[i]
			c.ColumnIndexOffset = w.offset()
			w.thrift(&w.columnI[g][i])
			c.ColumnIndexLength = int32(w.offset() - c.ColumnIndexOffset)
		}
	}
	for g := range w.groups {
		for i := range w.fields {
			c := &w.groups[g].Columns[i]
			c.OffsetIndexOffset = w.offset()
			w.thrift(&w.offsetI[g][i])
			c.OffsetIndexLength = int32(w.offset() - c.OffsetIndexOffset)
		}
	}
}

func (w *Writer) footer() {
	meta := format.FileMetaData{
		Version: 2, NumRows: w.rows, RowGroups: w.groups, CreatedBy: w.options.CreatedBy,
		Schema: make([]format.SchemaElement, 0, len(w.fields)+1),
	}
	root := format.SchemaElement{Name: "schema"}
	root.NumChildren.Set(int32(len(w.fields)))
	meta.Schema = append(meta.Schema, root)
	for i := range w.fields {
		meta.Schema = append(meta.Schema, w.fields[i].schema())
		meta.ColumnOrders = append(meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	for _, kv := range w.options.Metadata {
		meta.KeyValueMetadata = append(meta.KeyValueMetadata, format.KeyValue{Key: kv.Key, Value: kv.Value})
	}
	footer := len(w.out) + footerSumBytes
	w.out = append(w.out, make([]byte, footerSumBytes)...)
	w.thrift(&meta)
	putFooterSum(w.out[footer-footerSumBytes:], w.out[footer:])
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(len(w.out)-footer))
	w.out = append(w.out, magic...)
}

// The footer's checksum stands right before the footer, where no reader of Parquet
// looks: Parquet has checksums of pages and none of the footer, and a decoder
// believes a damaged one (bounds that hide rows, lists of a billion entries).
const (
	footerSumMagic = "TGFS"
	footerSumBytes = len(footerSumMagic) + 4
	trailerBytes   = 4 + len(magic)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func putFooterSum(dst, footer []byte) {
	copy(dst, footerSumMagic)
	binary.LittleEndian.PutUint32(dst[len(footerSumMagic):], crc32.Checksum(footer, castagnoli))
}

// TailBytes is how many bytes at a file's end hold its footer with its checksum; end is
// at least the last 8 bytes of the file.
func TailBytes(end []byte) (int64, error) {
	if len(end) < trailerBytes || string(end[len(end)-len(magic):]) != magic {
		return 0, errors.New("no Parquet file: it does not end in " + magic)
	}
	return int64(binary.LittleEndian.Uint32(end[len(end)-trailerBytes:])) + int64(footerSumBytes+trailerBytes), nil
}

// CheckFooter compares a footer with its checksum; end holds at least TailBytes of the
// file's end.
func CheckFooter(end []byte) error {
	n, err := TailBytes(end)
	if err != nil {
		return err
	}
	if n > int64(len(end)) {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, len(end))
	}
	sum := end[int64(len(end))-n:]
	footer := sum[footerSumBytes : len(sum)-trailerBytes]
	var want [footerSumBytes]byte
	putFooterSum(want[:], footer)
	if !bytes.Equal(sum[:footerSumBytes], want[:]) {
		return errors.New("the footer's checksum does not match")
	}
	return nil
}

// FooterText is the footer itself, in Thrift's compact protocol; CheckFooter has passed for end.
func FooterText(end []byte) []byte {
	n := int(binary.LittleEndian.Uint32(end[len(end)-trailerBytes:]))
	return end[len(end)-trailerBytes-n : len(end)-trailerBytes]
}

func (w *Writer) thrift(v any) {
	if w.encoder == nil {
		w.encoder = thrift.NewEncoder(compact.NewWriter(&w.encoded))
	}
	w.encoded.Reset()
	if err := w.encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("parquetfile: encode %T: %v", v, err)) // to memory: only a bug fails
	}
	w.out = append(w.out, w.encoded.Bytes()...)
}

var compact thrift.CompactProtocol

func (f *Field) physical() format.Type {
	switch f.Kind {
	case Boolean:
		return format.Boolean
	case Int32:
		return format.Int32
	case Int64, TimestampMicros:
		return format.Int64
	case Double:
		return format.Double
	}
	return format.ByteArray
}

func (f *Field) schema() format.SchemaElement {
	e := format.SchemaElement{Name: f.Name, FieldID: f.FieldID}
	e.Type.Set(f.physical())
	if f.Required {
		e.RepetitionType.Set(format.Required)
	} else {
		e.RepetitionType.Set(format.Optional)
	}
	switch f.Kind {
	case TimestampMicros:
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
		e.ConvertedType.Set(deprecated.TimestampMicros)
	case String:
		e.LogicalType.Value = &format.StringType{}
		e.ConvertedType.Set(deprecated.UTF8)
	case JSON:
		e.LogicalType.Value = &format.JsonType{}
		e.ConvertedType.Set(deprecated.Json)
	}
	return e
}
