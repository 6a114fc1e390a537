package expr

import (
	"github.com/togodb/togo/query/vec"
)

// logic is AND or OR of operands, from the left.
type logic struct {
	or   bool
	args []Expr
}

// combine is AND or OR of two operands, laid flat.
func combine(or bool, l, r Expr) Expr {
	var args []Expr
	for _, e := range []Expr{l, r} {
		if n, ok := e.(*logic); ok && n.or == or {
			args = append(args, n.args...)
		} else {
			args = append(args, e)
		}
	}
	return (&logic{or, args}).simple()
}

// And is all of the conditions; TRUE if there is none.
func And(conditions ...Expr) Expr { return (&logic{false, conditions}).simple() }

// Conjuncts splits a condition at its ANDs.
func Conjuncts(e Expr) []Expr {
	if n, ok := e.(*logic); ok && !n.or {
		return n.args
	}
	return []Expr{e}
}

// simple drops constants that decide nothing. One that decides all stands for the operands from it on,
// as they would not be evaluated.
func (l *logic) simple() Expr {
	var args []Expr
	for _, a := range l.args {
		c, ok := a.(*Const)
		if !ok || c.Value.Type == vec.Null {
			args = append(args, a)
			continue
		}
		if (c.Value.Int != 0) == l.or {
			if !anyFails(args) {
				return c
			}
			args = append(args, c)
			break
		}
	}
	switch len(args) {
	case 0:
		return truth(!l.or)
	case 1:
		return args[0]
	}
	for _, a := range args {
		if _, ok := a.(*Const); !ok {
			return &logic{l.or, args}
		}
	}
	return fold(&logic{l.or, args})
}

func (l *logic) Type() vec.Type            { return vec.Bool }
func (l *logic) Children() []Expr          { return l.args }
func (l *logic) with(children []Expr) Expr { return (&logic{l.or, children}).simple() }
func (l *logic) fails() bool               { return false }

func (l *logic) label() string {
	if l.or {
		return "OR"
	}
	return "AND"
}

func (l *logic) String() string { return "(" + joined(l.args, " "+l.label()+" ") + ")" }

// Eval evaluates from the left. An operand that may fail is evaluated only for the rows that those before it left open.
func (l *logic) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	n := in.Len
	out := vec.New(vec.Bool, n)
	first := true
	for _, a := range l.args {
		if !first && Fails(a) {
			if err := l.narrow(s, in, a, out); err != nil {
				return nil, err
			}
			continue
		}
		v, err := a.Eval(s, in)
		if err != nil {
			return nil, err
		}
		if first {
			first = false
			copyBits(out, v)
			continue
		}
		l.merge(out, v)
	}
	return out, nil
}

// copyBits writes v to out, whose nulls are its own afterwards.
func copyBits(out, v *vec.Vector) {
	if v.IsAllNull() {
		out.Nulls = make([]bool, out.Len)
		for i := range out.Nulls {
			out.Nulls[i] = true
		}
		return
	}
	v = v.Flat()
	copy(out.Ints, v.Ints[:out.Len])
	if v.Nulls != nil {
		out.Nulls = append([]bool(nil), v.Nulls...)
	}
}

// merge adds an operand's rows to the result.
func (l *logic) merge(out, v *vec.Vector) {
	decides := bit(l.or)
	if v.Const {
		if !v.IsAllNull() && v.Ints[0] != decides {
			return
		}
		v = v.Flat()
	} else if v.Type == vec.Null {
		v = vec.AllNull(vec.Bool, out.Len).Flat()
	}
	v = v.Flat()
	if out.Nulls == nil && v.Nulls == nil {
		if l.or {
			for i, b := range v.Ints[:out.Len] {
				out.Ints[i] |= b
			}
		} else {
			for i, b := range v.Ints[:out.Len] {
				out.Ints[i] &= b
			}
		}
		return
	}
	if out.Nulls == nil {
		out.Nulls = make([]bool, out.Len)
	}
	for i := range out.Ints {
		if !out.Nulls[i] && out.Ints[i] == decides {
			continue
		}
		switch {
		case v.Nulls != nil && v.Nulls[i]:
			out.Nulls[i] = true
		case v.Ints[i] == decides:
			out.Ints[i], out.Nulls[i] = decides, false
		}
	}
}

