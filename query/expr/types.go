package expr

import (
	"errors"
	"strconv"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// implicitCost is how far a type is from another that it becomes without a CAST; false: it does not.
func implicitCost(from, to vec.Type) (int, bool) {
	switch {
	case from == to:
		return 0, true
	case from == vec.Null:
		return 1, true
	case from == vec.Int && to == vec.Double,
		from == vec.Date && to == vec.Timestamp,
		from == vec.Timestamp && to == vec.TimestampTZ,
		from == vec.JSON && to == vec.Text:
		return 2, true
	case from == vec.Date && to == vec.TimestampTZ:
		return 3, true
	}
	return 0, false
}

// cost is implicitCost of an operand; a text constant becomes anything, but rather text.
func (o operand) cost(e Expr, to vec.Type) (int, bool) {
	switch to {
	case Any, AnyText:
		return 6, true
	}
	if c, ok := implicitCost(e.Type(), to); ok {
		return c, true
	}
	if o.literal {
		return 5, true
	}
	return 0, false
}

// unify finds the type that all operands become: for comparisons and for what gives one of several values.
// ok is false if there is none; then the two operands that do not fit are at i and j.
func unify(args []operand) (t vec.Type, i, j int, ok bool) {
	number := false
	for _, o := range args {
		if o.mixed == nil && (o.expr.Type() == vec.Int || o.expr.Type() == vec.Double) {
			number = true
		}
	}
	t, at := vec.Null, 0
	for k, o := range args {
		if o.literal {
			continue
		}
		e := o.reading(number)
		_, up := implicitCost(t, e.Type())
		_, down := implicitCost(e.Type(), t)
		switch {
		case up:
			t, at = e.Type(), k
		case !down:
			return 0, at, k, false
		}
	}
	if t == vec.Null {
		for _, o := range args {
			if o.literal {
				t = vec.Text
			}
		}
	}
	return t, 0, 0, true
}

// reading is what an operand is beside others.
func (o operand) reading(number bool) Expr {
	if number {
		return o.number()
	}
	return o.general()
}

// unified casts operands to the type that they have in common. what names the place, for the error.
func unified(args []operand, what string, at fail.Placed) ([]Expr, vec.Type, error) {
	t, i, j, ok := unify(args)
	if !ok {
		// DOUBLE (of a path with two number columns) beside text, or the other way round: the numbers of both.
		numbers := make([]operand, len(args))
		for k, o := range args {
			numbers[k] = operand{expr: o.number(), literal: o.literal, at: o.at}
		}
		if t, _, _, ok = unify(numbers); !ok {
			x, y := args[i].general(), args[j].general()
			return nil, 0, fail.At(at, fail.Type, "%s: %s is %s and %s is %s: CAST one of them", what, x, x.Type(), y, y.Type())
		}
		args = numbers
	}
	out := make([]Expr, len(args))
	number := t == vec.Int || t == vec.Double
	for k, o := range args {
		e := o.reading(number)
		if o.literal {
			c, err := literal(e, t, o.at)
			if err != nil {
				return nil, 0, err
			}
			e = c
		}
		out[k] = convert(e, t, o.at)
	}
	return out, t, nil
}

// literal casts a text constant to the type that its place wants, now.
func literal(e Expr, t vec.Type, at fail.Placed) (Expr, error) {
	c := e.(*Const)
	if t == vec.Text || t == vec.Null {
		return c, nil
	}
	v, err := value.Parse(c.Value.Text, t)
	if err != nil {
		return nil, fail.At(at, fail.Value, "%s", err.Error())
	}
	return &Const{t, v}, nil
}
