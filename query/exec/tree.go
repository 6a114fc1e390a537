package exec

import (
	"strings"
	"unicode"

	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/sql"
)

// rewrite is e with what f replaces; f is asked for each node, from the top, and not for the parts of what it has replaced.
// Nodes are shared where nothing changes below them.
func rewrite(e sql.Expr, f func(sql.Expr) sql.Expr) sql.Expr {
	if e == nil {
		return nil
	}
	if to := f(e); to != nil {
		return to
	}
	r := func(x sql.Expr) sql.Expr { return rewrite(x, f) }
	switch e := e.(type) {
	case *sql.Unary:
		c := *e
		c.X = r(e.X)
		return &c
	case *sql.Binary:
		c := *e
		c.L, c.R = r(e.L), r(e.R)
		return &c
	case *sql.Distinct:
		c := *e
		c.L, c.R = r(e.L), r(e.R)
		return &c
	case *sql.Between:
		c := *e
		c.X, c.Low, c.High = r(e.X), r(e.Low), r(e.High)
		return &c
	case *sql.In:
		c := *e
		c.X, c.List = r(e.X), rewriteAll(e.List, f)
		return &c
	case *sql.Is:
		c := *e
		c.X = r(e.X)
		return &c
	case *sql.Like:
		c := *e
		c.X, c.Pattern, c.Escape = r(e.X), r(e.Pattern), r(e.Escape)
		return &c
	case *sql.Case:
		c := *e
		c.Operand, c.Else = r(e.Operand), r(e.Else)
		c.Whens = make([]sql.When, len(e.Whens))
		for i, w := range e.Whens {
			c.Whens[i] = sql.When{Cond: r(w.Cond), Then: r(w.Then)}
		}
		return &c
	case *sql.Cast:
		c := *e
		c.X = r(e.X)
		return &c
	case *sql.Call:
		c := *e
		c.Args, c.Filter = rewriteAll(e.Args, f), r(e.Filter)
		c.OrderBy = make([]sql.Order, len(e.OrderBy))
		for i, o := range e.OrderBy {
			o.Expr = r(o.Expr)
			c.OrderBy[i] = o
		}
		return &c
	case *sql.Row:
		c := *e
		c.Items = rewriteAll(e.Items, f)
		return &c
	}
	return e // a leaf
}

func rewriteAll(list []sql.Expr, f func(sql.Expr) sql.Expr) []sql.Expr {
	out := make([]sql.Expr, len(list))
	for i, e := range list {
		out[i] = rewrite(e, f)
	}
	return out
}

// parts is of how many parts e is made, counted up to a bound.
func parts(e sql.Expr, most int) int {
	n := 0
	has(e, func(sql.Expr) bool { n++; return n >= most })
	return min(n, most)
}

// hasAggregate tells that an aggregate is called in e.
func hasAggregate(e sql.Expr) bool {
	return has(e, func(x sql.Expr) bool {
		c, ok := x.(*sql.Call)
		return ok && agg.Is(c.Name)
	})
}

// hasColumn tells that a column is named in e.
func hasColumn(e sql.Expr) bool {
	return has(e, func(x sql.Expr) bool {
		_, ok := x.(*sql.Ident)
		return ok
	})
}

func has(e sql.Expr, is func(sql.Expr) bool) bool {
	found := false
	rewrite(e, func(x sql.Expr) sql.Expr {
		if found = found || is(x); found {
			return x
		}
		return nil
	})
	return found
}

// key is equal for expressions that are the same but for the case and quotes of names, and the table's name before them.
func key(e sql.Expr) string {
	return rewrite(e, func(x sql.Expr) sql.Expr {
		if id, ok := x.(*sql.Ident); ok {
			return &sql.Ident{Name: fold(id.Name), Quoted: true}
		}
		return nil
	}).String()
}

// fold maps names that differ only in case to one, as package fragment does.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for q := unicode.SimpleFold(r); q != r; q = unicode.SimpleFold(q) {
			least = min(least, q)
		}
		if 'A' <= least && least <= 'Z' {
			return least + 'a' - 'A'
		}
		return least
	}, name)
}