// narrow evaluates an operand for the rows that are not decided.
func (l *logic) narrow(s *Scratch, in *vec.Batch, a Expr, out *vec.Vector) error {
	decides := bit(l.or)
	var open []int32
	for i, b := range out.Ints {
		if b != decides || out.Nulls != nil && out.Nulls[i] {
			open = append(open, int32(i))
		}
	}
	if len(open) == 0 {
		return nil
	}
	if len(open) == in.Len {
		v, err := a.Eval(s, in)
		if err == nil {
			l.merge(out, v)
		}
		return err
	}
	v, err := a.Eval(s, subset(in, open, a))
	if err != nil {
		return err
	}
	// FALSE AND x is FALSE whatever x is: rows that are not open keep theirs.
	all := vec.New(vec.Bool, in.Len)
	for i := range all.Ints {
		all.Ints[i] = decides
	}
	all.Scatter(v, open)
	l.merge(out, all)
	return nil
}

// subset is the batch's rows at the indexes, of the columns that the expressions read.
func subset(in *vec.Batch, rows []int32, of ...Expr) *vec.Batch {
	out := &vec.Batch{Len: len(rows), Cols: make([]*vec.Vector, len(in.Cols))}
	for _, e := range of {
		walk(e, func(e Expr) {
			if c, ok := e.(*Column); ok && out.Cols[c.Slot] == nil && in.Cols[c.Slot] != nil {
				out.Cols[c.Slot] = in.Cols[c.Slot].Gather(rows)
			}
		})
	}
	return out
}

// not is NOT x.
func not(x Expr) Expr {
	if o, ok := x.(*op); ok && o.compare != 0 {
		return comparing(o.compare.Inverse(), o.args[0].Type(), o.args[0], o.args[1])
	}
	return fold(&op{name: "NOT", t: vec.Bool, args: []Expr{x}, show: prefix("NOT "),
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := vec.New(vec.Bool, n)
			for i, b := range args[0].Ints[:n] {
				out.Ints[i] = b ^ 1
			}
			return out, nil
		}})
}

// state is IS [NOT] NULL, TRUE or FALSE: never NULL itself.
type state struct {
	x    Expr
	what string // "NULL", "TRUE", "FALSE"
	not  bool
}

func isNull(x Expr) Expr { return fold(&state{x: x, what: "NULL"}) }

func (e *state) Type() vec.Type            { return vec.Bool }
func (e *state) Children() []Expr          { return []Expr{e.x} }
func (e *state) with(children []Expr) Expr { return fold(&state{children[0], e.what, e.not}) }
func (e *state) fails() bool               { return false }

func (e *state) label() string {
	if e.not {
		return "IS NOT " + e.what
	}
	return "IS " + e.what
}

func (e *state) String() string { return suffix(e.label())(e.Children()) }

// Eval looks at the NULLs, and at the values where they are asked for.
func (e *state) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	v, err := e.x.Eval(s, in)
	if err != nil {
		return nil, err
	}
	if v.Type == vec.Null || v.Const {
		is := v.IsAllNull()
		if e.what != "NULL" {
			is = !is && v.Ints[0] == bit(e.what == "TRUE")
		}
		return vec.Constant(vec.Bool, truth(is != e.not).Value, in.Len), nil
	}
	if e.what == "NULL" && v.Nulls == nil {
		return vec.Constant(vec.Bool, truth(e.not).Value, in.Len), nil
	}
	out := vec.New(vec.Bool, in.Len)
	if e.what == "NULL" {
		for i, null := range v.Nulls {
			out.Ints[i] = bit(null != e.not)
		}
		return out, nil
	}
	v = v.Flat()
	want := bit(e.what == "TRUE")
	for i, b := range v.Ints[:in.Len] {
		out.Ints[i] = bit((b == want && (v.Nulls == nil || !v.Nulls[i])) != e.not)
	}
	return out, nil
}
