package sql

import (
	"fmt"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/togodb/togo/query/fail"
)

// instead says of SQL that is not done what to do in its place, by the word that it is known by.
var instead = map[string]string{
	"exists":      "join the conditions into one WHERE, or run two queries",
	"columns":     "name the columns; GET /v1/schema lists them",
	"unnest":      "take the elements that you need by json_extract, as json_extract(x, '$[0]')",
	"overlay":     "join what stays by ||, as left(x, 2) || 'new' || substring(x, 6)",
	"array":       "arrays are JSON here, see json_extract",
	"list_value":  "arrays are JSON here, see json_extract",
	"struct_pack": "objects are JSON here, see json_extract",
	"rollup":      "run one query for each level",
	"cube":        "run one query for each level",
	"row_number":  "window functions are not there; use ORDER BY with LIMIT",
	"rank":        "window functions are not there; use ORDER BY with LIMIT",
	"dense_rank":  "window functions are not there; use ORDER BY with LIMIT",
	"lag":         "window functions are not there; use arg_max(x, timestamp) with GROUP BY",
	"lead":        "window functions are not there; use arg_min(x, timestamp) with GROUP BY",
}

// writes are statements that change something.
var writes = set(`INSERT UPDATE DELETE MERGE TRUNCATE CREATE DROP ALTER REPLACE COPY EXPORT IMPORT GRANT REVOKE VACUUM REINDEX COMMENT UPSERT`)

// others are statements that do something else.
var others = map[string]string{
	"WITH":       "WITH is not supported: write one SELECT over events, or run the parts one after the other",
	"FROM":       "a query begins with SELECT: write SELECT * FROM ...",
	"VALUES":     "VALUES is not supported: write SELECT with constants",
	"TABLE":      "TABLE is not supported: write SELECT * FROM ...",
	"SHOW":       "SHOW is not supported: the tables are events and dead_letters, and GET /v1/schema lists their columns",
	"DESCRIBE":   "DESCRIBE is not supported: GET /v1/schema lists the columns",
	"DESC":       "DESCRIBE is not supported: GET /v1/schema lists the columns",
	"SUMMARIZE":  "SUMMARIZE is not supported: GET /v1/schema lists the columns; write SELECT with count, min and max",
	"PIVOT":      "PIVOT is not supported: write one column for each value, as count(*) FILTER (WHERE status = 500)",
	"UNPIVOT":    "UNPIVOT is not supported: run one query for each column",
	"SET":        "SET is not supported: limits and times are parameters of the request",
	"RESET":      "RESET is not supported: nothing is kept between queries",
	"USE":        "USE is not supported: the tenant is the header X-Scope-OrgID",
	"ATTACH":     "ATTACH is not supported: the tables are events and dead_letters",
	"DETACH":     "DETACH is not supported: the tables are events and dead_letters",
	"PRAGMA":     "PRAGMA is not supported: nothing is set by SQL",
	"INSTALL":    "INSTALL is not supported: there are no extensions",
	"LOAD":       "LOAD is not supported: there are no extensions",
	"CALL":       "CALL is not supported: write SELECT",
	"DO":         "DO is not supported: write SELECT",
	"EXECUTE":    "EXECUTE is not supported: send the text of the query",
	"PREPARE":    "PREPARE is not supported: send the text of the query",
	"DEALLOCATE": "DEALLOCATE is not supported: nothing is kept between queries",
	"BEGIN":      "transactions are not needed: each query sees one state; pass the answer's snapshot to see it again",
	"START":      "transactions are not needed: each query sees one state; pass the answer's snapshot to see it again",
	"COMMIT":     "transactions are not needed: each query sees one state; pass the answer's snapshot to see it again",
	"ROLLBACK":   "transactions are not needed: each query sees one state; pass the answer's snapshot to see it again",
	"CHECKPOINT": "CHECKPOINT is not supported: queries change nothing",
	"ANALYZE":    "ANALYZE alone is not supported: write EXPLAIN ANALYZE SELECT ...",
}

