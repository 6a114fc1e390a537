package query

import (
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// tables are the names that FROM knows.
var tables = map[string]fragment.Kind{"events": fragment.Events, "dead_letters": fragment.DeadLetters}

var kindTypes = map[parquetfile.Kind]vec.Type{
	parquetfile.Boolean: vec.Bool, parquetfile.Int32: vec.Int, parquetfile.Int64: vec.Int, parquetfile.TimestampMicros: vec.TimestampTZ,
	parquetfile.Double: vec.Double, parquetfile.String: vec.Text, parquetfile.JSON: vec.JSON, parquetfile.Bytes: vec.Blob,
}

var attributeTypes = map[fragment.Type]vec.Type{
	fragment.Boolean: vec.Bool, fragment.Int64: vec.Int, fragment.Double: vec.Double, fragment.String: vec.Text, fragment.JSON: vec.JSON,
}

// shownColumns are our own columns that people ask for; the others may be named, and are not shown.
var shownColumns = map[string]bool{"timestamp": true, "id": true, "ingested_at": true}

// schemaOf is a table as a tenant's column list has it.
func schemaOf(table string, columns *fragment.Columns) *exec.Schema {
	s := &exec.Schema{Table: table, Kind: tables[table]}
	for _, f := range fragment.OwnColumns(s.Kind) {
		hidden := s.Kind == fragment.Events && !shownColumns[f.Name]
		s.Columns = append(s.Columns, exec.SchemaColumn{Name: f.Name, Type: kindTypes[f.Kind], Hidden: hidden})
	}
	if s.Kind != fragment.Events {
		return s
	}
	s.Columns = append(s.Columns, exec.SchemaColumn{Name: scan.Event, Type: vec.JSON, Hidden: true})
	s.Full = columns.Full()
	for _, c := range columns.All() {
		s.Columns = append(s.Columns, exec.SchemaColumn{Name: c.Name, Path: c.Path, Type: attributeTypes[c.Type]})
	}
	return s
}
