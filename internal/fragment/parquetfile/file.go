package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

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
	w := &writer{out: append(dst, magic...), base: len(dst), columns: columns, options: o}
	for _, c := range columns {
		if c.Required && c.Len() != len(rows) {
			panic(fmt.Sprintf("parquetfile: required column %q has %d values for %d rows", c.Name, c.Len(), len(rows)))
		}
	}
	w.scratch = scratches.Get().(*scratch)
	defer scratches.Put(w.scratch)
	w.pos = grown(w.scratch.pos, len(rows))
	w.scratch.pos = w.pos
	total := len(rows)
	for from := 0; from < total; from += RowGroupRows {
		if err := w.rowGroup(rows[from:min(from+RowGroupRows, total)]); err != nil {
			return nil, err
		}
	}
	w.indexes()
	w.footer(total)
	return w.out, nil
}

type writer struct {
	out     []byte
	base    int // where the file begins in out
	columns []*Column
	options Options
	*scratch
	pos []int32 // one entry a row of the file

	groups  []format.RowGroup
	columnI [][]format.ColumnIndex
	offsetI [][]format.OffsetIndex
}

func (w *writer) offset() int64 { return int64(len(w.out) - w.base) }

func (w *writer) rowGroup(rows []int32) error {
	g := format.RowGroup{NumRows: int64(len(rows)), FileOffset: w.offset(), Ordinal: int16(len(w.groups))}
	columnI := make([]format.ColumnIndex, len(w.columns))
	offsetI := make([]format.OffsetIndex, len(w.columns))
	filters := make([][]byte, len(w.columns))
	for i, c := range w.columns {
		k := chunk{w: w, c: c, index: &columnI[i], offsets: &offsetI[i]}
		if err := k.write(rows); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		filters[i] = k.filter
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: k.meta})
		g.TotalByteSize += k.meta.TotalUncompressedSize
		g.TotalCompressedSize += k.meta.TotalCompressedSize
	}
	for i, f := range filters {
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
	}
	for _, name := range w.options.SortedBy {
		for i, c := range w.columns {
			if c.Name == name {
				g.SortingColumns = append(g.SortingColumns, format.SortingColumn{ColumnIdx: int32(i)})
			}
		}
	}
	w.groups = append(w.groups, g)
	w.columnI, w.offsetI = append(w.columnI, columnI), append(w.offsetI, offsetI)
	return nil
}

// indexes writes all column indexes, then all offset indexes: a reader that wants
// either reads one range.
func (w *writer) indexes() {
	for g := range w.groups {
		for i := range w.columns {
			c := &w.groups[g].Columns[i]
			c.ColumnIndexOffset = w.offset()
			w.thrift(&w.columnI[g][i])
			c.ColumnIndexLength = int32(w.offset() - c.ColumnIndexOffset)
		}
	}
	for g := range w.groups {
		for i := range w.columns {
			c := &w.groups[g].Columns[i]
			c.OffsetIndexOffset = w.offset()
			w.thrift(&w.offsetI[g][i])
			c.OffsetIndexLength = int32(w.offset() - c.OffsetIndexOffset)
		}
	}
}

func (w *writer) footer(rows int) {
	meta := format.FileMetaData{
		Version: 2, NumRows: int64(rows), RowGroups: w.groups, CreatedBy: w.options.CreatedBy,
		Schema: make([]format.SchemaElement, 0, len(w.columns)+1),
	}
	root := format.SchemaElement{Name: "schema"}
	root.NumChildren.Set(int32(len(w.columns)))
	meta.Schema = append(meta.Schema, root)
	for _, c := range w.columns {
		meta.Schema = append(meta.Schema, c.schema())
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

func (w *writer) thrift(v any) {
	b, err := thrift.Marshal(&compact, v)
	if err != nil {
		panic(fmt.Sprintf("parquetfile: encode %T: %v", v, err)) // to memory: only a bug fails
	}
	w.out = append(w.out, b...)
}

var compact thrift.CompactProtocol

func (c *Column) physical() format.Type {
	switch c.Kind {
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

func (c *Column) schema() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, FieldID: c.FieldID}
	e.Type.Set(c.physical())
	if c.Required {
		e.RepetitionType.Set(format.Required)
	} else {
		e.RepetitionType.Set(format.Optional)
	}
	switch c.Kind {
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
