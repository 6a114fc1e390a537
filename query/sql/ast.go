// Package sql reads the text of a query into a tree. It knows the grammar and nothing of
// columns, types or functions: what a name means is decided by package expr.
//
// The dialect is PostgreSQL's as DuckDB reads it. What is SQL but not done here is
// refused by name, with what to do instead.
package sql

// Pos is a place in the text, from 1; the zero Pos is none.
type Pos struct{ Line, Column int }

// Place is fail.Placed's.
func (p Pos) Place() (line, column int) { return p.Line, p.Column }

// Statement is one query.
type Statement struct {
	Explain bool
	Analyze bool // EXPLAIN ANALYZE
	Select  *Select
}

// Select is SELECT ... FROM ... and so on. Its parts are nil where the text has none.
type Select struct {
	Pos
	Distinct   bool
	Items      []Item
	From       *Table // nil: SELECT without FROM
	Where      Expr
	GroupBy    []Expr
	GroupByAll bool // GROUP BY ALL
	Having     Expr
	OrderBy    []Order
	OrderByAll bool
	Limit      Expr
	Offset     Expr
}

// Table is a table's name with its alias.
type Table struct {
	Pos
	Name, Alias string
}

// Item is one of the select list. Star stands alone, but for its Qualifier (t.*).
type Item struct {
	Pos
	Star      bool
	Qualifier string
	Expr      Expr
	Alias     string
}

// Order is one of ORDER BY. NullsFirst and NullsLast are false where nothing is said.
type Order struct {
	Pos
	Expr                  Expr
	Desc                  bool
	NullsFirst, NullsLast bool
}

// Expr is an expression. String is SQL that reads back into the same tree, unless it is so deep that its parentheses exceed Parse's limit.
type Expr interface {
	Place() (line, column int)
	String() string
}

// The expressions. What SQL has two spellings for has one form here:
// x::T is Cast; x AT TIME ZONE z is Call timezone(z, x); EXTRACT(f FROM x) is Call date_part('f', x);
// POSITION(a IN b) is Call strpos(b, a); SUBSTRING(x FROM a FOR b) is Call substring(x, a, b);
// TRIM(LEADING c FROM x) is Call ltrim(x, c); x ~ y and SIMILAR TO are Call regexp_full_match(x, y) as in DuckDB, !~ its Not;
// ^ and ** are Call pow; x ^@ y is Call starts_with(x, y); INTERVAL (x) HOUR is Call to_hours of x as BIGINT;
// NOT BETWEEN, NOT IN, NOT LIKE, IS NOT NULL have their Not set; count(*) has Star; CURRENT_TIMESTAMP is Call now(),
// CURRENT_DATE its Cast to DATE; x ~~ y is Like; count() has Star.
type (
	// Ident is a column, perhaps behind its table's name or alias.
	Ident struct {
		Pos
		Qualifier string
		Name      string
		Quoted    bool
	}
	// Number is a number as written, never negative.
	Number struct {
		Pos
		Text string
	}
	// Text is a string constant, unescaped.
	Text struct {
		Pos
		Value string
	}
	// Bool is TRUE or FALSE.
	Bool struct {
		Pos
		Value bool
	}
	// Null is NULL.
	Null struct{ Pos }
	// Typed is TYPE 'text': TIMESTAMP '2026-01-01', DATE '...'; of INTERVAL '1' hour the Text is "1 hour".
	Typed struct {
		Pos
		Type TypeName
		Text string
	}
	// Unary is -x, +x, ~x or NOT x.
	Unary struct {
		Pos
		Op string // "-", "+", "~", "NOT"
		X  Expr
	}
	// Binary is one of + - * / // % || = <> < <= > >= AND OR -> ->> & | << >> . Pos is the operator's.
	Binary struct {
		Pos
		Op   string
		L, R Expr
	}
	// Distinct is L IS [NOT] DISTINCT FROM R.
	Distinct struct {
		Pos
		Not  bool
		L, R Expr
	}
	// Between is X [NOT] BETWEEN Low AND High.
	Between struct {
		Pos
		Not          bool
		X, Low, High Expr
	}
	// In is X [NOT] IN (List).
	In struct {
		Pos
		Not  bool
		X    Expr
		List []Expr
	}
	// Is is X IS [NOT] NULL, TRUE or FALSE.
	Is struct {
		Pos
		Not  bool
		X    Expr
		What string // "NULL", "TRUE", "FALSE"
	}
	// Like is X [NOT] LIKE or ILIKE Pattern [ESCAPE Escape].
	Like struct {
		Pos
		Not, Fold  bool // Fold: ILIKE
		X, Pattern Expr
		Escape     Expr
	}
	// Case is CASE [Operand] WHEN ... END.
	Case struct {
		Pos
		Operand Expr
		Whens   []When
		Else    Expr
	}
	// Cast is CAST(X AS Type), TRY_CAST, X::Type.
	Cast struct {
		Pos
		Try  bool
		X    Expr
		Type TypeName
	}
	// Call is a function or an aggregate. Name is in lower case.
	Call struct {
		Pos
		Name     string
		Distinct bool
		Star     bool // count(*)
		Args     []Expr
		OrderBy  []Order // within the parentheses, or WITHIN GROUP
		Filter   Expr    // FILTER (WHERE ...)
	}
	// Row is (a, b, ...), which can only be compared with another row.
	Row struct {
		Pos
		Items []Expr
	}
)

// When is one branch of a Case.
type When struct{ Cond, Then Expr }

// TypeName is a type as written, in upper case: "DOUBLE", "TIMESTAMP WITH TIME ZONE", "DECIMAL(10,2)".
type TypeName struct {
	Pos
	Name string
}
