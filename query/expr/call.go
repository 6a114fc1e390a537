package expr

import (
	"fmt"
	"sort"
	"strings"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// call binds a function: the scope's aggregates, the special ones, the library's.
func (b *binder) call(c *sql.Call) (Expr, error) {
	if e, ok, err := b.scope.Call(c); ok || err != nil {
		return e, err
	}
	switch {
	case c.Star:
		return nil, fail.At(c, fail.Unsupported, "%s(*) is not a function; count(*) is", c.Name)
	case c.Distinct, len(c.OrderBy) > 0, c.Filter != nil:
		if b.known(c.Name) {
			return nil, fail.At(c, fail.Type, "%s is no aggregate: it takes neither DISTINCT nor ORDER BY nor FILTER", c.Name)
		}
	}
	args, err := b.operands(c.Args)
	if err != nil {
		return nil, err
	}
	if f := special[c.Name]; f != nil {
		if len(args) == 0 {
			return nil, fail.At(c, fail.Type, "%s takes at least one argument", c.Name)
		}
		return f(b, args, c)
	}
	return b.function(c.Name, args, c)
}

func (b *binder) known(name string) bool {
	return special[name] != nil || len(b.env.Functions[name]) > 0
}

// function binds one of the library's functions, of the form that its arguments become most cheaply.
func (b *binder) function(name string, args []operand, at fail.Placed) (Expr, error) {
	forms := b.env.Functions[name]
	if len(forms) == 0 {
		return nil, b.unknown(name, at)
	}
	for _, w := range []wanted{aValue, aNumber, aBoolean} {
		readings := make([]Expr, len(args))
		for i, o := range args {
			readings[i] = o.reading(w)
		}
		if f := cheapest(forms, args, readings); f != nil {
			return b.apply(f, args, readings, at)
		}
	}
	return nil, noForm(name, forms, args, at)
}

// cheapest is the form with the least cost of casts; the first of equals.
func cheapest(forms []*Func, args []operand, readings []Expr) *Func {
	var best *Func
	least := 0
	for _, f := range forms {
		total, ok := 0, f.takes(len(args))
		for i := 0; ok && i < len(args); i++ {
			var c int
			c, ok = args[i].cost(readings[i], f.arg(i))
			total += c
		}
		if ok && (best == nil || total < least) {
			best, least = f, total
		}
	}
	return best
}

// takes tells whether it can have n arguments.
func (f *Func) takes(n int) bool {
	if f.Variadic {
		return n >= len(f.Args)-1
	}
	return n == len(f.Args)
}

// arg is the type of argument i.
func (f *Func) arg(i int) vec.Type {
	if i >= len(f.Args) {
		i = len(f.Args) - 1
	}
	return f.Args[i]
}

func noForm(name string, forms []*Func, args []operand, at fail.Placed) error {
	given := make([]string, len(args))
	for i, o := range args {
		given[i] = o.general().Type().String()
	}
	var takes []string
	for _, f := range forms {
		if text := f.signature(); len(takes) < 5 {
			takes = append(takes, text)
		}
	}
	return fail.At(at, fail.Type, "there is no %s(%s); there is %s: CAST the arguments", name, strings.Join(given, ", "), strings.Join(takes, ", "))
}

func (f *Func) signature() string {
	texts := make([]string, len(f.Args))
	for i, t := range f.Args {
		switch t {
		case Any, AnyText:
			texts[i] = "any type"
		default:
			texts[i] = t.String()
		}
	}
	dots := ""
	if f.Variadic {
		dots = "..."
	}
	return fmt.Sprintf("%s(%s%s)", f.Name, strings.Join(texts, ", "), dots)
}

// apply makes the call of a form.
func (b *binder) apply(f *Func, args []operand, readings []Expr, at fail.Placed) (Expr, error) {
	list := make([]Expr, len(args))
	for i, e := range readings {
		t := f.arg(i)
		switch t {
		case Any:
			list[i] = e
			continue
		case AnyText:
			t = vec.Text
		}
		if args[i].literal && t != vec.Text {
			c, err := literal(e, t, args[i].at)
			if err != nil {
				return nil, err
			}
			e = c
		}
		list[i] = convert(e, t, args[i].at)
	}
	out := f.Out
	if f.OutOf != nil {
		out = f.OutOf(list)
	}
	eval := f.Eval
	if f.Bind != nil {
		bound, err := f.Bind(b.env, list)
		if err != nil {
			return nil, placed(err, at)
		}
		eval = bound
	}
	show := call(f.Name)
	if !isLetter(f.Name[0]) && len(list) == 2 {
		show = infix(f.Name)
	}
	return b.fold(&op{name: f.Name, t: out, args: list, run: guarded(eval, at), mayFail: true,
		seesNulls: f.SeesNulls, volatile: f.Volatile, rises: f.Rises && constants(list[:max(len(list)-1, 0)]), mayNull: !f.Total, show: show}), nil
}

func constants(list []Expr) bool {
	for _, e := range list {
		if _, ok := e.(*Const); !ok {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

// placed gives an error the place of a call, if it has none.
func placed(err error, at fail.Placed) error {
	if e, ok := err.(*fail.Error); ok && e.Line == 0 && at != nil {
		out := *e
		out.Line, out.Column = at.Place()
		return &out
	}
	return err
}

// guarded makes a runFunc of a function: rows with NULLs, which may hold any value, are kept away from it.
func guarded(eval Eval, at fail.Placed) runFunc {
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		if nulls == nil {
			v, err := eval(s, args, n)
			if err != nil {
				return nil, placed(err, at)
			}
			return v.Flat(), nil
		}
		rows := make([]int32, 0, n)
		for i, null := range nulls {
			if !null {
				rows = append(rows, int32(i))
			}
		}
		few := make([]*vec.Vector, len(args))
		for i, a := range args {
			few[i] = a.Gather(rows)
			if !few[i].Const {
				few[i].Nulls = nil
			}
		}
		v, err := eval(s, few, len(rows))
		if err != nil {
			return nil, placed(err, at)
		}
		out := vec.New(v.Type, n)
		out.Scatter(v, rows)
		return out, nil
	}
}

func (b *binder) unknown(name string, at fail.Placed) error {
	near := Near(name, b.names())
	if len(near) == 0 {
		return fail.At(at, fail.UnknownFunction, "there is no function %s; docs/sql.md lists them", name)
	}
	return fail.At(at, fail.UnknownFunction, "there is no function %s; near it are %s", name, strings.Join(near, ", "))
}

func (b *binder) names() []string {
	out := Specials()
	for name := range b.env.Functions {
		if isLetter(name[0]) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}
