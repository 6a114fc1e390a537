package expr

import (
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// General is the path's value where nothing else is wanted: DOUBLE if it has number columns alone, else VARCHAR.
func (m *Mixed) General() Expr {
	numbers := true
	for _, c := range m.Columns {
		numbers = numbers && (c.T == vec.Int || c.T == vec.Double)
	}
	if numbers {
		return m.Number()
	}
	parts := make([]Expr, len(m.Columns))
	for i, c := range m.Columns {
		parts[i] = asText(c)
	}
	return firstOf(vec.Text, parts)
}

// Number is the value of its number columns: BIGINT if only an integer column is there, else DOUBLE; nil: there is none.
func (m *Mixed) Number() Expr {
	t, parts := vec.Int, []Expr(nil)
	for _, c := range m.Columns {
		switch c.T {
		case vec.Int:
			parts = append(parts, c)
		case vec.Double:
			parts, t = append(parts, c), vec.Double
		}
	}
	if parts == nil {
		return nil
	}
	for i := range parts {
		parts[i] = convert(parts[i], t, nil)
	}
	return firstOf(t, parts)
}

// Boolean is its boolean column; nil: there is none.
func (m *Mixed) Boolean() Expr {
	for _, c := range m.Columns {
		if c.T == vec.Bool {
			return c
		}
	}
	return nil
}

// As is the reading that CAST to a type starts from.
func (m *Mixed) As(vec.Type) Expr { return m.General() }

// asText is a column's value as JSON has it.
func asText(c *Column) Expr {
	if c.T != vec.Double {
		return casting(c, vec.Text, false, nil)
	}
	return &op{name: "TEXT", t: vec.Text, args: []Expr{c}, show: call("TEXT"),
		run: textKernel(func(dst []byte, v vec.Value) []byte { return value.AppendPlainDouble(dst, v.Double) })}
}
