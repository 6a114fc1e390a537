package kafka

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestMemoryBySize: what the pools give has the room that was asked for, what was put back serves for as much, and
// never for a fraction of it.
func TestMemoryBySize(t *testing.T) {
	var m memory
	for _, size := range []int{0, 1, 2, 3, 1000, 1024, 1025, 1 << 20} {
		b := m.GetDecompressBytes(append(binary.AppendUvarint(nil, uint64(size)), make([]byte, size/20)...), kgo.CodecSnappy)
		if len(b) != 0 || cap(b) < size || cap(b) > max(2*size, 1) {
			t.Errorf("snappy, %d bytes: %d with room for %d", size, len(b), cap(b))
		}
		if r := m.GetRecords(size); len(r) != 0 || cap(r) < size || cap(r) > max(2*size, 1) {
			t.Errorf("%d records: %d with room for %d", size, len(r), cap(r))
		}
	}
	if b := m.GetDecompressBytes(make([]byte, 1000), kgo.CodecZstd); cap(b) < 4000 {
		t.Errorf("zstd, 1000 bytes: room for %d", cap(b))
	}
	// A size that no batch of these bytes has says nothing.
	if b := m.GetDecompressBytes(binary.AppendUvarint(nil, 1<<62), kgo.CodecSnappy); cap(b) > 1024 {
		t.Errorf("room for %d bytes is taken on the word of ten", cap(b))
	}
	for _, capacity := range []int{1, 1000, 1024, 2047, 1<<(maxPooled+1) - 1} {
		m.PutDecompressBytes(make([]byte, capacity))
		m.PutRecords(make([]kgo.Record, 0, min(capacity, 5000)))
	}
	for _, size := range []int{1, 600, 1024, 1025, 3000} {
		for range 10 {
			if b := m.GetDecompressBytes(make([]byte, (size+3)/4), kgo.CodecGzip); cap(b) < size || len(b) != 0 {
				t.Errorf("%d bytes: %d with room for %d", size, len(b), cap(b))
			}
			if r := m.GetRecords(size); cap(r) < size {
				t.Errorf("%d records: room for %d", size, cap(r))
			}
		}
	}
	m.PutDecompressBytes(nil)
}
