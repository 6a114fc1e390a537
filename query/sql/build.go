package sql

import (
	"strings"

	"github.com/togodb/togo/query/fail"
)

// builder makes the tree of what the grammar read. The first error ends it: it is thrown, and caught by build.
type builder struct {
	nodes, depth int
}

// stop carries an error out of the recursion.
type stop struct{ err *fail.Error }

func (b *builder) refuse(at Pos, format string, args ...any) {
	panic(stop{fail.At(at, fail.Unsupported, format, args...)})
}

func (b *builder) wrong(at Pos, format string, args ...any) {
	panic(stop{fail.At(at, fail.Syntax, format, args...)})
}

func build(g *gStatement) (s *Statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			caught, ok := r.(stop)
			if !ok {
				panic(r)
			}
			err = caught.err
		}
	}()
	b := &builder{}
	return &Statement{Explain: g.Explain, Analyze: g.Analyze, Select: b.sel(g.Select)}, nil
}

// count bounds the tree: each node is counted, and each level of nesting.
func (b *builder) count(at Pos) {
	b.nodes++
	if b.nodes > maxNodes {
		panic(stop{fail.At(at, fail.TooLarge, "the query has more than %d names, constants and operators: make it shorter", maxNodes)})
	}
}

func (b *builder) enter(at Pos) {
	b.depth++
	if b.depth > maxDepth {
		panic(stop{tooDeep(at)})
	}
}

func (b *builder) leave() { b.depth-- }

func (b *builder) sel(g *gSelect) *Select {
	s := &Select{Pos: place(g.Pos), Distinct: g.Distinct, GroupByAll: g.GroupByAll, OrderByAll: g.OrderByAll}
	for _, i := range g.Items {
		s.Items = append(s.Items, b.item(i))
	}
	if g.From != nil {
		s.From = &Table{Pos: place(g.From.Pos), Name: unquoteName(g.From.Name), Alias: unquoteName(g.From.Alias)}
	}
	s.Where, s.Having = b.optional(g.Where), b.optional(g.Having)
	s.GroupBy, s.OrderBy = b.list(g.GroupBy), b.orders(g.OrderBy)
	for _, w := range g.Window {
		if w.Offset != nil {
			if s.Offset != nil {
				b.wrong(place(w.Pos), "OFFSET is there twice")
			}
			s.Offset = b.expr(w.Offset)
			continue
		}
		if s.Limit != nil {
			b.wrong(place(w.Pos), "LIMIT is there twice")
		}
		s.Limit = b.optional(w.Limit)
	}
	return s
}

func (b *builder) item(g *gItem) Item {
	at := place(g.Pos)
	b.count(at)
	if g.Star {
		return Item{Pos: at, Star: true}
	}
	if n := g.Expr.First.Operand.Name; n != nil && n.Call == nil && n.Text == "" && n.ZoneText == "" && n.Parts[len(n.Parts)-1] == "*" &&
		len(g.Expr.Tails) == 0 && len(g.Expr.First.Prefixes) == 0 {
		if len(n.Parts) != 2 || g.Alias != "" {
			b.wrong(at, "a * stands alone or behind the table's name, and takes no alias")
		}
		return Item{Pos: at, Star: true, Qualifier: unquoteName(n.Parts[0])}
	}
	return Item{Pos: at, Expr: b.expr(g.Expr), Alias: unquoteName(g.Alias)}
}

func (b *builder) orders(list []*gOrder) []Order {
	var out []Order
	for _, g := range list {
		nulls := strings.ToUpper(g.Nulls)
		out = append(out, Order{Pos: place(g.Pos), Expr: b.expr(g.Expr), Desc: g.Desc, NullsFirst: nulls == "FIRST", NullsLast: nulls == "LAST"})
	}
	return out
}

func (b *builder) optional(g *gExpr) Expr {
	if g == nil {
		return nil
	}
	return b.expr(g)
}

func (b *builder) list(gs []*gExpr) []Expr {
	var out []Expr
	for _, g := range gs {
		out = append(out, b.expr(g))
	}
	return out
}

