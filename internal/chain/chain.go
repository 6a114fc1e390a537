// Package chain is a numbered log of small objects, each created if absent: who
// appends at n+1 has read everything up to n, so one conditional write is a
// compare-and-swap on the whole history. The shard logs, the placement chain
// and the column lists are chains.
//
// Invariants:
//
//  1. Only an existing record settles a position. After an ambiguous answer the
//     same bytes are put at the same position again until a record is there.
//  2. A record found there with our own nonce is our success (its answer was
//     lost); any other is a lost race. 412 alone decides nothing.
//  3. A 404 settles nothing: a delayed write may still land.
//  4. The head is found by Get of the next position, never by List.
package chain

import (
	"context"
	"fmt"

	"github.com/togodb/togo/internal/objstore"
)

// Position numbers the records of a chain from 1; 0 is the empty chain.
type Position uint64

// String is the position with 20 digits, as it stands in object keys, so that
// keys sort by position.
func (p Position) String() string { return fmt.Sprintf("%020d", uint64(p)) }

// Log is one chain: the objects <prefix>/<position>.
type Log struct {
	Store  objstore.Store
	Prefix string // without a slash at its end
}

// Outcome says what a settled position holds after an Append.
type Outcome struct {
	Won  bool   // the record there is ours
	Body []byte // the record there
}

// Append puts body at p until the position is settled. isOurs says whether the
// record found at p is the one of this call (its nonce is ours). It returns an
// error only if ctx ended while the position was unsettled: then the write may
// still land, and nothing that the record names may be deleted.
//
// Append tries again without end but with back-off (Backoff) until ctx ends.
func (l *Log) Append(ctx context.Context, p Position, body []byte, isOurs func(found []byte) bool) (Outcome, error) {
	panic("chain: not built")
}

// Read returns the record at p; objstore.ErrNotFound if there is none (yet).
func (l *Log) Read(ctx context.Context, p Position) ([]byte, error) {
	panic("chain: not built")
}
