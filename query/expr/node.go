package expr

import (
	"github.com/togodb/togo/query/vec"
)

// node is a bound expression of this package that has operands.
type node interface {
	Expr
	// with is the same expression over other operands, of the same types.
	with(children []Expr) Expr
	// label names the node without its operands: nodes of equal labels over equal operands are equal.
	label() string
	// fails tells that evaluating the node itself may be an error.
	fails() bool
}

// runFunc computes n rows of operands that are flat or constant, of which it need not look at those that are NULL
// in nulls (nil: none), and must not fail for them. It may set more nulls, in a slice of its own; nulls
// itself are added by the caller.
type runFunc func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error)

// op is an operator or a function that gives NULL if an operand is NULL, unless it sees nulls.
type op struct {
	name      string
	t         vec.Type
	args      []Expr
	run       runFunc
	mayFail   bool
	seesNulls bool
	volatile  bool
	compare   comparison // 0 unless it is a comparison
	rises     bool       // never falls while the operand that is not constant rises
	mayNull   bool       // with rises: it may be NULL where the operand is not
	begins    string     // TRUE only for texts that begin so
	show      func(args []Expr) string
}

func (o *op) Type() vec.Type   { return o.t }
func (o *op) Children() []Expr { return o.args }
func (o *op) String() string   { return o.show(o.args) }
func (o *op) label() string    { return o.name + ":" + o.t.String() }
func (o *op) fails() bool      { return o.mayFail }

func (o *op) with(children []Expr) Expr {
	out := *o
	out.args = children
	if nullOperand(&out) && !anyFails(children) {
		return &Const{T: o.t}
	}
	return constant(&out)
}

// Eval computes the operands and then the operator, once for each entry of a dictionary where it can.
func (o *op) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	if in.Len == 0 {
		return vec.New(o.t, 0), nil
	}
	if err := s.ended(); err != nil {
		return nil, err
	}
	args := make([]*vec.Vector, len(o.args))
	null := false
	for i, a := range o.args {
		v, err := a.Eval(s, in)
		if err != nil {
			return nil, err
		}
		null = null || v.IsAllNull()
		args[i] = v
	}
	if null && !o.seesNulls {
		return vec.AllNull(o.t, in.Len), nil
	}
	varying, coded := -1, false
	constant := true
	for i, v := range args {
		if v.Const || v.Type == vec.Null {
			continue
		}
		coded = constant && v.Dict != nil
		constant, varying = false, i
	}
	switch {
	case constant && !o.volatile:
		return o.once(s, args, in.Len)
	case coded && !o.seesNulls && !o.volatile:
		return o.byEntry(s, args, varying)
	}
	for i, v := range args {
		if !v.Const {
			args[i] = v.Flat()
		}
	}
	if o.seesNulls {
		return o.run(s, args, in.Len, nil)
	}
	return o.strict(s, args, in.Len, unionNulls(args, in.Len))
}

// once computes a row of constants.
func (o *op) once(s *Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
	one := make([]*vec.Vector, len(args))
	for i, v := range args {
		c := *v
		c.Len = 1
		one[i] = &c
	}
	v, err := o.run(s, one, 1, nil)
	if err != nil {
		return nil, err
	}
	return vec.Constant(o.t, v.At(0), n), nil
}

// strict runs the operator and lays nulls over its result.
func (o *op) strict(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
	v, err := o.run(s, args, n, nulls)
	if err != nil || nulls == nil {
		return v, err
	}
	if v.Nulls == nil {
		v.Nulls = nulls
		return v, nil
	}
	for i, null := range nulls {
		if null {
			v.Nulls[i] = true
		}
	}
	return v, nil
}

// unionNulls is where any of the flat vectors is NULL; nil if none may be.
func unionNulls(args []*vec.Vector, n int) []bool {
	var out []bool
	owned := false
	for _, v := range args {
		if v.Const || v.Nulls == nil {
			continue
		}
		if out == nil {
			out = v.Nulls
			continue
		}
		if !owned {
			out, owned = append(make([]bool, 0, n), out...), true
		}
		for i, null := range v.Nulls {
			if null {
				out[i] = true
			}
		}
	}
	return out
}
