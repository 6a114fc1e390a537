package event

// Kind says what an item of an envelope is.
type Kind uint8

const (
	// KindEvent: an event with its identity and its payload.
	KindEvent Kind = 1
	// KindDead: a record or event that could not be decoded, routed or kept; Reason
	// says why, Payload is the whole record value untouched.
	KindDead Kind = 2
	// KindSkipped: intake offsets [Origin.Offset, SkipTo) that held no record
	// (transaction markers, aborted or compacted records). It has no identity and is
	// no event; it only closes the intake offsets in the ledger.
	KindSkipped Kind = 3
)

// PayloadFormat says how Payload is decoded into columns.
type PayloadFormat uint8

const (
	FormatJSON PayloadFormat = 1
	FormatText PayloadFormat = 2 // one attribute, "message"
)

// Item is one event, dead letter or skipped range on its way from router to writer.
type Item struct {
	Kind      Kind
	Timestamp Timestamp
	ID        []byte    // the identity's id as bytes; for ids made of the position see PositionID
	HasID     bool      // false: ID is made of the Kafka position
	FirstSeen Timestamp // Kafka timestamp of the intake record
	Origin    Origin
	SkipTo    int64  // KindSkipped only
	Reason    Reason // KindDead only
	Detail    string // KindDead only: what was wrong, for people; at most MaxDetail bytes
	Format    PayloadFormat
	Payload   []byte
}

// Envelope is the value of one record of the shard topic: items of one tenant.
type Envelope struct {
	Tenant           TenantID
	PlacementVersion uint64 // the version the router routed by; the writer needs at least it
	Items            []Item

	// Memory of the decoder, used again.
	sources []Source
	texts   map[string]string
	ids     idBuffer
}

// Reason says why an event is dead. The names are stored and shown to users, and
// never change.
type Reason string

const (
	ReasonEmpty          Reason = "empty"             // no value, or white space or JSON null only
	ReasonMalformed      Reason = "malformed"         // not the topic's format
	ReasonNotAnObject    Reason = "not_an_object"     // JSON, but no object
	ReasonTooDeep        Reason = "too_deep"          // nested deeper than MaxDepth
	ReasonTooLarge       Reason = "too_large"         // larger than a shard topic's record may be
	ReasonBadTenant      Reason = "bad_tenant"        // the tenant's name breaks the rule
	ReasonUnknownTenant  Reason = "unknown_tenant"    // refused by the default rule
	ReasonBadTimestamp   Reason = "bad_timestamp"     // there, but no time
	ReasonBadID          Reason = "bad_id"            // there, but neither text nor number, or too long
	ReasonTooFarInFuture Reason = "too_far_in_future" // later than its record's Kafka timestamp + max_future
	ReasonTooFarInPast   Reason = "too_far_in_past"   // before the store's first bucket
	ReasonTooOld         Reason = "too_old"           // below the tenant's floor
	ReasonErased         Reason = "erased"            // the tenant was erased; no payload kept
	ReasonConflict       Reason = "conflict"          // same identity, other payload
)
