package event

// Seed is the store's secret: the key of every hash that decides something.
type Seed [16]byte

// Hash is the keyed 128-bit hash of an identity.
type Hash [16]byte

// Hasher computes the hashes that decide something. It is a value that may be used by
// many goroutines.
type Hasher struct{}

// NewHasher returns the hasher of a store.
func NewHasher(seed Seed) *Hasher { panic("to be filled") }

// Identity is the hash of (tenant, timestamp, id).
func (h *Hasher) Identity(tenant TenantID, ts Timestamp, id []byte) Hash { panic("to be filled") }

// Routing is the hash that picks the shard within a placement.
func (h *Hasher) Routing(id []byte) uint64 { panic("to be filled") }

// Payload is the hash that tells a duplicate from a conflict.
func (h *Hasher) Payload(payload []byte) uint32 { panic("to be filled") }

// Rendezvous is the weight of a shard for a tenant under the default rule.
func (h *Hasher) Rendezvous(tenant TenantID, shard ShardID) uint64 { panic("to be filled") }

// Source is the hash that picks the shard of a source partition's dead letters.
func (h *Hasher) Source(s Source) uint64 { panic("to be filled") }

// AppendPositionID appends the id of an event that has none.
func AppendPositionID(dst []byte, o Origin) []byte { panic("to be filled") }

// PositionID is the id of an event that has none.
func PositionID(o Origin) []byte { return AppendPositionID(nil, o) }

// AppendLetterID appends the id of the dead letter of a position.
func AppendLetterID(dst []byte, o Origin) []byte { panic("to be filled") }

// LetterID is the id of the dead letter of a position.
func LetterID(o Origin) []byte { return AppendLetterID(nil, o) }
