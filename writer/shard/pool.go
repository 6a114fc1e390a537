package shard

import (
	"math/bits"
	"unsafe"
)

// pool keeps slices of rows or identities for the next buffers: growing them
// from nothing each time costs as much as all else that is done to an event.
// Capacities are powers of two.
type pool[T any] struct {
	classes [maxClass + 1][][]T // by the logarithm of the capacity
	bytes   int64               // of all that is in the pool
	limit   int64
}

const (
	minClass = 0  // a backfill has one row in many slots
	maxClass = 32 // no buffer holds as many
)

// grown returns s with room for one more, and by how many bytes it takes more
// memory than before.
func (p *pool[T]) grown(s []T) ([]T, int64) {
	if len(s) < cap(s) {
		return s, 0
	}
	class := minClass
	if cap(s) > 0 {
		class = bits.Len(uint(cap(s)))
	}
	var next []T
	if free := p.classes[class]; len(free) > 0 {
		next = free[len(free)-1]
		p.classes[class] = free[:len(free)-1]
		p.bytes -= bytesOf(next)
	} else {
		next = make([]T, 0, 1<<class)
	}
	next = append(next, s...)
	more := bytesOf(next) - bytesOf(s)
	p.put(s)
	return next, more
}

// put takes a slice that nobody uses any more.
func (p *pool[T]) put(s []T) {
	size := bytesOf(s)
	if cap(s) == 0 || p.bytes+size > p.limit {
		return
	}
	clear(s[:cap(s)]) // so that it holds no payload alive
	class := bits.Len(uint(cap(s))) - 1
	p.classes[class] = append(p.classes[class], s[:0])
	p.bytes += size
}

func bytesOf[T any](s []T) int64 { return int64(cap(s)) * int64(unsafe.Sizeof(*new(T))) }
