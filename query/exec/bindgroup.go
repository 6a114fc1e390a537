package exec

import (
	"math"

	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// groupBinder binds what is computed of groups: the select list, HAVING and ORDER BY of a query with aggregates. In the
// expressions keys and aggregates are replaced by names for the columns of the grouping's rows.
type groupBinder struct {
	*binder
	g          *grouping
	over       *derived
	keys       map[string]int // of GROUP BY, by key
	largest    int            // parts of the largest of them
	aggregates map[string]int // by key
	err        error
}

// grouped binds a query with GROUP BY or aggregates.
func (b *binder) grouped() error {
	g := &groupBinder{binder: b, g: &grouping{}, keys: map[string]int{}, aggregates: map[string]int{}}
	g.over = &derived{refs: map[*sql.Ident]*expr.Column{}, missing: g.ungrouped}
	b.plan.group = g.g
	if err := g.groupBy(); err != nil {
		return err
	}
	for i := range b.items {
		e, err := g.replaced(b.items[i].expr)
		if err == nil {
			err = b.item(i, e, g.over)
		}
		if err != nil {
			return err
		}
	}
	if b.sel.Having != nil {
		e, err := g.replaced(b.withAliases(b.sel.Having))
		if err != nil {
			return err
		}
		c, err := expr.BindCondition(e, g.over, b.env)
		if err != nil {
			return err
		}
		g.g.having = expr.Conjuncts(c)
	}
	if b.sel.Distinct {
		return b.distinct()
	}
	return b.orderBy(b.sel.OrderBy, func(e sql.Expr) (expr.Expr, error) {
		e, err := g.replaced(b.withAliases(e))
		if err != nil {
			return nil, err
		}
		return expr.Bind(e, g.over, b.env)
	})
}

// groupBy binds the keys.
func (g *groupBinder) groupBy() error {
	g.table.place = "GROUP BY"
	if g.sel.GroupByAll {
		for _, it := range g.items {
			if !hasAggregate(it.expr) && hasColumn(it.expr) { // constants make no groups
				if err := g.addKey(it.expr); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, e := range g.sel.GroupBy {
		i, ok, err := g.position(e, "GROUP BY")
		if err != nil {
			return err
		}
		if ok {
			e = g.items[i].expr
		} else {
			e = g.withAliases(e)
		}
		if err := g.addKey(e); err != nil {
			return err
		}
	}
	return nil
}

func (g *groupBinder) addKey(e sql.Expr) error {
	k := key(e)
	if _, ok := g.keys[k]; ok {
		return nil
	}
	bound, err := expr.Bind(e, g.table, g.env)
	if err != nil {
		return err
	}
	g.keys[k] = len(g.g.keys)
	g.largest = max(g.largest, parts(e, math.MaxInt))
	g.g.keys = append(g.g.keys, bound)
	return nil
}

// replaced is e with names for keys and aggregates.
func (g *groupBinder) replaced(e sql.Expr) (sql.Expr, error) {
	out := rewrite(e, func(x sql.Expr) sql.Expr {
		if g.err != nil {
			return x
		}
		if i, ok := g.keyOf(x); ok {
			return g.over.ref(x, i, g.g.keys[i].Type())
		}
		if c, ok := x.(*sql.Call); ok && agg.Is(c.Name) {
			i, err := g.aggregate(c)
			if err != nil {
				g.err = err
				return x
			}
			return g.over.ref(x, len(g.g.keys)+i, g.g.aggregates[i].fn.Out)
		}
		return nil
	})
	return out, g.err
}

// keyOf is the number of the key that x is, if it is one. What is larger than all keys is none: to write it out, and what stands within
// it, part by part, would take the square of its length.
func (g *groupBinder) keyOf(x sql.Expr) (int, bool) {
	if parts(x, g.largest+1) > g.largest {
		return 0, false
	}
	i, ok := g.keys[key(x)]
	return i, ok
}

// ungrouped is the error for a column of the table that is no key.
func (g *groupBinder) ungrouped(id *sql.Ident) error {
	if _, err := g.table.Column(id); err != nil {
		return err
	}
	return fail.At(id, fail.Semantic, "column %s must stand in GROUP BY or within an aggregate; any_value(%s) takes the value of any row", id, id)
}

// aggregate binds a call, and gives its number.
func (g *groupBinder) aggregate(c *sql.Call) (int, error) {
	k := key(c)
	if i, ok := g.aggregates[k]; ok {
		return i, nil
	}
	g.table.place = ""
	a := aggregate{name: c.Name, distinct: c.Distinct, text: c.String()}
	call := agg.Call{Name: c.Name, MaxText: g.env.MaxText, At: c}
	c, call.Desc = within(c)
	args, params := agg.Shape(c.Name)
	for i, arg := range c.Args {
		if i >= args && i < args+params {
			v, err := g.constant(c, arg)
			if err != nil {
				return 0, err
			}
			call.Params = append(call.Params, v)
			continue
		}
		e, err := g.argument(c.Name, i, arg)
		if err != nil {
			return 0, err
		}
		a.args = append(a.args, e)
		call.Args = append(call.Args, e.Type())
	}
	var err error
	if a.fn, err = agg.Bind(call); err != nil {
		return 0, err
	}
	for i, t := range a.fn.Casts {
		if a.args[i], err = g.cast(a.args[i], t, c.Args[i]); err != nil {
			return 0, err
		}
	}
	if c.Filter != nil {
		if a.filter, err = expr.BindCondition(c.Filter, g.table, g.env); err != nil {
			return 0, err
		}
	}
	if err := g.inner(c, &a); err != nil {
		return 0, err
	}
	g.aggregates[k] = len(g.g.aggregates)
	g.g.aggregates = append(g.g.aggregates, a)
	return g.aggregates[k], nil
}

// within is f(q) WITHIN GROUP (ORDER BY x) as f(x, q); desc tells that its order is descending.
func within(c *sql.Call) (_ *sql.Call, desc bool) {
	args, params := agg.Shape(c.Name)
	if args != 1 || len(c.OrderBy) != 1 || params == 1 && len(c.Args) != 1 || params == 0 && len(c.Args) != 0 {
		return c, false
	}
	if params == 1 && !quantiles[c.Name] {
		return c, false // of string_agg the order is the rows'
	}
	out := *c
	out.Args = append([]sql.Expr{c.OrderBy[0].Expr}, c.Args...)
	out.OrderBy = nil
	return &out, c.OrderBy[0].Desc
}

var quantiles = map[string]bool{
	"percentile_cont": true, "percentile_disc": true, "quantile_cont": true, "quantile_disc": true, "quantile": true, "approx_quantile": true,
}

// cast is e as type t, by an explicit cast.
func (g *groupBinder) cast(e expr.Expr, t vec.Type, at sql.Expr) (expr.Expr, error) {
	if e.Type() == t {
		return e, nil
	}
	line, column := at.Place()
	pos := sql.Pos{Line: line, Column: column}
	id := &sql.Ident{Pos: pos, Name: at.String()}
	return expr.Bind(&sql.Cast{Pos: pos, X: id, Type: sql.TypeName{Pos: pos, Name: t.String()}}, stand{e}, g.env)
}

// stand resolves any name to one expression.
type stand struct{ e expr.Expr }

func (s stand) Column(*sql.Ident) (expr.Resolved, error) { return expr.Resolved{Expr: s.e}, nil }
func (s stand) Call(*sql.Call) (expr.Expr, bool, error)  { return nil, false, nil }

func (g *groupBinder) argument(name string, i int, arg sql.Expr) (expr.Expr, error) {
	number, boolean := agg.Reads(name, i)
	switch {
	case number:
		return expr.BindNumber(arg, g.table, g.env)
	case boolean:
		return expr.BindCondition(arg, g.table, g.env)
	}
	return expr.Bind(arg, g.table, g.env)
}

// constant is the value of an argument that must be the same for all rows.
func (g *groupBinder) constant(c *sql.Call, arg sql.Expr) (vec.Value, error) {
	bound, err := expr.Bind(arg, g.table, g.env)
	if err != nil {
		return vec.Value{}, err
	}
	k, ok := bound.(*expr.Const)
	if !ok {
		return vec.Value{}, fail.At(arg, fail.Semantic, "%s takes a constant here, not %s", c.Name, arg)
	}
	return k.Value, nil
}

// inner binds the ORDER BY within an aggregate's parentheses, and checks DISTINCT.
func (g *groupBinder) inner(c *sql.Call, a *aggregate) error {
	if a.distinct && len(a.args) != 1 && !a.fn.Once {
		return fail.At(c, fail.Unsupported, "%s(DISTINCT ...) is not supported: only aggregates of one argument take DISTINCT", c.Name)
	}
	if !a.fn.Ordered {
		return nil // the order changes nothing
	}
	for _, o := range c.OrderBy {
		e, err := expr.Bind(o.Expr, g.table, g.env)
		if err != nil {
			return err
		}
		column := len(a.args) + len(a.order)
		if a.distinct {
			if expr.Key(e) != expr.Key(a.args[0]) {
				return fail.At(o, fail.Semantic, "with DISTINCT, the ORDER BY within %s can only have its argument", c.Name)
			}
			column = 0
		} else {
			a.order = append(a.order, e)
		}
		a.keys = append(a.keys, rows.Key{Column: column, Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	return nil
}
