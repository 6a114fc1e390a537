package sql

import "strings"

// whole are the units that count whole ones alone, and parts those that may be fractions.
var (
	whole = map[string]bool{"year": true, "quarter": true, "month": true, "week": true, "day": true, "hour": true, "minute": true,
		"microsecond": true, "decade": true, "century": true, "millennium": true}
	parts = map[string]bool{"second": true, "millisecond": true}
)

// unit is the singular of a unit, in lower case.
func unit(s string) string {
	s = strings.ToLower(s)
	switch s {
	case "centuries":
		return "century"
	case "millennia":
		return "millennium"
	}
	return strings.TrimSuffix(s, "s")
}

// plural is the unit in the name of its function: to_hours and so on.
func plural(u string) string {
	switch u {
	case "century":
		return "centuries"
	case "millennium":
		return "millennia"
	}
	return u + "s"
}

func (b *builder) interval(at Pos, g *gInterval) Expr {
	u := unit(g.Unit)
	if g.To {
		b.refuse(at, "an interval from one unit to another is not supported: write it as INTERVAL '1 year 2 months'")
	}
	kind := TypeName{at, "INTERVAL"}
	switch {
	case g.Expr != nil:
		if u == "" {
			b.wrong(at, "the interval has no unit: write INTERVAL (n) HOUR, for example")
		}
		x := Expr(&Cast{Pos: at, X: b.expr(g.Expr), Type: TypeName{at, "DOUBLE"}})
		if !parts[u] {
			x = &Cast{Pos: at, X: &Call{Pos: at, Name: "trunc", Args: []Expr{x}}, Type: TypeName{at, "BIGINT"}}
		}
		return &Call{Pos: at, Name: "to_" + plural(u), Args: []Expr{x}}
	case g.Number != "":
		if u == "" {
			b.wrong(at, "the interval has no unit: write INTERVAL %s HOUR, for example", g.Number)
		}
		n := number(g.Number)
		if whole[u] && strings.Trim(n, "0123456789") != "" {
			b.wrong(at, "this unit takes whole numbers: write INTERVAL '%s %s'", n, plural(u))
		}
		return &Typed{at, kind, n + " " + u}
	}
	text := b.text(at, g.Text)
	if u == "" {
		return &Typed{at, kind, text}
	}
	n := strings.TrimSpace(text)
	digits := strings.TrimLeft(n, "+-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(n)-len(digits) > 1 {
		b.wrong(at, "before a unit there is a whole number: write the unit into the text, as INTERVAL '1.5 hours'")
	}
	return &Typed{at, kind, n + " " + u}
}
