package expr

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

func (b *binder) typeOf(n *sql.TypeName) (vec.Type, error) {
	t, ok := value.TypeOf(n.Name)
	if !ok {
		return 0, fail.At(n, fail.Unsupported, "there is no type %s; there are BOOLEAN, BIGINT, DOUBLE, VARCHAR, JSON, BLOB, TIMESTAMPTZ, TIMESTAMP, DATE and INTERVAL", n.Name)
	}
	return t, nil
}

func (b *binder) typed(e *sql.Typed) (Expr, error) {
	t, err := b.typeOf(&e.Type)
	if err != nil {
		return nil, err
	}
	v, err := value.Parse(e.Text, t)
	if err != nil {
		return nil, fail.At(e, fail.Value, "%s", err.Error())
	}
	return &Const{t, v}, nil
}

func (b *binder) cast(e *sql.Cast) (Expr, error) {
	t, err := b.typeOf(&e.Type)
	if err != nil {
		return nil, err
	}
	o, err := b.operand(e.X)
	if err != nil {
		return nil, err
	}
	x := o.general()
	if o.mixed != nil {
		x = o.mixed.As(t)
	}
	if !value.Castable(x.Type(), t) {
		return nil, fail.At(e, fail.Type, "%s cannot be cast to %s%s", x.Type(), t, castHint(x.Type(), t))
	}
	return casting(x, t, e.Try, e), nil
}

func castHint(from, to vec.Type) string {
	switch {
	case (from == vec.Int || from == vec.Double) && (to == vec.Timestamp || to == vec.TimestampTZ):
		return "; to_timestamp(seconds) gives a time"
	case to == vec.Int || to == vec.Double:
		return "; epoch(time) gives its seconds, epoch_ns(time) its nanoseconds"
	}
	return ""
}

// convert makes an operand one of type t, where the place allows it.
func convert(x Expr, t vec.Type, at fail.Placed) Expr {
	if x.Type() == t {
		return x
	}
	return casting(x, t, false, at)
}

// casting is CAST, or with try TRY_CAST.
func casting(x Expr, t vec.Type, try bool, at fail.Placed) Expr {
	from := x.Type()
	if from == t {
		return x
	}
	if from == vec.Null {
		return &Const{T: t}
	}
	name := "CAST"
	if try {
		name = "TRY_CAST"
	}
	return fold(&op{name: name, t: t, args: []Expr{x}, run: castKernel(from, t, try, at), mayFail: !try && value.Fallible(from, t), rises: value.Rising(from, t),
		show: func(args []Expr) string { return name + "(" + args[0].String() + " AS " + t.String() + ")" }})
}

func castKernel(from, to vec.Type, try bool, at fail.Placed) runFunc {
	switch {
	case from == vec.Int && to == vec.Double, from == vec.Bool && to == vec.Double:
		return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := vec.New(vec.Double, n)
			for i, x := range args[0].Ints[:n] {
				out.Doubles[i] = float64(x)
			}
			return out, nil
		}
	case from.HasInts() && to.HasInts() && from != vec.Date && to != vec.Date && to != vec.Bool, from == vec.JSON && to == vec.Text:
		return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := *args[0].Flat() // the same values under another type
			out.Type = to
			out.Nulls = nil
			return &out, nil
		}
	}
	if to == vec.Text {
		return textKernel(value.AppendFormat)
	}
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(to, n)
		for i := range n {
			if nulls != nil && nulls[i] {
				continue
			}
			v, err := value.Cast(args[0].At(i), to)
			switch {
			case err == nil:
				out.Set(i, v)
			case try:
				out.SetNull(i)
			default:
				return nil, fail.At(at, fail.Value, "%s; TRY_CAST gives NULL instead", err.Error())
			}
		}
		return out, nil
	}
}

// textKernel makes texts of values; they share one string.
func textKernel(format func([]byte, vec.Value) []byte) runFunc {
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Text, n)
		buf := make([]byte, 0, 16*n)
		ends := make([]int, n)
		for i := range n {
			if nulls == nil || !nulls[i] {
				buf = format(buf, args[0].At(i))
			}
			ends[i] = len(buf)
		}
		if err := s.Make(len(buf)); err != nil {
			return nil, err
		}
		all, start := string(buf), 0
		for i, end := range ends {
			out.Texts[i] = all[start:end]
			start = end
		}
		return out, nil
	}
}
