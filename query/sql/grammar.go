package sql

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar. At each choice the next two tokens decide, so reading takes time in proportion to the text. Expressions are
// read as they stand, an operand after the other with what is between them; build puts them in order by precedence.
//
// What a participle grammar cannot say, and lex and build do: nested comments, and the places of operators.

var grammar = participle.MustBuild[gStatement](
	participle.Lexer(definition{}),
	participle.CaseInsensitive("Word", "Keyword", "Constant", "Form", "Operator", "Tail"),
)

type gStatement struct {
	Explain bool     `parser:"( @'EXPLAIN'"`
	Analyze bool     `parser:"  @( 'ANALYZE' | 'ANALYSE' )? )?"`
	Select  *gSelect `parser:"@@"`
}

type gSelect struct {
	Pos        lexer.Position
	Distinct   bool      `parser:"'SELECT' ( @'DISTINCT' | 'ALL' )?"`
	Items      []*gItem  `parser:"@@ ( ',' @@ )* ','?"`
	From       *gTable   `parser:"( 'FROM' @@ )?"`
	Where      *gExpr    `parser:"( 'WHERE' @@ )?"`
	GroupByAll bool      `parser:"( 'GROUP' 'BY' ( @'ALL'"`
	GroupBy    []*gExpr  `parser:"  | @@ ( ',' @@ )* ) )?"`
	Having     *gExpr    `parser:"( 'HAVING' @@ )?"`
	OrderByAll bool      `parser:"( 'ORDER' 'BY' ( @'ALL'"`
	OrderBy    []*gOrder `parser:"  | @@ ( ',' @@ )* ) )?"`
	Window     []*gLimit `parser:"@@*"`
}

// gLimit is LIMIT or OFFSET: they come in any order.
type gLimit struct {
	Pos    lexer.Position
	All    bool   `parser:"'LIMIT' ( @'ALL'"`
	Limit  *gExpr `parser:" | @@ )"`
	Offset *gExpr `parser:"| 'OFFSET' @@ ( 'ROW' | 'ROWS' )?"`
}

type gItem struct {
	Pos   lexer.Position
	Star  bool   `parser:"( @'*'"`
	Expr  *gExpr `parser:"| @@"`
	Alias string `parser:"  ( 'AS' @( Word | Quoted | Keyword | Tail | Constant ) | @( Word | Quoted ) )? )"`
}

type gTable struct {
	Pos   lexer.Position
	Name  string `parser:"@( Word | Quoted )"`
	Alias string `parser:"( 'AS' @( Word | Quoted ) | @( Word | Quoted ) )?"`
}

type gOrder struct {
	Pos   lexer.Position
	Expr  *gExpr `parser:"@@"`
	Desc  bool   `parser:"( @'DESC' | 'ASC' )?"`
	Nulls string `parser:"( 'NULLS' @( 'FIRST' | 'LAST' ) )?"`
}

type gExpr struct {
	First *gTerm   `parser:"@@"`
	Tails []*gTail `parser:"@@*"`
}

// gTerm is an operand behind prefixes.
type gTerm struct {
	Prefixes []*gPrefix `parser:"@@*"`
	Operand  *gOperand  `parser:"@@"`
}

type gPrefix struct {
	Pos lexer.Position
	Op  string `parser:"@( Sign | 'NOT' )"`
}

// gTail is what follows an operand: an operator with its second operand, or one that needs none.
type gTail struct {
	Pos  lexer.Position
	Op   string `parser:"  @( Operator | Sign | Star )"`
	Term *gTerm `parser:"    @@"`
	Cast *gType `parser:"| (?= Tail ) ( '::' @@"`
	Zone *gTerm `parser:"  | 'AT' 'TIME' 'ZONE' @@"`
	Is   *gIs   `parser:"  | @@"`
	Test *gTest `parser:"  | @@ )"`
	Not  *gTest `parser:"| 'NOT' ( @@"`
	Null bool   `parser:"  | @'NULL' )"`
	Esc  *gTerm `parser:"| 'ESCAPE' @@"`
}

type gTest struct {
	Word    string    `parser:"  @( 'BETWEEN' | 'LIKE' | 'ILIKE' )"`
	Term    *gTerm    `parser:"  @@"`
	Similar *gTerm    `parser:"| 'SIMILAR' 'TO' @@"`
	In      *gOptList `parser:"| 'IN' @@"`
}

type gIs struct {
	Post string `parser:"  @( 'ISNULL' | 'NOTNULL' )"`
	Not  bool   `parser:"| 'IS' @'NOT'?"`
	What string `parser:"  ( @( 'NULL' | 'TRUE' | 'FALSE' | 'UNKNOWN' )"`
	From *gTerm `parser:"  | 'DISTINCT' 'FROM' @@ )"`
}

type gOptList struct {
	Items []*gExpr `parser:"'(' @@ ( ',' @@ )* ')'"`
}

