package fragment

import (
	"context"

	"github.com/togodb/togo/internal/event"
)

// Row is one event or dead letter on its way into a fragment.
type Row struct {
	Timestamp  event.Timestamp
	ID         []byte // as text in the id column; made by event.PositionID if the event had none
	IngestedAt event.Timestamp
	Origin     event.Origin
	Format     event.PayloadFormat
	Payload    []byte
	Reason     event.Reason // dead letters only
}

// Kind says which table's columns a fragment has.
type Kind uint8

const (
	Events      Kind = 1
	DeadLetters Kind = 2 // timestamp, id, reason, source position, payload untouched
)

// Input is what becomes one fragment: rows of one tenant and one data bucket.
type Input struct {
	Tenant event.TenantID
	Kind   Kind
	Bucket int64 // start, seconds since 1970
	Seq    uint64
	Rows   []Row
}

// File is an encoded fragment.
type File struct {
	Body     []byte
	Rows     int64
	Min, Max event.Timestamp
	Ranges   []Range // of the sort key's columns
	Sum      string  // xxh3-128, hex
}

// Range bounds the values of a column, as text.
type Range struct {
	Column   string
	Min, Max string
	Nulls    int64
}

// Encode turns rows into a Parquet file: it asks columns for those that it
// needs (which may extend the tenant's list in the store) and sorts the rows.
func Encode(ctx context.Context, in Input, columns ColumnSource) (*File, error) {
	panic("fragment: not built")
}

// ColumnSource gives the columns of a tenant, extended by what is needed.
type ColumnSource interface {
	Ensure(ctx context.Context, tenant event.TenantID, need []PathType) (*Columns, error)
}

// PathType is an attribute's path and the type that a value of it needs.
type PathType struct {
	Path string
	Type Type
}

// Type is a column type.
type Type uint8

// Columns is one version of a tenant's grow-only column list.
type Columns struct{}
