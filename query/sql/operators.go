package sql

import (
	"strings"
)

// Precedences, the loosest first: PostgreSQL's.
const (
	pOr = iota + 1
	pAnd
	pNot
	pIs
	pCompare // not associative
	pTest    // BETWEEN, IN, LIKE; not associative
	pOther   // ||, -> and all others
	pAdd
	pMultiply
	pPower
	pZone
	pSign
	pCast
)

var precedence = map[string]int{
	"OR": pOr, "AND": pAnd,
	"=": pCompare, "<>": pCompare, "!=": pCompare, "<": pCompare, "<=": pCompare, ">": pCompare, ">=": pCompare,
	"==": pOther, // as in DuckDB, where it is one of the other operators
	"~~": pOther, "!~~": pOther, "~~*": pOther, "!~~*": pOther, "~": pOther, "!~": pOther, "^@": pOther,
	"||": pOther, "->": pOther, "->>": pOther, "&": pOther, "|": pOther, "<<": pOther, ">>": pOther,
	"+": pAdd, "-": pAdd, "*": pMultiply, "/": pMultiply, "//": pMultiply, "%": pMultiply, "^": pPower, "**": pPower,
}

// climber orders an expression's operands and operators, as the grammar read them one after the other.
type climber struct {
	*builder
	tails []*gTail // not taken yet
}

func (b *builder) expr(g *gExpr) Expr {
	b.enter(place(g.First.Operand.Pos))
	defer b.leave()
	c := climber{builder: b, tails: g.Tails}
	x := c.climb(g.First, 0, 0)
	if len(c.tails) > 0 {
		b.wrong(place(c.tails[0].Pos), "ESCAPE stands behind the pattern of LIKE or ILIKE")
	}
	return x
}

// climb reads term from its prefix on, and the tails that bind tighter than min.
func (c *climber) climb(term *gTerm, prefix, min int) Expr {
	var x Expr
	if prefix < len(term.Prefixes) {
		x = c.prefix(term, prefix, min)
	} else {
		x = c.operand(term.Operand)
	}
	bound := 0 // the precedence of an operator that must not follow itself
	for len(c.tails) > 0 {
		t := c.tails[0]
		p := t.precedence()
		if p <= min {
			break
		}
		if p == bound && !t.Null {
			c.wrong(place(t.Pos), "operators of this kind cannot follow each other: put parentheses around one, or join two conditions by AND")
		}
		c.tails = c.tails[1:]
		c.count(place(t.Pos))
		if t.Term == nil || p == pPower { // a chain of others, as a + b + c, is as flat as a list
			c.enter(place(t.Pos))
			defer c.leave()
		}
		x = c.tail(x, t, p)
		bound = 0
		if p == pCompare || p == pIs && t.Is != nil && t.Is.From != nil || p == pTest && t.test().In == nil {
			bound = p
		}
	}
	return x
}

func (c *climber) prefix(term *gTerm, i, min int) Expr {
	at := place(term.Prefixes[i].Pos)
	c.count(at)
	c.enter(at)
	defer c.leave()
	if min > pNot && strings.EqualFold(term.Prefixes[i].Op, "NOT") {
		c.wrong(at, "NOT stands within another operator: put parentheses around it and what it negates")
	}
	op, p := strings.ToUpper(term.Prefixes[i].Op), pSign
	switch op {
	case "NOT":
		p = pNot
	case "~":
		p = pOther
	}
	return &Unary{at, op, c.climb(term, i+1, p)}
}

// test is the BETWEEN, IN or LIKE of a tail, negated or not.
func (t *gTail) test() *gTest {
	if t.Not != nil {
		return t.Not
	}
	return t.Test
}

func (t *gTail) precedence() int {
	switch {
	case t.Term != nil:
		return precedence[strings.ToUpper(t.Op)]
	case t.Esc != nil:
		return 0 // only a LIKE takes it
	case t.Cast != nil:
		return pCast
	case t.Zone != nil:
		return pZone
	case t.Is != nil, t.Null:
		return pIs
	}
	return pTest
}

func (c *climber) tail(x Expr, t *gTail, p int) Expr {
	at := place(t.Pos)
	switch {
	case t.Cast != nil:
		return &Cast{Pos: at, X: x, Type: c.typeName(t.Cast)}
	case t.Zone != nil:
		zone := c.climb(t.Zone, 0, pZone)
		return &Call{Pos: at, Name: "timezone", Args: []Expr{zone, x}}
	case t.Null:
		return &Is{at, true, x, "NULL"}
	case t.Is != nil:
		return c.is(at, x, t.Is)
	case t.Term != nil:
		return c.binary(at, x, strings.ToUpper(t.Op), t.Term, p)
	}
	test, not := t.test(), t.Not != nil
	switch {
	case test.In != nil:
		return &In{at, not, x, c.list(test.In.Items)}
	case test.Similar != nil:
		return negated(at, not, &Call{Pos: at, Name: "regexp_full_match", Args: []Expr{x, c.climb(test.Similar, 0, pTest)}})
	case strings.EqualFold(test.Word, "BETWEEN"):
		low := c.climb(test.Term, 0, pTest)
		if len(c.tails) == 0 || !strings.EqualFold(c.tails[0].Op, "AND") {
			c.wrong(at, "BETWEEN has no AND: write x BETWEEN low AND high")
		}
		next := c.tails[0].Term
		c.tails = c.tails[1:]
		return &Between{at, not, x, low, c.climb(next, 0, pTest)}
	}
	return c.like(at, x, not, strings.EqualFold(test.Word, "ILIKE"), c.climb(test.Term, 0, pTest))
}

func (c *climber) like(at Pos, x Expr, not, fold bool, pattern Expr) Expr {
	l := &Like{Pos: at, Not: not, Fold: fold, X: x, Pattern: pattern}
	if len(c.tails) > 0 && c.tails[0].Esc != nil {
		next := c.tails[0].Esc
		c.tails = c.tails[1:]
		l.Escape = c.climb(next, 0, pTest)
	}
	return l
}

func (c *climber) is(at Pos, x Expr, g *gIs) Expr {
	switch {
	case g.Post != "":
		return &Is{at, strings.EqualFold(g.Post, "NOTNULL"), x, "NULL"}
	case g.From != nil:
		return &Distinct{at, g.Not, x, c.climb(g.From, 0, pIs)}
	case strings.EqualFold(g.What, "UNKNOWN"):
		return &Is{at, g.Not, x, "NULL"}
	}
	return &Is{at, g.Not, x, strings.ToUpper(g.What)}
}

func (c *climber) binary(at Pos, x Expr, op string, term *gTerm, p int) Expr {
	y := c.climb(term, 0, p)
	switch op {
	case "!=":
		op = "<>"
	case "==":
		op = "="
	case "^", "**":
		return &Call{Pos: at, Name: "pow", Args: []Expr{x, y}}
	case "^@":
		return &Call{Pos: at, Name: "starts_with", Args: []Expr{x, y}}
	case "~", "!~":
		return negated(at, op == "!~", &Call{Pos: at, Name: "regexp_full_match", Args: []Expr{x, y}})
	case "~~", "!~~", "~~*", "!~~*":
		return c.like(at, x, op[0] == '!', strings.HasSuffix(op, "*"), y)
	}
	return &Binary{at, op, x, y}
}

func negated(at Pos, not bool, x Expr) Expr {
	if not {
		return &Unary{at, "NOT", x}
	}
	return x
}
