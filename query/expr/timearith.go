package expr

import (
	"math"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// timeArithmetic is arithmetic with times and intervals.
func timeArithmetic(name string, l, r vec.Type) (form, bool) {
	stamp := func(t vec.Type) bool { return t == vec.Timestamp || t == vec.TimestampTZ }
	number := func(t vec.Type) bool { return t == vec.Int || t == vec.Double }
	sign, addSpan := int64(1), calendar.Add
	if name == "-" {
		sign, addSpan = -1, calendar.Subtract
	}
	if l == vec.Null {
		l = nullBeside(name, r)
	}
	if r == vec.Null {
		r = nullBeside(name, l)
	}
	commuted := func() (form, bool) {
		f, ok := timeArithmetic(name, r, l)
		return form{f.r, f.l, f.out, func(at fail.Placed) runFunc { return swapped(f.make(at)) }}, ok
	}
	switch {
	case name == "+" && l == vec.Interval && (stamp(r) || r == vec.Date), name == "+" && l == vec.Int && r == vec.Date, name == "*" && number(l) && r == vec.Interval:
		return commuted()
	case (name == "+" || name == "-") && stamp(l) && r == vec.Interval:
		f, ok := each(l, r, l, func(a, b vec.Value) (vec.Value, error) {
			n, err := addSpan(a.Int, b.Span)
			return vec.Value{Type: l, Int: n}, err
		})
		slow := f.make
		f.make = func(at fail.Placed) runFunc { return shifted(l, sign, slow(at)) }
		return f, ok
	case (name == "+" || name == "-") && l == vec.Date && r == vec.Interval:
		return each(vec.Timestamp, r, vec.Timestamp, func(a, b vec.Value) (vec.Value, error) {
			n, err := addSpan(a.Int, b.Span)
			return vec.Value{Type: vec.Timestamp, Int: n}, err
		})
	case (name == "+" || name == "-") && l == vec.Date && r == vec.Int:
		return each(l, r, vec.Date, func(a, b vec.Value) (vec.Value, error) {
			if b.Int > maxDays || b.Int < -maxDays {
				return vec.Value{}, beyondDates
			}
			n := a.Int + sign*b.Int
			if n > maxDays || n < -maxDays {
				return vec.Value{}, beyondDates
			}
			return vec.Value{Type: vec.Date, Int: n}, nil
		})
	case name == "-" && l == vec.Date && r == vec.Date:
		return each(l, r, vec.Int, func(a, b vec.Value) (vec.Value, error) {
			return vec.Value{Type: vec.Int, Int: a.Int - b.Int}, nil
		})
	case name == "-" && (stamp(l) || l == vec.Date) && (stamp(r) || r == vec.Date):
		t := vec.Timestamp
		if l == vec.TimestampTZ || r == vec.TimestampTZ {
			t = vec.TimestampTZ
		}
		return each(t, t, vec.Interval, func(a, b vec.Value) (vec.Value, error) { return interval(calendar.Between(a.Int, b.Int)) })
	case l == vec.Interval && (r == vec.Interval || number(r)):
		return spanArithmetic(name, r)
	}
	return form{}, false
}

// interval is a value of a span.
func interval(s vec.Span, err error) (vec.Value, error) {
	return vec.Value{Type: vec.Interval, Span: s}, err
}

// spanArithmetic is that of an interval with another one or with a number.
func spanArithmetic(name string, r vec.Type) (form, bool) {
	switch {
	case name == "+" && r == vec.Interval:
		return each(vec.Interval, r, vec.Interval, func(a, b vec.Value) (vec.Value, error) { return interval(calendar.Sum(a.Span, b.Span)) })
	case name == "-" && r == vec.Interval:
		return each(vec.Interval, r, vec.Interval, func(a, b vec.Value) (vec.Value, error) {
			less, err := calendar.Negate(b.Span)
			if err != nil {
				return vec.Value{}, err
			}
			return interval(calendar.Sum(a.Span, less))
		})
	case name == "*" && r == vec.Int:
		return each(vec.Interval, r, vec.Interval, func(a, b vec.Value) (vec.Value, error) { return interval(calendar.Times(a.Span, b.Int)) })
	case name == "*" && r == vec.Double:
		return each(vec.Interval, r, vec.Interval, func(a, b vec.Value) (vec.Value, error) { return interval(calendar.Scale(a.Span, b.Double)) })
	case name == "/" && r != vec.Interval:
		return each(vec.Interval, vec.Double, vec.Interval, func(a, b vec.Value) (vec.Value, error) {
			if b.Double == 0 {
				return vec.Value{}, nil
			}
			return interval(calendar.Divide(a.Span, b.Double))
		})
	}
	return form{}, false
}

// shifted adds an interval of a constant length, sign times; where that is none or a result may be out of range, slow does it.
func shifted(t vec.Type, sign int64, slow runFunc) runFunc {
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		v, by := args[0], args[1]
		if !by.Const || v.Const || by.Intervals[0].Months != 0 {
			return slow(s, args, n, nulls)
		}
		const days, nanos = 20_000, 1 << 61 // far from overflow
		span := by.Intervals[0]
		if span.Days > days || span.Days < -days || span.Nanos > nanos || span.Nanos < -nanos {
			return slow(s, args, n, nulls)
		}
		shift := sign * (int64(span.Days)*calendar.Day + span.Nanos)
		out := vec.New(t, n)
		for i, x := range v.Ints[:n] {
			z := x + shift
			if (z^x)&(z^shift) < 0 {
				return slow(s, args, n, nulls)
			}
			out.Ints[i] = z
		}
		return out, nil
	}
}

// nullBeside is the type that NULL is taken for.
func nullBeside(name string, other vec.Type) vec.Type {
	switch {
	case name == "*" || name == "/":
		return vec.Int
	case other == vec.Date:
		return vec.Int
	}
	return vec.Interval
}

func swapped(k runFunc) runFunc {
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		return k(s, []*vec.Vector{args[1], args[0]}, n, nulls)
	}
}

// maxDays bounds DATEs and the days of INTERVALs.
const maxDays = math.MaxInt32

var beyondDates = fail.New(fail.OutOfRange, "the result is beyond the range of DATE")

// each is a form that is computed value by value; a result of type Null is NULL.
func each(l, r, out vec.Type, f func(a, b vec.Value) (vec.Value, error)) (form, bool) {
	return form{l, r, out, func(at fail.Placed) runFunc {
		return func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
			v := vec.New(out, n)
			for i := range n {
				if nulls != nil && nulls[i] {
					continue
				}
				a, b := args[0].At(i), args[1].At(i)
				z, err := f(a, b)
				if err != nil {
					return nil, placed(err, at)
				}
				v.Set(i, z)
			}
			return v, nil
		}
	}}, true
}
