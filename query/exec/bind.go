package exec

import (
	"strconv"

	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// Bind binds a SELECT to a table's columns; schema is nil if it has no FROM.
func Bind(sel *sql.Select, schema *Schema, env *expr.Env) (*Plan, error) {
	b := &binder{sel: sel, env: env, table: newTable(schema, sel.From), plan: &Plan{limit: -1, time: -1}, aliases: map[string]int{}}
	if err := b.bind(); err != nil {
		return nil, err
	}
	return b.plan, nil
}

type binder struct {
	sel     *sql.Select
	env     *expr.Env
	table   *table
	plan    *Plan
	items   []item
	aliases map[string]int // items by alias, folded
	nodes   int            // of all expressions with the aliases replaced
	last    int            // of the last one
}

// item is one of the select list, without stars, and with the aliases in it replaced.
type item struct {
	expr  sql.Expr
	name  string
	alias bool // the name was given
	nodes int
	key   string
	bound expr.Expr
}

func (b *binder) bind() error {
	if err := b.selectList(); err != nil {
		return err
	}
	where, err := b.conditions(b.sel.Where)
	if err != nil {
		return err
	}
	if b.aggregated() {
		err = b.grouped()
	} else {
		err = b.plain()
	}
	if err != nil {
		return err
	}
	if b.plan.limit, err = b.count(b.sel.Limit, "LIMIT", -1); err != nil {
		return err
	}
	if b.plan.offset, err = b.count(b.sel.Offset, "OFFSET", 0); err != nil {
		return err
	}
	b.request(where)
	return b.tooLarge()
}

// selectList takes the stars apart and replaces the aliases of items that came before.
func (b *binder) selectList() error {
	for _, it := range b.sel.Items {
		if it.Star {
			if err := b.star(it); err != nil {
				return err
			}
			continue
		}
		e := b.withAliases(it.Expr)
		if err := b.tooLarge(); err != nil {
			return err
		}
		name := it.Alias
		if name == "" {
			name = it.Expr.String()
			if id, ok := it.Expr.(*sql.Ident); ok {
				name = b.table.named(id)
			}
		}
		b.items = append(b.items, item{expr: e, name: name, alias: it.Alias != "", nodes: b.last, key: key(e)})
		if it.Alias != "" {
			if _, ok := b.aliases[fold(it.Alias)]; !ok {
				b.aliases[fold(it.Alias)] = len(b.items) - 1
			}
		}
	}
	return nil
}

// starColumns are what * stands for where the table is wide: the events as they were sent.
var starColumns = []string{"timestamp", "id", scan.Event}

func (b *binder) star(it sql.Item) error {
	if b.table.schema == nil {
		return fail.At(it, fail.Semantic, "* needs a FROM: SELECT * FROM events")
	}
	if err := b.table.qualified(it, it.Qualifier); err != nil {
		return err
	}
	add := func(name string) {
		e := &sql.Ident{Pos: it.Pos, Name: name, Quoted: true}
		b.items = append(b.items, item{expr: e, name: name, key: key(e)})
	}
	if b.table.schema.Table == "events" {
		for _, name := range starColumns {
			add(name)
		}
		return nil
	}
	for _, c := range b.table.schema.Columns {
		add(c.Name)
	}
	return nil
}

// maxNodes bounds the query with the items written out in the place of their aliases, which may double at each use.
const maxNodes = 50_000

// withAliases is e with the items in the place of their aliases, where no column has that name.
func (b *binder) withAliases(e sql.Expr) sql.Expr {
	before := b.nodes
	out := rewrite(e, func(x sql.Expr) sql.Expr {
		b.nodes++
		id, ok := x.(*sql.Ident)
		if !ok || b.table.has(id) {
			return nil
		}
		i, ok := b.aliases[fold(id.Name)]
		if !ok {
			return nil
		}
		if b.nodes += b.items[i].nodes; b.nodes > maxNodes {
			b.nodes = maxNodes + 1
			return &sql.Null{Pos: id.Pos} // bind ends with an error
		}
		return b.items[i].expr
	})
	b.last = b.nodes - before
	return out
}

// tooLarge is an error if aliases have made the query too large.
func (b *binder) tooLarge() error {
	if b.nodes > maxNodes {
		return fail.At(b.sel, fail.TooLarge, "with its aliases written out the query has more than %d parts; use fewer aliases of aliases", maxNodes)
	}
	return nil
}

func (b *binder) aggregated() bool {
	if len(b.sel.GroupBy) > 0 || b.sel.Having != nil {
		return true
	}
	for _, it := range b.items {
		if hasAggregate(it.expr) || b.sel.GroupByAll && hasColumn(it.expr) {
			return true
		}
	}
	for _, o := range b.sel.OrderBy {
		if hasAggregate(o.Expr) {
			return true
		}
	}
	return false
}

// conditions binds WHERE.
func (b *binder) conditions(where sql.Expr) ([]expr.Expr, error) {
	if where == nil {
		return nil, nil
	}
	b.table.place = "WHERE"
	c, err := expr.BindCondition(b.withAliases(where), b.table, b.env)
	if err != nil {
		return nil, err
	}
	return expr.Conjuncts(c), nil
}

// count binds LIMIT or OFFSET.
func (b *binder) count(e sql.Expr, what string, none int64) (int64, error) {
	if e == nil {
		return none, nil
	}
	bound, err := expr.BindNumber(e, &derived{missing: func(id *sql.Ident) error {
		return fail.At(id, fail.Semantic, "%s takes a number, not a column", what)
	}}, b.env)
	if err != nil {
		return 0, err
	}
	c, ok := bound.(*expr.Const)
	switch {
	case !ok || c.T != vec.Int && c.T != vec.Null:
		return 0, fail.At(e, fail.Type, "%s takes a whole number", what)
	case c.Value.Type == vec.Null:
		return none, nil
	case c.Value.Int < 0:
		return 0, fail.At(e, fail.Value, "%s cannot be negative", what)
	}
	return c.Value.Int, nil
}

// plain binds a SELECT whose rows are the table's.
func (b *binder) plain() error {
	b.table.place = "the select list"
	scope := expr.Scope(b.table)
	for i := range b.items {
		if err := b.item(i, b.items[i].expr, scope); err != nil {
			return err
		}
	}
	if b.sel.Distinct {
		return b.distinct()
	}
	return b.orderBy(b.sel.OrderBy, func(e sql.Expr) (expr.Expr, error) {
		b.table.place = "ORDER BY"
		return expr.Bind(b.withAliases(e), scope, b.env)
	})
}

// item binds one of the select list in the form that it has by now.
func (b *binder) item(i int, e sql.Expr, scope expr.Scope) error {
	it := &b.items[i]
	bound, err := expr.Bind(e, scope, b.env)
	if err != nil {
		return err
	}
	it.bound = bound
	b.plan.project = append(b.plan.project, bound)
	b.plan.Outputs = append(b.plan.Outputs, Output{Name: it.name, Type: bound.Type()})
	return nil
}

// orderBy binds what is sorted by: items of the select list, by position, alias or equal text, or what bind makes
// of another expression, which is kept as a column more.
func (b *binder) orderBy(list []sql.Order, bind func(sql.Expr) (expr.Expr, error)) error {
	if b.sel.OrderByAll {
		for i := range b.items {
			b.sortBy(i, sql.Order{}, b.items[i].name)
		}
		return nil
	}
	for _, o := range list {
		i, err := b.itemOf(o.Expr)
		if err != nil {
			return err
		}
		if i < 0 {
			bound, err := bind(o.Expr)
			if err != nil {
				return err
			}
			if _, ok := bound.(*expr.Const); ok {
				continue // the same for all rows
			}
			to := &b.plan.project
			if b.plan.distinct {
				to = &b.plan.after
			}
			i = len(*to)
			*to = append(*to, bound)
		}
		b.sortBy(i, o, o.Expr.String())
	}
	return nil
}

func (b *binder) sortBy(column int, o sql.Order, text string) {
	b.plan.order = append(b.plan.order, rows.Key{Column: column, Desc: o.Desc, NullsFirst: o.NullsFirst})
	if o.Desc {
		text += " DESC"
	}
	if o.NullsFirst {
		text += " NULLS FIRST"
	}
	b.plan.orders = append(b.plan.orders, text)
}

// itemOf is the item that an expression of ORDER BY stands for, -1 if it is none.
func (b *binder) itemOf(e sql.Expr) (int, error) {
	if i, ok, err := b.position(e, "ORDER BY"); ok || err != nil {
		return i, err
	}
	if id, ok := e.(*sql.Ident); ok && id.Qualifier == "" {
		if i, ok := b.aliases[fold(id.Name)]; ok {
			return i, nil
		}
	}
	k := key(b.withAliases(e))
	for i, it := range b.items {
		if it.key == k {
			return i, nil
		}
	}
	return -1, nil
}

// position reads a whole number as the place of an item.
func (b *binder) position(e sql.Expr, what string) (int, bool, error) {
	if u, ok := e.(*sql.Unary); ok && u.Op == "-" {
		if _, ok := u.X.(*sql.Number); ok {
			return 0, false, b.outOfRange(e, what)
		}
	}
	switch e := e.(type) {
	case *sql.Number:
		n, err := strconv.Atoi(e.Text)
		if err != nil || n < 1 || n > len(b.items) {
			return 0, false, b.outOfRange(e, what)
		}
		return n - 1, true, nil
	case *sql.Text, *sql.Bool, *sql.Null:
		return 0, false, fail.At(e, fail.Semantic, "%s %s has no effect; name a column (quoted names stand in double quotes) or a position", what, e)
	}
	return 0, false, nil
}

func (b *binder) outOfRange(e sql.Expr, what string) error {
	return fail.At(e, fail.Semantic, "%s %s is no position in the select list, which has %d", what, e, len(b.items))
}

// distinct binds ORDER BY over the rows of the answer.
func (b *binder) distinct() error {
	p := b.plan
	p.distinct = true
	over := &derived{refs: map[*sql.Ident]*expr.Column{}, missing: func(id *sql.Ident) error {
		return fail.At(id, fail.Semantic, "with SELECT DISTINCT, ORDER BY can only use what is in the select list, where %s is not", id.Name)
	}}
	for i, it := range b.items {
		p.after = append(p.after, &expr.Column{Slot: i, Name: it.name, T: it.bound.Type()})
	}
	return b.orderBy(b.sel.OrderBy, func(e sql.Expr) (expr.Expr, error) {
		e = rewrite(b.withAliases(e), func(x sql.Expr) sql.Expr {
			k := key(x)
			for i, it := range b.items {
				if it.key == k {
					return over.ref(x, i, it.bound.Type())
				}
			}
			if c, ok := x.(*sql.Call); ok && agg.Is(c.Name) {
				return &sql.Ident{Pos: c.Pos, Name: c.String()}
			}
			return nil
		})
		return expr.Bind(e, over, b.env)
	})
}
