package parquetfile

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strconv"
)

// SumsKey is the entry of a file's metadata that holds the checksums of what pages and footer have none for: a damaged index or
// filter would hide rows.
const SumsKey = "togo.sums"

// Sums are the checksums (CRC-32C) of a file's indexes, as one run of bytes, and of each Bloom filter with its header, in the
// order in which they lie.
type Sums struct {
	Indexes uint32
	Blooms  []uint32
}

// String is the form in the metadata: eight hexadecimal digits each.
func (s Sums) String() string {
	out := fmt.Appendf(nil, "%08x", s.Indexes)
	for _, b := range s.Blooms {
		out = fmt.Appendf(out, "%08x", b)
	}
	return string(out)
}

// ParseSums reads what String gave, for a file with this many Bloom filters.
func ParseSums(text string, blooms int) (Sums, error) {
	var s Sums
	if len(text) != 8*(1+blooms) {
		return s, fmt.Errorf("checksums of %d digits in a file of %d Bloom filters", len(text), blooms)
	}
	if _, err := hex.DecodeString(text); err != nil {
		return s, fmt.Errorf("checksums: %w", err)
	}
	for i := 0; i < len(text); i += 8 {
		v, err := strconv.ParseUint(text[i:i+8], 16, 32)
		if err != nil {
			return s, fmt.Errorf("checksums: %w", err)
		}
		if i == 0 {
			s.Indexes = uint32(v)
		} else {
			s.Blooms = append(s.Blooms, uint32(v))
		}
	}
	return s, nil
}

// CheckSum compares bytes with a checksum of Sums.
func CheckSum(b []byte, want uint32) error {
	if got := crc32.Checksum(b, castagnoli); got != want {
		return fmt.Errorf("the checksum is %08x, not %08x", got, want)
	}
	return nil
}
