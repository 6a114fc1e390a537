package objstore

import (
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// Sum is the checksum of an object's bytes as it stands in records: xxh3-128,
// big-endian, hex. It finds damage, not forgery.
func Sum(b []byte) string {
	s := xxh3.Hash128(b).Bytes()
	return hex.EncodeToString(s[:])
}
