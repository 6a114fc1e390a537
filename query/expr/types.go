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

// wanted is how a path of several types is read in a place.
type wanted uint8

const (
	aValue wanted = iota // nothing else is wanted
	aNumber
	aBoolean
)

// beside is how it is read beside the other operands.
func beside(args []operand) wanted {
	for _, o := range args {
		if o.mixed != nil || o.literal {
			continue
		}
		switch o.expr.Type() {
		case vec.Int, vec.Double:
			return aNumber
		case vec.Bool:
			return aBoolean
		}
	}
	return aValue
}

// reading is what an operand is where w is wanted.
func (o operand) reading(w wanted) Expr {
	switch w {
	case aNumber:
		return o.number()
	case aBoolean:
		if o.mixed != nil {
			if c := o.mixed.Boolean(); c != nil {
				return c
			}
		}
	}
	return o.general()
}

// unify finds the type that all operands become: for comparisons and for what gives one of several values.
// ok is false if there is none; then the two operands that do not fit are at i and j.
func unify(args []operand, w wanted) (t vec.Type, i, j int, ok bool) {
	t, at := vec.Null, 0
	for k, o := range args {
		if o.literal {
			continue
		}
		e := o.reading(w)
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

// unified casts operands to the type that they have in common. what names the place, for the error.
func unified(args []operand, what string, at fail.Placed) ([]Expr, vec.Type, error) {
	w := beside(args)
	t, i, j, ok := unify(args, w)
	if !ok {
		// Of two paths of several types one may be numbers alone and the other text: then both are read as numbers.
		w = aNumber
		if t, _, _, ok = unify(args, w); !ok {
			x, y := args[i].general(), args[j].general()
			return nil, 0, fail.At(at, fail.Type, "%s: %s is %s and %s is %s: CAST one of them", what, x, x.Type(), y, y.Type())
		}
	}
	out := make([]Expr, len(args))
	for k, o := range args {
		e := o.reading(w)
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
