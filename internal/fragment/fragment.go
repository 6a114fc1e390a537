// Package fragment turns the events of one tenant and one time bucket into an
// immutable Parquet file and gives them back as they were sent.
//
// # Columns
//
// An event's attributes become typed columns under their dotted paths. A column is
// (path, type) and never changes: the first type that a tenant's data shows for a
// path gets the bare name, another type gets path@type. Which columns a tenant has
// is a grow-only list in the store (Registry), extended by compare-and-swap before a
// fragment uses a new one.
//
// Invariants:
//
//  1. Nothing of an event is lost: every leaf of its JSON is in exactly one column,
//     or in _rest. Event.AppendJSON gives a value equal to what was sent: numbers
//     are equal as decimals, to any number of digits.
//  2. A leaf goes to _rest if it is null or an empty object, if its path has a value
//     in this row already ({"a.b":1,"a":{"b":2}}), if its path is longer than
//     MaxPathBytes, or if the tenant's list is full.
//  3. The column that a value goes to depends on the value and on the tenant's list
//     alone. The same rows with the same list give the same bytes.
//  4. _keys holds the key lists of those leaves whose keys themselves hold dots:
//     [["http.status"]] for {"http.status":1}. Without it dots mean nesting.
//  5. _raw holds the payload where columns cannot give it back: repeated keys, half
//     surrogate pairs, text that is not UTF-8. It is valid UTF-8 if and only if the
//     payload was JSON.
//
// # Types
//
// BOOLEAN; INT64 for integers of 64 bits; DOUBLE for numbers whose shortest decimal
// form as a double is the number itself; STRING; JSON, as text, for arrays and for the
// numbers that neither INT64 nor DOUBLE holds digit for digit. A path that has a DOUBLE
// column and no INT64 column puts integers up to 2^53 into the DOUBLE column.
//
// # Order
//
// Rows are sorted by the tenant's sort key: each path by all of its columns in the order
// of their field ids, each with nulls last; then by time to the nanosecond, then as they
// came. A column that a file has not is null in all of its rows, so the order of a
// tenant's files is one, whatever columns they have, and Merge makes of several files
// one without sorting again. Where a file begins and ends in that order is in its
// commit record (KeyMin, KeyMax), as text that compares bytewise.
//
// # Names
//
// See names.go: one reversible rule for names that differ only in case, empty names,
// names of our own columns and control characters.
package fragment

import (
	"context"
	"errors"

	"github.com/togodb/togo/internal/event"
)

// FormatVersion is what this code writes and the newest that it reads: of fragments
// (in the file's metadata) and of column lists.
const FormatVersion = 1

// Errors that a caller acts on.
var (
	// ErrCorrupt: the object is not as it was written. The message names the key.
	ErrCorrupt = errors.New("fragment: corrupt")
	// ErrNewerFormat: written by a newer version; this one stops and says so.
	ErrNewerFormat = errors.New("fragment: written in a newer format")
)

// Row is one event or dead letter on its way into a fragment. A writer holds very many, so
// that what they share, and what few have, lies elsewhere.
type Row struct {
	Timestamp  event.Timestamp
	IngestedAt event.Timestamp
	ID         []byte // as text in the id column; made by event.PositionID if the event had none
	Payload    []byte
	Source     *event.Source // of the intake
	Offset     int64         // in it
	Letter     *Letter       // dead letters only
	Format     event.PayloadFormat
}

// Letter is what a dead letter has beside an event.
type Letter struct {
	Reason event.Reason
	Detail string // what exactly was wrong, for people
}

// Kind says which table's columns a fragment has.
type Kind uint8

const (
	Events      Kind = 1
	DeadLetters Kind = 2 // timestamp, id, reason, source position, payload untouched
)

func (k Kind) String() string {
	switch k {
	case Events:
		return "events"
	case DeadLetters:
		return "dead_letters"
	}
	return "unknown"
}

// Input is what becomes one fragment: rows of one tenant and one data bucket.
type Input struct {
	Tenant event.TenantID
	Kind   Kind
	Bucket int64 // start, seconds since 1970
	Seq    uint64
	Rows   []Row
	// SortKey lists attribute paths; "timestamp" is the event's time and is added at
	// the end if it is not named. nil is DefaultSortKey. A path sorts by each of its
	// columns in the order of their field ids, with nulls last; then come the time to the
	// nanosecond and the order of Rows. Of letters it means nothing.
	SortKey []string
	// KeyColumns is how many leading paths of the sort key File.KeyMin and KeyMax have; 0
	// is all of them. The timestamp never counts.
	KeyColumns int
	// BloomColumns lists column names that get a Bloom filter; nil is
	// DefaultBloomColumns. Names that the file has not are passed over.
	BloomColumns []string
}

// DefaultSortKey groups what is usually asked for together.
var DefaultSortKey = []string{"service", "status", "timestamp"}

// DefaultBloomColumns are names that are asked for by exact value and are spread over
// the whole file.
var DefaultBloomColumns = []string{
	"id", "trace_id", "span_id", "traceId", "spanId", "trace.id", "span.id", "request_id",
}

// File is an encoded fragment.
type File struct {
	Body     []byte
	Rows     int64
	Min, Max event.Timestamp
	Ranges   []Range // of the sort key's columns, without timestamp
	Sum      string  // xxh3-128, hex
	SortKey  string  // as SortKeyText gives it
	// KeyMin and KeyMax are the first and the last row's values of the sort key's leading
	// paths, as text that compares bytewise as rows do (see keyspan.go): two
	// fragments of one tenant and one sort key whose spans are disjoint have disjoint
	// keys; where a bound of one equals a bound of the other they may overlap.
	KeyMin, KeyMax string
}

// Range bounds the values of a column, as text: numbers in decimal, booleans as
// true and false, strings cut to MaxRangeBytes. A cut Min is a prefix, so it is not
// above the smallest value; a cut Max is a prefix with its last code point raised by
// one, so it is not below the largest. If Nulls equals the file's rows, no row has a
// value and Min and Max mean nothing.
type Range struct {
	Column   string
	Min, Max string
	Nulls    int64
}

// MaxRangeBytes keeps the ranges of a commit record small.
const MaxRangeBytes = 64

// ColumnSource gives the columns of a tenant, extended by what is needed.
type ColumnSource interface {
	// Ensure returns a version of the tenant's list that has the needed columns,
	// except for those that no longer fit under the tenant's max_columns. With an
	// empty need it returns a version that may be old but never loses a column.
	Ensure(ctx context.Context, tenant event.TenantID, need []PathType) (*Columns, error)
}

// PathType is an attribute's path and the type that a value of it needs.
type PathType struct {
	Path string
	Type Type
}

// Type is a column type. The numbers are stored and never change.
type Type uint8

const (
	Boolean Type = 1
	Int64   Type = 2
	Double  Type = 3
	String  Type = 4
	JSON    Type = 5

	numTypes = 6
)

var typeNames = [numTypes]string{Boolean: "boolean", Int64: "int64", Double: "double", String: "string", JSON: "json"}

// String is the type as it stands in column names (path@type) and lists.
func (t Type) String() string {
	if t < Boolean || t > JSON {
		return "unknown"
	}
	return typeNames[t]
}
