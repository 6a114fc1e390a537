// Package sim runs the whole system under one seed: the real cores of router and writer,
// the real placements, shard logs, id segments and fragments, over a simulated object
// store, Kafka and clocks. One loop decides every interleaving; nothing runs beside it. The same
// seed is the same run, to the last answer of the store.
//
// What the shells of router and writer do with goroutines, tasks do here: coroutines that
// wait for the loop at each call of the store or of Kafka, at each pause and at each lock.
//
// # What may go wrong
//
// A call of the store: refused (503, 500, 409 to a conditional write) and not done; done,
// and its answer lost; reported as failed, and done up to 20 minutes later, whatever became
// of the caller; torn on the way, and not done; slow, up to two minutes. The store keeps its own
// promises: conditional writes are atomic, what is answered as done stays, and what is there is read.
//
// A call of Kafka: the same. Kafka keeps what it has acknowledged, except where a
// fault says so. An idempotent producer's repeats are known to it. The group's assignments overlap at rebalances,
// and a commit of an earlier generation slips in now and then.
//
// Compactors merge, raise floors, collect garbage and delete old records of the logs meanwhile, none, one or two that
// share all shards, with tiny targets.
//
// A process: killed at any call (what it has under way may still be done); frozen for up to 20
// minutes, longer than every timeout, and let go on where it was; its clock off by a minute,
// three hours, a year, either way; two writers that claim the same shards all the time; a rolling
// restart. The store or Kafka away for minutes, for all or for one process that the others go on without.
//
// Kafka's own losses (in every fourth seed): a log cut at an unclean election, on intake and
// shard topics; retention ahead of the readers; a topic deleted and recreated. An operator accepts them
// with gap records, and by the group's offsets.
//
// Operators change placements, default rule, mappings and admission, and add shards, all
// the time. Traffic has tenants by Zipf's law, copies near and far in time, re-sends with another payload,
// late and early events, records that are none, transactions that are aborted, and changing shapes.
//
// # What is promised
//
// At quiet points, when nothing goes wrong any more and what was sent is drained, the store
// equals the ledger of what was sent: every record that reached Kafka is exactly one of
// stored, duplicate, conflict and dead, with its payload, and only what Kafka itself lost may be missing, and
// then it is missing from the ledgers, too; and `togo verify` finds nothing. It gets there: a run that is not drained within an
// hour without faults fails.
//
// Then compaction comes to rest, too: no merge is open, the store holds what the logs name and what may
// still be committed, and the answer is the same.
//
// At every step: a shard's log is linear and linked; it has one owner an epoch; every offset is closed
// once; no record names an object that is missing, is not as it says, or is named by another; no object is overwritten with other bytes;
// no checkpoint is ahead of its log; the horizon never falls, and no placement or mapping below it
// ever changes. A merge takes what is live, once, and its outputs hold the rows and identities that its inputs held, but those below a
// floor. Nothing is set aside that can be read. No object is deleted that a log names, that a writer or an open merge may
// still commit, or that has left its log for less than the grace; no record that no base marker
// covers, no checkpoint that a marker rests on.
package sim
