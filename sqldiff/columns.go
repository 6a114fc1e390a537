package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
)

// kind is a type of the generator.
type kind byte

const (
	kBool   kind = 'b'
	kInt    kind = 'i'
	kDouble kind = 'd'
	kText   kind = 's'
	kJSON   kind = 'j'
	kTime   kind = 't' // TIMESTAMPTZ
	kWall   kind = 'w' // TIMESTAMP
	kDate   kind = 'a'
	kSpan   kind = 'v' // INTERVAL
)

// expr is one expression, as Togo and as DuckDB are asked.
type expr struct {
	T, D string
	K    kind
	C    bool // a constant
	// Mixed is the name of a path of several types, read as its place wants it, and another way where it stands alone.
	Mixed bool
}

func both(t, d string, k kind) expr { return expr{T: t, D: d, K: k} }

// column is a name of Togo's SQL. What it is in DuckDB depends on what is wanted of it.
type column struct {
	name string        // as SQL text
	kind kind          // where nothing special is wanted
	as   map[kind]expr // what it can be
	// small integers and doubles may be calculated with: no overflow, and no sum that depends on the order.
	small   bool
	samples map[kind][]expr // values that are there, as constants
}

// plain tells names that need no quotes.
func plain(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return !reserved[name]
}

var reserved = map[string]bool{
	"all": true, "and": true, "case": true, "when": true, "end": true, "from": true, "group": true, "order": true, "in": true, "is": true, "not": true, "or": true, "select": true,
	"table": true, "then": true, "user": true, "where": true, "limit": true, "offset": true, "else": true, "desc": true, "asc": true, "distinct": true, "as": true, "on": true, "to": true, "with": true,
	"column": true, "default": true, "check": true, "primary": true, "references": true, "using": true, "window": true, "grant": true, "create": true, "collate": true, "cast": true, "both": true,
	"left": true, "right": true, "full": true, "inner": true, "join": true, "cross": true, "natural": true, "like": true, "between": true, "interval": true, "timestamp": false, "date": true, "time": true,
}

func sqlName(name string) string {
	if plain(name) {
		return name
	}
	return ident(name)
}

var kindOf = map[fragment.Type]kind{fragment.Boolean: kBool, fragment.Int64: kInt, fragment.Double: kDouble, fragment.String: kText, fragment.JSON: kJSON}

// columnsOf are the names that a tenant's SQL has. It is the rule of docs/sql.md for paths of several types, written a second time.
func columnsOf(list *fragment.Columns) []*column {
	out := []*column{
		{name: "id", kind: kText, as: map[kind]expr{kText: both("id", "id", kText)}},
		{name: "timestamp", kind: kTime, as: map[kind]expr{kTime: both("timestamp", "timestamp", kTime)}},
		{name: "source_offset", kind: kInt, small: true, as: map[kind]expr{kInt: both("source_offset", "source_offset", kInt)}},
	}
	seen := map[string]bool{}
	for _, c := range list.All() {
		if seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		of := list.OfPath(c.Path)
		if len(of) == 1 {
			out = append(out, single(sqlName(c.Name), c))
			continue
		}
		for _, o := range of {
			name := o.Name
			if o.Name == c.Name {
				name += "@" + o.Type.String()
			}
			out = append(out, single(ident(name), o))
		}
		out = append(out, several(c, of))
	}
	return out
}

func single(name string, c fragment.Column) *column {
	k := kindOf[c.Type]
	return &column{name: name, kind: k, as: map[kind]expr{k: both(name, ident(c.Name), k)}}
}

