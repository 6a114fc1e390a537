package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator makes queries of a tenant's tables.
type generator struct {
	r       *rand.Rand
	columns []*column
	nanos   bool
	tables  map[kind][]*template // by what they give, as often as they weigh
	allowed func(*template) bool
	cannot  bool // no row to look at: constants alone
}

func newGenerator(seed uint64, columns []*column, nanos bool, more []template) *generator {
	g := &generator{r: rand.New(rand.NewPCG(seed, 4)), columns: columns, nanos: nanos, tables: map[kind][]*template{}}
	for i := range len(templates) + len(more) {
		var t *template
		if i < len(templates) {
			t = &templates[i]
		} else {
			t = &more[i-len(templates)]
		}
		if nanos && !wholeNanos(t) {
			continue
		}
		for range max(1, 4*t.weight, map[bool]int{false: 4}[t.auto]) {
			g.tables[t.k] = append(g.tables[t.k], t)
		}
	}
	return g
}

// wholeNanos tells forms that DuckDB computes to the nanosecond; most others it takes down to microseconds.
func wholeNanos(t *template) bool {
	if t.k == kWall || strings.ContainsAny(t.args, "wvz") {
		return false
	}
	if t.auto {
		return t.args != "" && !strings.ContainsAny(t.args, "twav") && !strings.ContainsAny(string(t.k), "twav")
	}
	if t.k == kTime {
		return strings.HasPrefix(t.t, "date_trunc") || strings.HasPrefix(t.t, "coalesce") || strings.HasPrefix(t.t, "greatest")
	}
	if !strings.Contains(t.args, "t") {
		return t.k != kSpan && t.k != kDate
	}
	return t.args == "tkt" || t.args == "tkT" || t.args == "tTT" || t.args == "tf" || strings.HasPrefix(t.t, "year") || strings.HasPrefix(t.t, "hour")
}

func (g *generator) often(n int) bool { return g.r.IntN(100) < n }

func pick[T any](g *generator, list []T) T { return list[g.r.IntN(len(list))] }

// leaf is a column of the kind, or a constant.
func (g *generator) leaf(k kind) expr {
	if !g.cannot && g.often(80) {
		if c := g.column(k); c != nil {
			return c.as[k]
		}
	}
	return g.constant(k)
}

