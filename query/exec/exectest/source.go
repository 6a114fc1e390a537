// Package exectest is a scan.Source over rows in memory, for tests.
package exectest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// Source has rows. As a real scan does, it uses the memory of a batch again after the emit: what was not copied is
// garbage by then.
type Source struct {
	Columns []scan.Column
	Rows    [][]vec.Value // by row, one value a column
	Batch   int           // rows in a batch; 0 is 7
	// Fragment is how many batches stand for a fragment: they share dictionaries, and Whole is asked once for them if there is no
	// filter. 0 is 3.
	Fragment int
	// Coded: columns of every second fragment have dictionaries; Const: a column whose rows in a batch are equal is constant.
	Coded, Const bool
}

// New makes a source. A row has one value a column: nil, bool, int, int64, float64, string, time.Time or vec.Span.
func New(columns []scan.Column, rows ...[]any) *Source {
	s := &Source{Columns: columns}
	for _, row := range rows {
		if len(row) != len(columns) {
			panic(fmt.Sprintf("exectest: a row of %d values for %d columns", len(row), len(columns)))
		}
		values := make([]vec.Value, len(row))
		for i, v := range row {
			values[i] = value(columns[i].Type, v)
		}
		s.Rows = append(s.Rows, values)
	}
	return s
}

func value(t vec.Type, v any) vec.Value {
	out := vec.Value{Type: t}
	switch v := v.(type) {
	case nil:
		return vec.Value{}
	case bool:
		if v {
			out.Int = 1
		}
	case int:
		out.Int = int64(v)
		out.Double = float64(v)
	case int64:
		out.Int = v
	case float64:
		out.Double = v
	case string:
		out.Text = v
	case time.Time:
		out.Int = v.UnixNano()
	case vec.Span:
		out.Span = v
	default:
		panic(fmt.Sprintf("exectest: a value of type %T", v))
	}
	return out
}