// statement refuses what is no SELECT, by its first word.
func statement(tokens []lexer.Token) *fail.Error {
	i := 0
	if is(tokens[0], "EXPLAIN") {
		for i = 1; i < len(tokens) && (is(tokens[i], "ANALYZE") || is(tokens[i], "ANALYSE")); i++ {
		}
		if i == len(tokens) {
			return fail.At(place(tokens[0].Pos), fail.Syntax, "EXPLAIN explains a query: write EXPLAIN SELECT ...")
		}
	}
	t := tokens[i]
	first := strings.ToUpper(t.Value)
	switch {
	case first == "SELECT":
		return nil
	case t.Type == tKeyword || t.Type == tWord:
		if writes[first] {
			return fail.At(place(t.Pos), fail.Unsupported, "%s is not supported: queries only read. Events come in by Kafka or POST /v1/ingest", first)
		}
		if say := others[first]; say != "" {
			return fail.At(place(t.Pos), fail.Unsupported, "%s", say)
		}
	case first == "(":
		return fail.At(place(t.Pos), fail.Syntax, "a query begins with SELECT: leave out the parentheses around it")
	}
	if near := nearest(first, []string{"SELECT", "EXPLAIN"}); near != "" {
		return fail.At(place(t.Pos), fail.Syntax, "a query begins with SELECT: did you mean %s instead of %q?", near, t.Value)
	}
	return fail.At(place(t.Pos), fail.Syntax, "a query begins with SELECT: write SELECT ... FROM events")
}

func is(t lexer.Token, word string) bool {
	return t.Type != tText && t.Type != tQuoted && strings.EqualFold(t.Value, word)
}

// refusals are what is known of a token at which the grammar stopped, whatever stands before it.
var refusals = map[string]string{
	"UNION":       "UNION is not supported: run the queries one after the other, or join their conditions by OR",
	"INTERSECT":   "INTERSECT is not supported: join the conditions by AND",
	"EXCEPT":      "EXCEPT is not supported: join the conditions by AND NOT",
	"JOIN":        joins,
	"INNER":       joins,
	"LEFT":        joins,
	"RIGHT":       joins,
	"FULL":        joins,
	"OUTER":       joins,
	"CROSS":       joins,
	"NATURAL":     joins,
	"SEMI":        joins,
	"ANTI":        joins,
	"ASOF":        joins,
	"POSITIONAL":  joins,
	"LATERAL":     joins,
	"USING":       "USING is not supported: a query reads one table, and ORDER BY takes ASC or DESC",
	"WINDOW":      "WINDOW is not supported: window functions are not there; use GROUP BY",
	"QUALIFY":     "QUALIFY is not supported: window functions are not there; use GROUP BY with HAVING",
	"TABLESAMPLE": "TABLESAMPLE is not supported: take a part by a condition, as hash(id) % 100 = 0",
	"FETCH":       "FETCH is not supported: write LIMIT n",
	"FOR":         "FOR is not supported here: queries only read, and lock nothing",
	"INTO":        "INTO is not supported: queries only read",
	"RETURNING":   "RETURNING is not supported: queries only read",
	"PLACING":     "OVERLAY is not supported: " + instead["overlay"],
	"PIVOT":       "PIVOT is not supported: write one column for each value, as count(*) FILTER (WHERE status = 500)",
	"UNPIVOT":     "UNPIVOT is not supported: run one query for each column",
	"WITH":        "WITH is not supported here: write one SELECT over events",
	"COLLATE":     "COLLATE is not supported: text compares by its bytes; compare lower(x) to ignore case",
	"GLOB":        "GLOB is not supported: write LIKE with % and _, or regexp_matches",
	"ANY":         "ANY is not supported: write x IN (...)",
	"SOME":        "SOME is not supported: write x IN (...)",
	"ARRAY":       arrays,
	"LAMBDA":      "lambdas are not supported",
	"EXCLUDE":     "* EXCLUDE is not supported: name the columns that you need",
	"REPLACE":     "* REPLACE is not supported: name the columns that you need",
	"RENAME":      "* RENAME is not supported: name the columns that you need, with AS",
	"PERCENT":     "a LIMIT in percent is not supported: write the number of rows",
	"RESPECT":     "RESPECT NULLS is not supported: it is what aggregates do",
	"IGNORE":      "IGNORE NULLS is not supported: add FILTER (WHERE x IS NOT NULL)",
	"OVERLAPS":    "OVERLAPS is not supported: compare the two starts and ends",
	"AT":          "AT stands in x AT TIME ZONE 'name'",
	"[":           arrays,
	"{":           "objects in braces are not supported: write a JSON text, as '{\"a\": 1}'::JSON",
	"?":           parameters,
	"$":           parameters,
	":":           parameters,
	":=":          "arguments by name are not supported: give them in their order",
	"=>":          "arguments by name are not supported: give them in their order",
	"@>":          "@> is not supported: write json_contains(x, y)",
	"<@":          "<@ is not supported: write json_contains(y, x)",
	"#>":          "#> is not supported: write json_extract(x, '$.a.b')",
	"#>>":         "#>> is not supported: write json_extract_string(x, '$.a.b')",
	"~*":          "~* is not supported: write regexp_matches(x, pattern, 'i')",
	"!~*":         "!~* is not supported: write NOT regexp_matches(x, pattern, 'i')",
	"&&":          "&& is not supported: write AND",
	"!":           "! is not supported: write NOT",
	"#":           "# is not supported: write ^ for powers, xor(a, b) for bits, and -- before a comment",
	"@":           "@ is not supported: write abs(x)",
}

