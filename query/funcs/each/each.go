// Package each makes functions over vectors of functions over single values.
//
// The arguments have no NULLs (package expr keeps such rows away), are flat or constant, and
// have the types that the function asked for. A function gives Null as its error where its result is NULL.
package each

import (
	"context"
	"errors"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// Null is given by a function whose result is NULL.
var Null = errors.New("NULL")

// Value is what a vector holds.
type Value interface {
	int64 | float64 | string | vec.Span
}

// Result is what a function gives; bool becomes BOOLEAN.
type Result interface {
	Value | bool
}

// Column is a vector's values and what the row's number is masked with: 0 for a constant.
func Column[T Value](v *vec.Vector) (values []T, mask int) {
	var all any
	switch any(*new(T)).(type) {
	case int64:
		all = v.Ints
	case float64:
		all = v.Doubles
	case string:
		all = v.Texts
	case vec.Span:
		all = v.Intervals
	}
	values = all.([]T)
	if v.Const {
		return values, 0
	}
	return values, -1
}

// rows is for how many rows a call is to be computed: for one if all arguments are constant.
func rows(args []*vec.Vector, n int) int {
	for _, a := range args {
		if !a.Const {
			return n
		}
	}
	return min(n, 1)
}

// Rows computes a result for each row by its number, of arguments that it has at hand itself.
func Rows[R Result](s *expr.Scratch, out vec.Type, args []*vec.Vector, n int, f func(i int) (R, error)) (*vec.Vector, error) {
	count := rows(args, n)
	v := &vec.Vector{Type: out, Len: n, Const: count < n}
	results := make([]R, count)
	for i := range results {
		if i&15 == 15 { // a row may take a millisecond
			if err := ended(s); err != nil {
				return nil, err
			}
		}
		r, err := f(i)
		if err != nil {
			if err != Null {
				return nil, err
			}
			if v.Nulls == nil {
				v.Nulls = make([]bool, count)
			}
			v.Nulls[i] = true
			continue
		}
		if t, ok := any(&r).(*string); ok {
			if err := s.Make(len(*t)); err != nil {
				return nil, err
			}
		}
		results[i] = r
	}
	switch all := any(results).(type) {
	case []int64:
		v.Ints = all
	case []float64:
		v.Doubles = all
	case []string:
		v.Texts = all
	case []vec.Span:
		v.Intervals = all
	case []bool:
		v.Ints = make([]int64, count)
		for i, b := range all {
			if b {
				v.Ints[i] = 1
			}
		}
	}
	return v, nil
}

func ended(s *expr.Scratch) error {
	if s == nil || s.Ctx == nil {
		return nil
	}
	if s.Ctx.Err() != nil {
		return context.Cause(s.Ctx)
	}
	return nil
}

// One is a function of one argument.
func One[A Value, R Result](out vec.Type, f func(A) (R, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		a, am := Column[A](args[0])
		return Rows(s, out, args, n, func(i int) (R, error) { return f(a[i&am]) })
	}
}

// Two is a function of two arguments.
func Two[A, B Value, R Result](out vec.Type, f func(A, B) (R, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		a, am := Column[A](args[0])
		b, bm := Column[B](args[1])
		return Rows(s, out, args, n, func(i int) (R, error) { return f(a[i&am], b[i&bm]) })
	}
}

// Three is a function of three arguments.
func Three[A, B, C Value, R Result](out vec.Type, f func(A, B, C) (R, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		a, am := Column[A](args[0])
		b, bm := Column[B](args[1])
		c, cm := Column[C](args[2])
		return Rows(s, out, args, n, func(i int) (R, error) { return f(a[i&am], b[i&bm], c[i&cm]) })
	}
}

// Sure is a function that always has a result.
func Sure[A Value, R Result](f func(A) R) func(A) (R, error) {
	return func(a A) (R, error) { return f(a), nil }
}

// Sure2 is Sure of two arguments.
func Sure2[A, B Value, R Result](f func(A, B) R) func(A, B) (R, error) {
	return func(a A, b B) (R, error) { return f(a, b), nil }
}

// Const is the value of a constant argument that is not NULL.
func Const(e expr.Expr) (vec.Value, bool) {
	c, ok := e.(*expr.Const)
	if !ok || c.Value.Type == vec.Null {
		return vec.Value{}, false
	}
	return c.Value, true
}

// Memo keeps what is made of a value that is mostly the same from row to row: a compiled pattern, a zone. It is
// one call's, in one batch.
func Memo[V any](make func(string) (V, error)) func(string) (V, error) {
	var last string
	var value V
	have := false
	return func(s string) (V, error) {
		if have && s == last {
			return value, nil
		}
		v, err := make(s)
		if err != nil {
			return v, err
		}
		last, value, have = s, v, true
		return v, nil
	}
}
