package expr

import (
	"sync/atomic"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// Edge is the last value of an order that is still wanted, while a query with ORDER BY and LIMIT runs. It only moves ahead.
type Edge struct {
	Desc, NullsFirst bool
	at               atomic.Pointer[vec.Value] // nil: all values are wanted
}

// Move sets the value: NULL is one, too. What lies behind it is not wanted any more; what equals it is.
func (e *Edge) Move(v vec.Value) { e.at.Store(&v) }

// wants tells whether a value that is not NULL is before the edge or at it.
func (e *Edge) wants(v, at vec.Value) bool {
	if at.Type == vec.Null {
		return !e.NullsFirst
	}
	c := value.Compare(v, at)
	return c == 0 || c > 0 == e.Desc
}

// wantsNull tells whether NULL is before the edge or at it.
func (e *Edge) wantsNull(at vec.Value) bool { return e.NullsFirst || at.Type == vec.Null }

// Ahead is a condition: TRUE in rows whose X is still wanted. It narrows while the query runs, so a row for which it was
// TRUE need not be wanted by now; one for which it was FALSE never is again.
type Ahead struct {
	X    Expr
	Edge *Edge
}

func (a *Ahead) Type() vec.Type            { return vec.Bool }
func (a *Ahead) Children() []Expr          { return []Expr{a.X} }
func (a *Ahead) with(children []Expr) Expr { return &Ahead{children[0], a.Edge} }
func (a *Ahead) label() string             { return "AHEAD" }
func (a *Ahead) fails() bool               { return false }
func (a *Ahead) String() string            { return a.X.String() + " among the first" }

// Eval compares each row with the edge as it is now.
func (a *Ahead) Eval(s *Scratch, in *vec.Batch) (*vec.Vector, error) {
	at := a.Edge.at.Load()
	if at == nil {
		return vec.Constant(vec.Bool, vec.Value{Type: vec.Bool, Int: 1}, in.Len), nil
	}
	v, err := a.X.Eval(s, in)
	if err != nil {
		return nil, err
	}
	out := vec.New(vec.Bool, in.Len)
	null := int64(0)
	if a.Edge.wantsNull(*at) {
		null = 1
	}
	if v.IsAllNull() {
		for i := range out.Ints {
			out.Ints[i] = null
		}
		return out, nil
	}
	if v.Const || v.Dict != nil || at.Type == vec.Null || v.Type == vec.Interval {
		a.boxed(v, *at, out)
	} else {
		a.flat(v, *at, out)
	}
	for i, is := range v.Nulls {
		if v.Const {
			break
		}
		if is {
			out.Ints[i] = null
		}
	}
	return out, nil
}

// boxed decides once for each entry, or for the constant.
func (a *Ahead) boxed(v *vec.Vector, at vec.Value, out *vec.Vector) {
	values := v.Values()
	verdicts := make([]int64, max(values.Len, 1))
	n := len(verdicts)
	if v.Const {
		n = 1
	}
	for i := range n {
		if a.Edge.wants(entryAt(values, i), at) {
			verdicts[i] = 1
		}
	}
	for i := range out.Ints {
		out.Ints[i] = verdicts[v.Index(i)]
	}
}

// entryAt is the value at i of a flat or constant vector, whatever its nulls say.
func entryAt(v *vec.Vector, i int) vec.Value {
	plain := *v
	plain.Nulls = nil
	return plain.At(i)
}

func (a *Ahead) flat(v *vec.Vector, at vec.Value, out *vec.Vector) {
	desc := a.Edge.Desc
	switch {
	case v.Ints != nil:
		for i, x := range v.Ints {
			if x == at.Int || x > at.Int == desc {
				out.Ints[i] = 1
			}
		}
	case v.Texts != nil:
		for i, x := range v.Texts {
			if x == at.Text || x > at.Text == desc {
				out.Ints[i] = 1
			}
		}
	default:
		for i, x := range v.Doubles {
			if c := value.Doubles(x, at.Double); c == 0 || c > 0 == desc {
				out.Ints[i] = 1
			}
		}
	}
}

// ahead is Never's case: no value within the range is wanted.
func (j judge) ahead(e *Ahead) outcomes {
	at := e.Edge.at.Load()
	if at == nil {
		return isTrue | isFalse
	}
	b := j.rangeOf(e.X)
	if b.Nulls != 0 && e.Edge.wantsNull(*at) {
		return isTrue | isFalse
	}
	if b.empty() {
		return isFalse
	}
	if !b.Known {
		return isTrue | isFalse
	}
	best := b.Min
	if e.Edge.Desc {
		best = b.Max
	}
	if e.Edge.wants(best, *at) {
		return isTrue | isFalse
	}
	return isFalse
}

// Same gives the value of an expression in rows of which the bounds of its columns are known, if it is surely the same in all.
func Same(e Expr, bounds func(slot int) Bounds) (vec.Value, bool) {
	b := judge{bounds}.rangeOf(e)
	if b.empty() || !b.Known || b.Nulls != 0 || value.Compare(b.Min, b.Max) != 0 {
		return vec.Value{}, false
	}
	return b.Min, true
}
