// Package shardlog is a shard's only truth: its numbered records in the object
// store, their fold into a state, the append of a record, claims, and checkpoints.
//
// # The log
//
// The objects shards/<shard>/log/<position>, from position 1, hold one record
// each, as JSON in one canonical form (Encode, Decode). A record is created if
// absent (package chain): who appends at n+1 has read everything up to n, so that one
// conditional write is a compare-and-swap on the whole history. The fold of records 1 to n
// is State; Apply is pure, takes a record whole or refuses it, and a refusal on
// reading is corruption: the shard stops, and the error says where and what.
//
// # Invariants
//
//  1. Each record names the nonce and checksum of its predecessor. A break (a
//     bucket that was rolled back and gone on, a record that was changed) is
//     noticed by whoever reads on, and named.
//  2. A claim raises the epoch by one. Appends and releases are of the epoch of
//     the newest claim, and only until its release.
//  3. Per source, progress has no gap and no overlap: an append goes on at next,
//     opens offsets within its own range and closes others that are open. An
//     offset is closed once: as a record, as a control offset, or as lost (gap).
//  4. The ledger adds up in each append: offsets closed = records + control;
//     events = stored + duplicate + conflict + dead; stored = rows of the events
//     fragments; conflict + dead = rows of the dead letters; ids = both together.
//  5. Floors never fall. No event fragment with an event below its tenant's floor
//     is added. Id buckets go only below the floors of all tenants.
//  6. An object is live from the record that adds it to the one that removes it,
//     and is added once. A merge ends only while its job is open and all its
//     inputs live, and keeps the rows and ids that they hold.
//  7. What the fold would refuse is not written: an appender asks State.Check.
//
// # Appending
//
// Settle puts the same bytes at the same position until a record is there. Its own
// nonce is success, another's a lost race; 409, 5xx, a time-out and a 404 settle
// nothing. A settled position is believed once it is confirmed (package chain). While a position is open nothing that the record names is deleted, and the
// same record is tried again there, or the process drops all that it holds of the
// shard. After a lost race the record found is applied and judged: a claim fences, and any other
// is a reason to ask Check again before the next try.
//
// # Checkpoints
//
// shards/<shard>/checkpoint/<position> is a root: the small part of the state at that
// position, and the names of immutable manifests (shards/<shard>/manifest/<name>,
// gzip) by day of event time. A checkpoint writes one new manifest for each day that changed, with what
// was added and removed since the last; eight of a level are merged into one of
// the next, a day that is mostly removals is written anew, and a quiet day becomes one
// manifest. So a checkpoint's cost follows what changed, and an entry is written again a
// few times in its life. Roots and manifests carry checksums; one that is damaged or missing makes
// a start go back to an older root or to the whole log, loudly. A checkpoint is never the truth: a state
// folded from it equals the one folded from all records (State.Text).
//
// A day of fragments rests packed after a start until it is asked for, and id segments have manifests of their own (rest.go). So a
// start does not grow with retention but for the bytes that it fetches.
//
// Intake offsets lie in objects of their own, which a start does not read: each checkpoint adds one with the offsets since the
// last, and eight of a level become one. Who looks for holes asks Log.Intake, which reads them; where one is damaged, an older
// checkpoint's and the records after it.
//
// Only the shard's owner builds a checkpoint on another; see lineage.go for which manifests a checkpoint may name.
//
// # Deleting old records
//
// A trim (PlanTrim, Trim.Do) reads the two newest checkpoints K1 < K2, compares K2 with what K1 and the records
// between them give, and reads the log to its head, confirmed. It then deletes, in this order: checkpoints older than
// K1; manifests that neither names and that are older than K1; the records up to K1 less one and a margin, oldest first; old
// base markers but the newest three. Before all of that stands the marker shards/<shard>/base/<B> of the records that go. Each of these
// facts stays true, so that a trim may pause between any two requests for any time. A log that was left
// at any point of a trim can be loaded, and the next trim goes on.
//
// A state that is behind the marker is made anew from the newest checkpoint: Follow, Claim, Release and AcceptGap do it
// by themselves; after chain.ErrTrimmed from Append or Settle the caller does. Where records are gone and no checkpoint above them can
// be used, Load fails with ErrCorrupt; it never takes the log for empty.
package shardlog
