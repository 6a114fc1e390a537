// Package idseg is the format of id segments: immutable objects that hold the
// identities of one commit, or of one merged bucket.
//
// # Format
//
//	object  = "TOGOIDS" format part*             parts ascending by bucket, without gaps
//	part    = head entries                       the identities of one id bucket
//	head    = fixed filter directory index sum   readable on its own
//	entries = run*                               one run a tenant, in the directory's order
//	run     = (hash[16] payload[4])*             strictly ascending by hash
//
// The directory lists the tenants (name, count), ascending by name. A run is
// cut into blocks of BlockEntries entries, each run beginning a block of its
// own; the index holds for each block the first 8 bytes of its first hash and
// the checksum of its bytes. The filter is a Bloom filter over all hashes of
// the part. fixed has a constant length and says how long the rest of the head is.
//
// # Invariants
//
//  1. A part is decoded from its own byte range alone, a head from the first
//     bytes of that range, and a block from its own range plus the head: a
//     look-up of an id in a segment whose head is in memory is one range read.
//  2. No byte is believed before its checksum held. Counts and lengths are
//     checked against the bytes at hand before anything is allocated for them.
//  3. Within a run no hash occurs twice; Encode refuses such input.
//  4. The filter has no false negatives. It may say that an id may be there when it is not.
//  5. A part of a newer format is never half understood: ErrNewerFormat.
//
// Any other disagreement is ErrCorrupt: the store is not as it was left.
package idseg

import (
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
)

// The sentinels that a caller acts on.
var (
	// ErrCorrupt: the bytes are not what Encode wrote. Stop the shard and say where.
	ErrCorrupt = errors.New("id segment corrupt")
	// ErrNewerFormat: written by a newer Togo. Stop and ask for an upgrade.
	ErrNewerFormat = errors.New("id segment of a newer format")
)

// Entry is one identity.
type Entry struct {
	Tenant  event.TenantID
	Bucket  int64 // start of the id bucket, seconds since 1970
	ID      event.Hash
	Payload uint32 // hash of the payload; tells a duplicate from a conflict
}

// Bucket says where the identities of one id bucket lie within a segment. It has
// the fields of shardlog.IDBucket.
type Bucket struct {
	Bucket int64 // start of the id bucket, seconds since 1970
	IDs    int64
	Offset int64 // bytes from the object's start
	Length int64 // bytes
}

// Config of Encode. Decoding needs none: all of it stands in the part.
type Config struct {
	// FilterBits is the size of the Bloom filter, in bits an id. 10 gives about
	// 1% of false positives.
	FilterBits int
	// FilterHashes is the number of bits that an id sets.
	FilterHashes int
}

// DefaultConfig has 10 bits and 7 hashes an id: 0.8% of false positives at 1.25
// bytes an id.
func DefaultConfig() Config { return Config{FilterBits: 10, FilterHashes: 7} }

// The bounds of Config: beyond them a filter is either useless or larger than the
// hashes that it saves reading.
const (
	maxFilterBits   = 64
	maxFilterHashes = 32
)

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	if c.FilterBits < 1 || c.FilterBits > maxFilterBits {
		return fmt.Errorf("idseg: filter bits %d: want 1 to %d", c.FilterBits, maxFilterBits)
	}
	if c.FilterHashes < 1 || c.FilterHashes > maxFilterHashes {
		return fmt.Errorf("idseg: filter hashes %d: want 1 to %d", c.FilterHashes, maxFilterHashes)
	}
	return nil
}