type gOperand struct {
	Pos      lexer.Position
	Name     *gName     `parser:"  @@"`
	Number   string     `parser:"| @Number"`
	Text     string     `parser:"| @Text"`
	List     *gOptList  `parser:"| @@"`
	Word     string     `parser:"| @Constant"`
	Case     *gCase     `parser:"| (?= Form ) ( @@"`
	Try      bool       `parser:"  | ( 'CAST' | @'TRY_CAST' )"`
	Cast     *gCast     `parser:"    @@"`
	Interval *gInterval `parser:"  | 'INTERVAL' @@"`
	Extract  *gExtract  `parser:"  | 'EXTRACT' @@"`
	Position *gPosition `parser:"  | 'POSITION' @@"`
	Sub      *gSub      `parser:"  | 'SUBSTRING' @@"`
	Trim     *gTrim     `parser:"  | 'TRIM' @@"`
	Row      *gOptList  `parser:"  | 'ROW' @@ )"`
}

type gCase struct {
	Operand *gExpr   `parser:"'CASE' @@?"`
	Whens   []*gWhen `parser:"@@+"`
	Else    *gExpr   `parser:"( 'ELSE' @@ )? 'END'"`
}

type gWhen struct {
	Cond *gExpr `parser:"'WHEN' @@"`
	Then *gExpr `parser:"'THEN' @@"`
}

type gCast struct {
	X    *gExpr `parser:"'(' @@ 'AS'"`
	Type *gType `parser:"@@ ')'"`
}

type gType struct {
	Pos    lexer.Position
	Name   []string `parser:"( @'DOUBLE' @'PRECISION'? | @( 'CHARACTER' | 'CHAR' ) @'VARYING'? | @( Word | Quoted | 'ARRAY' ) )"`
	Args   []string `parser:"( '(' @Number ( ',' @Number )* ')' )?"`
	Zone   string   `parser:"( @( 'WITH' | 'WITHOUT' ) 'TIME' 'ZONE' )?"`
	Vector bool     `parser:"( @'[' Number? ']' )*"`
}

// gInterval is what follows INTERVAL: a text, with its unit or without; a number or an expression with its unit.
type gInterval struct {
	Text   string `parser:"  ( @Text"`
	Number string `parser:"  | @Number"`
	Expr   *gExpr `parser:"  | '(' @@ ')' )"`
	Unit   string `parser:"( @( 'YEAR' | 'YEARS' | 'QUARTER' | 'QUARTERS' | 'MONTH' | 'MONTHS' | 'WEEK' | 'WEEKS' | 'DAY' | 'DAYS' | 'HOUR' | 'HOURS' | 'MINUTE' | 'MINUTES' | 'SECOND' | 'SECONDS' | 'MILLISECOND' | 'MILLISECONDS' | 'MICROSECOND' | 'MICROSECONDS' | 'DECADE' | 'DECADES' | 'CENTURY' | 'CENTURIES' | 'MILLENNIUM' | 'MILLENNIA' )"`
	To     bool   `parser:"  @'TO'? )?"`
}

type gExtract struct {
	Field string `parser:"'(' @( Word | Text | Quoted ) 'FROM'"`
	X     *gExpr `parser:"@@ ')'"`
}

// gPosition is position(a IN b); IN with b in parentheses is read as a tail of a.
type gPosition struct {
	Needle *gExpr `parser:"'(' @@"`
	In     *gExpr `parser:"( 'IN' @@ )? ')'"`
}

// gSub is substring(x FROM a FOR b), in either order, and substring(x, a, b).
type gSub struct {
	X    *gExpr   `parser:"'(' @@"`
	Args []*gExpr `parser:"( ( ',' @@ )+"`
	From *gExpr   `parser:"| 'FROM' @@"`
	For  *gExpr   `parser:"  ( 'FOR' @@ )?"`
	Len  *gExpr   `parser:"| 'FOR' @@"`
	At   *gExpr   `parser:"  ( 'FROM' @@ )? ) ')'"`
}

// gTrim is trim(LEADING c FROM x) and trim(x, c).
type gTrim struct {
	Side string   `parser:"'(' @( 'BOTH' | 'LEADING' | 'TRAILING' )?"`
	From *gExpr   `parser:"( 'FROM' @@"`
	Args []*gExpr `parser:"| @@ ( ',' @@ )*"`
	Of   *gExpr   `parser:"  ( 'FROM' @@ )? ) ')'"`
}

// gName is a column, a function's call, or a type before its text.
type gName struct {
	Pos      lexer.Position
	Parts    []string `parser:"@( Word | Quoted ) ( '.' @( Word | Quoted | Keyword | Star | Form | Tail | Constant ) )*"`
	Call     *gCall   `parser:"( @@"`
	Text     string   `parser:"| @Text"`
	Zone     string   `parser:"| @( 'WITH' | 'WITHOUT' ) 'TIME' 'ZONE'"`
	ZoneText string   `parser:"  @Text )?"`
}

type gCall struct {
	Star     bool      `parser:"'(' ( @'*'"`
	Distinct bool      `parser:"  | ( @'DISTINCT' | 'ALL' )?"`
	Args     []*gExpr  `parser:"    @@ ( ',' @@ )* )?"`
	OrderBy  []*gOrder `parser:"( 'ORDER' 'BY' @@ ( ',' @@ )* )? ')'"`
	Within   []*gOrder `parser:"( 'WITHIN' 'GROUP' '(' 'ORDER' 'BY' @@ ( ',' @@ )* ')' )?"`
	Filter   *gExpr    `parser:"( 'FILTER' '(' 'WHERE'? @@ ')' )?"`
	Over     bool      `parser:"@'OVER'?"`
}
