package exec

import (
	"sort"
	"strings"

	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// typeSuffixes are the ends of the names of a path's second column and those that follow.
var typeSuffixes = map[vec.Type]string{
	vec.Bool: "boolean", vec.Int: "int64", vec.Double: "double", vec.Text: "string", vec.JSON: "json",
}

// table resolves the names of a table's columns and gives slots to those that are used.
type table struct {
	schema *Schema // nil: SELECT without FROM
	alias  string  // "" if there is none
	byName map[string]int
	paths  map[string][]int // columns by path, as they stand in the schema
	slots  map[int]int      // by column
	used   []scan.Column
	place  string // where an aggregate cannot stand: "WHERE" and so on
}

func newTable(s *Schema, from *sql.Table) *table {
	t := &table{schema: s, byName: map[string]int{}, paths: map[string][]int{}, slots: map[int]int{}}
	if s == nil {
		return t
	}
	if from != nil {
		t.alias = from.Alias
	}
	for i, c := range s.Columns {
		t.byName[fold(c.Name)] = i
		if c.Path != "" {
			t.paths[c.Path] = append(t.paths[c.Path], i)
		}
	}
	return t
}

// columns are the columns that a name stands for: none if there is no such name.
func (t *table) columns(name string) []int {
	i, ok := t.byName[fold(name)]
	if ok {
		path := t.paths[t.schema.Columns[i].Path]
		if len(path) > 1 && path[0] == i {
			return path
		}
		return []int{i}
	}
	// "duration@int64" is the first column of its path by itself.
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if i, ok := t.byName[fold(name[:at])]; ok && typeSuffixes[t.schema.Columns[i].Type] == strings.ToLower(name[at+1:]) {
			return []int{i}
		}
	}
	return nil
}

// named is how an answer names a column: as the table does, whatever case the query writes it in.
func (t *table) named(id *sql.Ident) string {
	if list := t.columns(id.Name); len(list) > 0 && fold(t.schema.Columns[list[0]].Name) == fold(id.Name) {
		return t.schema.Columns[list[0]].Name
	}
	return id.Name
}

// has tells that a name is a column's.
func (t *table) has(id *sql.Ident) bool { return id.Qualifier != "" || len(t.columns(id.Name)) > 0 }

// qualified checks what stands before a column's name.
func (t *table) qualified(at fail.Placed, q string) error {
	if q == "" {
		return nil
	}
	if t.schema == nil {
		return fail.At(at, fail.UnknownTable, "there is no table %q: the query has no FROM", q)
	}
	name := t.alias
	if name == "" {
		name = t.schema.Table
	}
	if fold(q) != fold(name) {
		return fail.At(at, fail.UnknownTable, "there is no table %q here; the table of this query is %q (an attribute with a dot in its name is written in one pair of quotes: \"http.status\")", q, name)
	}
	return nil
}

// Column is expr.Scope's.
func (t *table) Column(id *sql.Ident) (expr.Resolved, error) {
	if err := t.qualified(id, id.Qualifier); err != nil {
		return expr.Resolved{}, err
	}
	list := t.columns(id.Name)
	switch len(list) {
	case 0:
		return expr.Resolved{}, t.unknown(id)
	case 1:
		return expr.Resolved{Expr: t.column(list[0])}, nil
	}
	m := &expr.Mixed{Name: t.schema.Columns[list[0]].Name}
	for _, i := range list {
		m.Columns = append(m.Columns, t.column(i))
	}
	return expr.Resolved{Mixed: m}, nil
}

// column reads one column.
func (t *table) column(i int) *expr.Column {
	c := t.schema.Columns[i]
	slot, ok := t.slots[i]
	if !ok {
		slot = len(t.used)
		t.slots[i] = slot
		t.used = append(t.used, scan.Column{Name: c.Name, Type: c.Type})
	}
	return &expr.Column{Slot: slot, Name: c.Name, T: c.Type}
}

// Call is expr.Scope's: here are no aggregates.
func (t *table) Call(c *sql.Call) (expr.Expr, bool, error) {
	if !agg.Is(c.Name) {
		return nil, false, nil
	}
	if t.place == "" {
		return nil, true, fail.At(c, fail.Semantic, "aggregates cannot be nested: %s stands within another one", c.Name)
	}
	hint := ""
	if t.place == "WHERE" {
		hint = "; conditions on aggregates stand in HAVING"
	}
	return nil, true, fail.At(c, fail.Semantic, "%s is an aggregate, which cannot stand in %s%s", c.Name, t.place, hint)
}

func (t *table) unknown(id *sql.Ident) error {
	if t.schema == nil {
		return fail.At(id, fail.UnknownColumn, "there is no column %q: the query has no FROM", id.Name)
	}
	var names []string
	for _, c := range t.schema.Columns {
		names = append(names, c.Name)
	}
	sort.Strings(names)
	message := ""
	if near := expr.Near(id.Name, names); len(near) > 0 {
		for i := range near {
			near[i] = (&sql.Ident{Name: near[i], Quoted: true}).String()
		}
		message = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if t.schema.Full {
		message += "; the tenant has as many columns as it may have: attributes beyond them are in _rest, as in json_extract_string(_rest, '$.name')"
	}
	if !id.Quoted && message == "" {
		message = " (text constants stand in single quotes)"
	}
	return fail.At(id, fail.UnknownColumn, "there is no column %q in %s%s", id.Name, t.schema.Table, message)
}

// derived resolves names that stand for results computed before, and nothing else.
type derived struct {
	refs map[*sql.Ident]*expr.Column
	// missing makes the error for a name that is none of them.
	missing func(id *sql.Ident) error
}

func (d *derived) Column(id *sql.Ident) (expr.Resolved, error) {
	if c := d.refs[id]; c != nil {
		return expr.Resolved{Expr: c}, nil
	}
	return expr.Resolved{}, d.missing(id)
}

// ref is a name for a column of what was computed before, in the place of e.
func (d *derived) ref(e sql.Expr, slot int, t vec.Type) *sql.Ident {
	line, column := e.Place()
	id := &sql.Ident{Pos: sql.Pos{Line: line, Column: column}, Name: e.String()}
	d.refs[id] = &expr.Column{Slot: slot, Name: id.Name, T: t}
	return id
}

func (d *derived) Call(*sql.Call) (expr.Expr, bool, error) { return nil, false, nil }
