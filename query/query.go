// Package query answers SQL over the events of one tenant: the text is read (sql), the fragments that count are found
// (snapshot), names get their meaning (expr, exec), the fragments are read (scan) and the answer is made of what comes
// (exec). Package api serves it over HTTP.
//
// What it promises:
//
//  1. An answer holds each stored event that the query asks for exactly once, as of one vector of positions
//     (Summary.Snapshot), and the same text with the same vector gives the same answer, or fail.Gone.
//  2. It holds nothing of another tenant: the tenant comes from the Request alone, never from the text.
//  3. Right or an error, never a part of an answer that looks whole: a Sink that got rows before an error came must say so.
package query

import (
	"context"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// Request is one query.
type Request struct {
	Tenant event.TenantID
	SQL    string
	// From and To bound the events' times beside what the text says: [From, To). nil is no bound. Of dead letters they
	// bound the letters' timestamp.
	From, To *event.Timestamp
	// Snapshot is the vector of an earlier answer, as Summary.Snapshot gave it; "" is now.
	Snapshot string
	// Limit is the most rows that are given; the answer tells whether there were more. 0 is none.
	Limit int64
	// Stats, if it is set, counts what the query costs while it runs, too.
	Stats *scan.Stats
	// Options are for tests: they must not change an answer.
	Options scan.Options
}

// Sink takes an answer: Columns once, then any number of batches, each valid until Batch returns. Calls never
// overlap. An error ends the query.
type Sink interface {
	Columns([]exec.Output) error
	Batch(*vec.Batch) error
}

// Summary is what is known of an answer at its end.
type Summary struct {
	Rows      int64
	More      bool // Request.Limit cut the answer
	Snapshot  string
	Positions []Position
	Stats     *scan.Stats
	Elapsed   time.Duration
}

// Position is how far an answer saw a shard's log.
type Position struct {
	Shard    event.ShardID `json:"shard"`
	Position uint64        `json:"position"`
}

// Answerer is what serves queries; *Engine does.
type Answerer interface {
	// Query answers one query. Errors are *fail.Error. The Summary is there with an error too, as far as it is known.
	Query(ctx context.Context, r Request, out Sink) (*Summary, error)
	// Schema are the columns of a tenant's table that have a value in [from, to), with examples.
	Schema(ctx context.Context, tenant event.TenantID, table string, from, to *event.Timestamp) (*Schema, error)
}

// Schema is what GET /v1/schema answers.
type Schema struct {
	Table    string         `json:"table"`
	Columns  []SchemaColumn `json:"columns"`
	Snapshot string         `json:"snapshot"`
	// Sampled tells that there were too many files to look into all of them: a column may be missing.
	Sampled bool `json:"sampled,omitempty"`
}

// SchemaColumn is one column.
type SchemaColumn struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Path     string   `json:"path,omitempty"` // of an attribute
	Examples []string `json:"examples,omitempty"`
}