func (b *builder) operand(g *gOperand) Expr {
	at := place(g.Pos)
	b.count(at)
	switch {
	case g.Number != "":
		return &Number{at, number(g.Number)}
	case g.Text != "":
		return &Text{at, b.text(at, g.Text)}
	case g.Word != "":
		if strings.EqualFold(g.Word, "NULL") {
			return &Null{at}
		}
		return &Bool{at, strings.EqualFold(g.Word, "TRUE")}
	case g.Case != nil:
		c := &Case{Pos: at, Operand: b.optional(g.Case.Operand)}
		for _, w := range g.Case.Whens {
			c.Whens = append(c.Whens, When{b.expr(w.Cond), b.expr(w.Then)})
		}
		c.Else = b.optional(g.Case.Else)
		return c
	case g.Cast != nil:
		return &Cast{Pos: at, Try: g.Try, X: b.expr(g.Cast.X), Type: b.typeName(g.Cast.Type)}
	case g.Row != nil:
		return &Row{at, b.list(g.Row.Items)}
	case g.List != nil:
		if len(g.List.Items) == 1 {
			return b.expr(g.List.Items[0])
		}
		return &Row{at, b.list(g.List.Items)}
	case g.Name != nil:
		return b.name(g.Name)
	}
	return b.form(at, g)
}

// form is a function whose arguments have words between them.
func (b *builder) form(at Pos, g *gOperand) Expr {
	call := func(name string, args ...Expr) Expr { return &Call{Pos: at, Name: name, Args: args} }
	switch {
	case g.Interval != nil:
		return b.interval(at, g.Interval)
	case g.Extract != nil:
		field := g.Extract.Field
		switch field[0] {
		case '"':
			field = unquoteName(field)
		case '\'', 'e', 'E', '$':
			if strings.ContainsAny(field, "'$") {
				field = b.text(at, field)
			}
		}
		return call("date_part", &Text{at, strings.ToLower(field)}, b.expr(g.Extract.X))
	case g.Position != nil:
		needle, in := g.Position.Needle, g.Position.In
		if n := len(needle.Tails) - 1; in == nil && n >= 0 && needle.Tails[n].Test != nil && needle.Tails[n].Test.In != nil && len(needle.Tails[n].Test.In.Items) == 1 {
			in = needle.Tails[n].Test.In.Items[0]
			needle = &gExpr{First: needle.First, Tails: needle.Tails[:n]}
		}
		if in == nil {
			b.wrong(at, "position is written position(what IN text); strpos(text, what) is the same")
		}
		return call("strpos", b.expr(in), b.expr(needle))
	case g.Sub != nil:
		args := append([]Expr{b.expr(g.Sub.X)}, b.list(g.Sub.Args)...)
		from, length := g.Sub.From, g.Sub.For
		if g.Sub.Len != nil {
			from, length = g.Sub.At, g.Sub.Len
		}
		switch {
		case from != nil:
			args = append(args, b.expr(from))
		case length != nil:
			args = append(args, &Number{at, "1"})
		}
		if length != nil {
			args = append(args, b.expr(length))
		}
		return call("substring", args...)
	}
	name := map[string]string{"LEADING": "ltrim", "TRAILING": "rtrim"}[strings.ToUpper(g.Trim.Side)]
	if name == "" {
		name = "trim"
	}
	switch t := g.Trim; {
	case t.From != nil:
		return call(name, b.expr(t.From))
	case t.Of != nil:
		if len(t.Args) != 1 {
			b.wrong(at, "trim is written trim(characters FROM text), or trim(text, characters)")
		}
		return call(name, b.expr(t.Of), b.expr(t.Args[0]))
	}
	return call(name, b.list(g.Trim.Args)...)
}

func (b *builder) typeName(g *gType) TypeName {
	at := place(g.Pos)
	name := strings.ToUpper(strings.Join(g.Name, " "))
	if strings.HasPrefix(name, `"`) {
		name = b.quotedType(at, g.Name[0])
	}
	switch {
	case g.Vector || name == "ARRAY":
		b.refuse(at, "arrays are not supported: JSON holds them, see json_extract and json_array_length")
	case name == "STRUCT" || name == "MAP" || name == "LIST" || name == "UNION" || name == "ROW":
		b.refuse(at, "the type %s is not supported: JSON holds objects and arrays, see json_extract", name)
	}
	if len(g.Args) > 0 {
		for i := range g.Args {
			g.Args[i] = number(g.Args[i])
		}
		name += "(" + strings.Join(g.Args, ",") + ")"
	}
	if g.Zone != "" {
		name += " " + strings.ToUpper(g.Zone) + " TIME ZONE"
	}
	return TypeName{at, name}
}

