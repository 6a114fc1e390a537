package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/queryset/answer"
)

// pair is one query in both dialects, and how its answers are compared.
type pair struct {
	T, D  string
	kinds []kind
	rules answer.Rules
	// from and to are the request's bounds of the events' times, and limit its most rows; nil and 0: none.
	from, to *event.Timestamp
	limit    int64
}

// query makes one of any shape, as people write it.
func (g *generator) query() pair {
	p := g.shape()
	if g.often(15) && strings.Contains(p.D, " FROM events") {
		p.T, p.D = strings.Replace(p.T, " FROM events", " FROM events AS e", 1), strings.Replace(p.D, " FROM events", " FROM events AS e", 1)
		p.T, p.D = strings.ReplaceAll(p.T, "(timestamp, id)", "(e.timestamp, e.id)"), strings.ReplaceAll(p.D, "(timestamp, id)", "(e.timestamp, e.id)")
	} else if g.often(12) && strings.Contains(p.D, " FROM events") {
		p.from, p.to = g.bound(), g.bound()
		where := "true"
		if p.from != nil {
			where += fmt.Sprintf(" AND epoch_ns(timestamp) >= %d", int64(*p.from))
		}
		if p.to != nil {
			where += fmt.Sprintf(" AND epoch_ns(timestamp) < %d", int64(*p.to))
		}
		p.D = strings.Replace(p.D, " FROM events", " FROM (SELECT * FROM events WHERE "+where+") AS events", 1)
	}
	if g.often(8) && p.rules.Some == nil {
		p.limit = int64(1 + g.r.IntN(20))
		if p.rules.Ordered {
			p.D = "SELECT * FROM (" + p.D + ") LIMIT " + strconv.FormatInt(p.limit, 10)
		} else {
			n := int(p.limit)
			p.rules.Some = &n
		}
	}
	if g.often(30) {
		p.T = g.noise(p.T)
	}
	return p
}

// bound is one of a request's bounds.
func (g *generator) bound() *event.Timestamp {
	if g.often(30) {
		return nil
	}
	t := event.Timestamp(queryset.Begin.UnixNano() + g.r.Int64N(int64(3*time.Hour))/1000*1000)
	return &t
}

