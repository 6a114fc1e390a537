package expr

import (
	"math"
	"math/bits"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// arithmetic binds + - * / // %.
func arithmetic(name string, l, r operand, at fail.Placed) (Expr, error) {
	le, re := l.number(), r.number()
	lt, rt := le.Type(), re.Type()
	// A text constant becomes the other side's type.
	switch {
	case l.literal && r.literal, l.literal && rt == vec.Null, r.literal && lt == vec.Null:
		return nil, fail.At(at, fail.Type, "%s does not take text: CAST it to a number, a time or an INTERVAL", name)
	case l.literal:
		c, err := literal(le, rt, l.at)
		if err != nil {
			return nil, err
		}
		le, lt = c, c.Type()
	case r.literal:
		c, err := literal(re, lt, r.at)
		if err != nil {
			return nil, err
		}
		re, rt = c, c.Type()
	}
	f, ok := arithmeticOf(name, lt, rt)
	if !ok {
		return nil, fail.At(at, fail.Type, "%s does not take %s (%s) and %s (%s): CAST them to numbers", name, le, lt, re, rt)
	}
	if f.out == vec.Null {
		return &Const{T: vec.Int}, nil
	}
	return fold(&op{name: name, t: f.out, args: []Expr{convert(le, f.l, l.at), convert(re, f.r, r.at)},
		run: f.kernel(at), mayFail: f.out != vec.Double, show: infix(name), rises: f.rises(name, le, re)}), nil
}

// rises tells whether the result of a constant and another operand keeps the order of that one. Months do: a day that
// a month has not becomes its last one.
func (f form) rises(name string, l, r Expr) bool {
	c, constant := r.(*Const)
	if !constant && (name == "+" || name == "*") {
		c, constant = l.(*Const)
	}
	if !constant || f.out == vec.Interval {
		return false
	}
	finite := c.T != vec.Double || c.Value.Double-c.Value.Double == 0
	switch name {
	case "+", "-":
		return finite
	case "*", "/", "//":
		return f.out != vec.Timestamp && finite && (c.Value.Int > 0 || c.Value.Double > 0)
	}
	return false
}

// form is an operator over two types.
type form struct {
	l, r, out vec.Type
	kernel    func(at fail.Placed) kernel
}

func arithmeticOf(name string, l, r vec.Type) (form, bool) {
	numeric := func(t vec.Type) bool { return t == vec.Int || t == vec.Double || t == vec.Null }
	switch {
	case l == vec.Null && r == vec.Null:
		return form{}, true
	case numeric(l) && numeric(r):
		if name == "/" || l == vec.Double || r == vec.Double {
			return form{vec.Double, vec.Double, vec.Double, func(fail.Placed) kernel { return doubleKernel(name) }}, true
		}
		return form{vec.Int, vec.Int, vec.Int, func(at fail.Placed) kernel { return intKernel(name, at) }}, true
	}
	return timeArithmetic(name, l, r)
}

func doubleKernel(name string) kernel {
	return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
		out := vec.New(vec.Double, n)
		l, r := args[0].Flat().Doubles[:n], args[1].Flat().Doubles[:n]
		switch name {
		case "+":
			for i, x := range l {
				out.Doubles[i] = x + r[i]
			}
		case "-":
			for i, x := range l {
				out.Doubles[i] = x - r[i]
			}
		case "*":
			for i, x := range l {
				out.Doubles[i] = x * r[i]
			}
		case "/", "//":
			for i, x := range l {
				out.Doubles[i] = x / r[i]
			}
			for i := 0; name == "//" && i < n; i++ {
				if r[i] == 0 {
					out.SetNull(i)
				}
			}
		case "%":
			for i, x := range l {
				out.Doubles[i] = math.Mod(x, r[i])
			}
		}
		return out, nil
	}
}

// intKernel checks each result: overflow is an error, division by zero NULL.
func intKernel(name string, at fail.Placed) kernel {
	return func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Int, n)
		l, r := args[0].Flat().Ints[:n], args[1].Flat().Ints[:n]
		bad := -1
		wrong := func(i int) {
			if bad < 0 && (nulls == nil || !nulls[i]) {
				bad = i
			}
		}
		switch name {
		case "+":
			for i, x := range l {
				z := x + r[i]
				if (z^x)&(z^r[i]) < 0 {
					wrong(i)
				}
				out.Ints[i] = z
			}
		case "-":
			for i, x := range l {
				z := x - r[i]
				if (x^r[i])&(z^x) < 0 {
					wrong(i)
				}
				out.Ints[i] = z
			}
		case "*":
			for i, x := range l {
				z, ok := multiply(x, r[i])
				if !ok {
					wrong(i)
				}
				out.Ints[i] = z
			}
		default:
			divide(name, out, l, r, wrong)
		}
		if bad >= 0 {
			return nil, overflow(at, name, l[bad], r[bad])
		}
		return out, nil
	}
}

func overflow(at fail.Placed, name string, l, r int64) error {
	return fail.At(at, fail.OutOfRange, "%d %s %d is beyond BIGINT; CAST an operand to DOUBLE", l, name, r)
}

func divide(name string, out *vec.Vector, l, r []int64, wrong func(int)) {
	for i, x := range l {
		switch {
		case r[i] == 0:
			out.SetNull(i)
		case r[i] == -1 && x == math.MinInt64:
			wrong(i)
		case name == "%":
			out.Ints[i] = x % r[i]
		default:
			out.Ints[i] = x / r[i]
		}
	}
}

func multiply(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	h := int64(hi)
	if x < 0 {
		h -= y
	}
	if y < 0 {
		h -= x
	}
	return int64(lo), h == int64(lo)>>63
}

func negate(x Expr, at fail.Placed) Expr {
	t := x.Type()
	return fold(&op{name: "-", t: t, args: []Expr{x}, mayFail: t != vec.Double, show: prefix("-"),
		run: func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
			out := vec.New(t, n)
			for i := range n {
				switch t {
				case vec.Double:
					out.Doubles[i] = -args[0].Doubles[i]
				case vec.Int:
					v := args[0].Ints[i]
					if v == math.MinInt64 && (nulls == nil || !nulls[i]) {
						return nil, fail.At(at, fail.OutOfRange, "-(%d) is beyond BIGINT; CAST it to DOUBLE", v)
					}
					out.Ints[i] = -v
				case vec.Interval:
					s, err := calendar.Negate(args[0].Intervals[i])
					if err != nil && (nulls == nil || !nulls[i]) {
						return nil, placed(err, at)
					}
					out.Intervals[i] = s
				}
			}
			return out, nil
		}})
}