// Scan is scan.Source's.
func (s *Source) Scan(ctx context.Context, r *scan.Request, workers int, emit func(int, *vec.Batch) error) error {
	size, per := s.Batch, s.Fragment
	if size == 0 {
		size = 7
	}
	if per == 0 {
		per = 3
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			scratch := &expr.Scratch{Ctx: ctx, Memo: map[any]any{}}
			for ctx.Err() == nil {
				f := int(next.Add(1)) - 1
				from := f * size * per
				if from >= len(s.Rows) {
					return
				}
				to := min(from+size*per, len(s.Rows))
				if err := s.fragment(r, w, f, from, to, size, scratch, emit); err != nil {
					cancel(err)
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (s *Source) fragment(r *scan.Request, worker, number, from, to, size int, scratch *expr.Scratch, emit func(int, *vec.Batch) error) error {
	rows := s.Rows[from:to]
	if r.Whole != nil && len(r.Filter) == 0 && r.Floor == 0 && r.Whole(worker, s.record(rows)) {
		return nil
	}
	var memory []*vec.Vector
	dicts := make([]*dictionary, len(r.Columns))
	for i, c := range r.Columns {
		if at := s.find(c.Name); at >= 0 && s.Coded && number%2 == 0 && !r.NoDictionaries {
			dicts[i] = newDictionary(c.Type, rows, at)
			memory = append(memory, dicts[i].values)
		}
	}
	defer func() { scribble(memory) }()
	for len(rows) > 0 {
		n := min(size, len(rows))
		if err := s.batch(r, worker, rows[:n], dicts, scratch, emit); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (s *Source) batch(r *scan.Request, worker int, rows [][]vec.Value, dicts []*dictionary, scratch *expr.Scratch, emit func(int, *vec.Batch) error) error {
	b := &vec.Batch{Len: len(rows)}
	var memory []*vec.Vector
	for i, c := range r.Columns {
		v := s.vector(c, rows, dicts[i])
		b.Cols = append(b.Cols, v)
		if v.Dict == nil {
			memory = append(memory, v)
		}
	}
	defer func() { scribble(memory) }()
	sel := make([]int32, 0, len(rows))
	for i := range rows {
		if at := s.find(scan.Timestamp); at < 0 || rows[i][at].Int >= int64(r.Floor) {
			sel = append(sel, int32(i))
		}
	}
	for _, f := range r.Filter {
		v, err := f.Eval(scratch, b)
		if err != nil {
			return err
		}
		left := sel[:0]
		for _, i := range sel {
			if x := v.At(int(i)); x.Type == vec.Bool && x.Int == 1 {
				left = append(left, i)
			}
		}
		sel = left
	}
	if len(sel) == 0 {
		return nil
	}
	out := &vec.Batch{Len: len(sel), Cols: make([]*vec.Vector, len(b.Cols))}
	for _, slot := range r.Output {
		out.Cols[slot] = b.Cols[slot].Gather(sel)
		if out.Cols[slot].Dict == nil && !out.Cols[slot].Const {
			memory = append(memory, out.Cols[slot])
		}
	}
	return emit(worker, out)
}

func (s *Source) find(name string) int {
	for i, c := range s.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

func (s *Source) record(rows [][]vec.Value) *shardlog.Fragment {
	f := &shardlog.Fragment{Rows: int64(len(rows))}
	at := s.find(scan.Timestamp)
	for i, row := range rows {
		if at < 0 {
			break
		}
		t := event.Timestamp(row[at].Int)
		if i == 0 {
			f.Min, f.Max = t, t
		}
		f.Min, f.Max = min(f.Min, t), max(f.Max, t)
	}
	return f
}

func (s *Source) vector(c scan.Column, rows [][]vec.Value, d *dictionary) *vec.Vector {
	at := s.find(c.Name)
	if at < 0 {
		return vec.Constant(c.Type, vec.Value{}, len(rows))
	}
	if d != nil {
		return d.vector(rows, at)
	}
	same := s.Const
	for _, row := range rows {
		same = same && row[at] == rows[0][at]
	}
	if same {
		one := fresh(rows[0][at])
		return vec.Constant(c.Type, one, len(rows))
	}
	v := vec.Nulls(c.Type, len(rows))
	any := false
	for i, row := range rows {
		if row[at].Type == vec.Null {
			any = true
			continue
		}
		v.Nulls[i] = false
		put(v, i, fresh(row[at]))
	}
	if !any {
		v.Nulls = nil
	}
	return v
}

// fresh is the value with its text in memory of its own, to be scribbled over.
func fresh(v vec.Value) vec.Value {
	if v.Text != "" {
		b := []byte(v.Text)
		v.Text = unsafe.String(&b[0], len(b))
	}
	return v
}

func put(v *vec.Vector, i int, x vec.Value) {
	switch {
	case v.Type.HasInts():
		v.Ints[i] = x.Int
	case v.Type == vec.Double:
		v.Doubles[i] = x.Double
	case v.Type.HasTexts():
		v.Texts[i] = x.Text
	case v.Type == vec.Interval:
		v.Intervals[i] = x.Span
	}
}

type dictionary struct {
	values *vec.Vector
	codes  map[vec.Value]int32
}

func newDictionary(t vec.Type, rows [][]vec.Value, at int) *dictionary {
	d := &dictionary{codes: map[vec.Value]int32{}}
	var list []vec.Value
	for _, row := range rows {
		x := row[at]
		if _, ok := d.codes[x]; x.Type != vec.Null && !ok {
			d.codes[x] = int32(len(list))
			list = append(list, x)
		}
	}
	d.values = vec.Nulls(t, len(list))
	d.values.Nulls = nil
	for i, x := range list {
		put(d.values, i, fresh(x))
	}
	return d
}

func (d *dictionary) vector(rows [][]vec.Value, at int) *vec.Vector {
	v := &vec.Vector{Type: d.values.Type, Len: len(rows), Codes: make([]int32, len(rows)), Dict: d.values, Nulls: make([]bool, len(rows))}
	for i, row := range rows {
		v.Nulls[i] = row[at].Type == vec.Null
		v.Codes[i] = d.codes[row[at]]
	}
	return v
}

// scribble makes the memory garbage.
func scribble(list []*vec.Vector) {
	for _, v := range list {
		for i := range v.Ints {
			v.Ints[i] = -0x5EED5EED
		}
		for i := range v.Doubles {
			v.Doubles[i] = -1e77
		}
		for i := range v.Intervals {
			v.Intervals[i] = vec.Span{Months: -7777}
		}
		for i, s := range v.Texts {
			if b := unsafe.Slice(unsafe.StringData(s), len(s)); len(b) > 0 {
				for j := range b {
					b[j] = '!'
				}
			}
			v.Texts[i] = "garbage"
		}
	}
}
