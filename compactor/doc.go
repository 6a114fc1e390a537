// Package compactor makes few wide fragments of many small ones, raises floors by the
// tenants' retention, and deletes what nothing names any more. It runs beside live writers
// and never changes an answer.
//
// # One shard
//
// A compactor follows the shard's log and takes one step after the other:
//
//  1. An expire record, if the retention of a tenant asks for one (compactor/retain).
//  2. A job: compactor/pick looks at the buckets that changed and says what to merge. A
//     merge-begin opens the job, and only a begun job uploads anything; its outputs
//     have its position and nonce in their keys.
//  3. The merge itself (fragment.Merge, idseg.Merge): a stream, in bounded memory. It fails
//     if its outputs do not hold the rows that its inputs held.
//  4. A merge-end removes the inputs and adds the outputs, in one record. Until then
//     nobody sees the outputs, and from then on nobody is told of the inputs.
//
// Any other outcome of a job is a merge-abort. A job whose process died is aborted by whoever
// sees it open for too long, or pushed out by newer ones: that a merge is aborted in
// vain costs its work and nothing else.
//
// # Several processes
//
// Any number of compactors may share shards. What they agree on is the log: the fold takes
// a merge-end only while its job is open and all inputs are live. Two that pick the same
// inputs race for the merge-begin, and the one that loses picks again. Where as many merges are open as a
// shard may have, one more waits: it would push out the oldest, and many compactors would end none.
//
// # Garbage
//
// A collection (Collect) deletes what the logs have removed, which whoever folds them hears of, once its grace is over; then it
// trims the logs. Once a day it lists, too, what no log ever named (list.go). Package garbage judges both.
//
// # What cannot be read
//
// An input that is damaged or missing aborts its job. After some tries, each long after the one before, it is
// set aside by a quarantine record, so that the rest goes on: it stays in the store, and the log says which
// it is. An id segment is never set aside, as without it copies would be stored again; it
// is left out of merges, but for a try at growing pauses.
package compactor
