// Package shard is the core of the writer for one shard: what is done with each
// record of its partition of the shard topic, when buffers are flushed, what a
// commit says, and what stops the shard. It is a pure state machine, Step(now,
// input) -> effects, without goroutine, channel, clock or I/O; package writer is
// its shell.
//
// The way of a record: skipped if a commit closed its offset before; decoded;
// its items' shards computed again from the placements; each item judged
// (stored, duplicate, conflict, dead); its rows put into the tenant's
// buffer. A flush takes whole buffers, has them encoded and uploaded, and
// appends one record to the shard log. That append is the commit.
//
// Invariants:
//
//  1. Every offset below `read` is exactly one of: closed by a commit, control,
//     an entry (in a buffer, a flight or parked), or unread (open since before
//     the last load).
//  2. The records of one tenant are judged in the order of their offsets, and
//     close in it: a record that waits for identities holds the tenant's later ones
//     back, and a flush takes a tenant's buffer whole.
//  3. A record is judged whole or not at all: first all its items are asked
//     for without effect, and only when none of them waits are they accepted.
//  4. A duplicate closes no earlier than its original: both are of one
//     tenant, and 2 holds.
//  5. One flight at a time; the next is planned when the last is committed, so
//     commits are in order and each begins where the last ended.
//  6. An upload number names one object for ever: it is never given out twice
//     under one claim, whatever is dropped and judged anew.
//  7. What is in memory is nothing but the log's state and the records read
//     after it: it can be dropped at any moment and read again (Reload).
//  8. An offset that should hold a record and does not stops the shard with
//     numbers. Nothing is stepped over.
package shard
