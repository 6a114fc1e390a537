// Package router moves records from intake topics to the shard topic: each event to
// the shard that the placements give it, gathered with its neighbours into
// envelopes, and nothing committed before it is acknowledged.
//
// The Core decides: it is a state machine without goroutine, channel, clock or I/O
// (Step(now, input) -> effects). The Router around it polls, produces,
// commits and asks for placements.
//
// Invariants:
//
//  1. Every intake offset below the committed one is in an acknowledged record of the shard
//     topic: as an event, as a dead letter, or within a skipped range. A
//     partition that is read for the first time begins at its log's start.
//  2. What a record becomes follows from its bytes, its position, its Kafka timestamp
//     and the placement chain alone: a router that reads it again, at any later
//     version, makes the same identity, sends it to the same shard, and finds the
//     same reason if it is dead.
//  3. A record is judged only by a table whose horizon lies above its Kafka timestamp, and
//     an event placed only by one whose horizon lies above its time. Until
//     there is one, the record and all after it of its partition wait; the other
//     partitions go on.
//  4. A record may be sent again (after a crash, a rebalance, a lost commit): the
//     writer removes repeats. It is never sent less than once.
//  5. What is held in memory is bounded by bytes: above MaxBytes nothing more is polled.
//  6. Nothing that was read is stuck for its size: what the shard topic does not take
//     becomes a dead letter with as much of the record as fits.
//
// Failure cases. A produce that may yet succeed is tried again by the client, without end. A
// topic that was recreated, or a refusal that is no matter of size, ends the
// session: everything not committed is read again by the next one. An intake
// position that is out of range, or of a history that was cut, stops its partition, says how
// many offsets are lost, and leaves the others alone; it goes on when an operator has
// set the group's offset.
package router
