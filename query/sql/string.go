package sql

import (
	"strings"
)

// printer writes SQL. Operators are put in parentheses, so that the text reads back into the same tree.
type printer struct{ strings.Builder }

func text(write func(p *printer)) string {
	var p printer
	write(&p)
	return p.String()
}

// String is the query as SQL that reads back into the same tree.
func (s *Statement) String() string {
	prefix := ""
	if s.Explain {
		prefix = "EXPLAIN "
		if s.Analyze {
			prefix += "ANALYZE "
		}
	}
	return prefix + s.Select.String()
}

// String is the SELECT as SQL that reads back into the same tree.
func (s *Select) String() string { return text(func(p *printer) { p.sel(s) }) }

func (p *printer) sel(s *Select) {
	p.WriteString("SELECT ")
	if s.Distinct {
		p.WriteString("DISTINCT ")
	}
	for i, item := range s.Items {
		if i > 0 {
			p.WriteString(", ")
		}
		p.item(item)
	}
	if s.From != nil {
		p.WriteString(" FROM " + quoteName(s.From.Name))
		if s.From.Alias != "" {
			p.WriteString(" AS " + quoteName(s.From.Alias))
		}
	}
	p.clause(" WHERE ", s.Where)
	switch {
	case s.GroupByAll:
		p.WriteString(" GROUP BY ALL")
	case len(s.GroupBy) > 0:
		p.WriteString(" GROUP BY ")
		p.list(s.GroupBy)
	}
	p.clause(" HAVING ", s.Having)
	if s.OrderByAll {
		p.WriteString(" ORDER BY ALL")
	}
	p.orders(" ORDER BY ", s.OrderBy)
	p.clause(" LIMIT ", s.Limit)
	p.clause(" OFFSET ", s.Offset)
}

func (p *printer) item(i Item) {
	switch {
	case i.Star && i.Qualifier != "":
		p.WriteString(quoteName(i.Qualifier) + ".*")
	case i.Star:
		p.WriteString("*")
	default:
		p.expr(i.Expr)
		if i.Alias != "" {
			p.WriteString(" AS " + quoteName(i.Alias))
		}
	}
}

func (p *printer) clause(word string, x Expr) {
	if x != nil {
		p.WriteString(word)
		p.expr(x)
	}
}

func (p *printer) list(xs []Expr) {
	for i, x := range xs {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(x)
	}
}

func (p *printer) orders(word string, os []Order) {
	for i, o := range os {
		if i > 0 {
			word = ", "
		}
		p.WriteString(word)
		p.expr(o.Expr)
		if o.Desc {
			p.WriteString(" DESC")
		}
		switch {
		case o.NullsFirst:
			p.WriteString(" NULLS FIRST")
		case o.NullsLast:
			p.WriteString(" NULLS LAST")
		}
	}
}

// list are expressions that an operator writes in parentheses.
type list []Expr

func (p *printer) operands(xs []Expr) {
	p.WriteByte('(')
	p.list(xs)
	p.WriteByte(')')
}

// operator writes words and operands in turn, in parentheses.
func (p *printer) operator(parts ...any) {
	p.WriteByte('(')
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			p.WriteString(part)
		case list:
			p.operands(part)
		case Expr:
			p.expr(part)
		}
	}
	p.WriteByte(')')
}

func not(is bool) string {
	if is {
		return " NOT"
	}
	return ""
}

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Ident:
		p.ident(x)
	case *Number:
		p.WriteString(x.Text)
	case *Text:
		p.WriteString(quoteText(x.Value))
	case *Bool:
		p.WriteString(map[bool]string{true: "TRUE", false: "FALSE"}[x.Value])
	case *Null:
		p.WriteString("NULL")
	case *Typed:
		p.WriteString(x.Type.Name + " " + quoteText(x.Text))
	case *Unary:
		p.WriteByte('(')
		p.prefixes(x)
		p.WriteByte(')')
	case *Binary:
		p.WriteByte('(')
		p.chain(x)
		p.WriteByte(')')
	case *Distinct:
		p.operator(x.L, " IS"+not(x.Not)+" DISTINCT FROM ", x.R)
	case *Between:
		p.operator(x.X, not(x.Not)+" BETWEEN ", x.Low, " AND ", x.High)
	case *In:
		p.operator(x.X, not(x.Not)+" IN ", list(x.List))
	case *Is:
		p.operator(x.X, " IS"+not(x.Not)+" "+x.What)
	default:
		p.form(x)
	}
}

