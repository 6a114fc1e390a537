package expr

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/kernel"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

func (b *binder) is(e *sql.Is) (Expr, error) {
	if e.What != "NULL" {
		x, err := b.boolean(e.X)
		if err != nil {
			return nil, err
		}
		return fold(&state{x, e.What, e.Not}), nil
	}
	o, err := b.operand(e.X)
	if err != nil {
		return nil, err
	}
	if o.mixed == nil {
		return fold(&state{o.expr, e.What, e.Not}), nil
	}
	// A path of several types is NULL where all of its columns are.
	var out Expr
	for _, c := range o.mixed.Columns {
		part := Expr(&state{c, "NULL", e.Not})
		if out != nil {
			part = combine(e.Not, out, part)
		}
		out = part
	}
	return out, nil
}

func (b *binder) between(e *sql.Between) (Expr, error) {
	args, err := b.operands([]sql.Expr{e.X, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	list, t, err := unified(args, "BETWEEN", e)
	if err != nil {
		return nil, err
	}
	var out Expr
	if len(list[0].Children()) == 0 {
		out = combine(false, comparing(ge, t, list[0], list[1]), comparing(le, t, list[0], list[2]))
	} else {
		out = within(t, list)
	}
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

// within is BETWEEN of an operand that is computed, once.
func within(t vec.Type, args []Expr) Expr {
	if t == vec.Null {
		return &Const{T: vec.Bool}
	}
	constant := func(e Expr) bool {
		c, ok := e.(*Const)
		return ok && c.Value.Type != vec.Null
	}
	return fold(&op{name: "BETWEEN", t: vec.Bool, args: args, seesNulls: !constant(args[1]) || !constant(args[2]),
		show: func(args []Expr) string {
			return "(" + args[0].String() + " BETWEEN " + args[1].String() + " AND " + args[2].String() + ")"
		},
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out, high := half(ge, t, args[0], args[1], n), half(le, t, args[0], args[2], n)
			(&logic{}).merge(out, high)
			return out, nil
		}})
}

// half compares with NULL where an operand is.
func half(c comparison, t vec.Type, l, r *vec.Vector, n int) *vec.Vector {
	if l.IsAllNull() || r.IsAllNull() {
		return vec.AllNull(vec.Bool, n).Flat()
	}
	out := kernel.Compare(c, t, l, r, n)
	if !l.MayHaveNulls() && !r.MayHaveNulls() {
		return out
	}
	out.Nulls = make([]bool, n)
	for i := range n {
		out.Nulls[i] = l.IsNull(i) || r.IsNull(i)
	}
	return out
}

func (b *binder) in(e *sql.In) (Expr, error) {
	if row, ok := e.X.(*sql.Row); ok {
		return b.inRows(row, e)
	}
	args, err := b.operands(append([]sql.Expr{e.X}, e.List...))
	if err != nil {
		return nil, err
	}
	list, t, err := unified(args, "IN", e)
	if err != nil {
		return nil, err
	}
	out := among(t, list[0], list[1:])
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

func (b *binder) inRows(row *sql.Row, e *sql.In) (Expr, error) {
	var out Expr = truth(false)
	for _, item := range e.List {
		r, ok := item.(*sql.Row)
		if !ok {
			return nil, fail.At(item, fail.Type, "IN compares a row with rows: ((1, 'a'), (2, 'b'))")
		}
		same, err := b.compareRows(eq, row, r, e)
		if err != nil {
			return nil, err
		}
		out = combine(true, out, same)
	}
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

// among is x IN (list), of one type.
func among(t vec.Type, x Expr, list []Expr) Expr {
	if t == vec.Null {
		return &Const{T: vec.Bool}
	}
	m := &member{x: x, t: t}
	for _, e := range list {
		c, ok := e.(*Const)
		switch {
		case !ok:
			m.others = append(m.others, e)
		case c.Value.Type == vec.Null:
			m.null = true
		default:
			m.values = append(m.values, c.Value)
		}
	}
	return m.expr()
}