const (
	joins      = "joins are not supported: a query reads one table, events or dead_letters; run one query for each and join their answers"
	arrays     = "arrays are not supported: JSON holds them; take an element by json_extract(x, '$[0]') or x -> 0"
	windows    = "window functions (OVER) are not supported: use GROUP BY, or arg_max(x, timestamp) for the last value of each group"
	parameters = "parameters in the text are not supported: write the constant itself, with each single quote in it doubled"
	subqueries = "subqueries are not supported: run the inner query first, and put its answer into the other, as x IN (1, 2, 3)"
)

// hint says what is wrong at token i, at which the grammar stopped.
func hint(tokens []lexer.Token, i int) (fail.Code, string) {
	t := tokens[i]
	before := lexer.Token{}
	if i > 0 {
		before = tokens[i-1]
	}
	upper := strings.ToUpper(t.Value)
	switch {
	case t.EOF():
		if is(before, "%") && limited(tokens[:i-1]) {
			return fail.Unsupported, refusals["PERCENT"]
		}
		return fail.Syntax, ending(tokens)
	case is(t, "SELECT") && (is(before, "(") || is(before, "ALL") || is(before, "DISTINCT")):
		return fail.Unsupported, subqueries
	case is(t, "ALL") && i > 0 && comparison(before):
		return fail.Unsupported, "ALL is not supported: compare with the largest or smallest value itself"
	case is(before, "OVER"):
		return fail.Unsupported, windows
	case is(t, "(") && (is(before, "STRUCT") || is(before, "MAP") || is(before, "UNION")):
		return fail.Unsupported, "the type " + strings.ToUpper(before.Value) + " is not supported: JSON holds objects and arrays, see json_extract"
	case is(before, "ALL") && (is(t, "DESC") || is(t, "ASC") || is(t, "NULLS")):
		return fail.Unsupported, "ORDER BY ALL takes no direction here: name the columns, each with its own"
	case is(t, "ON") && is(before, "DISTINCT"):
		return fail.Unsupported, "DISTINCT ON is not supported: use GROUP BY with arg_max(x, timestamp)"
	case is(before, "%") && limited(tokens[:i-1]):
		return fail.Unsupported, refusals["PERCENT"]
	case inFrom(tokens[:i+1]):
		if say := from(t, before); say != "" {
			return fail.Unsupported, say
		}
	case is(before, "BY") && (upper == "ROLLUP" || upper == "CUBE" || upper == "GROUPING"):
		return fail.Unsupported, upper + " is not supported: run one query for each level"
	}
	if grouping := is(t, "SETS") && is(before, "GROUPING"); grouping {
		return fail.Unsupported, "GROUPING SETS is not supported: run one query for each level"
	}
	if say := refusals[upper]; say != "" && t.Type != tQuoted && t.Type != tText {
		return fail.Unsupported, say
	}
	if i+1 < len(tokens) && is(t, ",") && (is(tokens[i+1], "[") || is(tokens[i+1], "{") || is(tokens[i+1], "ARRAY")) {
		return hint(tokens, i+1) // a further argument
	}
	return fail.Syntax, unexpected(tokens, i)
}

func comparison(t lexer.Token) bool {
	return precedence[t.Value] == pCompare
}

