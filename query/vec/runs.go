package vec

import (
	"bytes"
	"unsafe"
)

// Block is how many rows are looked at at once for whether they are all alike. Rows are sorted by what is often asked for, so that codes
// and numbers of groups have long runs.
const Block = 256

// Alike tells that all of s are equal.
func Alike[T int32 | uint32](s []T) bool {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return len(s) < 2
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
	return bytes.Equal(b[4:], b[:len(b)-4])
}
