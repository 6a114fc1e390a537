package router

import (
	"math/bits"

	"github.com/togodb/togo/internal/event"
)

// queue is a first-in, first-out list whose memory is used again.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int  { return len(q.items) - q.head }
func (q *queue[T]) front() T  { return q.items[q.head] }
func (q *queue[T]) back() *T  { return &q.items[len(q.items)-1] }
func (q *queue[T]) push(it T) { q.items = append(q.items, it) }

func (q *queue[T]) pop() T {
	var zero T
	it := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	switch {
	case q.head == len(q.items):
		q.items, q.head = q.items[:0], 0
	case q.head >= 1024 && q.head*2 >= len(q.items):
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return it
}

// spares keep builders and buffers for use again.
type spares struct {
	builders     []spareBuilder
	builderBytes int
	// buffers by size: those at n have room for 1<<n bytes and for less than twice as much.
	buffers     [maxSizeClass + 1][][]byte
	bufferBytes int
}

type spareBuilder struct {
	*event.Builder
	size int
}

// What is kept at most, of each of the two: enough for the batches that are open and in flight at some hundred
// thousand events a second. Each has a bound of its own: many acknowledgements at once must not leave
// builders without a place.
const maxSpareBytes = 16 << 20

const maxSizeClass = 27 // 128 MiB; an envelope is at most as large as a record of the shard topic

func (s *spares) builder() *event.Builder {
	n := len(s.builders)
	if n == 0 {
		return &event.Builder{}
	}
	b := s.builders[n-1]
	s.builders = s.builders[:n-1]
	s.builderBytes -= b.size
	return b.Builder
}

func (s *spares) keepBuilder(b *event.Builder, size int) {
	if s.builderBytes+size <= maxSpareBytes {
		s.builders = append(s.builders, spareBuilder{b, size})
		s.builderBytes += size
	}
}

// buffer is an empty one with room for size bytes.
func (s *spares) buffer(size int) []byte {
	class := bits.Len(uint(size - 1)) // the smallest that is large enough
	if class > maxSizeClass {
		return make([]byte, 0, size)
	}
	list := s.buffers[class]
	n := len(list)
	if n == 0 {
		return make([]byte, 0, 1<<class)
	}
	b := list[n-1]
	list[n-1] = nil
	s.buffers[class] = list[:n-1]
	s.bufferBytes -= cap(b)
	return b
}

func (s *spares) keepBuffer(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if class < 0 || class > maxSizeClass || s.bufferBytes+cap(b) > maxSpareBytes {
		return
	}
	s.buffers[class] = append(s.buffers[class], b[:0])
	s.bufferBytes += cap(b)
}
