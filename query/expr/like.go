package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/like"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// like binds LIKE and ILIKE: % is any text, _ one character, and the character of ESCAPE takes their meaning from them.
func (b *binder) like(e *sql.Like) (Expr, error) {
	list := []sql.Expr{e.X, e.Pattern}
	if e.Escape != nil {
		list = append(list, e.Escape)
	}
	operands, err := b.operands(list)
	if err != nil {
		return nil, err
	}
	name := "LIKE"
	if e.Fold {
		name = "ILIKE"
	}
	args := make([]Expr, len(operands))
	for i, o := range operands {
		x := o.general()
		if _, ok := implicitCost(x.Type(), vec.Text); !ok {
			return nil, fail.At(e, fail.Type, "%s takes text; %s is %s: CAST it to VARCHAR", name, x, x.Type())
		}
		args[i] = convert(x, vec.Text, o.at)
	}
	out, err := b.liking(name, args, e)
	if err != nil {
		return nil, err
	}
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

func (b *binder) liking(name string, args []Expr, at fail.Placed) (Expr, error) {
	ilike := name == "ILIKE"
	k := &op{name: name, t: vec.Bool, args: args, mayFail: len(args) == 3, show: func(args []Expr) string {
		text := infix(name)(args[:2])
		if len(args) == 3 {
			text = strings.TrimSuffix(text, ")") + " ESCAPE " + args[2].String() + ")"
		}
		return text
	}}
	text, escape := constText(args[1]), ""
	if len(args) == 3 {
		e := constText(args[2])
		if e == nil {
			return nil, fail.At(at, fail.Unsupported, "ESCAPE takes a constant character")
		}
		escape = *e
	}
	if utf8.RuneCountInString(escape) > 1 {
		return nil, fail.At(at, fail.Value, "ESCAPE takes one character, or none")
	}
	most := b.env.MaxPattern
	if text != nil {
		p, err := like.New(*text, escape, ilike, most)
		if err != nil {
			return nil, fail.At(at, fail.Value, "%s", err.Error())
		}
		k.mayFail = false
		k.begins = p.Head()
		k.run = func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
			out := vec.New(vec.Bool, n)
			p.Match(args[0].Flat().Texts[:n], nulls, out.Ints)
			return out, nil
		}
		return fold(k), nil
	}
	k.run = func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Bool, n)
		x, y := args[0].Flat().Texts, args[1].Flat().Texts
		for i := range n {
			if nulls != nil && nulls[i] {
				continue
			}
			p, err := like.New(y[i], escape, ilike, most)
			if err != nil {
				return nil, fail.At(at, fail.Value, "%s", err.Error())
			}
			p.Match(x[i:i+1], nil, out.Ints[i:i+1])
		}
		return out, nil
	}
	return fold(k), nil
}

// constText is a constant's text; nil if it is none.
func constText(e Expr) *string {
	c, ok := e.(*Const)
	if !ok || c.Value.Type != vec.Text {
		return nil
	}
	return &c.Value.Text
}