// several is a path with columns of several types. first has its bare name.
func several(first fragment.Column, of []fragment.Column) *column {
	out := &column{name: sqlName(first.Name), as: map[kind]expr{}}
	read := func(k kind, d string) { out.as[k] = expr{T: out.name, D: d, K: k, Mixed: true} }
	by := map[fragment.Type]string{}
	for _, c := range of {
		by[c.Type] = ident(c.Name)
	}
	whole, fraction := by[fragment.Int64], by[fragment.Double]
	switch {
	case whole != "" && fraction != "":
		read(kDouble, "coalesce("+whole+"::DOUBLE, "+fraction+")")
	case whole != "":
		read(kInt, whole)
	case fraction != "":
		read(kDouble, fraction)
	}
	if c := by[fragment.Boolean]; c != "" {
		read(kBool, c)
	}
	if whole != "" && fraction != "" && len(of) == 2 {
		out.kind = kDouble
		out.as[kDouble] = both(out.name, out.as[kDouble].D, kDouble)
		return out
	}
	var parts []string
	for _, p := range []struct {
		t      fragment.Type
		format string
	}{
		{fragment.String, "%s"}, {fragment.Boolean, "%s::VARCHAR"}, {fragment.Int64, "%s::VARCHAR"}, {fragment.Double, "main.jsonnumber(%s)"}, {fragment.JSON, "%s::VARCHAR"},
	} {
		if c := by[p.t]; c != "" {
			parts = append(parts, fmt.Sprintf(p.format, c))
		}
	}
	out.kind = kText
	read(kText, "coalesce("+strings.Join(parts, ", ")+")")
	return out
}

// sample reads values of the columns, so that conditions find something.
func (d *duck) sample(tenant event.TenantID, list []*column, nanos bool) error {
	for _, c := range list {
		c.samples = map[kind][]expr{}
		for k, e := range c.as {
			if k == kJSON || k == kBool {
				continue
			}
			value := e.D + "::VARCHAR"
			if k == kTime {
				value = "strftime(" + e.D + "::TIMESTAMP_NS, '%Y-%m-%dT%H:%M:%S.%n')"
			}
			rows, err := d.db.Query(fmt.Sprintf("SELECT DISTINCT %s AS v FROM %s.events WHERE %s IS NOT NULL ORDER BY hash(v) LIMIT 12", value, ident(string(tenant)), e.D))
			if err != nil {
				return err
			}
			for rows.Next() {
				var s string
				if err := rows.Scan(&s); err != nil {
					return err
				}
				c.samples[k] = append(c.samples[k], constant(k, s, nanos))
			}
			if err := rows.Close(); err != nil {
				return err
			}
			if k == kInt || k == kDouble {
				var most *float64
				if err := d.db.QueryRow(fmt.Sprintf("SELECT max(abs(%s::DOUBLE)) FROM %s.events", e.D, ident(string(tenant)))).Scan(&most); err != nil {
					return err
				}
				c.small = most == nil || *most < 1e7
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return nil
}

// constant is a value as both engines write it: a number with a dot is a DOUBLE for Togo, a DECIMAL for DuckDB, and a whole one an INTEGER of
// 32 bits if it fits.
func constant(k kind, text string, nanos bool) expr {
	e := spelled(k, text, nanos)
	e.C = true
	return e
}

func spelled(k kind, text string, nanos bool) expr {
	switch k {
	case kInt:
		if text == "-9223372036854775808" {
			return both("(-9223372036854775807 - 1)", "(-9223372036854775808)::BIGINT", k)
		}
		t := text
		if strings.HasPrefix(text, "-") {
			t = "(" + text + ")"
		}
		return both(t, "("+text+")::BIGINT", k)
	case kDouble:
		t := text
		if !strings.ContainsAny(text, ".e") {
			t += ".0"
		}
		if strings.ContainsAny(text, "in") { // inf, nan
			return both("'"+text+"'::DOUBLE", "'"+text+"'::DOUBLE", k)
		}
		if strings.HasPrefix(t, "-") {
			t = "(" + t + ")"
		}
		return both(t, "'"+text+"'::DOUBLE", k)
	case kTime:
		if nanos {
			return both("TIMESTAMPTZ "+literal(text+"Z"), "("+literal(text)+")::TIMESTAMP_NS", k)
		}
		return both("TIMESTAMPTZ "+literal(text+"Z"), "TIMESTAMPTZ "+literal(text+"Z"), k)
	case kDate:
		return both("DATE "+literal(text), "DATE "+literal(text), k)
	case kWall:
		return both("TIMESTAMP "+literal(text), "TIMESTAMP "+literal(text), k)
	case kSpan:
		return both("INTERVAL "+literal(text), "INTERVAL "+literal(text), k)
	case kBool:
		return both(text, text, k)
	}
	return both(literal(text), literal(text), k)
}
