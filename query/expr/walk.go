package expr

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/query/vec"
)

func walk(e Expr, f func(Expr)) {
	f(e)
	for _, c := range e.Children() {
		walk(c, f)
	}
}

// Slots are those that an expression reads, each once, in the order of the text.
func Slots(e Expr) []int {
	var out []int
	seen := map[int]bool{}
	walk(e, func(e Expr) {
		if c, ok := e.(*Column); ok && !seen[c.Slot] {
			seen[c.Slot] = true
			out = append(out, c.Slot)
		}
	})
	return out
}

// Fails tells that evaluating the expression may be an error that depends on its values.
func Fails(e Expr) bool {
	n, ok := e.(node)
	if ok && n.fails() {
		return true
	}
	for _, c := range e.Children() {
		if Fails(c) {
			return true
		}
	}
	return false
}

func anyFails(list []Expr) bool {
	for _, e := range list {
		if Fails(e) {
			return true
		}
	}
	return false
}

// rewrite replaces parts of an expression, from the top: where f gives an expression, that stands instead; where it gives nil, the
// operands are looked at. A replacement has the type of what it replaces.
func rewrite(e Expr, f func(Expr) Expr) Expr {
	if r := f(e); r != nil {
		return r
	}
	n, ok := e.(node)
	if !ok {
		return e
	}
	children := e.Children()
	var changed []Expr
	for i, c := range children {
		r := rewrite(c, f)
		if r == c {
			continue
		}
		if changed == nil {
			changed = append([]Expr(nil), children...)
		}
		changed[i] = r
	}
	if changed == nil {
		return e
	}
	return n.with(changed)
}

// WithNull gives the expression where the slots' columns are NULL throughout, simplified.
func WithNull(e Expr, slots func(int) bool) Expr {
	return rewrite(e, func(e Expr) Expr {
		c, ok := e.(*Column)
		if !ok || !slots(c.Slot) {
			return nil
		}
		return &Const{T: c.T}
	})
}

// Key is a text that equal expressions have, and only they: the same operators over the same slots and constants. Expressions of other
// packages are equal if they are the same.
func Key(e Expr) string {
	var b strings.Builder
	writeKey(&b, e)
	return b.String()
}

func writeKey(b *strings.Builder, e Expr) {
	switch e := e.(type) {
	case *Column:
		fmt.Fprintf(b, "#%d", e.Slot)
	case *Const:
		if e.Value.Type == vec.Null {
			fmt.Fprintf(b, "%s NULL", e.T)
			return
		}
		v := e.Value
		fmt.Fprintf(b, "%s %d %v %q %v", e.T, v.Int, v.Double, v.Text, v.Span)
	case node:
		fmt.Fprintf(b, "%s(", e.label())
		for i, c := range e.Children() {
			if i > 0 {
				b.WriteByte(',')
			}
			writeKey(b, c)
		}
		b.WriteByte(')')
	default:
		fmt.Fprintf(b, "%T@%p", e, e)
	}
}
