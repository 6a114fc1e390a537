package router

import "testing"

// TestSpares: a buffer has the room that was asked for, an acknowledged one serves again for what is as large, and
// none is kept beyond the bound.
func TestSpares(t *testing.T) {
	var s spares
	for _, size := range []int{1, 2, 3, 1 << 10, 1<<10 + 1, 1 << 20, 1<<maxSizeClass + 1} {
		b := s.buffer(size)
		if len(b) != 0 || cap(b) < size {
			t.Fatalf("a buffer of %d bytes with room for %d, wanted %d", len(b), cap(b), size)
		}
		s.keepBuffer(append(b, 1))
		if again := s.buffer(size); size <= maxSpareBytes && (len(again) != 0 || &again[:1][0] != &b[:1][0]) {
			t.Errorf("the buffer of %d bytes does not serve again", size)
		}
	}
	if s.bytes != 0 {
		t.Errorf("%d bytes are said to be kept, and none is", s.bytes)
	}
	const size = 1 << 20
	for range 2 * maxSpareBytes / size {
		s.keepBuffer(make([]byte, size))
	}
	if s.bytes != maxSpareBytes {
		t.Errorf("%d bytes are kept, at most %d", s.bytes, maxSpareBytes)
	}
}
