package expr

import (
	"strings"

	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// choice is CASE: the value behind the first condition that is TRUE. What is behind others is not evaluated.
type choice struct {
	t     vec.Type
	conds []Expr
	thens []Expr // one more than conds: the last is ELSE
}

func (c *choice) Type() vec.Type { return c.t }
func (c *choice) label() string  { return "CASE" }
func (c *choice) fails() bool    { return false }

func (c *choice) Children() []Expr { return append(append([]Expr(nil), c.conds...), c.thens...) }

func (c *choice) with(children []Expr) Expr {
	n := len(c.conds)
	return (&choice{c.t, children[:n], children[n:]}).simple()
}

// simple drops branches whose condition is constant.
func (c *choice) simple() Expr {
	out := &choice{t: c.t}
	last := c.thens[len(c.conds)]
	for i, cond := range c.conds {
		if k, ok := cond.(*Const); ok {
			if k.Value.Int == 0 || k.Value.Type == vec.Null {
				continue
			}
			last = c.thens[i]
			break
		}
		out.conds = append(out.conds, cond)
		out.thens = append(out.thens, c.thens[i])
	}
	if len(out.conds) == 0 {
		return last
	}
	out.thens = append(out.thens, last)
	return out
}

func (c *choice) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for i, cond := range c.conds {
		b.WriteString(" WHEN " + cond.String() + " THEN " + c.thens[i].String())
	}
	b.WriteString(" ELSE " + c.thens[len(c.conds)].String() + " END")
	return b.String()
}

// Eval narrows the rows from branch to branch.
func (c *choice) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	if in.Len == 0 {
		return vec.New(c.t, 0), nil
	}
	out := vec.New(c.t, in.Len)
	open := make([]int32, in.Len)
	for i := range open {
		open[i] = int32(i)
	}
	rest := in // the open rows
	for i, cond := range c.conds {
		v, err := cond.Eval(s, rest)
		if err != nil {
			return nil, err
		}
		taken := v.True(nil)
		if len(taken) == 0 {
			continue
		}
		if err := into(s, out, c.thens[i], rest, open, taken); err != nil {
			return nil, err
		}
		left := others(taken, rest.Len)
		if len(left) == 0 {
			return out, nil
		}
		rest = subset(rest, left, append(c.conds[i+1:len(c.conds):len(c.conds)], c.thens[i+1:]...)...)
		open = pick(open, left)
	}
	return out, into(s, out, c.thens[len(c.conds)], rest, open, nil)
}

// into evaluates e for some rows of a batch (nil: all), whose places in out are at.
func into(s *Scratch, out *vec.Vector, e Expr, in *vec.Batch, at, rows []int32) error {
	if rows != nil && len(rows) < in.Len {
		in, at = subset(in, rows, e), pick(at, rows)
	}
	v, err := e.Eval(s, in)
	if err == nil {
		out.Scatter(v, at)
	}
	return err
}

func pick(from, at []int32) []int32 {
	out := make([]int32, len(at))
	for i, j := range at {
		out[i] = from[j]
	}
	return out
}

// others are the rows of n that are not among the given, which are in order.
func others(rows []int32, n int) []int32 {
	out := make([]int32, 0, n-len(rows))
	next := 0
	for i := range n {
		if next < len(rows) && int(rows[next]) == i {
			next++
			continue
		}
		out = append(out, int32(i))
	}
	return out
}

func (b *binder) caseOf(e *sql.Case) (Expr, error) {
	c := &choice{}
	values := make([]operand, 0, len(e.Whens)+1)
	for _, w := range e.Whens {
		o, err := b.operand(w.Then)
		if err != nil {
			return nil, err
		}
		values = append(values, o)
	}
	last := operand{expr: &Const{T: vec.Null}, at: e}
	var err error
	if e.Else != nil {
		if last, err = b.operand(e.Else); err != nil {
			return nil, err
		}
	}
	if c.thens, c.t, err = unified(append(values, last), "CASE", e); err != nil {
		return nil, err
	}
	if e.Operand != nil {
		return b.cases(e, c)
	}
	for _, w := range e.Whens {
		cond, err := b.boolean(w.Cond)
		if err != nil {
			return nil, err
		}
		c.conds = append(c.conds, cond)
	}
	return c.simple(), nil
}

// cases binds the WHENs that are compared with an operand.
func (b *binder) cases(e *sql.Case, c *choice) (Expr, error) {
	list := []sql.Expr{e.Operand}
	for _, w := range e.Whens {
		list = append(list, w.Cond)
	}
	args, err := b.operands(list)
	if err != nil {
		return nil, err
	}
	values, t, err := unified(args, "CASE ... WHEN", e)
	if err != nil {
		return nil, err
	}
	if len(values[0].Children()) > 0 && len(e.Whens) > 1 {
		return &equals{choice{c.t, values[1:], c.thens}, values[0]}, nil
	}
	for _, v := range values[1:] {
		c.conds = append(c.conds, comparing(eq, t, values[0], v))
	}
	return c.simple(), nil
}

// equals is CASE with an operand that is computed: its conds are the values that it is compared with.
type equals struct {
	choice
	operand Expr
}

func (c *equals) Children() []Expr { return append([]Expr{c.operand}, c.choice.Children()...) }
func (c *equals) label() string    { return "CASE OF" }

func (c *equals) with(children []Expr) Expr {
	n := len(c.conds) + 1
	return &equals{choice{c.t, children[1:n], children[n:]}, children[0]}
}

func (c *equals) String() string {
	return "CASE " + c.operand.String() + strings.TrimPrefix(c.choice.String(), "CASE")
}

// Eval computes the operand once and compares it as conditions.
func (c *equals) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	if in.Len == 0 {
		return vec.New(c.t, 0), nil
	}
	v, err := c.operand.Eval(s, in)
	if err != nil {
		return nil, err
	}
	slot := len(in.Cols)
	wide := &vec.Batch{Len: in.Len, Cols: append(in.Cols[:slot:slot], v)}
	column := &Column{Slot: slot, T: c.operand.Type()}
	conds := make([]Expr, len(c.conds))
	for i, cond := range c.conds {
		conds[i] = comparing(eq, column.T, column, cond)
	}
	return (&choice{c.t, conds, c.thens}).Eval(s, wide)
}
