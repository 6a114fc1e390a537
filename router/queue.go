package router

import "github.com/togodb/togo/internal/event"

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
	builders []spareBuilder
	buffers  [][]byte
	bytes    int // of both
}

type spareBuilder struct {
	*event.Builder
	size int
}

// maxSpareBytes is enough for the batches that are open and in flight at some
// hundred thousand events a second.
const maxSpareBytes = 16 << 20

func (s *spares) builder() *event.Builder {
	n := len(s.builders)
	if n == 0 {
		return &event.Builder{}
	}
	b := s.builders[n-1]
	s.builders = s.builders[:n-1]
	s.bytes -= b.size
	return b.Builder
}

func (s *spares) keepBuilder(b *event.Builder, size int) {
	if s.bytes+size <= maxSpareBytes {
		s.builders = append(s.builders, spareBuilder{b, size})
		s.bytes += size
	}
}

func (s *spares) buffer(size int) []byte {
	n := len(s.buffers)
	if n == 0 {
		return make([]byte, 0, size)
	}
	b := s.buffers[n-1]
	s.buffers[n-1] = nil
	s.buffers = s.buffers[:n-1]
	s.bytes -= cap(b)
	if cap(b) < size {
		return make([]byte, 0, size)
	}
	return b
}

func (s *spares) keepBuffer(b []byte) {
	if s.bytes+cap(b) <= maxSpareBytes {
		s.buffers = append(s.buffers, b[:0])
		s.bytes += cap(b)
	}
}
