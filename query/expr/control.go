package expr

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/kernel"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// first is coalesce: the first value that is not NULL. Later ones are evaluated only where those before are NULL.
type first struct {
	t    vec.Type
	args []Expr
}

// firstOf makes a coalesce of operands of one type.
func firstOf(t vec.Type, args []Expr) Expr {
	var out []Expr
	for _, a := range args {
		c, ok := a.(*Const)
		if ok && c.Value.Type == vec.Null {
			continue
		}
		out = append(out, a)
		if ok {
			break
		}
	}
	switch len(out) {
	case 0:
		return &Const{T: t}
	case 1:
		return out[0]
	}
	return &first{t, out}
}

func (f *first) Type() vec.Type            { return f.t }
func (f *first) Children() []Expr          { return f.args }
func (f *first) with(children []Expr) Expr { return firstOf(f.t, children) }
func (f *first) label() string             { return "coalesce" }
func (f *first) fails() bool               { return false }
func (f *first) String() string            { return call("coalesce")(f.args) }

// Eval fills the rows that are NULL so far.
func (f *first) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	if in.Len == 0 {
		return vec.New(f.t, 0), nil
	}
	v, err := f.args[0].Eval(s, in)
	if err != nil || !v.MayHaveNulls() {
		return v, err
	}
	out := vec.New(f.t, in.Len)
	open := make([]int32, in.Len)
	for i := range open {
		open[i] = int32(i)
	}
	out.Scatter(v, open)
	for _, a := range f.args[1:] {
		left := open[:0]
		for _, r := range open {
			if out.Nulls != nil && out.Nulls[r] {
				left = append(left, r)
			}
		}
		if open = left; len(open) == 0 {
			break
		}
		part := in
		if len(open) < in.Len {
			part = subset(in, open, a)
		}
		if v, err = a.Eval(s, part); err != nil {
			return nil, err
		}
		out.Scatter(v, open)
	}
	return out, nil
}

// special are the functions that do not evaluate all of their arguments, or give one of them.
var special = map[string]func(*binder, []operand, *sql.Call) (Expr, error){
	"coalesce": (*binder).coalesce,
	"ifnull":   (*binder).coalesce,
	"nullif":   (*binder).nullif,
	"greatest": (*binder).extreme,
	"least":    (*binder).extreme,
	"if":       (*binder).ifElse,
}

// Specials are the functions that the binder itself has: they are in no Library.
func Specials() []string { return []string{"coalesce", "ifnull", "nullif", "greatest", "least", "if"} }

func wants(c *sql.Call, n int, form string) error {
	if len(c.Args) != n {
		return fail.At(c, fail.Type, "%s takes %d arguments: %s", c.Name, n, form)
	}
	return nil
}

func (b *binder) coalesce(args []operand, c *sql.Call) (Expr, error) {
	if c.Name == "ifnull" {
		if err := wants(c, 2, "ifnull(value, otherwise)"); err != nil {
			return nil, err
		}
	}
	list, t, err := unified(args, c.Name, c)
	if err != nil {
		return nil, err
	}
	return firstOf(t, list), nil
}

func (b *binder) nullif(args []operand, c *sql.Call) (Expr, error) {
	if err := wants(c, 2, "nullif(value, what is NULL)"); err != nil {
		return nil, err
	}
	pair, common, err := unified(args, c.Name, c)
	if err != nil {
		return nil, err
	}
	x := args[0].general()
	if args[0].mixed != nil || args[0].literal {
		x = pair[0]
	}
	if common == vec.Null {
		return &Const{T: vec.Null}, nil
	}
	t, cast := x.Type(), runFunc(nil)
	if t == vec.Null {
		return &Const{T: vec.Null}, nil
	}
	if t != common {
		cast = castKernel(t, common, false, c)
	}
	return fold(&op{name: "nullif", t: t, args: []Expr{x, pair[1]}, seesNulls: true, mayFail: cast != nil, show: call("nullif"),
		run: func(s *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			return nullIf(s, args[0], args[1], common, cast, n)
		}}), nil
}

// nullIf is x, but NULL where x, cast to the common type, equals y.
func nullIf(s *Scratch, x, y *vec.Vector, common vec.Type, cast runFunc, n int) (*vec.Vector, error) {
	x = x.Flat()
	left := x
	if cast != nil {
		v, err := cast(s, []*vec.Vector{x}, n, x.Nulls)
		if err != nil {
			return nil, err
		}
		left = v
	}
	out := *x
	if y.IsAllNull() {
		return &out, nil
	}
	same := kernel.Compare(eq, common, left, y, n)
	out.Nulls = make([]bool, n)
	copy(out.Nulls, x.Nulls)
	for i, b := range same.Ints {
		if b != 0 && !y.IsNull(i) {
			out.Nulls[i] = true
		}
	}
	return &out, nil
}

func (b *binder) ifElse(args []operand, c *sql.Call) (Expr, error) {
	if err := wants(c, 3, "if(condition, then, else)"); err != nil {
		return nil, err
	}
	cond, err := args[0].boolean()
	if err != nil {
		return nil, err
	}
	thens, t, err := unified(args[1:], "if", c)
	if err != nil {
		return nil, err
	}
	return (&choice{t, []Expr{cond}, thens}).simple(), nil
}

// extreme is greatest or least: of the values that are not NULL.
func (b *binder) extreme(args []operand, c *sql.Call) (Expr, error) {
	list, t, err := unified(args, c.Name, c)
	if err != nil {
		return nil, err
	}
	if t == vec.Null {
		return &Const{T: vec.Null}, nil
	}
	sign := 1
	if c.Name == "least" {
		sign = -1
	}
	return fold(&op{name: c.Name, t: t, args: list, seesNulls: true, show: call(c.Name),
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := vec.New(t, n)
			for i := range n {
				var best vec.Value
				for _, a := range args {
					if v := a.At(i); v.Type != vec.Null && (best.Type == vec.Null || value.Compare(v, best)*sign > 0) {
						best = v
					}
				}
				out.Set(i, best)
			}
			return out, nil
		}}), nil
}
