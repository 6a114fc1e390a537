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
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/clock"
	"github.com/togodb/togo/query/funcs/jsonfn"
	"github.com/togodb/togo/query/funcs/number"
	"github.com/togodb/togo/query/funcs/pattern"
	"github.com/togodb/togo/query/funcs/text"
	"github.com/togodb/togo/query/vec"
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
		for _, f := range k.Funcs {
			l.Add(bounded(f))
		}
	}
	return l
}

// bounded is a function whose texts are held against the limit of one value, also where each call makes them only a little
// longer: calls can stand in each other.
func bounded(f *expr.Func) *expr.Func {
	if !f.Out.HasTexts() {
		return f
	}
	g := *f
	g.Bind = func(env *expr.Env, args []expr.Expr) (expr.Eval, error) {
		eval := f.Eval
		if f.Bind != nil {
			var err error
			if eval, err = f.Bind(env, args); err != nil {
				return nil, err
			}
		}
		if env.MaxText <= 0 {
			return eval, nil
		}
		return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
			v, err := eval(s, args, n)
			if err != nil {
				return nil, err
			}
			for _, t := range v.Texts {
				if len(t) > env.MaxText {
					return nil, fail.New(fail.TooLarge, "%s gives a text of %d bytes; the limit of one value is %d", f.Name, len(t), env.MaxText)
				}
			}
			return v, nil
		}, nil
	}
	return &g
}
