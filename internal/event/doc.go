// Package event says what an event is: how it is read from a Kafka record, what makes
// it the same event as another, when it is dead, and how it travels from router to
// writer.
//
// # Identity
//
//  1. An event is (tenant, timestamp, id). Two with the same three are the same event.
//     Tenants are equal byte for byte, so are ids: ids that differ in case or Unicode
//     normal form are different ids.
//  2. Nothing but the Kafka record, its position and the mapping decides these three and
//     every verdict below: no clock, no state. So a record that is read again, by any
//     process, gives the same items.
//  3. An id is text or a JSON number, and a number's id is its literal: 7 and "7" are
//     the same id, 7 and 7.0 are not. Null and the empty text are no id. An id that
//     begins with "@" gets another "@" in front.
//  4. An event without an id gets the id of its position (AppendPositionID), one without
//     a timestamp the record's Kafka timestamp. Both repeat when the record is read
//     again.
//  5. A dead letter's identity is (tenant, Kafka timestamp of its record, AppendLetterID).
//  6. Identities are compared by a keyed 128-bit hash, payloads by a 32-bit one; Hasher
//     writes down their bytes, testdata keeps vectors that never change.
//
// # What becomes of a record
//
// Extract gives each record one item: an event, or a dead letter with the reason of the
// first rule that failed, in this order:
//
//  10. empty: no value (tombstone), nothing but white space, or the JSON value null.
//  11. malformed, not_an_object, too_deep: by the rules of package jsonscan. Fields are
//     matched exactly; of equal keys the last counts.
//  12. A value that is missing, null or the empty text does not count, and the next rule
//     of the mapping's list is asked. Any other value settles the list: it is used, or
//     the record is dead by it.
//  13. bad_tenant: the tenant breaks the rule of ParseTenant, is no text and no number,
//     or no rule gave one.
//  14. bad_timestamp: a value that eventtime.Parse does not take.
//  15. too_far_in_past, too_far_in_future: a time that 64-bit nanoseconds don't hold; an
//     event time before Limits.MinTime; one later than the record's own Kafka timestamp
//     by more than Limits.MaxFuture.
//  16. bad_id: a boolean, an array, an object, more than MaxID bytes, half a surrogate
//     pair (two such ids could become one), or from a header or key what is not UTF-8.
//
// The other reasons are given by the router (too_large, unknown_tenant) and the writer
// (too_old, erased, conflict).
//
//  17. A letter keeps the whole record value, and belongs to the record's tenant if that
//     is known. If the value can't be read, the tenant rules are tried up to the first
//     that needs a field; the record is Unroutable if none gave a tenant: the rules
//     after it might name the wrong one.
//  18. A field with dots is looked for in every way that its dots allow, the longest key
//     first at each level; the first way that gives a value (rule 12) counts.
//  19. A text record is one attribute, whatever its bytes are. Invalid UTF-8 is kept.
//
// # Envelope
//
// One record of the shard topic carries items of one tenant; codec.go holds the layout.
// A decoder takes what any encoder of its format made, calls everything else corrupt,
// and tells a newer format apart from corruption.
package event
