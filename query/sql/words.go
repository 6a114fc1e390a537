package sql

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// keywords are the words that are no names unless they are quoted: DuckDB's reserved words, and those of its words for
// functions and types alone that begin or join clauses here.
var keywords = set(`
	ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE
	DEFAULT DEFERRABLE DESC DESCRIBE DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM GROUP HAVING IN INITIALLY
	INTERSECT INTO LAMBDA LATERAL LEADING LIMIT NOT NULL OFFSET ON ONLY OR ORDER PIVOT PIVOT_LONGER PIVOT_WIDER PLACING
	PRIMARY QUALIFY REFERENCES RETURNING SELECT SHOW SOME SUMMARIZE SYMMETRIC TABLE THEN TO TRAILING TRUE UNION UNIQUE
	UNPIVOT USING VARIADIC WHEN WHERE WINDOW WITH

	BETWEEN IS ISNULL NOTNULL LIKE ILIKE GLOB SIMILAR TRY_CAST
	JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL SEMI ANTI ASOF POSITIONAL TABLESAMPLE`)

// kinds are the words that are tokens of a kind of their own, forms and functions before a parenthesis alone.
var kinds = map[string]lexer.TokenType{
	"NULL": tConstant, "TRUE": tConstant, "FALSE": tConstant,
	"CASE": tForm, "CAST": tForm, "TRY_CAST": tForm, "INTERVAL": tForm, "EXTRACT": tForm, "POSITION": tForm, "SUBSTRING": tForm, "TRIM": tForm, "ROW": tForm,
	"LEFT": tWord, "RIGHT": tWord,
	"AND": tOperator, "OR": tOperator,
	"IS": tTail, "ISNULL": tTail, "NOTNULL": tTail, "BETWEEN": tTail, "LIKE": tTail, "ILIKE": tTail, "SIMILAR": tTail, "IN": tTail, "AT": tTail,
}

// special are functions whose arguments the grammar reads in a way of their own, and words that are no functions.
var special = set(`EXTRACT POSITION SUBSTRING TRIM OVERLAY ROW INTERVAL EXISTS COLUMNS CURRENT_TIMESTAMP CURRENT_DATE LOCALTIMESTAMP CURRENT_TIME LOCALTIME`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// plain tells that a name can be written without quotes.
func plain(name string) bool {
	return name != "" && word(name) == len(name) && !(name[0] >= '0' && name[0] <= '9') && name[0] != '$' && !keywords[strings.ToUpper(name)]
}

// quoteName is a name as SQL has it, in quotes where it needs them.
func quoteName(name string) string {
	if plain(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