// quotedType is a type's name that was written in quotes.
func (b *builder) quotedType(at Pos, name string) string {
	name = unquoteName(name)
	if !plain(name) {
		panic(stop{fail.At(at, fail.Type, "there is no type %s", quoteName(name))})
	}
	return strings.ToUpper(name)
}

func (b *builder) name(g *gName) Expr {
	at := place(g.Pos)
	first := g.Parts[0]
	last := g.Parts[len(g.Parts)-1]
	switch {
	case g.Call != nil:
		if len(g.Parts) > 1 {
			b.refuse(at, "a function's name has no dot: write %s(...), with what stands before the dot as its first argument", unquoteName(last))
		}
		return b.call(at, strings.ToLower(unquoteName(first)), g.Call)
	case g.Text != "" || g.ZoneText != "":
		kind := b.quotedType(at, first)
		if len(g.Parts) > 1 {
			b.wrong(at, "a text stands behind a name: an operator or a comma is missing between them")
		}
		if kind == "X" || kind == "B" || kind == "N" {
			b.refuse(at, "%s'...' is not supported: bytes are written as '\\xAB'::BLOB", kind)
		}
		if g.ZoneText != "" {
			return &Typed{at, TypeName{at, kind + " " + strings.ToUpper(g.Zone) + " TIME ZONE"}, b.text(at, g.ZoneText)}
		}
		return &Typed{at, TypeName{at, kind}, b.text(at, g.Text)}
	case last == "*":
		b.wrong(at, "a * stands alone in the select list, or in count(*)")
	case len(g.Parts) > 2:
		b.wrong(at, "a name with dots is written in double quotes: %s", quotedPath(g.Parts))
	case len(g.Parts) == 2:
		return &Ident{Pos: at, Qualifier: unquoteName(first), Name: unquoteName(last), Quoted: !plain(last)}
	case first[0] == '"':
		return &Ident{Pos: at, Name: unquoteName(first), Quoted: true}
	}
	switch strings.ToUpper(first) {
	case "CURRENT_TIMESTAMP":
		return &Call{Pos: at, Name: "now"}
	case "CURRENT_DATE":
		return &Cast{Pos: at, X: &Call{Pos: at, Name: "now"}, Type: TypeName{at, "DATE"}}
	case "LOCALTIMESTAMP":
		return &Cast{Pos: at, X: &Call{Pos: at, Name: "now"}, Type: TypeName{at, "TIMESTAMP"}}
	case "CURRENT_TIME", "LOCALTIME":
		b.refuse(at, "%s is not supported: there is no type TIME; take now(), and extract or strftime of it", strings.ToUpper(first))
	}
	return &Ident{Pos: at, Name: first}
}

func quotedPath(parts []string) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = unquoteName(p)
	}
	return `"` + strings.ReplaceAll(strings.Join(names, "."), `"`, `""`) + `"`
}

func (b *builder) call(at Pos, name string, g *gCall) Expr {
	b.enter(at)
	defer b.leave()
	if g.Over {
		b.refuse(at, windows)
	}
	switch name {
	case "exists", "columns", "unnest", "overlay", "array", "list_value", "struct_pack", "row_number", "rank", "dense_rank", "lag", "lead", "rollup", "cube":
		b.refuse(at, "%s is not supported: %s", strings.ToUpper(name), instead[name])
	}
	c := &Call{Pos: at, Name: name, Distinct: g.Distinct, Star: g.Star, Args: b.list(g.Args), OrderBy: b.orders(g.OrderBy), Filter: b.optional(g.Filter)}
	if g.Star && name != "count" {
		b.wrong(at, "only count takes a *")
	}
	if name == "count" && len(c.Args) == 0 && !g.Star {
		c.Star = true
	}
	if len(g.Within) > 0 {
		if len(c.OrderBy) > 0 {
			b.wrong(at, "the arguments have an ORDER BY already: leave out WITHIN GROUP")
		}
		c.OrderBy = b.orders(g.Within)
	}
	return c
}

// Of what the lexer read.

func unquoteName(s string) string {
	if len(s) >= 2 && s[0] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// number leaves out the _ between digits.
func number(s string) string { return strings.ReplaceAll(s, "_", "") }

func (b *builder) text(at Pos, s string) string {
	switch s[0] {
	case '$':
		tag := dollarTag(s)
		return s[len(tag) : len(s)-len(tag)]
	case '\'':
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	out, err := unescape(s[2 : len(s)-1])
	if err != "" {
		b.wrong(at, "%s", err)
	}
	return out
}
