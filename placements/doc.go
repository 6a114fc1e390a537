// Package placements says which shards hold a tenant's events, by event time.
//
// # The table and its chain
//
// A [Table] is one version of: each tenant's timeline of placements {from,
// shards}; the default rule, a timeline too, for tenants without a timeline and
// for times before a tenant's first placement; the mapping of each intake topic
// by Kafka time; the rules that admit unknown tenants, by Kafka time; the number
// of shards; the shards of dead letters, fixed in version 1; and the horizon H.
//
// Versions are the positions of a chain of records (placements/log/<20 digits>),
// each created if absent. A record holds a change, never a whole table. Every
// hundred versions a checkpoint (placements/checkpoint/<20 digits>) holds a whole
// table, and placements/newest names the newest one, so that the cost of a start
// does not grow with the length of the history. Nothing but the records
// decides: checkpoints repeat what they fold to, and the object placements/newest is a
// hint that may lag.
//
// Writing e for an event time, k for the Kafka timestamp of a record, H(v) for
// the horizon of version v:
//
//  1. H never falls.
//  2. What version v+1 changes (placements, default rule, mappings, rules of
//     admission) holds from a time >= H(v) on, and replaces only what was
//     planned at or after that time.
//  3. A router at version v routes only events with e < H(v), from records with
//     k < H(v). For others it gets or makes a newer version first.
//  4. Hence for all e, k < H(v), version v and every later version give the same
//     shards, the same mapping and the same rule of admission. Two routers at any
//     two versions agree wherever both may route, with no talk between them.
//  5. H rises from the smaller of the own clock and the store's Date, at most
//     an hour beyond it. A wrong clock, here or there, can delay; it decides nothing.
//  6. The number of shards never falls, and a placement names only shards there
//     are. More shards move nothing: only later placements name them.
//  7. Each record holds nonce and checksum of its predecessor. A break, an unknown
//     field or a change that breaks a rule is corruption: the reader stops.
//
// # Admission
//
// A tenant is known to records with k >= the `from` of its first placement, or of
// the rule that put it on the allow list. All other tenants are judged by the
// rule of admission in force at k ([Rule]): accepted, denied, or accepted up to
// max_tenants of them. With such a bound the chain alone decides, as follows.
//
//  8. Each rule of admission has its own set of tenants. A rule begins with the
//     set of the rule before it, as that is when the horizon passes its `from`. From
//     then on each set only grows, and only by admit records, up to max_tenants.
//  9. A tenant in the set of the rule at k is accepted. One that is not is refused
//     if the set is full, else nobody may judge: a router asks for an
//     admit record first (Keeper.Admit).
//  10. A set that is full stays full and a tenant in a set stays in it, and by (2) no
//     later record changes which rule holds at k < H. So "accepted" and "refused",
//     once said by anybody, are said for ever: a record that is read again meets
//     the same verdict. That is why a raised max_tenants or a longer allow list
//     holds from a time on, and why refused tenants need no record of their own:
//     a flood of invented names adds at most max_tenants entries to the chain.
//
// # Deleting old records
//
// Records below the older of the two newest checkpoints, less a margin, and older checkpoints are
// deleted by PlanTrim and Trim.Do, behind a marker placements/base/<20 digits> (package chain). Whoever
// read less than that starts from the newest checkpoint; that a table was jumped over is no loss, as
// of any two versions both are true wherever both may be used (4). A chain whose records are gone and
// that has no checkpoint above is corrupt, and never taken for a new one.
//
// # Failure cases
//
// An answer of the store that was lost, a write that lands late, two processes that extend
// at once: settled by package chain (nonce of the record found). Nobody can
// extend: intake waits in Kafka. A bucket that was rolled back and gone on:
// noticed by (7). A version newer than this program's format: stop and say so.
package placements
