package idseg

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/togodb/togo/internal/event"
)

// Format is the number of the format written here.
const Format = 1

const (
	objectMagic = "TOGOIDS"
	objectBytes = len(objectMagic) + 1 // magic, format

	partMagic  = "TGIP"
	fixedBytes = 52
	sumBytes   = 4

	// EntryBytes is the length of an entry: its hash and its payload hash.
	EntryBytes = 20
	hashBytes  = 16

	// BlockEntries is what a cold look-up reads: 5 KiB, about what a store
	// answers in one packet train; the index then costs 0.05 bytes an id.
	BlockEntries = 256
	indexBytes   = 12 // an index entry: 8 bytes of the first hash, 4 of checksum
	// maxBlockEntries bounds what a part may claim as its block size.
	maxBlockEntries = 1 << 16

	// maxTenantBytes is the longest tenant name that the directory takes; longer
	// than any valid one.
	maxTenantBytes = 255
)

// The fixed fields of a head, by offset. All integers are little-endian, but for
// hashes, whose byte order is their sort order.
//
//	 0  magic[4]
//	 4  format u8, filter hashes u8, zero u16
//	 8  head bytes u32 (the whole head, with its checksum)
//	12  tenants u32
//	16  bucket i64
//	24  ids u64
//	32  filter bits u64 (a multiple of 64)
//	40  directory bytes u32
//	44  block entries u32
//	48  checksum u32 of the fields before
type fixed struct {
	hashes         uint8
	headBytes      uint32
	tenants        uint32
	bucket         int64
	ids            uint64
	filterBits     uint64
	directoryBytes uint32
	blockEntries   uint32
}

func (f fixed) append(b []byte) []byte {
	start := len(b)
	b = append(b, partMagic...)
	b = append(b, Format, f.hashes, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, f.headBytes)
	b = binary.LittleEndian.AppendUint32(b, f.tenants)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.bucket))
	b = binary.LittleEndian.AppendUint64(b, f.ids)
	b = binary.LittleEndian.AppendUint64(b, f.filterBits)
	b = binary.LittleEndian.AppendUint32(b, f.directoryBytes)
	b = binary.LittleEndian.AppendUint32(b, f.blockEntries)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum finds damage, not forgery: CRC-32C, because it is in the processor.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// filterBits of a part: whole words, so that the filter is a list of words.
func filterBits(ids uint64, bitsPerID int) uint64 { return (ids*uint64(bitsPerID) + 63) / 64 * 64 }

// prefix is the part of a hash that the index keeps.
func prefix(h *event.Hash) uint64 { return binary.BigEndian.Uint64(h[:8]) }
