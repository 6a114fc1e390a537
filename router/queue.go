package router

import "math/bits"

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

// spares keep buffers for use again, by size: those at n have room for 1<<n bytes and for less than twice as much.
type spares struct {
	buffers [maxSizeClass + 1][][]byte
	bytes   int
}

// maxSpareBytes are kept at most: enough for the batches that are open and in flight at some hundred
// thousand events a second.
const maxSpareBytes = 32 << 20

const maxSizeClass = 27 // 128 MiB; an envelope is at most as large as a record of the shard topic

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
	s.bytes -= cap(b)
	return b
}

func (s *spares) keepBuffer(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if class < 0 || class > maxSizeClass || s.bytes+cap(b) > maxSpareBytes {
		return
	}
	s.buffers[class] = append(s.buffers[class], b[:0])
	s.bytes += cap(b)
}
