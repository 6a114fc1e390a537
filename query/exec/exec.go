// Package exec runs a SELECT: it binds it to a table's columns, asks a scan for what it needs, and makes the
// answer of what comes: groups and aggregates by worker, merged at the end; order, DISTINCT, LIMIT.
//
// What it promises:
//
//  1. The answer is SQL's, whatever the order in which rows come and by how many workers.
//  2. Memory is accounted as groups, rows and texts are kept; above Limits.Memory the query ends with an error that says
//     so. Rows stream where nothing has to wait for all of them.
//  3. An answer without ORDER BY has no order.
package exec

import (
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Schema is what a table has, for one tenant.
type Schema struct {
	Table   string // "events" or "dead_letters"
	Kind    fragment.Kind
	Columns []SchemaColumn
	Full    bool // the tenant may have no more columns: further attributes are in _rest
}

// SchemaColumn is one column of the files.
type SchemaColumn struct {
	Name string // in files and in SQL, compared without regard to case
	Path string // of an attribute; columns with the same Path are one value in SQL under the name of the first
	Type vec.Type
	// Hidden columns are left out of /v1/schema, but may be named: source_offset, _seq and so on.
	Hidden bool
}

// Output is a column of the answer.
type Output struct {
	Name string
	Type vec.Type
}

// Limits of one query. 0 is none.
type Limits struct {
	Memory int64        // bytes that groups, rows to be sorted and the like take
	Pool   *memory.Pool // of all queries of the process; nil: none
	Rows   int64        // of the answer; more is an error that names the limit
}