// limited tells that the tokens end with LIMIT and one more.
func limited(tokens []lexer.Token) bool {
	return len(tokens) >= 2 && is(tokens[len(tokens)-2], "LIMIT")
}

// inFrom tells that the last token belongs to the FROM clause: no other clause began since.
func inFrom(tokens []lexer.Token) bool {
	for i := len(tokens) - 1; i >= 0 && i > len(tokens)-6; i-- {
		if is(tokens[i], "FROM") {
			return i < len(tokens)-1 && (i == 0 || !is(tokens[i-1], "DISTINCT"))
		}
		if i < len(tokens)-1 && tokens[i].Type == tKeyword && !is(tokens[i], "AS") {
			return false
		}
	}
	return false
}

// from says what is wrong at a token of the FROM clause.
func from(t, before lexer.Token) string {
	switch {
	case is(t, ","):
		return joins
	case is(t, "(") && is(before, "FROM"):
		return subqueries
	case is(t, "("):
		return "table functions are not supported: the tables are events and dead_letters"
	case t.Type == tText:
		return "files are no tables here: the tables are events and dead_letters"
	case is(t, "."):
		return "a table has no schema here: the tables are events and dead_letters"
	}
	return ""
}

// ending says what a text lacks that ends too early.
func ending(tokens []lexer.Token) string {
	var open []lexer.Token
	for _, t := range tokens {
		switch {
		case t.Value == "(" || is(t, "CASE"):
			open = append(open, t)
		case t.Value == ")" || is(t, "END"):
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) > 0 {
		t := open[len(open)-1]
		closing := map[bool]string{true: ")", false: "END"}[t.Value == "("]
		return fmt.Sprintf("the query ends too early: the %s at line %d, column %d has no %s", strings.ToUpper(t.Value), t.Pos.Line, t.Pos.Column, closing)
	}
	last := tokens[max(0, len(tokens)-2)]
	return fmt.Sprintf("the query ends too early: something is missing after %s", shown(last))
}

// unexpected is what is said where nothing better is known.
func unexpected(tokens []lexer.Token, i int) string {
	t := tokens[i]
	message := "unexpected " + shown(t)
	if i > 0 {
		before := tokens[i-1]
		message += " after " + shown(before)
		if near := nearest(strings.ToUpper(before.Value), clauses); before.Type == tWord && near != "" {
			return message + fmt.Sprintf(": did you mean %s instead of %q?", near, before.Value)
		}
	}
	if near := nearest(strings.ToUpper(t.Value), clauses); t.Type == tWord && near != "" {
		return message + fmt.Sprintf(": did you mean %s?", near)
	}
	if t.Type == tKeyword && !is(t, "FROM") && !clause[strings.ToUpper(t.Value)] {
		return message + fmt.Sprintf(`: %s is a word of SQL; a column of that name is written "%s"`, strings.ToUpper(t.Value), t.Value)
	}
	return message
}

// clauses are words that begin or join parts, for those who mistype them.
var (
	clauses = strings.Fields("SELECT DISTINCT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET BETWEEN LIKE ILIKE FILTER WHEN THEN ELSE NULLS FIRST LAST")
	clause  = set("SELECT DISTINCT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET BETWEEN LIKE ILIKE WHEN THEN ELSE END AND OR NOT IN IS AS BY NULL CASE")
)

// shown is a token in a message, cut where it is long.
func shown(t lexer.Token) string {
	const most = 40
	text := t.Value
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	if t.Type == tText || t.Type == tQuoted {
		return text
	}
	return `"` + text + `"`
}

// nearest is the word that differs from s by one letter, or by two that changed places; "" if none does or s is it.
func nearest(s string, words []string) string {
	for _, w := range words {
		if s == w {
			return ""
		}
	}
	for _, w := range words {
		if len(s) > 2 && oneEdit(s, w) {
			return w
		}
	}
	return ""
}

func oneEdit(a, b string) bool {
	i, j := 0, 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for j < len(a)-i && j < len(b)-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	left, right := a[i:len(a)-j], b[i:len(b)-j]
	if len(left) <= 1 && len(right) <= 1 {
		return true
	}
	return len(left) == 2 && len(right) == 2 && left[0] == right[1] && left[1] == right[0]
}
