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
// # How it is found
//
// Nearly all garbage is what a log says that it removes: the inputs of a merge, what lies below a
// floor, what was erased. Who follows the log hears of each such object (Collector.Removed), and no store
// is listed for it. What a log never named is found by a listing (Collector.List): the uploads of a writer or a
// merge that died, and what was removed while nobody listened.
//
// Both only say what to look at. Whether it is garbage is judged by a confirmed state, for each object, when it is about to
// go.
//
// # When it goes
//
// A query that was planned before a merge may still read its inputs. So an object is
// deleted only after it has been garbage for the grace, by the collector's own monotonic
// clock, which begins at zero in each process: a restart makes garbage stay longer, and
// never go earlier. The grace of what a log removed begins when its removal was read: no state that is newer names it.
//
// Objects are deleted key by key: a key that the store did not delete is
// asked for again. An upload that lands after its deletion is found by a listing. Several collectors do no harm to each other.
package garbage
