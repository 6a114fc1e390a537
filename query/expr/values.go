package expr

import (
	"math"

	"github.com/togodb/togo/query/vec"
)

// Values gives values one of which the slot's column surely has where the condition is TRUE. They
// are of the column's type. false: the condition says no such thing.
func Values(e Expr, slot int) ([]vec.Value, bool) {
	switch e := e.(type) {
	case *Column:
		if e.Slot == slot && e.T == vec.Bool {
			return []vec.Value{truth(true).Value}, true
		}
	case *Const:
		if e.Value.Type == vec.Null || e.Value.Int == 0 {
			return nil, true
		}
	case *logic:
		if e.or {
			return valuesOfOr(e, slot)
		}
		return valuesOfAnd(e, slot)
	case *set:
		if len(e.member.others) == 0 {
			return invert(e.member.x, slot, e.member.values)
		}
	case *op:
		switch {
		case e.compare == eq, e.name == "IS NOT DISTINCT FROM":
			for i := range 2 {
				if c, ok := e.args[1-i].(*Const); ok && c.Value.Type != vec.Null {
					return invert(e.args[i], slot, []vec.Value{c.Value})
				}
			}
		case e.name == "NOT":
			if c, ok := e.args[0].(*Column); ok && c.Slot == slot {
				return []vec.Value{truth(false).Value}, true
			}
		}
	}
	return nil, false
}

func valuesOfAnd(e *logic, slot int) (best []vec.Value, found bool) {
	for _, a := range e.args {
		if list, ok := Values(a, slot); ok && (!found || len(list) < len(best)) {
			best, found = list, true
		}
	}
	return best, found
}

func valuesOfOr(e *logic, slot int) (all []vec.Value, ok bool) {
	for _, a := range e.args {
		list, ok := Values(a, slot)
		if !ok {
			return nil, false
		}
		all = append(all, list...)
	}
	return all, true
}

// exactDoubles is below which every integer is a DOUBLE.
const exactDoubles = 1 << 53

// invert gives the column's values for which x, the column or a cast of it, is one of the values.
func invert(x Expr, slot int, values []vec.Value) ([]vec.Value, bool) {
	if c, ok := x.(*Column); ok {
		return values, c.Slot == slot
	}
	cast, ok := x.(*op)
	if !ok || cast.name != "CAST" {
		return nil, false
	}
	c, ok := cast.args[0].(*Column)
	if !ok || c.Slot != slot {
		return nil, false
	}
	var out []vec.Value
	for _, v := range values {
		switch {
		case c.T == vec.Int && v.Type == vec.Double:
			if math.Abs(v.Double) >= exactDoubles {
				return nil, false
			}
			if v.Double == math.Trunc(v.Double) {
				out = append(out, vec.Value{Type: vec.Int, Int: int64(v.Double)})
			}
		case c.T == vec.Timestamp && v.Type == vec.TimestampTZ, c.T == vec.TimestampTZ && v.Type == vec.Timestamp,
			c.T == vec.JSON && v.Type == vec.Text:
			v.Type = c.T
			out = append(out, v)
		default:
			return nil, false
		}
	}
	return out, true
}
