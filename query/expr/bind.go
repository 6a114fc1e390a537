package expr

import (
	"context"
	"strconv"
	"strings"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/kernel"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// Bind gives meaning to an expression. Constant parts are computed; one that fails stays as it is, and
// its error is that of the rows that it is evaluated for.
func Bind(e sql.Expr, scope Scope, env *Env) (Expr, error) {
	b := &binder{scope: scope, env: env}
	o, err := b.operand(e)
	if err != nil {
		return nil, err
	}
	return o.general(), nil
}

// BindCondition binds what must be TRUE: WHERE, HAVING, FILTER.
func BindCondition(e sql.Expr, scope Scope, env *Env) (Expr, error) {
	b := &binder{scope: scope, env: env}
	return b.boolean(e)
}

// BindNumber binds an operand whose place wants a number: a path of several types is read as its numbers. What has
// no such reading is bound as by Bind; the caller checks the type.
func BindNumber(e sql.Expr, scope Scope, env *Env) (Expr, error) {
	b := &binder{scope: scope, env: env}
	o, err := b.operand(e)
	if err != nil {
		return nil, err
	}
	return o.number(), nil
}

type binder struct {
	scope Scope
	env   *Env
}

// operand is a bound operand whose reading may still depend on its place.
type operand struct {
	expr    Expr
	mixed   *Mixed // set: expr is not
	literal bool   // a text constant, which becomes what its place wants
	at      fail.Placed
}

// general is the reading where nothing else is wanted.
func (o operand) general() Expr {
	if o.mixed != nil {
		return o.mixed.General()
	}
	return o.expr
}

// number is the reading where a number is wanted.
func (o operand) number() Expr {
	if o.mixed != nil {
		if n := o.mixed.Number(); n != nil {
			return n
		}
		return o.mixed.General()
	}
	return o.expr
}

// expr binds an expression in its general reading.
func (b *binder) expr(e sql.Expr) (Expr, error) {
	o, err := b.operand(e)
	if err != nil {
		return nil, err
	}
	return o.general(), nil
}

func (b *binder) operand(e sql.Expr) (operand, error) {
	o := operand{at: e}
	var err error
	switch x := e.(type) {
	case *sql.Ident:
		var r Resolved
		r, err = b.scope.Column(x)
		o.expr, o.mixed = r.Expr, r.Mixed
	case *sql.Text:
		o.expr, o.literal = &Const{vec.Text, vec.Value{Type: vec.Text, Text: x.Value}}, true
	case *sql.Call:
		o.expr, err = b.call(x)
	case *sql.Row:
		err = fail.At(x, fail.Type, "a row (a, b, ...) can only be compared with another row, or stand before IN")
	default:
		o.expr, err = b.node(e)
	}
	return o, err
}

func (b *binder) operands(list []sql.Expr) ([]operand, error) {
	out := make([]operand, len(list))
	for i, e := range list {
		o, err := b.operand(e)
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	return out, nil
}

// node binds what has one reading alone.
func (b *binder) node(e sql.Expr) (Expr, error) {
	switch x := e.(type) {
	case *sql.Number:
		return number(x, "")
	case *sql.Bool:
		return truth(x.Value), nil
	case *sql.Null:
		return &Const{T: vec.Null}, nil
	case *sql.Typed:
		return b.typed(x)
	case *sql.Unary:
		return b.unary(x)
	case *sql.Binary:
		return b.binary(x)
	case *sql.Distinct:
		return b.distinct(x)
	case *sql.Between:
		return b.between(x)
	case *sql.In:
		return b.in(x)
	case *sql.Is:
		return b.is(x)
	case *sql.Like:
		return b.like(x)
	case *sql.Case:
		return b.caseOf(x)
	case *sql.Cast:
		return b.cast(x)
	}
	return nil, fail.At(e, fail.Unsupported, "%s is not supported here", e)
}

func truth(b bool) *Const {
	v := vec.Value{Type: vec.Bool}
	if b {
		v.Int = 1
	}
	return &Const{vec.Bool, v}
}

// number is BIGINT if it fits and has neither a point nor an exponent, else DOUBLE.
func number(e *sql.Number, sign string) (Expr, error) {
	text := sign + strings.ReplaceAll(e.Text, "_", "")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &Const{vec.Int, vec.Value{Type: vec.Int, Int: n}}, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !isRange(err) {
		return nil, fail.At(e, fail.Syntax, "%s is not a number", e.Text)
	}
	return &Const{vec.Double, vec.Value{Type: vec.Double, Double: f}}, nil
}

// maxFolded bounds the bytes of text that a query's computed constants have; further ones are computed where they are used.
const maxFolded = 32 << 20

// fold computes a function of constants.
func (b *binder) fold(e Expr) Expr {
	if nullOperand(e) {
		return &Const{T: e.Type()}
	}
	left := max(0, maxFolded-b.env.folded)
	s := &Scratch{Ctx: b.env.Ctx, made: maxMade - left}
	e = foldBy(s, e)
	b.env.folded += s.made - (maxMade - left)
	return e
}

// fold computes an operator of constants. What has the constant NULL for an operand is NULL, as in DuckDB, though another operand might fail.
func fold(e Expr) Expr {
	if nullOperand(e) {
		return &Const{T: e.Type()}
	}
	return constant(e)
}

// constant computes an operator if all operands are constants.
func constant(e Expr) Expr { return foldBy(&Scratch{Ctx: context.Background()}, e) }

// nullOperand tells whether an operator is NULL because one of its operands is.
func nullOperand(e Expr) bool {
	o, ok := e.(*op)
	if !ok || o.seesNulls || o.volatile {
		return false
	}
	for _, a := range o.args {
		if c, ok := a.(*Const); ok && c.Value.Type == vec.Null {
			return true
		}
	}
	return false
}

func foldBy(s *Scratch, e Expr) Expr {
	if o, ok := e.(*op); ok && o.volatile {
		return e
	}
	for _, c := range e.Children() {
		if _, ok := c.(*Const); !ok {
			return e
		}
	}
	v, err := e.Eval(s, &vec.Batch{Len: 1})
	if err != nil {
		return e
	}
	return &Const{e.Type(), v.At(0)}
}

// boolean binds an operand of AND, OR, NOT, or a condition.
func (b *binder) boolean(e sql.Expr) (Expr, error) {
	o, err := b.operand(e)
	if err != nil {
		return nil, err
	}
	return o.boolean()
}

// boolean is the reading where a condition is wanted.
func (o operand) boolean() (Expr, error) {
	if o.mixed != nil {
		if c := o.mixed.Boolean(); c != nil {
			return c, nil
		}
	}
	x := o.general()
	switch {
	case x.Type() == vec.Bool:
		return x, nil
	case x.Type() == vec.Null || o.literal:
		return convert(x, vec.Bool, o.at), nil
	}
	return nil, fail.At(o.at, fail.Type, "a condition must be BOOLEAN; %s is %s: compare it with something, or CAST it to BOOLEAN", x, x.Type())
}

func (b *binder) unary(e *sql.Unary) (Expr, error) {
	if e.Op == "NOT" {
		x, err := b.boolean(e.X)
		if err != nil {
			return nil, err
		}
		return not(x), nil
	}
	if n, ok := e.X.(*sql.Number); ok && e.Op == "-" {
		return number(n, "-")
	}
	o, err := b.operand(e.X)
	if err != nil {
		return nil, err
	}
	if e.Op == "~" {
		return b.function(e.Op, []operand{o}, e)
	}
	x := o.number()
	switch x.Type() {
	case vec.Int, vec.Double, vec.Interval, vec.Null:
	default:
		return nil, fail.At(e, fail.Type, "%s takes a number or an INTERVAL; %s is %s: CAST it", e.Op, x, x.Type())
	}
	if e.Op == "+" || x.Type() == vec.Null {
		return x, nil
	}
	return negate(x, e), nil
}

// jsonOperators are the functions that operators stand for.
var jsonOperators = map[string]string{"->": "json_extract", "->>": "json_extract_string"}

func (b *binder) binary(e *sql.Binary) (Expr, error) {
	switch e.Op {
	case "AND", "OR":
		l, err := b.boolean(e.L)
		if err != nil {
			return nil, err
		}
		r, err := b.boolean(e.R)
		if err != nil {
			return nil, err
		}
		return combine(e.Op == "OR", l, r), nil
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return b.compare(kernel.Comparisons[e.Op], e.L, e.R, e)
	}
	args, err := b.operands([]sql.Expr{e.L, e.R})
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case "+", "-", "*", "/", "//", "%":
		return arithmetic(e.Op, args[0], args[1], e)
	}
	if name, ok := jsonOperators[e.Op]; ok {
		return b.function(name, args, e)
	}
	return b.function(e.Op, args, e)
}