func (g *generator) column(k kind) *column {
	var list []*column
	for _, c := range g.columns {
		if _, ok := c.as[k]; ok {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return pick(g, list)
}

var words = []string{"", "a", "error", "web", "GET", "ä", "日本", "200", "timeout", "%", "x y", "it's", "12", "1.5", "true", "2025-07-01", `{"a":[1]}`, "'"}

// odd are values at the edges, for queries without a table.
var odd = map[kind][]string{
	kText:   {"1_000", "+5", ".5", "5.", "0x10", "1e", "inf", "-Infinity", "  ", "nan", "１", "2025-7-1", "2025-02-30", "1969-12-31", "2025-07-01 24:00:00", "12:30", "1 day", "3 months 4 days", "t", "F", "yes", "ÀÉÎõü", "ǅ", "ﬃ", "a\u0301", "x\ty", "null", "[1, 2]", "9223372036854775808", "-9223372036854775808", "1e19", "0.5", "-0"},
	kInt:    {"9223372036854775807", "-9223372036854775808", "2147483648", "9007199254740993", "-1", "0", "1000000", "64"},
	kDouble: {"nan", "inf", "-inf", "-0.0", "1e308", "5e-324", "0.5", "1.5", "2.5", "-2.5", "1e15", "1e16", "123456789.125", "9.223372036854776e18", "0.1", "1e-7"},
	kTime:   {"1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "1900-01-01T00:00:00", "2024-02-29T12:00:00", "2025-03-30T01:30:00", "2100-12-31T23:59:59", "2000-01-03T00:00:00", "2024-12-30T00:00:00"},
	kDate:   {"1969-12-31", "2024-02-29", "1900-03-01", "2024-12-31", "2199-01-01", "2025-01-31"},
	kWall:   {"1969-12-31 23:59:59.999999", "2025-03-30 02:30:00", "2025-10-26 02:30:00", "2024-02-29 12:00:00"},
	kSpan:   {"1 month", "-1 day", "1 year 2 months 3 days 04:05:06.789", "-90 minutes", "400 days", "0 seconds", "36 hours", "-3 months 2 days", "100 milliseconds"},
}

func (g *generator) constant(k kind) expr {
	if g.often(3) {
		e := both("CAST(NULL AS "+sqlType[k]+")", "CAST(NULL AS "+sqlType[k]+")", k)
		if k == kTime && g.nanos {
			e.D = "CAST(NULL AS TIMESTAMP_NS)"
		}
		return e
	}
	if list := odd[k]; g.cannot && len(list) > 0 && g.often(40) {
		return constant(k, pick(g, list), g.nanos)
	}
	if !g.cannot && g.often(60) {
		if c := g.column(k); c != nil && len(c.samples[k]) > 0 && (c.small || k != kInt) {
			return pick(g, c.samples[k])
		}
	}
	switch k {
	case kBool:
		return constant(k, pick(g, []string{"true", "false"}), g.nanos)
	case kInt:
		return constant(k, strconv.Itoa(pick(g, []int{0, 1, -1, 2, 7, 10, 100, 200, 404, 500, -3})), g.nanos)
	case kDouble:
		return constant(k, pick(g, []string{"0.5", "0", "1", "-1.5", "100.25", "1e3", "0.1", "2.5", "nan", "inf", "-inf", "-0.0"}), g.nanos)
	case kTime:
		return constant(k, pick(g, []string{"2025-06-30T23:00:00", "2025-07-01T00:15:00.5", "2025-06-30T22:00:00", "2025-07-02T00:00:00", "2025-06-30T23:59:59.123456"}), g.nanos)
	case kDate:
		return constant(k, pick(g, []string{"2025-06-30", "2025-07-01"}), g.nanos)
	case kWall: // of no column
		t := "TIMESTAMP " + literal(pick(g, []string{"2025-06-30 23:00:00", "2025-07-01 00:30:00.5", "2025-03-30 02:30:00"}))
		return both(t, t, k)
	case kSpan:
		i := pick(g, choices['I'])
		return both(i, i, k)
	case kJSON:
		t := literal(pick(g, []string{`{"a":1,"b":{"c":"x"}}`, `[1,2,3]`, `"t"`, `null`, `{"a":[true,null]}`}))
		return both("CAST("+t+" AS JSON)", "CAST("+t+" AS JSON)", k)
	}
	return constant(kText, pick(g, words), g.nanos)
}

var sqlType = map[kind]string{kBool: "BOOLEAN", kInt: "BIGINT", kDouble: "DOUBLE", kText: "VARCHAR", kJSON: "JSON", kTime: "TIMESTAMPTZ", kWall: "TIMESTAMP", kDate: "DATE", kSpan: "INTERVAL"}

// expr makes an expression of the kind, nested at most so deep.
func (g *generator) expr(k kind, depth int) expr {
	if depth <= 0 || g.often(25) || len(g.tables[k]) == 0 {
		return g.leaf(k)
	}
	t := pick(g, g.tables[k])
	return g.fill(t, depth)
}

func (g *generator) fill(t *template, depth int) expr {
	var ts, ds []string
	for i := range len(t.args) {
		a := t.args[i]
		if list, ok := choices[a]; ok {
			c := pick(g, list)
			for g.nanos && strings.Contains(c, "+02:00") { // TIMESTAMP_NS has no zone
				c = pick(g, list)
			}
			ts, ds = append(ts, c), append(ds, c)
			continue
		}
		k := kind(a)
		var e expr
		// Conditions on a column and a constant are what people write, and what is pruned by.
		switch {
		case t.k == kBool && k != kBool && i > 0 && g.often(75):
			e = g.constant(k)
		case k == kDouble && t.k == kText: // the last digit of a sine is not the same everywhere
			e = g.leaf(k)
		case k == kInt && (t.k == kInt || t.auto):
			e = g.small(depth - 1)
		default:
			e = g.expr(k, depth-1)
		}
		if neutral(t) || i > 0 { // of two paths neither says what the other is
			e = settled(e)
		}
		ts, ds = append(ts, e.T), append(ds, e.D)
	}
	d := t.d
	if d == "" {
		d = t.t
	}
	return both("("+fill(t.t, ts)+")", "("+fill(d, ds)+")", t.k)
}

// small is a whole number that can be calculated with, without an overflow.
func (g *generator) small(depth int) expr {
	if depth > 0 && g.often(30) {
		for _, name := range []string{"length($1)", "strlen($1)", "hour($1)", "$1 % $2"} {
			for i := range templates {
				if templates[i].t == name && g.often(40) && (!g.nanos || wholeNanos(&templates[i])) {
					return g.fill(&templates[i], depth)
				}
			}
		}
	}
	var list []*column
	for _, c := range g.columns {
		if _, ok := c.as[kInt]; ok && c.small {
			list = append(list, c)
		}
	}
	if len(list) == 0 || g.cannot || g.often(20) {
		return constant(kInt, strconv.Itoa(g.r.IntN(20)-5), g.nanos)
	}
	return pick(g, list).as[kInt]
}

// settled makes of a path of several types an expression that is of its kind wherever it stands.
func settled(e expr) expr {
	format := map[kind]string{kInt: "(%s + 0)", kDouble: "(%s + 0)", kText: "(%s || '')", kBool: "(%s AND true)"}[e.K]
	if !e.Mixed || format == "" {
		return e
	}
	return both(fmt.Sprintf(format, e.T), fmt.Sprintf(format, e.D), e.K)
}

// neutral tells forms that want nothing of their arguments.
func neutral(t *template) bool {
	if t.forms > 1 {
		return true
	}
	for _, s := range []string{"IS NULL", "IS NOT NULL", "DISTINCT FROM", "::", "CAST(", "coalesce", "nullif", "greatest", "least", "CASE", "if(", "'200'", "printf(", "format("} {
		if strings.Contains(t.t, s) {
			return true
		}
	}
	return false
}

// any is an expression of any kind that can be shown, grouped and ordered.
func (g *generator) any(depth int) expr {
	return settled(g.expr(pick(g, []kind{kText, kText, kText, kInt, kInt, kDouble, kDouble, kBool, kTime, kTime, pick(g, []kind{kWall, kDate, kSpan})}), depth))
}

// natural is a column as it is where nothing special is wanted of it.
func (g *generator) natural() expr {
	c := pick(g, g.columns)
	return c.as[c.kind]
}

func (g *generator) where() (t, d string) {
	if g.often(25) {
		return "", ""
	}
	e := g.expr(kBool, 1+g.r.IntN(3))
	if g.often(30) {
		from, to := g.constant(kTime), g.constant(kTime)
		e = both("timestamp >= "+from.T+" AND timestamp < "+to.T+" AND "+e.T, "timestamp >= "+from.D+" AND timestamp < "+to.D+" AND "+e.D, kBool)
	}
	return " WHERE " + e.T, " WHERE " + e.D
}
