// Package scan reads the rows of fragments that a query asks for.
//
// The way of a scan: fragments are pruned by what their commit records say (times, ranges), row groups by the footer,
// pages by the column index and the Bloom filters; the columns of the filter are read first, conditions on a column with a
// dictionary are decided once for each entry; of the other columns only pages with rows that are left are read.
//
// What it promises:
//
//  1. Rows are those for which every condition of the filter is TRUE and whose time is not below the floor: all of them, each once,
//     in no order. Which files they lie in, and what was pruned, shows in the statistics alone.
//  2. Damage is an error that names the object, never another row. A store's error is its own.
//  3. It ends within 100 ms after its context did.
package scan

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// Column is what a slot of a batch is filled with.
type Column struct {
	// Name is a column's name in the files, or one of the special ones: Timestamp, Event.
	Name string
	Type vec.Type
}

// Special columns.
const (
	// Timestamp is the event's time to the nanosecond, TIMESTAMPTZ: the files' timestamp and nanos in one.
	Timestamp = "timestamp"
	// Event is the event as it was sent, JSON (fragment.Event.AppendJSON).
	Event = fragment.EventName
)

// Request says what to read.
type Request struct {
	Tenant    event.TenantID
	Kind      fragment.Kind
	Fragments []Fragment
	// TenantColumns is how many attributes have columns in the tenant's files, about: how large footers are follows from it.
	TenantColumns int
	// Stats is added to; nil: nobody wants them.
	Stats *Stats
	// Columns are the slots, over which Filter is bound. A column that a file has not is NULL there.
	Columns []Column
	// Filter are conditions, all of which must be TRUE.
	Filter []expr.Expr
	// Output are the slots that are needed after the filter; the others of an emitted batch are nil.
	Output []int
	// Floor: rows of events below it are gone.
	Floor event.Timestamp
	// MaxBytes bounds what is read, from store and cache together; more is a fail.TooLarge. 0 is no bound.
	MaxBytes int64
	// Memory, if it is set, is taken for row groups while they are read.
	Memory *memory.Account
	// Rows, if it is above 0, is how many rows are enough, whichever they are: more may come.
	Rows int
	// Top, if it is set, bounds what is still wanted while the scan goes on (ORDER BY timestamp LIMIT n).
	Top *Top
	// First, if it is set, is what else of an order is known: of each row group its first rows are enough.
	First *First
	// Whole, if it is set, is asked for each fragment all of whose rows surely pass the filter and the floor, before it is
	// opened: true tells that its record's Rows, Min and Max were all that is wanted of it.
	Whole func(worker int, f *shardlog.Fragment) bool
	Options
}

// Options switch off what must never change an answer; tests do.
type Options struct {
	NoPruning      bool // by records, footers, indexes, filters
	NoDictionaries bool // batches have no coded vectors
	NoLateReading  bool // all columns are read with the first
}

// Top says which rows can still be among the first of an order by the event's time: fragments, row groups and pages are
// taken in that order, and what lies beyond Bound is passed over.
type Top struct {
	Descending bool
	// Memory, if it is set, is taken for row groups while they are read.
	Memory *memory.Account
	// Rows, if it is above 0, is how many are wanted: of each row group no more need come, and those that are as late as
	// its last.
	Rows int
	// Bound is the time of the last row that is kept so far, once enough are; rows at the bound are still wanted. Workers raise (or
	// lower) it as they go.
	Bound atomic.Int64
	Full  atomic.Bool // Bound is set
}

// First are the first Rows rows by an expression, with all that may be equal to the last of them (ORDER BY ... LIMIT n). What the
// expression must be to be still wanted at all is a condition of the filter, expr.Ahead.
type First struct {
	By   expr.Expr
	Key  rows.Key // how it is ordered; its column is of no matter
	Rows int
}

// Fragment is one to read.
type Fragment struct {
	Shard event.ShardID
	shardlog.Fragment
}

// Source gives rows: a Scanner does, and tests have one over rows in memory.
type Source interface {
	// Scan reads the fragments by several workers. emit is called with the number of the worker, from 0; calls
	// of one worker never overlap. The batch is valid until emit returns. An error of emit ends the scan and is returned.
	Scan(ctx context.Context, r *Request, workers int, emit func(worker int, b *vec.Batch) error) error
}

// Stats is what a query cost. It is added to while the query runs.
type Stats struct {
	Fragments       atomic.Int64 // considered: of the tenant and the table
	PrunedByTime    atomic.Int64 // fragments
	PrunedByRange   atomic.Int64 // fragments, by the ranges of their records
	PrunedByFilter  atomic.Int64 // fragments of which no row group was left by footer and Bloom filters
	AnsweredByMeta  atomic.Int64 // fragments that Whole took
	Read            atomic.Int64 // fragments opened and read
	RowGroups       atomic.Int64 // of fragments opened
	RowGroupsPruned atomic.Int64
	Pages           atomic.Int64 // decoded
	PagesPruned     atomic.Int64 // by indexes, or without a row that is left
	Rows            atomic.Int64 // of row groups that were read
	RowsOut         atomic.Int64 // after the filter
	StoreBytes      atomic.Int64
	StoreRequests   atomic.Int64
	CacheBytes      atomic.Int64
	CPU             atomic.Int64 // nanoseconds of the workers
}

// ReadCPU adds a worker's time.
func (s *Stats) ReadCPU(d time.Duration) { s.CPU.Add(int64(d)) }

// Ranges reads parts of objects, from a cache or from the store, and counts them.
type Ranges interface {
	GetRange(ctx context.Context, key string, off, n int64, count *Stats) ([]byte, error)
}
