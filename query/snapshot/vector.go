package snapshot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query/fail"
)

// The text of a vector: base64url, without padding, of
//
//	format (1) | version of the placements | version of the columns | number of shards | for each: shard less the one before, position | MAC (16 bytes)
//
// with numbers as varints. The MAC is HMAC-SHA-256 over the tenant's length, the tenant and what stands before
// it, cut to 16 bytes, with a key made of the store's secret seed.
const (
	vectorFormat = 1
	macBytes     = 16
	// maxVectorText is far more than a tenant's shards need, and bounds the work on what strangers send.
	maxVectorText = 64 << 10
)

// keyOf makes the key of the texts of a store's vectors.
func keyOf(meta objstore.Meta) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("togo snapshot vector\x00"+meta.ID+"\x00"), meta.Seed[:]...))
}

// Token is a vector as clients pass it on.
func (f *Follower) Token(v Vector) string {
	b := []byte{vectorFormat}
	b = binary.AppendUvarint(b, uint64(v.Placements))
	b = binary.AppendUvarint(b, v.Columns)
	b = binary.AppendUvarint(b, uint64(len(v.Shards)))
	last := event.ShardID(0)
	for _, one := range v.Shards {
		b = binary.AppendUvarint(b, uint64(one.Shard-last))
		b = binary.AppendUvarint(b, uint64(one.At))
		last = one.Shard
	}
	return base64.RawURLEncoding.EncodeToString(append(b, f.mac(v.Tenant, b)...))
}

func (f *Follower) mac(tenant event.TenantID, b []byte) []byte {
	h := hmac.New(sha256.New, f.key[:])
	h.Write(binary.AppendUvarint(nil, uint64(len(tenant))))
	h.Write([]byte(tenant))
	h.Write(b)
	return h.Sum(nil)[:macBytes]
}

// errForeign does not tell a text of another tenant from nonsense.
var errForeign = fail.New(fail.Request, "the snapshot is not one that this store gave out for this tenant; leave it out to see the present")

// ParseVector reads what Token wrote for the tenant; anything else is an invalid_request.
func (f *Follower) ParseVector(token string, tenant event.TenantID) (Vector, error) {
	token = strings.TrimSpace(token)
	if len(token) > maxVectorText {
		return Vector{}, errForeign
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 1+macBytes {
		return Vector{}, errForeign
	}
	b, mac := b[:len(b)-macBytes], b[len(b)-macBytes:]
	if !hmac.Equal(mac, f.mac(tenant, b)) || b[0] != vectorFormat {
		return Vector{}, errForeign
	}
	v, ok := decodeVector(b[1:])
	if !ok {
		return Vector{}, errForeign
	}
	v.Tenant = tenant
	return v, nil
}

// decodeVector reads what stands between format and MAC.
func decodeVector(b []byte) (v Vector, ok bool) {
	ok = true
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if ok = ok && size > 0; !ok {
			return 0
		}
		b = b[size:]
		return n
	}
	v.Placements, v.Columns = placements.Version(number()), number()
	n, shard := number(), uint64(0)
	for i := uint64(0); i < n && ok; i++ {
		step := number()
		shard += step
		ok = ok && (i == 0 || step > 0)
		v.Shards = append(v.Shards, Position{event.ShardID(shard), chain.Position(number())})
	}
	return v, ok && len(b) == 0
}
