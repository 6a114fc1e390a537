// Package expr gives meaning to expressions: it binds the tree of package sql to columns,
// types and functions, and evaluates the bound form over vectors.
//
// What it promises:
//
//  1. Answers are those of DuckDB on the same values, but for the differences that docs/sql.md lists.
//  2. NULL follows SQL's three-valued logic. A type that an operator does not take is an error when binding;
//     a value that cannot be had (overflow, a bad cast) is an error, never another value.
//  3. What is computed for a dictionary's entries is computed once for each entry that a row has.
//     An error of a value that no row has is none.
//  4. No value of text exceeds Env.MaxText, no regular expression Env.MaxPattern.
//  5. Bound expressions are immutable and safe for concurrent use; Scratch is one goroutine's.
package expr

import (
	"context"
	"time"

	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// Env is what a query's expressions share. They are bound one after another.
type Env struct {
	Ctx        context.Context // ends binding, which may compute constants; nil: nothing does
	Now        time.Time       // now()
	MaxText    int             // bytes of one text value that a function makes
	MaxPattern int             // bytes of a regular expression
	Functions  Library

	folded int // bytes of text that constants were computed to
}

// Expr is a bound expression.
type Expr interface {
	Type() vec.Type
	// Eval gives a value for each row of in. The result may share memory with in.
	Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error)
	// Children are the operands.
	Children() []Expr
	// String is SQL-like text, for EXPLAIN.
	String() string
}

// Scratch is what an evaluation may keep between batches: a worker's own.
type Scratch struct {
	Ctx context.Context // ends long evaluations
	// Memo keeps results by dictionary and expression, and whatever a function wants to keep.
	Memo map[any]any

	made int // bytes of text since Begin
	kept int // bytes of text that entries in Memo have
}

// Column reads a slot of the batch.
type Column struct {
	Slot int
	Name string // as EXPLAIN shows it
	T    vec.Type
}

func (c *Column) Type() vec.Type   { return c.T }
func (c *Column) Children() []Expr { return nil }
func (c *Column) String() string   { return c.Name }

// Eval gives the slot's vector.
func (c *Column) Eval(_ *Scratch, in *vec.Batch) (*vec.Vector, error) { return in.Cols[c.Slot], nil }

// Const is a constant.
type Const struct {
	T     vec.Type
	Value vec.Value
}

func (c *Const) Type() vec.Type   { return c.T }
func (c *Const) Children() []Expr { return nil }

// Eval gives a constant vector.
func (c *Const) Eval(_ *Scratch, in *vec.Batch) (*vec.Vector, error) {
	return vec.Constant(c.T, c.Value, in.Len), nil
}

// Mixed is a path that has columns of several types. It has no value by itself: the binder reads it as its place
// needs (docs/sql.md, "A path of several types").
type Mixed struct {
	Name    string
	Columns []*Column
}

// Scope says what names mean.
type Scope interface {
	// Column resolves a name, to any Expr; a *Mixed is resolved further by Bind.
	Column(id *sql.Ident) (Resolved, error)
	// Call is asked first about each call: aggregates are the caller's. ok is false if it is none of the scope's.
	Call(c *sql.Call) (e Expr, ok bool, err error)
}

// Resolved is what a name means: exactly one is set.
type Resolved struct {
	Expr  Expr
	Mixed *Mixed
}

// Bounds are what is known of the values of a column in some rows without reading them.
type Bounds struct {
	Rows, Nulls int64 // Nulls < 0: not known
	// Known tells that Min and Max are: no value lies outside of them. They need not be values
	// (text is cut). Without values (Nulls == Rows) they are of type Null.
	Known    bool
	Min, Max vec.Value
}

// Verdict is what bounds say of a condition.
type Verdict uint8

const (
	Maybe  Verdict = iota // some rows may, some may not
	Never                 // for no row it is TRUE
	Always                // for every row it is TRUE
)