// prefixes writes - - x without parentheses within.
func (p *printer) prefixes(x *Unary) {
	for {
		p.WriteString(x.Op)
		inner, more := x.X.(*Unary)
		more = more && (x.Op == "NOT" || inner.Op != "NOT")
		if more || x.Op == "NOT" {
			p.WriteByte(' ')
		}
		if !more {
			p.expr(x.X)
			return
		}
		x = inner
	}
}

// chain writes a + b + c without parentheses within, however long it is: so it is read again.
func (p *printer) chain(x *Binary) {
	links := []*Binary{x}
	for class := precedence[x.Op]; class != pCompare; {
		left, ok := x.L.(*Binary)
		if !ok || precedence[left.Op] != class {
			break
		}
		x = left
		links = append(links, x)
	}
	p.expr(x.L)
	for i := len(links) - 1; i >= 0; i-- {
		p.WriteString(" " + links[i].Op + " ")
		p.expr(links[i].R)
	}
}

func (p *printer) ident(x *Ident) {
	if x.Qualifier != "" {
		p.WriteString(quoteName(x.Qualifier) + ".")
	}
	if x.Quoted {
		p.WriteString(`"` + strings.ReplaceAll(x.Name, `"`, `""`) + `"`)
		return
	}
	p.WriteString(quoteName(x.Name))
}

// form writes what has a form of its own.
func (p *printer) form(x Expr) {
	switch x := x.(type) {
	case *Like:
		word := map[bool]string{true: " ILIKE ", false: " LIKE "}[x.Fold]
		if x.Escape == nil {
			p.operator(x.X, not(x.Not)+word, x.Pattern)
			return
		}
		p.operator(x.X, not(x.Not)+word, x.Pattern, " ESCAPE ", x.Escape)
	case *Case:
		p.WriteString("CASE")
		p.clause(" ", x.Operand)
		for _, w := range x.Whens {
			p.clause(" WHEN ", w.Cond)
			p.clause(" THEN ", w.Then)
		}
		p.clause(" ELSE ", x.Else)
		p.WriteString(" END")
	case *Cast:
		p.WriteString(map[bool]string{true: "TRY_CAST(", false: "CAST("}[x.Try])
		p.expr(x.X)
		p.WriteString(" AS " + x.Type.Name + ")")
	case *Row:
		if len(x.Items) == 1 {
			p.WriteString("ROW")
		}
		p.operands(x.Items)
	case *Call:
		p.call(x)
	}
}

func (p *printer) call(c *Call) {
	p.WriteString(functionName(c) + "(")
	switch {
	case c.Star:
		p.WriteByte('*')
	case c.Distinct:
		p.WriteString("DISTINCT ")
	}
	p.list(c.Args)
	p.orders(" ORDER BY ", c.OrderBy)
	p.WriteByte(')')
	if c.Filter != nil {
		p.clause(" FILTER (WHERE ", c.Filter)
		p.WriteByte(')')
	}
}

// functionName is the name with the quotes that it needs: of some functions the grammar reads the arguments differently.
func functionName(c *Call) string {
	bare := len(c.OrderBy) == 0 && !c.Distinct && c.Filter == nil
	switch c.Name {
	case "left", "right":
		return c.Name
	case "trim":
		if bare && len(c.Args) > 0 {
			return c.Name
		}
	case "substring":
		if bare && len(c.Args) > 1 {
			return c.Name
		}
	}
	if special[strings.ToUpper(c.Name)] {
		return `"` + c.Name + `"`
	}
	return quoteName(c.Name)
}

func (x *Ident) String() string    { return text(func(p *printer) { p.expr(x) }) }
func (x *Number) String() string   { return text(func(p *printer) { p.expr(x) }) }
func (x *Text) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Bool) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Null) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Typed) String() string    { return text(func(p *printer) { p.expr(x) }) }
func (x *Unary) String() string    { return text(func(p *printer) { p.expr(x) }) }
func (x *Binary) String() string   { return text(func(p *printer) { p.expr(x) }) }
func (x *Distinct) String() string { return text(func(p *printer) { p.expr(x) }) }
func (x *Between) String() string  { return text(func(p *printer) { p.expr(x) }) }
func (x *In) String() string       { return text(func(p *printer) { p.expr(x) }) }
func (x *Is) String() string       { return text(func(p *printer) { p.expr(x) }) }
func (x *Like) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Case) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Cast) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Call) String() string     { return text(func(p *printer) { p.expr(x) }) }
func (x *Row) String() string      { return text(func(p *printer) { p.expr(x) }) }
