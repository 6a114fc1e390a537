package format

import (
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// arrowWriter writes Arrow's IPC stream: a schema, a record batch for each batch, the end mark.
type arrowWriter struct {
	w       io.Writer
	stream  *ipc.Writer
	builder *array.RecordBuilder
}

// TypeMetadata is the key under which a field has its type in SQL.
const TypeMetadata = "togo.type"

// arrowTypes are Arrow's types of ours.
var arrowTypes = map[vec.Type]arrow.DataType{
	vec.Null:        arrow.Null,
	vec.Bool:        arrow.FixedWidthTypes.Boolean,
	vec.Int:         arrow.PrimitiveTypes.Int64,
	vec.Double:      arrow.PrimitiveTypes.Float64,
	vec.Text:        arrow.BinaryTypes.String,
	vec.JSON:        arrow.BinaryTypes.String,
	vec.Blob:        arrow.BinaryTypes.Binary,
	vec.TimestampTZ: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	vec.Timestamp:   &arrow.TimestampType{Unit: arrow.Nanosecond},
	vec.Date:        arrow.FixedWidthTypes.Date32,
	vec.Interval:    arrow.FixedWidthTypes.MonthDayNanoInterval,
}

func (a *arrowWriter) Columns(columns []exec.Output) error {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		meta := map[string]string{TypeMetadata: c.Type.String()}
		if c.Type == vec.JSON {
			meta["ARROW:extension:name"], meta["ARROW:extension:metadata"] = "arrow.json", ""
		}
		fields[i] = arrow.Field{Name: strings.ToValidUTF8(c.Name, "\ufffd"), Type: arrowTypes[c.Type], Nullable: true, Metadata: arrow.MetadataFrom(meta)}
	}
	schema := arrow.NewSchema(fields, nil)
	a.builder = array.NewRecordBuilder(memory.DefaultAllocator, schema)
	a.stream = ipc.NewWriter(a.w, ipc.WithSchema(schema))
	return nil
}

// arrowRows bounds a record batch by rows; the texts of one bound it by bytes (arrowBytes), since its offsets are of 32 bits.
const (
	arrowRows  = 64 << 10
	arrowBytes = 64 << 20
)

func (a *arrowWriter) Batch(b *vec.Batch) error {
	for from := 0; from < b.Len; {
		to := arrowEnd(b, from)
		for i, v := range b.Cols {
			appendArrow(a.builder.Field(i), v, from, to)
		}
		record := a.builder.NewRecordBatch()
		err := a.stream.Write(record)
		record.Release()
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// arrowEnd is where a record batch that begins at a row ends.
func arrowEnd(b *vec.Batch, from int) int {
	end, size := min(b.Len, from+arrowRows), 0
	for row := from; row < end; row++ {
		for _, v := range b.Cols {
			if v.Type.HasTexts() && !v.IsNull(row) {
				size += len(v.Values().Texts[v.Index(row)])
			}
		}
		if size > arrowBytes && row > from {
			return row
		}
	}
	return end
}

func appendArrow(to array.Builder, v *vec.Vector, from, end int) {
	to.Reserve(end - from)
	in := v.Values()
	for row := from; row < end; row++ {
		if v.IsNull(row) {
			to.AppendNull()
			continue
		}
		at := v.Index(row)
		switch to := to.(type) {
		case *array.BooleanBuilder:
			to.Append(in.Ints[at] != 0)
		case *array.Int64Builder:
			to.Append(in.Ints[at])
		case *array.Float64Builder:
			to.Append(in.Doubles[at])
		case *array.StringBuilder:
			to.Append(strings.ToValidUTF8(in.Texts[at], "\ufffd"))
		case *array.BinaryBuilder:
			to.AppendString(in.Texts[at])
		case *array.TimestampBuilder:
			to.Append(arrow.Timestamp(in.Ints[at]))
		case *array.Date32Builder:
			to.Append(arrow.Date32(in.Ints[at]))
		case *array.MonthDayNanoIntervalBuilder:
			s := in.Intervals[at]
			to.Append(arrow.MonthDayNanoInterval{Months: s.Months, Days: s.Days, Nanoseconds: s.Nanos})
		default:
			panic("bug: no Arrow type for " + v.Type.String())
		}
	}
}

func (a *arrowWriter) End(*query.Summary, Statistics) error {
	if a.stream == nil {
		return errNoColumns
	}
	a.builder.Release()
	return a.stream.Close()
}

// ErrorMetadata is the key under which the last record batch of an answer that failed has its error, as JSON.
const ErrorMetadata = "togo.error"

// Fail ends with an empty record batch that names the error, and without the stream's end mark.
func (a *arrowWriter) Fail(e *fail.Error) error {
	if a.stream == nil {
		return nil
	}
	record := a.builder.NewRecordBatch() // empty: Batch leaves nothing
	defer record.Release()
	a.builder.Release()
	last := array.NewRecordBatchWithMetadata(record.Schema(), record.Columns(), 0, arrow.NewMetadata([]string{ErrorMetadata}, []string{string(errorOf(e).line())}))
	defer last.Release()
	return a.stream.Write(last)
}
