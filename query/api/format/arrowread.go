package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/vec"
)

// errCutOff is a stream without its end mark.
var errCutOff = errors.New("the answer was cut off")

// ReadArrow gives the rows of a stream that an Arrow writer wrote to a sink. An error that ended the answer is returned as
// it was given to the writer's Fail; a stream that ends early is an error.
func ReadArrow(in io.Reader, out query.Sink) error {
	end := &endWatch{r: in}
	r, err := ipc.NewReader(end)
	if err != nil {
		return fmt.Errorf("%w: %w", errCutOff, err)
	}
	defer r.Release()
	columns := make([]exec.Output, r.Schema().NumFields())
	for i, f := range r.Schema().Fields() {
		if columns[i], err = columnOf(f); err != nil {
			return err
		}
	}
	if err := out.Columns(columns); err != nil {
		return err
	}
	for r.Next() {
		record := r.RecordBatch()
		if meta, ok := record.(arrow.RecordBatchWithMetadata); ok {
			if text, ok := meta.Metadata().GetValue(ErrorMetadata); ok {
				var e Error
				if err := json.Unmarshal([]byte(text), &e); err != nil {
					return fmt.Errorf("%w: an error that cannot be read: %w", errCutOff, err)
				}
				return e.Fail()
			}
		}
		batch := &vec.Batch{Len: int(record.NumRows())}
		for i := range columns {
			batch.Cols = append(batch.Cols, vectorOf(columns[i].Type, record.Column(i)))
		}
		if err := out.Batch(batch); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("%w: %w", errCutOff, err)
	}
	if !end.marked() {
		return errCutOff
	}
	return nil
}

// endWatch keeps the last bytes of a stream: a whole one ends with a mark, which ipc's reader does not insist on.
type endWatch struct {
	r    io.Reader
	last []byte
}

func (e *endWatch) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.last = append(e.last, p[:n]...)
	if most := len(endMark); len(e.last) > most {
		e.last = append(e.last[:0], e.last[len(e.last)-most:]...)
	}
	return n, err
}

const endMark = "\xff\xff\xff\xff\x00\x00\x00\x00"

func (e *endWatch) marked() bool { return string(e.last) == endMark }

func columnOf(f arrow.Field) (exec.Output, error) {
	name, _ := f.Metadata.GetValue(TypeMetadata)
	for t := range arrowTypes {
		if t.String() == name {
			return exec.Output{Name: f.Name, Type: t}, nil
		}
	}
	return exec.Output{}, fmt.Errorf("the column %s has the unknown type %q; is the server newer than this program?", f.Name, name)
}

// vectorOf copies a column.
func vectorOf(t vec.Type, from arrow.Array) *vec.Vector {
	n := from.Len()
	v := &vec.Vector{Type: t, Len: n}
	if t == vec.Null {
		return v
	}
	if from.NullN() > 0 {
		v.Nulls = make([]bool, n)
		for i := range n {
			v.Nulls[i] = from.IsNull(i)
		}
	}
	switch from := from.(type) {
	case *array.Boolean:
		v.Ints = make([]int64, n)
		for i := range n {
			if from.Value(i) {
				v.Ints[i] = 1
			}
		}
	case *array.Int64:
		v.Ints = append(v.Ints, from.Int64Values()...)
	case *array.Float64:
		v.Doubles = append(v.Doubles, from.Float64Values()...)
	case *array.String:
		for i := range n {
			v.Texts = append(v.Texts, from.Value(i))
		}
	case *array.Binary:
		for i := range n {
			v.Texts = append(v.Texts, string(from.Value(i)))
		}
	case *array.Timestamp:
		for _, at := range from.TimestampValues() {
			v.Ints = append(v.Ints, int64(at))
		}
	case *array.Date32:
		for _, day := range from.Date32Values() {
			v.Ints = append(v.Ints, int64(day))
		}
	case *array.MonthDayNanoInterval:
		for _, s := range from.MonthDayNanoIntervalValues() {
			v.Intervals = append(v.Intervals, vec.Span{Months: s.Months, Days: s.Days, Nanos: s.Nanoseconds})
		}
	}
	return v
}
