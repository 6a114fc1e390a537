package expr

import (
	"context"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// Judge says what is known of a condition in rows of which only bounds of the columns are known. It errs on the side of Maybe.
func Judge(e Expr, bounds func(slot int) Bounds) Verdict {
	switch o := (judge{bounds}).outcomes(e); {
	case o&isTrue == 0:
		return Never
	case o == isTrue:
		return Always
	}
	return Maybe
}

// outcomes are the values that a condition may have.
type outcomes uint8

const (
	isTrue outcomes = 1 << iota
	isFalse
	isNothing
	anything = isTrue | isFalse | isNothing
)

// negated is the outcomes of NOT.
func (o outcomes) negated() outcomes {
	out := o & isNothing
	if o&isTrue != 0 {
		out |= isFalse
	}
	if o&isFalse != 0 {
		out |= isTrue
	}
	return out
}

type judge struct{ bounds func(slot int) Bounds }

func (j judge) outcomes(e Expr) outcomes {
	switch e := e.(type) {
	case *Const:
		switch {
		case e.Value.Type == vec.Null:
			return isNothing
		case e.Value.Int != 0:
			return isTrue
		}
		return isFalse
	case *Column:
		return j.compared(eq, e, truth(true))
	case *logic:
		return j.logic(e)
	case *state:
		return j.state(e)
	case *set:
		return j.set(e)
	case *op:
		return j.op(e)
	case *Ahead:
		return j.ahead(e)
	}
	return anything
}

func (j judge) logic(e *logic) outcomes {
	out, decided := outcomes(0), isFalse
	if e.or {
		decided = isTrue
	}
	for i, a := range e.args {
		o := j.outcomes(a)
		if i == 0 {
			out = o
			continue
		}
		next := (out | o) & decided
		// Undecided together: neither is what decides.
		if left, right := out&^decided, o&^decided; left != 0 && right != 0 {
			next |= (left | right) & isNothing
			next |= left & right &^ isNothing
		}
		out = next
	}
	return out
}

func (j judge) op(e *op) outcomes {
	switch {
	case e.compare != 0:
		return j.compared(e.compare, e.args[0], e.args[1])
	case e.name == "NOT":
		return j.outcomes(e.args[0]).negated()
	case e.name == "IS NOT DISTINCT FROM", e.name == "IS DISTINCT FROM":
		return j.distinct(e)
	case e.name == "BETWEEN":
		low, high := j.compared(ge, e.args[0], e.args[1]), j.compared(le, e.args[0], e.args[2])
		if low&isTrue == 0 || high&isTrue == 0 {
			return isFalse | isNothing
		}
	case e.begins != "":
		return j.begins(e)
	}
	return anything
}

// compared is a comparison of two ranges.
func (j judge) compared(c comparison, l, r Expr) outcomes {
	a, b := j.rangeOf(l), j.rangeOf(r)
	out := isNothing
	if a.Nulls == 0 && b.Nulls == 0 {
		out = 0
	}
	if a.empty() || b.empty() {
		return isNothing
	}
	if !a.Known || !b.Known {
		return out | isTrue | isFalse
	}
	if possible(c, a, b) {
		out |= isTrue
	}
	if possible(c.Inverse(), a, b) {
		out |= isFalse
	}
	return out
}

// empty tells that all is NULL.
func (b Bounds) empty() bool {
	return b.Known && b.Min.Type == vec.Null || b.Nulls >= 0 && b.Nulls == b.Rows
}

// possible tells whether the comparison may be true of values within two ranges.
func possible(c comparison, a, b Bounds) bool {
	switch c {
	case eq:
		return value.Compare(a.Min, b.Max) <= 0 && value.Compare(a.Max, b.Min) >= 0
	case ne:
		return value.Compare(a.Min, a.Max) != 0 || value.Compare(b.Min, b.Max) != 0 || value.Compare(a.Min, b.Min) != 0
	case lt, le:
		return c.Holds(value.Compare(a.Min, b.Max))
	}
	return c.Holds(value.Compare(a.Max, b.Min))
}

// rangeOf is what is known of an expression's values.
func (j judge) rangeOf(e Expr) Bounds {
	unknown := Bounds{Rows: 1, Nulls: -1}
	switch e := e.(type) {
	case *Const:
		if e.Value.Type == vec.Null {
			return Bounds{Rows: 1, Nulls: 1, Known: true}
		}
		return Bounds{Rows: 1, Known: true, Min: e.Value, Max: e.Value}
	case *Column:
		b := j.bounds(e.Slot)
		if b.Known && b.Min.Type != vec.Null && (b.Min.Type != e.T || b.Max.Type != e.T) {
			b.Known = false
		}
		return b
	case *first:
		return j.firstRange(e)
	case *state:
		return Bounds{Rows: 1} // never NULL
	case *op:
		if !e.rises || e.seesNulls {
			return unknown
		}
		varying := -1
		for i, a := range e.args {
			if c, ok := a.(*Const); ok {
				if c.Value.Type == vec.Null {
					return Bounds{Rows: 1, Nulls: 1, Known: true}
				}
			} else {
				if varying >= 0 {
					return unknown
				}
				varying = i
			}
		}
		if varying < 0 {
			return unknown
		}
		b := j.rangeOf(e.args[varying])
		if b.empty() {
			return b
		}
		if b.Nulls == 0 && e.mayNull {
			b.Nulls = -1
		}
		if !b.Known {
			return b
		}
		low, ok1 := e.value(varying, b.Min)
		high, ok2 := e.value(varying, b.Max)
		// Beside the ends of what a time can be the operator itself may fail; rows there have no value of it.
		if !ok1 {
			low, ok1 = e.inward(varying, b, edge)
		}
		if !ok2 {
			high, ok2 = e.inward(varying, b, -edge)
		}
		if !ok1 || !ok2 || low.Type == vec.Null || high.Type == vec.Null {
			return Bounds{Rows: b.Rows, Nulls: b.Nulls}
		}
		b.Min, b.Max = low, high
		return b
	}
	return unknown
}

// edge is how far from the ends of time the parts of a calendar reach beyond them: more than a century, in nanoseconds.
const edge = 101 * 366 * 24 * 3600 * 1e9

// inward is value of what lies within the bounds by some nanoseconds, from the lower end (or the upper one, if by is negative).
func (o *op) inward(at int, b Bounds, by int64) (vec.Value, bool) {
	if b.Min.Type != vec.TimestampTZ && b.Min.Type != vec.Timestamp {
		return vec.Value{}, false
	}
	if b.Max.Int < 0 == (b.Min.Int < 0) && b.Max.Int-b.Min.Int < edge {
		return vec.Value{}, false
	}
	v := b.Min
	if by < 0 {
		v = b.Max
	}
	v.Int += by
	return o.value(at, v)
}

// value computes an operator for one value of an operand, the others being constant.
func (o *op) value(at int, v vec.Value) (vec.Value, bool) {
	args := append([]Expr(nil), o.args...)
	args[at] = &Const{o.args[at].Type(), v}
	one := *o
	one.args = args
	out, err := one.Eval(&Scratch{Ctx: context.Background()}, &vec.Batch{Len: 1})
	if err != nil {
		return vec.Value{}, false
	}
	return out.At(0), true
}

// firstRange is all ranges of a coalesce together.
func (j judge) firstRange(e *first) Bounds {
	out := Bounds{Rows: 1, Nulls: 1, Known: true}
	for _, a := range e.args {
		b := j.rangeOf(a)
		if b.empty() {
			continue
		}
		if b.Nulls == 0 {
			out.Nulls = 0
		} else if out.Nulls != 0 {
			out.Nulls = -1
		}
		switch {
		case !b.Known:
			out.Known = false
		case !out.Known:
		case out.Min.Type == vec.Null:
			out.Min, out.Max = b.Min, b.Max
		default:
			if value.Compare(b.Min, out.Min) < 0 {
				out.Min = b.Min
			}
			if value.Compare(b.Max, out.Max) > 0 {
				out.Max = b.Max
			}
		}
	}
	return out
}

func (j judge) state(e *state) outcomes {
	out := outcomes(0)
	if e.what == "NULL" {
		b := j.rangeOf(e.x)
		if b.Nulls != 0 {
			out |= isTrue
		}
		if !b.empty() {
			out |= isFalse
		}
	} else {
		o := j.outcomes(e.x)
		want := isTrue
		if e.what == "FALSE" {
			want = isFalse
		}
		if o&want != 0 {
			out |= isTrue
		}
		if o&^want != 0 {
			out |= isFalse
		}
	}
	if e.not {
		return out.negated()
	}
	return out
}

// distinct is IS [NOT] DISTINCT FROM.
func (j judge) distinct(e *op) outcomes {
	a, b := j.rangeOf(e.args[0]), j.rangeOf(e.args[1])
	same := outcomes(0)
	switch {
	case a.empty() && b.empty():
		same = isTrue
	case a.empty() && b.Nulls == 0, b.empty() && a.Nulls == 0:
		same = isFalse
	case a.Nulls == 0 || b.Nulls == 0:
		same = j.compared(eq, e.args[0], e.args[1])
		if same&isNothing != 0 {
			same = same&^isNothing | isFalse
		}
	default:
		same = isTrue | isFalse
	}
	if e.name == "IS DISTINCT FROM" {
		return same.negated()
	}
	return same
}

func (j judge) set(e *set) outcomes {
	m := e.member
	if len(m.others) > 0 {
		return anything
	}
	b := j.rangeOf(m.x)
	out := isNothing
	if b.Nulls == 0 && !m.null {
		out = 0
	}
	if b.empty() {
		return isNothing
	}
	if !b.Known {
		return anything
	}
	missing := isFalse
	if m.null {
		missing = isNothing
	}
	for _, v := range m.values {
		if value.Compare(v, b.Min) >= 0 && value.Compare(v, b.Max) <= 0 {
			out |= isTrue
			if value.Compare(b.Min, b.Max) == 0 {
				return out
			}
		}
	}
	return out | missing
}

// begins is a condition that only texts with a certain beginning fulfil.
func (j judge) begins(e *op) outcomes {
	b := j.rangeOf(e.args[0])
	switch {
	case b.empty():
		return isNothing
	case !b.Known:
		return anything
	}
	head := e.begins
	if b.Max.Text < head || len(b.Min.Text) >= len(head) && b.Min.Text[:len(head)] > head || len(b.Min.Text) < len(head) && b.Min.Text > head {
		return isFalse | isNothing
	}
	return anything
}
