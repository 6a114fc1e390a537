package expr

import (
	"math"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/kernel"
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
		run: f.make(at), mayFail: f.out != vec.Double, show: infix(name), rises: f.rises(name, le, re)}), nil
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
	make      func(at fail.Placed) runFunc
}

func arithmeticOf(name string, l, r vec.Type) (form, bool) {
	numeric := func(t vec.Type) bool { return t == vec.Int || t == vec.Double || t == vec.Null }
	switch {
	case l == vec.Null && r == vec.Null:
		return form{}, true
	case numeric(l) && numeric(r):
		if name == "/" || l == vec.Double || r == vec.Double {
			return form{vec.Double, vec.Double, vec.Double, func(fail.Placed) runFunc { return doubleKernel(name) }}, true
		}
		return form{vec.Int, vec.Int, vec.Int, func(at fail.Placed) runFunc { return intKernel(name, at) }}, true
	}
	return timeArithmetic(name, l, r)
}

func doubleKernel(name string) runFunc {
	return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
		out := vec.New(vec.Double, n)
		kernel.Doubles(name, out, args[0].Flat().Doubles[:n], args[1].Flat().Doubles[:n])
		return out, nil
	}
}

// intKernel checks each result: overflow is an error, division by zero NULL.
func intKernel(name string, at fail.Placed) runFunc {
	return func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Int, n)
		l, r := args[0].Flat().Ints[:n], args[1].Flat().Ints[:n]
		if bad := kernel.Ints(name, out, l, r, nulls); bad >= 0 {
			return nil, fail.At(at, fail.OutOfRange, "%d %s %d is beyond BIGINT; CAST an operand to DOUBLE", l[bad], name, r[bad])
		}
		return out, nil
	}
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