// noise is the same text with other white space, comments and cases of words, outside of quotes.
func (g *generator) noise(text string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' && g.often(15):
			b.WriteString(pick(g, []string{"\n", "\t  ", " /* it's \" */ ", " -- to the end 'of\n", "  "}))
			continue
		case c >= 'A' && c <= 'Z' && g.often(20):
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (g *generator) shape() pair {
	switch n := g.r.IntN(100); {
	case n < 30:
		return g.rows()
	case n < 42:
		return g.total()
	case n < 70:
		return g.groups()
	case n < 77:
		return g.distinct()
	case n < 80:
		return g.page()
	case n < 82:
		return g.letters()
	case n < 84:
		return g.star()
	case n < 90:
		return g.records()
	}
	return g.constants()
}

// list gathers the select list.
type list struct {
	t, d  []string
	kinds []kind
}

func (l *list) add(e expr, alias string) {
	d := e.D
	if e.K == kJSON {
		d += "::VARCHAR"
	}
	if alias != "" {
		e.T, d = e.T+" AS "+alias, d+" AS "+alias
	}
	l.t, l.d, l.kinds = append(l.t, e.T), append(l.d, d), append(l.kinds, e.K)
}

func (l *list) of(i int) expr { return both(l.t[i], l.d[i], l.kinds[i]) }

func (l *list) text() (t, d string) { return strings.Join(l.t, ", "), strings.Join(l.d, ", ") }

// direction is what may stand behind a key of ORDER BY.
func (g *generator) direction() string {
	return pick(g, []string{"", "", " ASC", " DESC", " DESC NULLS FIRST", " ASC NULLS FIRST", " DESC NULLS LAST"})
}

func (g *generator) limit() string {
	s := ""
	if g.often(70) {
		s = " LIMIT " + strconv.Itoa(pick(g, []int{0, 1, 3, 10, 100, 5000}))
	}
	if g.often(25) {
		s += " OFFSET " + strconv.Itoa(pick(g, []int{0, 1, 5, 200}))
	}
	return s
}

// rows are columns and expressions of events.
func (g *generator) rows() pair {
	var l list
	for range 1 + g.r.IntN(4) {
		if g.often(50) {
			l.add(g.natural(), "")
		} else if g.often(8) {
			l.add(settled(g.expr(kJSON, 2)), "")
		} else {
			l.add(g.any(1+g.r.IntN(3)), "")
		}
	}
	p := pair{}
	t, d := g.where()
	order, orderD := "", ""
	if g.often(50) {
		var keys, keysD []string
		if g.often(50) {
			dir := g.direction()
			keys, keysD = append(keys, "timestamp"+dir), append(keysD, "timestamp"+dir)
		} else {
			for range g.r.IntN(3) {
				e, dir := computed(g.any(g.r.IntN(2))), g.direction()
				keys, keysD = append(keys, e.T+dir), append(keysD, e.D+dir)
			}
		}
		dir := g.direction()
		keys, keysD = append(keys, "id"+dir), append(keysD, "id"+dir)
		limit := g.limit()
		order, orderD = " ORDER BY "+strings.Join(keys, ", ")+limit, " ORDER BY "+strings.Join(keysD, ", ")+limit
		p.rules.Ordered = true
	}
	lt, ld := l.text()
	some := ""
	if order == "" && g.often(15) {
		n := pick(g, []int{0, 1, 7, 300})
		p.rules.Some = &n
		p.rules.Skip = pick(g, []int{0, 0, 2, 30, 150, 700})
		some = fmt.Sprintf(" LIMIT %d OFFSET %d", n, p.rules.Skip)
	}
	p.T, p.D, p.kinds = "SELECT "+lt+" FROM events"+t+order+some, "SELECT "+ld+" FROM events"+d+orderD, l.kinds
	return p
}

// computed keeps a constant from being read as a position, or refused for having no effect.
func computed(e expr) expr {
	format := map[kind]string{kInt: "(%s) + 0", kDouble: "(%s) + 0", kText: "%s || ''", kBool: "(%s) AND true"}[e.K]
	if !e.C || format == "" {
		return e
	}
	return both(fmt.Sprintf(format, e.T), fmt.Sprintf(format, e.D), e.K)
}

// aggregate adds one to the list, now and then within an expression.
func (g *generator) aggregate(l *list, p *pair) {
	g.plain(l, p)
	i := len(l.t) - 1
	if _, loose := p.rules.Loose[i]; loose || g.often(75) {
		return
	}
	format := ""
	switch l.kinds[i] {
	case kInt:
		format = pick(g, []string{"coalesce(%s, 0)", "%s %% 7", "CASE WHEN count(*) > 3 THEN %s END", "nullif(%s, 0)"})
	case kDouble:
		format = pick(g, []string{"coalesce(%s, -1)", "abs(%s)", "%s / count(*)"})
	case kText:
		format = pick(g, []string{"upper(%s)", "coalesce(%s, '-') || '!'", "length(%s) > 2", "%s IS NULL"})
	case kTime:
		format = pick(g, []string{"date_trunc('hour', %s)", "%s > '2025-06-30T23:00:00Z'"})
	default:
		return
	}
	l.t[i], l.d[i] = fmt.Sprintf(format, l.t[i]), fmt.Sprintf(format, l.d[i])
	if strings.Contains(format, " > ") && !strings.Contains(format, "CASE") || strings.Contains(format, "IS NULL") {
		l.kinds[i] = kBool
	}
}

func (g *generator) plain(l *list, p *pair) {
	filter, filterD := "", ""
	if g.often(20) {
		e := g.expr(kBool, 2)
		filter, filterD = " FILTER (WHERE "+e.T+")", " FILTER (WHERE "+e.D+")"
	}
	number := func() expr {
		if g.often(60) {
			var list []expr
			for _, c := range g.columns {
				for _, k := range []kind{kInt, kDouble} {
					if e, ok := c.as[k]; ok && c.small {
						list = append(list, e)
					}
				}
			}
			if len(list) > 0 {
				return pick(g, list)
			}
		}
		return g.small(2)
	}
	one := func(k kind, format string, e expr) {
		l.add(both(fmt.Sprintf(format, e.T)+filter, fmt.Sprintf(format, e.D)+filterD, k), "")
	}
	some := g.any(g.r.IntN(2))
	switch g.r.IntN(24) {
	case 0, 1, 2:
		l.add(both("count(*)"+filter, "count(*)"+filterD, kInt), "")
	case 3, 4:
		one(kInt, "count(%s)", some)
	case 5:
		one(kInt, "count(DISTINCT %s)", some)
	case 6, 7, 8:
		e := number()
		one(e.K, "sum(%s)", e)
	case 9, 10:
		one(kDouble, "avg(%s)", number())
	case 11, 12:
		one(some.K, "min(%s)", some)
	case 13, 14:
		one(some.K, "max(%s)", some)
	case 15:
		one(kDouble, pick(g, []string{"stddev(%s)", "stddev_samp(%s)", "stddev_pop(%s)", "var_samp(%s)", "var_pop(%s)", "variance(%s)"}), number())
	case 16:
		one(kDouble, pick(g, []string{"median(%s)", "quantile_cont(%s, 0.9)", "quantile_cont(%s, 0.25)", "quantile_cont(%s, 0.99)"}), number())
	case 17:
		e := number()
		one(e.K, pick(g, []string{"quantile_disc(%s, 0.5)", "quantile_disc(%s, 0.9)"}), e)
	case 18:
		p.loose(len(l.t), 0.3)
		one(kInt, "approx_count_distinct(%s)", some)
	case 19:
		one(some.K, "arg_min(%s, id)", some)
	case 20:
		one(some.K, "arg_max(%s, id)", some)
	case 21:
		one(kBool, pick(g, []string{"bool_and(%s)", "bool_or(%s)"}), g.expr(kBool, 1))
	case 22:
		one(kText, "string_agg(%s, ',' ORDER BY id)", g.expr(kText, 1))
	case 23:
		e := number()
		one(e.K, "sum(DISTINCT %s)", e)
	}
}

func (p *pair) loose(i int, by float64) {
	if p.rules.Loose == nil {
		p.rules.Loose = map[int]float64{}
	}
	p.rules.Loose[i] = by
}

// total is aggregates over all rows.
func (g *generator) total() pair {
	var l list
	p := pair{}
	for range 1 + g.r.IntN(4) {
		g.aggregate(&l, &p)
	}
	if g.often(20) {
		l, p = list{}, pair{}
		l.add(both("count(*)", "count(*)", kInt), "")
		l.add(both("min(timestamp)", "min(timestamp)", kTime), "")
		l.add(both("max(timestamp)", "max(timestamp)", kTime), "")
	}
	t, d := g.where()
	lt, ld := l.text()
	p.T, p.D, p.kinds = "SELECT "+lt+" FROM events"+t, "SELECT "+ld+" FROM events"+d, l.kinds
	return p
}

// groups are aggregates by keys.
func (g *generator) groups() pair {
	var l list
	p := pair{}
	keys := 1 + g.r.IntN(2) + g.r.IntN(2)
	how := g.r.IntN(4)
	var byT, byD []string
	for i := range keys {
		var e expr
		switch g.r.IntN(4) {
		case 0:
			e = g.any(2)
		case 1:
			e = g.fill(&template{k: kTime, t: "date_trunc('$2', $1)", args: "tu"}, 1)
		default:
			for e = g.natural(); e.K == kJSON; e = g.natural() {
			}
		}
		alias := ""
		switch how {
		case 0:
			byT, byD = append(byT, strconv.Itoa(i+1)), append(byD, strconv.Itoa(i+1))
		case 1:
			alias = fmt.Sprintf("k%d", i)
			byT, byD = append(byT, alias), append(byD, alias)
		default:
			e = computed(e)
			byT, byD = append(byT, e.T), append(byD, e.D)
		}
		l.add(e, alias)
	}
	if e := l.of(0); how != 1 && g.often(20) { // a key within an expression
		switch e.K {
		case kText:
			l.add(both("length("+e.T+") + 1", "length("+e.D+") + 1", kInt), "")
		case kInt:
			l.add(both(e.T+" IS NULL", e.D+" IS NULL", kBool), "")
		}
	}
	for range 1 + g.r.IntN(3) {
		g.aggregate(&l, &p)
	}
	t, d := g.where()
	by := " GROUP BY "
	groupT, groupD := by+strings.Join(byT, ", "), by+strings.Join(byD, ", ")
	if how == 2 {
		groupT, groupD = " GROUP BY ALL", " GROUP BY ALL"
	}
	if g.often(20) {
		having := pick(g, []string{" HAVING count(*) > 3", " HAVING count(DISTINCT id) BETWEEN 2 AND 50", " HAVING max(timestamp) > min(timestamp)", " HAVING NOT (count(*) < 2 OR max(source_offset) % 2 = 0)", " HAVING avg(source_offset) > 100 AND bool_or(id > 'e0')"})
		groupT, groupD = groupT+having, groupD+having
	}
	if g.often(40) {
		var order []string
		if g.often(40) {
			order = append(order, pick(g, []string{"count(*)", "max(source_offset) - min(source_offset)", "sum(source_offset) // 100", "length(max(id))"})+pick(g, []string{"", " DESC"}))
		}
		for i := range keys {
			order = append(order, strconv.Itoa(i+1)+g.direction())
		}
		tail := " ORDER BY " + strings.Join(order, ", ") + g.limit()
		groupT, groupD, p.rules.Ordered = groupT+tail, groupD+tail, true
	}
	lt, ld := l.text()
	p.T, p.D, p.kinds = "SELECT "+lt+" FROM events"+t+groupT, "SELECT "+ld+" FROM events"+d+groupD, l.kinds
	return p
}

// records are questions that whole files may answer without being read.
func (g *generator) records() pair {
	var l list
	keys := []string{"date_trunc('hour', timestamp)", "date_trunc('day', timestamp)", "hour(timestamp)", "year(timestamp)", "extract(month FROM timestamp)"}
	kinds := []kind{kTime, kTime, kInt, kInt, kInt}
	if !g.nanos {
		keys = append(keys, "time_bucket(INTERVAL '1 hour', timestamp)", "time_bucket(INTERVAL '30 minutes', timestamp)", "timestamp::DATE", "strftime(timestamp, '%Y-%m-%d')", "(timestamp AT TIME ZONE 'Europe/Berlin')::DATE", "timestamp + INTERVAL '1 hour'")
		kinds = append(kinds, kTime, kTime, kDate, kText, kDate, kTime)
	}
	group := ""
	for i := range g.r.IntN(3) {
		n := g.r.IntN(len(keys))
		l.add(both(keys[n], keys[n], kinds[n]), "")
		group = strings.TrimPrefix(fmt.Sprintf("%s, %d", group, i+1), ", ")
	}
	if group != "" {
		group = " GROUP BY " + group
	}
	for range 1 + g.r.IntN(3) {
		a := pick(g, []string{"count(*)", "count(timestamp)", "min(timestamp)", "max(timestamp)", "count(1)", "max(timestamp) - min(timestamp) IS NULL", "count(*) FILTER (WHERE timestamp > '2025-06-30T22:30:00Z')", "count(DISTINCT timestamp)"})
		k := kInt
		if strings.HasPrefix(a, "m") {
			k = kTime
		}
		if strings.HasSuffix(a, "NULL") {
			k = kBool
		}
		l.add(both(a, a, k), "")
	}
	where := pick(g, []string{"", "", " WHERE timestamp >= '2025-06-30T23:00:00Z'", " WHERE timestamp < '2025-07-01T00:00:00Z' AND timestamp >= '2025-06-30 22:30:00'", " WHERE timestamp BETWEEN '2025-06-30T23:00:00Z' AND '2025-07-01T00:00:00Z'", " WHERE timestamp IS NOT NULL", " WHERE id IS NOT NULL", " WHERE timestamp <> '2025-06-30T23:00:00Z' OR timestamp IS NULL"})
	t, d := l.text()
	return pair{T: "SELECT " + t + " FROM events" + where + group, D: "SELECT " + d + " FROM events" + where + group, kinds: l.kinds}
}

func (g *generator) distinct() pair {
	var l list
	p := pair{}
	for range 1 + g.r.IntN(2) {
		if g.often(60) {
			l.add(g.natural(), "")
		} else {
			l.add(g.any(2), "")
		}
	}
	t, d := g.where()
	order := ""
	if g.often(50) {
		var keys []string
		for i := range l.t {
			keys = append(keys, strconv.Itoa(i+1)+g.direction())
		}
		order, p.rules.Ordered = " ORDER BY "+strings.Join(keys, ", ")+g.limit(), true
	}
	lt, ld := l.text()
	p.T, p.D, p.kinds = "SELECT DISTINCT "+lt+" FROM events"+t+order, "SELECT DISTINCT "+ld+" FROM events"+d+order, l.kinds
	return p
}

// page is one of a walk by key.
func (g *generator) page() pair {
	at := g.constant(kTime)
	id := pick(g, []string{"e00001", "e00500", "ä", "r0100", ""})
	op, dir := "<", " DESC"
	if g.often(50) {
		op, dir = ">", ""
	}
	e := g.expr(kBool, 1)
	n := pick(g, []int{1, 20, 100})
	format := "SELECT timestamp, id FROM events WHERE (timestamp, id) %s (%s, '%s') AND (%s OR id > 'e') ORDER BY timestamp%s, id%s LIMIT %d"
	return pair{T: fmt.Sprintf(format, op, at.T, id, e.T, dir, dir, n), D: fmt.Sprintf(format, op, at.D, id, e.D, dir, dir, n), kinds: []kind{kTime, kText}, rules: answer.Rules{Ordered: true}}
}

// letters asks dead letters.
func (g *generator) letters() pair {
	s := pick(g, []string{
		"SELECT reason, count(*), min(timestamp), max(id) FROM dead_letters GROUP BY 1",
		"SELECT timestamp, id, reason, detail, payload, format, source_topic, source_partition, source_offset FROM dead_letters",
		"SELECT count(*) FROM dead_letters WHERE reason = 'malformed' AND detail IS NOT NULL",
		"SELECT id FROM dead_letters WHERE detail LIKE '%ä%' ORDER BY timestamp DESC, id LIMIT 3",
		"SELECT DISTINCT reason, detail FROM dead_letters WHERE timestamp >= '2025-06-30T23:00:00Z'",
		"SELECT count(*), count(DISTINCT payload) FROM dead_letters",
	})
	kinds := []kind{}
	if strings.HasPrefix(s, "SELECT timestamp") {
		kinds = []kind{kTime}
	}
	if strings.HasPrefix(s, "SELECT reason, count(*), min") {
		kinds = []kind{kText, kInt, kTime}
	}
	return pair{T: s, D: s, kinds: kinds, rules: answer.Rules{Ordered: strings.Contains(s, "ORDER BY")}}
}

func (g *generator) star() pair {
	t, d := g.where()
	return pair{T: "SELECT * FROM events" + t, D: "SELECT timestamp, id, _event FROM events" + d, kinds: []kind{kTime, kText, kJSON}}
}

// constants is SELECT without FROM.
func (g *generator) constants() pair {
	g.cannot = true
	defer func() { g.cannot = false }()
	var l list
	for range 1 + g.r.IntN(2) {
		l.add(g.any(1+g.r.IntN(3)), "")
	}
	t, d := l.text()
	return pair{T: "SELECT " + t, D: "SELECT " + d, kinds: l.kinds}
}
