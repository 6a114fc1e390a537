package objstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxKeyBytes leaves 24 bytes of S3's 1,024 for a store's prefix.
	MaxKeyBytes = 1000
	// maxSegmentBytes is the longest file name that Linux file systems take.
	maxSegmentBytes = 255
	// tmpFolder is where a directory store keeps files that are not yet objects;
	// the name is refused by every store, so that all of them take the same keys.
	tmpFolder = ".tmp"
)

// ValidateKey says whether every store takes the key: UTF-8 without control
// characters and backslashes, no segment that is empty, "." or "..", none over
// 255 bytes, none at the front that is ".tmp", at most MaxKeyBytes in all.
func ValidateKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: empty", ErrInvalidKey)
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("%w: %d bytes, more than %d: %.40q...", ErrInvalidKey, len(key), MaxKeyBytes, key)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: not UTF-8: %q", ErrInvalidKey, key)
	}
	for _, r := range key {
		// XML 1.0, in which listings come, has no way to write the control
		// characters and the two non-characters.
		if r < 0x20 || r == 0x7f || r == '\\' || r == 0xfffe || r == 0xffff {
			return fmt.Errorf("%w: character %q: %q", ErrInvalidKey, r, key)
		}
	}
	first := true
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > maxSegmentBytes || first && segment == tmpFolder {
			return fmt.Errorf("%w: segment %.40q: %.80q", ErrInvalidKey, segment, key)
		}
		first = false
	}
	return nil
}

// errFolder is the refusal of a key that would be a folder of another, or
// would lie under another.
func errFolder(key, other string) error {
	return fmt.Errorf("%w: one of %q and %q is a folder of the other", ErrInvalidKey, key, other)
}

// Span resolves a range against an object's size to the half-open [from, to).
func Span(size, off, n int64) (from, to int64, err error) {
	if n <= 0 {
		return 0, 0, fmt.Errorf("objstore: range of %d bytes", n)
	}
	if off < 0 {
		off = max(0, size+off)
	}
	if off >= size {
		return 0, 0, fmt.Errorf("%w: from %d of %d bytes", ErrRange, off, size)
	}
	return off, off + min(n, size-off), nil
}
