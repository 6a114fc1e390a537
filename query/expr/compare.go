package expr

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/kernel"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

type comparison = kernel.Comparison

const (
	eq = kernel.Eq
	ne = kernel.Ne
	lt = kernel.Lt
	le = kernel.Le
	gt = kernel.Gt
	ge = kernel.Ge
)

// compare binds a comparison, also of rows.
func (b *binder) compare(c comparison, l, r sql.Expr, at fail.Placed) (Expr, error) {
	lr, lok := l.(*sql.Row)
	rr, rok := r.(*sql.Row)
	if lok && rok {
		return b.compareRows(c, lr, rr, at)
	}
	args, err := b.operands([]sql.Expr{l, r})
	if err != nil {
		return nil, err
	}
	return compareOperands(c, args[0], args[1], at)
}

func compareOperands(c comparison, l, r operand, at fail.Placed) (Expr, error) {
	args, t, err := unified([]operand{l, r}, c.String(), at)
	if err != nil {
		return nil, err
	}
	return comparing(c, t, args[0], args[1]), nil
}

// comparing makes a comparison of two operands of one type, the constant on the right.
func comparing(c comparison, t vec.Type, l, r Expr) Expr {
	if _, constant := l.(*Const); constant {
		if _, both := r.(*Const); !both {
			l, r, c = r, l, c.Mirrored()
		}
	}
	if t == vec.Null {
		return &Const{T: vec.Bool}
	}
	name := c.String()
	return fold(&op{name: name, t: vec.Bool, args: []Expr{l, r}, compare: c, show: infix(name),
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			return kernel.Compare(c, t, args[0], args[1], n), nil
		}})
}

// compareRows compares rows from the left, as DuckDB does its structs: NULLs are equal to each other and above all else.
func (b *binder) compareRows(c comparison, l, r *sql.Row, at fail.Placed) (Expr, error) {
	if len(l.Items) != len(r.Items) {
		return nil, fail.At(at, fail.Type, "%s compares rows of %d and %d values; they must have as many", c.String(), len(l.Items), len(r.Items))
	}
	pairs := make([]pair, len(l.Items))
	leaves := true
	for i := range pairs {
		args, err := b.operands([]sql.Expr{l.Items[i], r.Items[i]})
		if err != nil {
			return nil, err
		}
		both, t, err := unified(args, c.String(), at)
		if err != nil {
			return nil, err
		}
		pairs[i] = pair{t, both[0], both[1]}
		leaves = leaves && len(both[0].Children()) == 0 && len(both[1].Children()) == 0
	}
	if !leaves {
		return wholeRows(c, pairs), nil
	}
	var out Expr
	for i := len(pairs) - 1; i >= 0; i-- {
		out = rowStep(c, pairs[i].t, pairs[i].l, pairs[i].r, out)
	}
	return out, nil
}

// pair are two operands of one type.
type pair struct {
	t    vec.Type
	l, r Expr
}

// wholeRows compares rows whose parts are computed, each once.
func wholeRows(c comparison, pairs []pair) Expr {
	k := len(pairs)
	args := make([]Expr, 2*k)
	for i, p := range pairs {
		args[i], args[k+i] = p.l, p.r
	}
	return fold(&op{name: "ROW " + c.String(), t: vec.Bool, args: args, seesNulls: true,
		show: func(args []Expr) string {
			return "((" + joined(args[:k], ", ") + ") " + c.String() + " (" + joined(args[k:], ", ") + "))"
		},
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := vec.New(vec.Bool, n)
			for i := range n {
				order := 0
				for j := 0; j < k && order == 0; j++ {
					order = compareNullable(args[j].At(i), args[k+j].At(i))
				}
				out.Ints[i] = bit(c.Holds(order))
			}
			return out, nil
		}})
}

// compareNullable puts NULL above all values.
func compareNullable(a, b vec.Value) int {
	switch {
	case a.Type == vec.Null && b.Type == vec.Null:
		return 0
	case a.Type == vec.Null:
		return 1
	case b.Type == vec.Null:
		return -1
	}
	return value.Compare(a, b)
}

// rowStep compares one pair and, where it decides nothing, the rest (nil: there is none).
func rowStep(c comparison, t vec.Type, l, r, rest Expr) Expr {
	same := distinctFrom(true, t, l, r)
	switch c {
	case eq:
		if rest == nil {
			return same
		}
		return combine(false, same, rest)
	case ne:
		if rest == nil {
			return not(same)
		}
		return combine(true, not(same), rest)
	}
	// A pair with one NULL: that is the greater side.
	strict := c
	if c == le {
		strict = lt
	} else if c == ge {
		strict = gt
	}
	small, large := l, r
	if strict == gt {
		small, large = r, l
	}
	decided := combine(false, not(isNull(small)), combine(true, isNull(large), comparing(lt, t, small, large)))
	if rest == nil {
		if c == strict {
			return combine(false, decided, truth(true))
		}
		return combine(true, decided, same)
	}
	return combine(true, decided, combine(false, same, rest))
}

// distinctFrom is IS [NOT] DISTINCT FROM over operands of one type.
func distinctFrom(not bool, t vec.Type, l, r Expr) Expr {
	if t == vec.Null {
		return truth(not)
	}
	name := "IS DISTINCT FROM"
	if not {
		name = "IS NOT DISTINCT FROM"
	}
	return fold(&op{name: name, t: vec.Bool, args: []Expr{l, r}, seesNulls: true, show: infix(name),
		run: func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			var out *vec.Vector
			if args[0].IsAllNull() || args[1].IsAllNull() {
				out = vec.New(vec.Bool, n)
			} else {
				out = kernel.Compare(ne, t, args[0], args[1], n)
			}
			for i := range n {
				if ln, rn := args[0].IsNull(i), args[1].IsNull(i); ln || rn {
					out.Ints[i] = bit(ln != rn)
				}
			}
			if not {
				for i := range out.Ints {
					out.Ints[i] ^= 1
				}
			}
			return out, nil
		}})
}

func (b *binder) distinct(e *sql.Distinct) (Expr, error) {
	if lr, ok := e.L.(*sql.Row); ok {
		if rr, ok := e.R.(*sql.Row); ok {
			c := ne
			if e.Not {
				c = eq
			}
			return b.compareRows(c, lr, rr, e)
		}
	}
	args, err := b.operands([]sql.Expr{e.L, e.R})
	if err != nil {
		return nil, err
	}
	pair, t, err := unified(args, "IS DISTINCT FROM", e)
	if err != nil {
		return nil, err
	}
	return distinctFrom(e.Not, t, pair[0], pair[1]), nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
