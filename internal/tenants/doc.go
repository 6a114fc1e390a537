// Package tenants keeps the settings of tenants in the store: how long their data is
// kept, how their files are sorted, sized and indexed, and what bounds them.
//
// # Settings and their chain
//
// A [Table] is one version: the values that operators have set for single tenants and
// for all others (the default). A setting that a tenant has no value of falls to the
// default's, and without that to the built-in one ([Builtin], or what a process is
// configured with).
//
// Versions are the positions of a chain of records (tenants/log/<20 digits>), each
// created if absent. A record holds the values of one tenant, all of them, so that a
// reader needs nothing else to know what it says. Every 50 versions a checkpoint
// (tenants/checkpoint/<20 digits>) holds a whole table, so that the cost of a start does not
// grow with the length of the history. Nothing but the records decides. A store without
// the chain has version 0: everybody has the built-in settings.
//
// Invariants:
//
//  1. Each record holds nonce and checksum of its predecessor. A break, an unknown field
//     or values that no operator could have set are corruption: the reader stops.
//  2. A format newer than this program's stops the reader, who says so.
//  3. Settings are wishes, not promises: two processes may see different versions for as long as
//     a poll takes. So nothing whose truth depends on agreement lies here (that is
//     package placements); a process that sees an old version sorts or merges as before.
//  4. A retention says only which floor is asked for next. The floor itself is in the shard
//     logs, and never falls: data that went does not come back when a retention is made longer.
//
// # Failure cases
//
// A lost answer, a write that lands late, two operators at once: settled by package
// chain (nonce of the record found); the loser judges its change anew on the
// winner's table. A store that does not answer: the last version that was read holds on.
package tenants
