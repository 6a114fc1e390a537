package fragment

import (
	"fmt"
	"testing"
)

// Requests cost money, and on a real store some tens of milliseconds each.
func TestAMergeReadsInFewRequests(t *testing.T) {
	small, spec := mergeFiles(t, 3, mergeCase{files: 24, rows: 60, wide: 100})
	checkMerge(t, small, spec)
	if small.reads > len(small.inputs) {
		t.Errorf("%d reads of %d small files", small.reads, len(small.inputs))
	}
	large := trafficFiles(t, 4, 40_000, false)
	size := int64(0)
	for _, in := range large.inputs {
		size += in.Bytes
	}
	for _, c := range []struct {
		memory int64
		reads  int   // a MiB
		more   int64 // percent of the bytes
	}{{64 << 20, 1, 100}, {32 << 20, 9, 115}, {8 << 20, 60, 170}} {
		for _, parallel := range []int{0, 8} {
			t.Run(fmt.Sprint(c.memory>>20, " MiB, ", parallel), func(t *testing.T) {
				large.reads, large.bytes = 0, 0
				spec.MemoryBytes, spec.Parallel = c.memory, parallel
				if _, err := Merge(t.Context(), large, large.inputs, spec, new(outputs).create); err != nil {
					t.Fatal(err)
				}
				t.Logf("%d reads of %d bytes for %d bytes", large.reads, large.bytes, size)
				if most := max(len(large.inputs), int(size>>20)*c.reads); large.reads > most {
					t.Errorf("%d reads, at most %d", large.reads, most)
				}
				if large.bytes > size*c.more/100 {
					t.Errorf("%d bytes read of %d", large.bytes, size)
				}
			})
		}
	}
}
