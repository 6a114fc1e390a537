// Package garbage finds the objects of a store that nothing names and nothing ever will,
// and deletes them. A shard log is the truth about its shard's objects; neither the
// age of an object nor a clock says anything about it.
//
// # What is garbage
//
// An object's key says who made it: a claim of the shard (its epoch and nonce) or a merge
// (the position and nonce of its merge-begin). A confirmed state of the shard's log, at
// position f, shows that the object is garbage if it does not name the object, and
//
//  1. the claim's epoch is below the state's, or the state's claim was released: no append of
//     that epoch is taken any more; or
//  2. the claim is the state's, and the object's number lies below its low-water mark: the
//     owner itself has said that those below are committed or given up; or
//  3. the merge began at or before f and is not open: only an open merge can end.
//
// Each of these stays true for ever, so a state that is old shows less garbage, never
// more. A state is confirmed when it was read from records that were not freed since
// (shardlog's rule for trimmed logs): a state that a freed position has entered must not
// be used.
//
// What no rule covers stays: objects of a claim or a merge that the state has not seen yet, of
// a nonce that it does not know, and whatever is not named as Togo names its objects.
// Fragments that were set aside (quarantine) are named by the state and stay.
//
// # When it goes
//
// A query that was planned before a merge may still read its inputs. So an object is
// deleted only after it has been garbage for the grace, by the collector's own monotonic
// clock, which begins at zero in each process: a restart makes garbage stay longer, and
// never go earlier.
//
// A pass lists what is there and deletes key by key: a key that the store did not delete is
// deleted by a later pass. An upload that lands after its deletion is listed by a later
// pass. Several collectors do no harm to each other.
package garbage
