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

// Summer is a writer that makes the Sum of an object that is never held whole.
type Summer struct{ h *xxh3.Hasher }

// NewSummer has seen no bytes.
func NewSummer() *Summer { return &Summer{xxh3.New()} }

// Write takes bytes into the sum; it never fails.
func (s *Summer) Write(b []byte) (int, error) { return s.h.Write(b) }

// Sum is the checksum of all bytes so far.
func (s *Summer) Sum() string {
	sum := s.h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// Sum64 is a shorter checksum, of a part of an object: xxh3-64.
func Sum64(b []byte) uint64 { return xxh3.Hash(b) }
