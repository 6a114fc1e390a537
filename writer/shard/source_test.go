package shard

import (
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/internal/shardlog"
)

// What is counted as records come must be what counting all of them gives.
func TestOpenIsCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		f := &feed{unread: shardlog.RangeSet{{From: 1, Next: 4}}}
		offset := int64(10)
		for range 60 {
			if r.IntN(4) > 0 {
				offset += 1 + int64(r.IntN(3))/2
				f.add(offset)
				f.entries[len(f.entries)-1].buffer = &buffer{taken: r.IntN(3) == 0}
			} else {
				f.keep(f.cutOff(isTaken).rest)
				for i := range f.entries {
					f.entries[i].buffer.taken = r.IntN(3) == 0
				}
			}
			ranges, offsets := f.open()
			wantRanges, wantOffsets := f.leftOpen(func(*buffer) bool { return false })
			if ranges != wantRanges || offsets != wantOffsets {
				t.Fatalf("%d ranges and %d offsets, there are %d and %d: %v", ranges, offsets, wantRanges, wantOffsets, f.entries)
			}
		}
	}
}
