// Package funcs is the library of scalar functions that SQL has: their names, forms and meaning, each with
// an example. Its parts are by kind: text, pattern, number,
// clock, jsonfn.
//
// What it promises:
//
//  1. A function gives what DuckDB's of the same name gives, but for the differences that docs/sql.md lists.
//  2. What cannot be computed is an error, never another value. No text that a function makes exceeds Env.MaxText.
//  3. Work is bounded by the length of the arguments, or by a limit that the error names.
package funcs

import (
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/funcs/clock"
	"github.com/togodb/togo/query/funcs/jsonfn"
	"github.com/togodb/togo/query/funcs/number"
	"github.com/togodb/togo/query/funcs/pattern"
	"github.com/togodb/togo/query/funcs/text"
)

// Kind is some functions that belong together.
type Kind struct {
	Title string
	Funcs []*expr.Func
}

// Kinds are all functions, in the order in which docs/sql.md shows them.
func Kinds() []Kind {
	return []Kind{
		{"Text", append(text.Functions(), pattern.Functions()...)},
		{"Numbers", number.Functions()},
		{"Time", clock.Functions()},
		{"JSON", jsonfn.Functions()},
	}
}

// Library has all functions by their names.
func Library() expr.Library {
	l := expr.Library{}
	for _, k := range Kinds() {
		l.Add(k.Funcs...)
	}
	return l
}
