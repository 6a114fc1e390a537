package kafka

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// memory is what fetched records lie in. Who is done with a Record, and keeps no part of it, calls its Recycle; when all
// of a batch are done with, the batch's memory serves another. What nobody recycles is the garbage collector's.
//
// Both pools are by size, the place n for capacities from 1<<n on, so that a small batch never holds the memory of a large one.
type memory struct {
	bytes   [maxPooled + 1]sync.Pool // of *[]byte
	records [maxPooled + 1]sync.Pool // of *[]kgo.Record
}

// maxPooled: nothing larger than twice 64 MiB, or as many records, is kept.
const maxPooled = 26

var _ interface {
	kgo.PoolDecompressBytes
	kgo.PoolRecords
} = (*memory)(nil)

// GetDecompressBytes implements kgo.PoolDecompressBytes; what turns out to be too small grows.
func (m *memory) GetDecompressBytes(compressed []byte, codec kgo.CompressionCodecType) []byte {
	const usual, most = 4, 24 // times that a batch is packed; snappy can't pack more than 22 times
	size := usual * len(compressed)
	if codec == kgo.CodecSnappy {
		// It begins with the size, but for Java's framing, whose first bytes say something small.
		if n, _ := binary.Uvarint(compressed); n <= uint64(most*len(compressed)) {
			size = int(n)
		}
	}
	return get[byte](m.bytes[:], size)
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (m *memory) PutDecompressBytes(b []byte) { put(m.bytes[:], b) }

// GetRecords implements kgo.PoolRecords.
func (m *memory) GetRecords(n int) []kgo.Record { return get[kgo.Record](m.records[:], n) }

// PutRecords implements kgo.PoolRecords.
func (m *memory) PutRecords(r []kgo.Record) { put(m.records[:], r) }

func get[T any](pools []sync.Pool, size int) []T {
	class := bits.Len(uint(max(size, 1) - 1)) // the smallest that is large enough
	if class >= len(pools) {
		return make([]T, 0, size)
	}
	if s, ok := pools[class].Get().(*[]T); ok {
		return *s
	}
	return make([]T, 0, 1<<class)
}

func put[T any](pools []sync.Pool, s []T) {
	if class := bits.Len(uint(cap(s))) - 1; class >= 0 && class < len(pools) {
		s = s[:0]
		pools[class].Put(&s)
	}
}
