package expr

import (
	"math"
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// member is x IN (values, NULL, others).
type member struct {
	x      Expr
	t      vec.Type
	values []vec.Value
	null   bool
	others []Expr
}

// expr makes the set's look-up; what is not constant is compared beside it.
func (m *member) expr() Expr {
	args := append([]Expr{m.x}, m.others...)
	find := m.finder()
	null, others, t := m.null, len(m.others), m.t
	return fold(&set{op{name: "IN", t: vec.Bool, args: args, seesNulls: others > 0, show: m.show,
		run: func(s *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			x := args[0]
			if x.IsAllNull() {
				return vec.AllNull(vec.Bool, n), nil
			}
			x = x.Flat()
			x.Len = max(x.Len, n)
			out := vec.New(vec.Bool, n)
			find(x, out.Ints)
			if null {
				for i, b := range out.Ints {
					if b == 0 {
						out.SetNull(i)
					}
				}
			}
			for _, y := range args[1:] {
				if err := s.ended(); err != nil {
					return nil, err
				}
				(&logic{or: true}).merge(out, half(eq, t, x, y, n))
			}
			for i := 0; others > 0 && i < n; i++ {
				if x.IsNull(i) {
					out.SetNull(i)
				}
			}
			return out, nil
		}}, m})
}

// set is an op that Judge and Values can look into.
type set struct {
	op
	member *member
}

func (e *set) with(children []Expr) Expr {
	m := *e.member
	m.x, m.others = children[0], children[1:]
	return m.expr()
}

// label names the values: they are no operands.
func (e *set) label() string {
	var b strings.Builder
	b.WriteString("IN")
	for _, v := range e.member.values {
		b.WriteByte(' ')
		writeKey(&b, &Const{e.member.t, v})
	}
	if e.member.null {
		b.WriteString(" NULL")
	}
	return b.String()
}

func (m *member) show(args []Expr) string {
	texts := make([]string, 0, len(m.values)+len(args))
	for _, v := range m.values {
		texts = append(texts, (&Const{m.t, v}).String())
	}
	if m.null {
		texts = append(texts, "NULL")
	}
	for _, a := range args[1:] {
		texts = append(texts, a.String())
	}
	const most = 20
	if len(texts) > most {
		texts = append(texts[:most], "...")
	}
	return "(" + args[0].String() + " IN (" + strings.Join(texts, ", ") + "))"
}

// fewValues is up to how many values are compared one by one.
const fewValues = 4

// finder gives what writes 1 for rows whose value is among the set's.
func (m *member) finder() func(x *vec.Vector, out []int64) {
	switch {
	case m.t.HasInts():
		var list []int64
		for _, v := range m.values {
			list = append(list, v.Int)
		}
		return func(x *vec.Vector, out []int64) { find(list, hashed(list), x.Ints, out) }
	case m.t.HasTexts():
		var list []string
		for _, v := range m.values {
			list = append(list, v.Text)
		}
		table := hashed(list)
		return func(x *vec.Vector, out []int64) { find(list, table, x.Texts, out) }
	case m.t == vec.Double:
		table := map[uint64]bool{}
		for _, v := range m.values {
			table[doubleKey(v.Double)] = true
		}
		return func(x *vec.Vector, out []int64) {
			for i := range out {
				out[i] = bit(table[doubleKey(x.Doubles[i])])
			}
		}
	}
	table := map[[3]int64]bool{}
	for _, v := range m.values {
		table[normal(v.Span)] = true
	}
	return func(x *vec.Vector, out []int64) {
		for i := range out {
			out[i] = bit(table[normal(x.Intervals[i])])
		}
	}
}

// doubleKey is equal for doubles that are equal: all NaNs, and both zeros.
func doubleKey(f float64) uint64 {
	switch {
	case f != f:
		return math.Float64bits(math.NaN())
	case f == 0:
		return 0
	}
	return math.Float64bits(f)
}

func hashed[T comparable](list []T) map[T]struct{} {
	if len(list) <= fewValues {
		return nil
	}
	out := make(map[T]struct{}, len(list))
	for _, v := range list {
		out[v] = struct{}{}
	}
	return out
}

func find[T comparable](list []T, table map[T]struct{}, x []T, out []int64) {
	if table != nil {
		for i := range out {
			_, ok := table[x[i]]
			out[i] = bit(ok)
		}
		return
	}
	for _, v := range list {
		for i := range out {
			if x[i] == v {
				out[i] = 1
			}
		}
	}
}

// normal is equal for intervals that are equal.
func normal(s vec.Span) [3]int64 {
	months, days, nanos := calendar.Normal(s)
	return [3]int64{months, days, nanos}
}
