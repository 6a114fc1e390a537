package router

import (
	"testing"

	"github.com/togodb/togo/internal/event"
)

// TestSpares: a buffer has the room that was asked for, an acknowledged one serves again for what is as large, and
// neither buffers nor builders are kept beyond their own bound.
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
	if s.bufferBytes != 0 {
		t.Errorf("%d bytes are said to be kept of buffers, and none is", s.bufferBytes)
	}
	const size = 1 << 20
	for range 2 * maxSpareBytes / size {
		s.keepBuffer(make([]byte, size))
		s.keepBuilder(&event.Builder{}, size)
	}
	if s.bufferBytes != maxSpareBytes || s.builderBytes != maxSpareBytes || len(s.builders) != maxSpareBytes/size {
		t.Errorf("%d bytes of buffers and %d of %d builders are kept, at most %d of each", s.bufferBytes, s.builderBytes, len(s.builders), maxSpareBytes)
	}
	if s.builder() == nil || s.builderBytes != maxSpareBytes-size {
		t.Errorf("%d bytes of builders are left", s.builderBytes)
	}
}
