package event

import (
	"encoding/binary"
	"sync"

	"github.com/dchest/siphash"
	"github.com/zeebo/xxh3"
)

// Seed is the store's secret: the key of every hash that decides something.
type Seed [16]byte

// Hash is the keyed 128-bit hash of an identity.
type Hash [16]byte

// Hasher computes the hashes that decide something. Its outputs are in every store, so
// no byte of what it hashes may ever change; testdata holds golden vectors.
//
// SipHash-2-4 takes its key as two little-endian 64-bit words. Each use but the
// identity's has a key of its own: the seed with both words xored by a constant.
//
//	identity    128 bits  uvarint(len tenant) tenant, uvarint(incarnation),
//	                      int64 LE timestamp in ns, uvarint(len id) id
//	routing     64 bits   id
//	rendezvous  64 bits   uvarint(len tenant) tenant, uint32 LE shard
//	source      64 bits   uvarint(len cluster) cluster, 16 bytes topic id, uint32 LE partition
//	payload     32 bits   the low half of XXH3-64 of the payload, seeded with the
//	                      first word of the seed
//
// The incarnation is 0; it is reserved for a tenant that is created anew after its
// erasure. The first 8 bytes of an identity's Hash are the first output word, LE.
//
// A Hasher never changes and may be used by many goroutines; no method allocates.
type Hasher struct {
	identity, routing, rendezvous, source sipKey
	payload                               uint64
}

type sipKey struct{ k0, k1 uint64 }

// Constants that part the uses of the seed: ASCII, little-endian.
const (
	routingMask    = 0x676E_6974_756F_7200 // "\0routing"
	rendezvousMask = 0x6465_7A65_646E_6572 // "rendezed"
	sourceMask     = 0x0065_6372_756F_7300 // "\0source\0"
)

// NewHasher returns the hasher of a store.
func NewHasher(seed Seed) *Hasher {
	k0, k1 := binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])
	return &Hasher{
		identity:   sipKey{k0, k1},
		routing:    sipKey{k0 ^ routingMask, k1 ^ routingMask},
		rendezvous: sipKey{k0 ^ rendezvousMask, k1 ^ rendezvousMask},
		source:     sipKey{k0 ^ sourceMask, k1 ^ sourceMask},
		payload:    k0,
	}
}

const incarnation = 0

// shortInput is the space for a hash's input on the stack. shortIdentity is that of an identity, which is hashed for each event: clearing
// the space would take longer than the hash, were it larger. A longer input (of an id of a hundred bytes) is put together in a pooled buffer.
const (
	shortInput    = 512
	shortIdentity = 192
)

var longInputs = sync.Pool{New: func() any { return new([]byte) }}

// Identity is the hash of (tenant, timestamp, id).
func (h *Hasher) Identity(tenant TenantID, ts Timestamp, id []byte) Hash {
	if len(tenant)+len(id) > shortIdentity-3*binary.MaxVarintLen64-8 {
		return h.longIdentity(tenant, ts, id)
	}
	var short [shortIdentity]byte
	return h.identity.sum128(appendIdentity(short[:0], tenant, ts, id))
}

func (h *Hasher) longIdentity(tenant TenantID, ts Timestamp, id []byte) Hash {
	buf := longInputs.Get().(*[]byte)
	*buf = appendIdentity((*buf)[:0], tenant, ts, id)
	sum := h.identity.sum128(*buf)
	longInputs.Put(buf)
	return sum
}

func appendIdentity(b []byte, tenant TenantID, ts Timestamp, id []byte) []byte {
	b = appendText(b, string(tenant))
	b = binary.AppendUvarint(b, incarnation)
	b = binary.LittleEndian.AppendUint64(b, uint64(ts))
	b = binary.AppendUvarint(b, uint64(len(id)))
	return append(b, id...)
}

func (k sipKey) sum128(b []byte) (sum Hash) {
	lo, hi := siphash.Hash128(k.k0, k.k1, b)
	binary.LittleEndian.PutUint64(sum[:8], lo)
	binary.LittleEndian.PutUint64(sum[8:], hi)
	return sum
}

func (k sipKey) sum64(b []byte) uint64 { return siphash.Hash(k.k0, k.k1, b) }

// Routing is the hash that picks the shard within a placement.
func (h *Hasher) Routing(id []byte) uint64 { return h.routing.sum64(id) }

// Payload is the hash that tells a duplicate from a conflict.
func (h *Hasher) Payload(payload []byte) uint32 {
	return uint32(xxh3.HashSeed(payload, h.payload))
}

// Rendezvous is the weight of a shard for a tenant under the default rule: the shards
// of the greatest weights hold the tenant.
func (h *Hasher) Rendezvous(tenant TenantID, shard ShardID) uint64 {
	var short [shortInput]byte
	b := appendText(short[:0], string(tenant))
	b = binary.LittleEndian.AppendUint32(b, uint32(shard))
	return h.rendezvous.sum64(b)
}

// Source is the hash that picks the shard of a source partition's dead letters.
func (h *Hasher) Source(s Source) uint64 {
	var short [shortInput]byte
	b := appendText(short[:0], s.Cluster)
	b = append(b, s.Topic[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Partition))
	return h.source.sum64(b)
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
