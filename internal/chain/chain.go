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
//
// # Deleted records
//
// Deleting old records frees positions that a paused process may still write to, and
// makes a read of them a 404 that looks like the head. Rule: before a record <= B is
// deleted there is a checkpoint >= B, and then a marker <Base>/<B>, put if absent;
// the newest marker is never deleted. So if a List of the markers that was begun after a
// read or write of p shows none >= p, no record >= p had been deleted when p was read or written,
// and what was found is the truth (Confirm). Else all that is known of the chain counts no
// more (ErrTrimmed). Follow yields, and Append returns, only what is confirmed;
// Read does not ask. A chain without Base is never trimmed.
package chain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/togodb/togo/internal/objstore"
)

// Position numbers the records of a chain from 1; 0 is the empty chain.
type Position uint64

// positionDigits is what the largest uint64 has.
const positionDigits = 20

// String is the position with 20 digits, as it stands in object keys, so that
// keys sort by position.
func (p Position) String() string { return fmt.Sprintf("%0*d", positionDigits, uint64(p)) }

// ParsePosition reads what String wrote, and nothing else.
func ParsePosition(s string) (Position, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || len(s) != positionDigits {
		return 0, fmt.Errorf("chain: %q is no position", s)
	}
	return Position(n), nil
}

// Log is one chain: the objects <prefix>/<position>. It holds no state, so any
// number of goroutines may use it.
type Log struct {
	Store  objstore.Store
	Prefix string // without a slash at its end
	Base   string // of the base markers, likewise; "": nothing of the chain is ever deleted

	// Backoff is the pause between tries; its zero value is the default.
	Backoff Backoff
	// OnRetry, if set, is told of each try of an Append that did not settle its
	// position, before the pause: attempt counts from 1.
	OnRetry func(p Position, attempt int, err error)
}

// Key is the object of a position.
func (l *Log) Key(p Position) string { return l.Prefix + "/" + p.String() }

// Outcome says what a settled position holds after an Append.
type Outcome struct {
	Won  bool   // the record there is ours
	Body []byte // the record there
}

// Append puts body at p until the position is settled. isOurs says whether the
// record found at p is the one of this call (its nonce is ours). It returns an
// error only if ctx ended while the position was unsettled or unconfirmed (then the write may
// still land, and nothing that the record names may be deleted), or if the records there were
// deleted meanwhile (ErrTrimmed: ours may have been one of them). The one other
// error, for a key that no store takes, comes before anything is sent.
//
// Append tries again without end but with back-off (Backoff) until ctx ends.
// The caller has read every record below p.
func (l *Log) Append(ctx context.Context, p Position, body []byte, isOurs func(found []byte) bool) (Outcome, error) {
	if p == 0 {
		panic("chain: append at position 0 of " + l.Prefix)
	}
	key := l.Key(p)
	if err := objstore.ValidateKey(key); err != nil {
		return Outcome{}, fmt.Errorf("append to chain: %w", err)
	}
	var outcome Outcome
	settled := false
	for attempt := 1; ; attempt++ {
		var err error
		if !settled {
			outcome, err = l.try(ctx, key, body, isOurs)
			settled = err == nil
		}
		if settled {
			if err = l.Confirm(ctx, p); err == nil {
				return outcome, nil
			}
			if errors.Is(err, ErrTrimmed) {
				return Outcome{}, fmt.Errorf("append to chain: %w", err)
			}
		}
		if ctx.Err() == nil && l.OnRetry != nil {
			l.OnRetry(p, attempt, err)
		}
		if pause := l.Backoff.Wait(ctx, attempt); pause != nil {
			state := "settled"
			if settled {
				state = "confirmed"
			}
			return Outcome{}, fmt.Errorf("append at %s, attempt %d: %w; the position is not %s: %w", key, attempt, err, state, pause)
		}
	}
}

// try is one write and, if an object was there before it, the look at that
// object. Any error leaves the position unsettled.
func (l *Log) try(ctx context.Context, key string, body []byte, isOurs func([]byte) bool) (Outcome, error) {
	err := l.Store.PutIfAbsent(ctx, key, body)
	if err == nil {
		return Outcome{Won: true, Body: body}, nil
	}
	if !errors.Is(err, objstore.ErrExists) {
		return Outcome{}, err
	}
	found, err := l.Store.Get(ctx, key)
	if err != nil {
		// Even ErrNotFound: what was there a moment ago says nothing of what
		// will be there, so the next try writes again.
		return Outcome{}, fmt.Errorf("read the record that is there: %w", err)
	}
	return Outcome{Won: isOurs(found), Body: found}, nil
}

// Read returns the record at p, which is to be confirmed; objstore.ErrNotFound if
// there is none (yet).
func (l *Log) Read(ctx context.Context, p Position) ([]byte, error) {
	body, err := l.Store.Get(ctx, l.Key(p))
	if err != nil {
		return nil, fmt.Errorf("read record %d of %s: %w", uint64(p), l.Prefix, err)
	}
	return body, nil
}

// Entry is a record with its position.
type Entry struct {
	Position Position
	Body     []byte
}

// followBatch bounds the records that are read before they are confirmed and yielded.
const followBatch = 64

// Follow yields the records behind `after` in order, and ends without an error
// at the first position that has none yet. A caller that wants more calls
// it again from the last position that it got. What it yields is confirmed.
func (l *Log) Follow(ctx context.Context, after Position) iter.Seq2[Entry, error] {
	size := followBatch
	if l.Base == "" {
		size = 1
	}
	return func(yield func(Entry, error) bool) {
		at := after
		for {
			batch, err := l.readBatch(ctx, at, size)
			for _, entry := range batch {
				if !yield(entry, nil) {
					return
				}
				at = entry.Position
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if len(batch) < size {
				return
			}
		}
	}
}

// readBatch reads and confirms at most n records; fewer: the head was reached.
func (l *Log) readBatch(ctx context.Context, after Position, n int) ([]Entry, error) {
	var out []Entry
	var failed error
	for p := after + 1; len(out) < n; p++ {
		body, err := l.Read(ctx, p)
		if err != nil {
			if !errors.Is(err, objstore.ErrNotFound) {
				failed = err
			}
			break
		}
		out = append(out, Entry{Position: p, Body: body})
	}
	if failed != nil && len(out) == 0 {
		return nil, failed
	}
	if err := l.Confirm(ctx, after+1); err != nil {
		return nil, err
	}
	return out, failed
}

// Head is the last position that has a record, found by going on from a
// position that is known to have one (or 0). By the time it returns, the chain
// may have grown.
func (l *Log) Head(ctx context.Context, from Position) (Position, error) {
	head := from
	for entry, err := range l.Follow(ctx, from) {
		if err != nil {
			return head, err
		}
		head = entry.Position
	}
	return head, nil
}

// PositionOf is the position that a listed key has in this chain.
func (l *Log) PositionOf(key string) (Position, error) {
	rest, ok := strings.CutPrefix(key, l.Prefix+"/")
	if !ok {
		return 0, fmt.Errorf("chain: key %q is not under %s", key, l.Prefix)
	}
	return ParsePosition(rest)
}
