package dedup

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// A summary never denies an id that it was given, in batches of any size and whatever was expected; of
// others it denies nearly all.
func TestSummaryDeniesNoneOfItsIDs(t *testing.T) {
	for name, next := range hashes() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var s summary
			var ids []event.Hash
			for batch := range 300 {
				var hashes []uint64
				for range 1 + r.IntN(400) {
					h := next(r)
					if len(ids) > 0 && r.IntN(10) == 0 {
						h = ids[r.IntN(len(ids))]
					}
					ids = append(ids, h)
					hashes = append(hashes, leading(&h))
				}
				slices.Sort(hashes)
				s.add(hashes, r.IntN(4000))
				if batch%20 > 0 {
					continue
				}
				for i := range ids {
					if !s.mayHold(&ids[i]) {
						t.Fatalf("batch %d: %x is denied", batch, ids[i])
					}
				}
			}
			if name != "crafted" && len(s.layers) < 2 { // crafted ones have one print
				t.Fatalf("%d layers: growing is not tested", len(s.layers))
			}
			for _, l := range s.layers {
				for _, list := range l.lists {
					for i := 1; i < len(list)/printBytes; i++ {
						if printAt(list, i-1) >= printAt(list, i) {
							t.Fatal("prints out of order")
						}
					}
				}
			}
			maybe := 0
			for range 100_000 {
				if h := randomHash(r); s.mayHold(&h) {
					maybe++
				}
			}
			if maybe > 50 {
				t.Errorf("%d of 100,000 strange ids may be there", maybe)
			}
		})
	}
}

// A summary's bytes are what the heap grows by, and at most 4 an id, from what was expected up to many times as much.
func TestSummaryBytesAreTrueAndFew(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	hashes := make([]uint64, 5000)
	before := heapBytes()
	var s summary
	for round := range 160 {
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		slices.Sort(hashes)
		s.add(hashes, 20_000)
		if round%20 != 3 {
			continue
		}
		grown := heapBytes() - before
		if diff := float64(grown-s.bytes) / float64(s.bytes); diff > 0.03 || diff < -0.03 {
			t.Errorf("%d ids: heap grew by %d, the summary says %d", s.ids, grown, s.bytes)
		}
		if perID := float64(s.bytes) / float64(s.ids); perID > summaryIDBytes {
			t.Errorf("%d ids: %.2f bytes an id", s.ids, perID)
		}
		t.Logf("%d ids in %d layers: %.2f bytes an id", s.ids, len(s.layers), float64(s.bytes)/float64(s.ids))
	}
	runtime.KeepAlive(&s)
}

// Ids are taken out of a table in their order, each once, while others come.
func TestTableGivesUpItsIDsInOrder(t *testing.T) {
	for name, next := range hashes() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			var tab table
			want := map[event.Hash]uint32{}
			var hand uint64
			for step := range 20_000 {
				if h := next(r); tab.put(&h, uint32(step)) {
					want[h] = uint32(step)
				}
				if step%50 > 0 {
					continue
				}
				from := hand
				entries, after := tab.take(hand)
				for i, e := range entries {
					if p, ok := want[e.id]; !ok || p != e.payload || i > 0 && entries[i-1].compare(&e.id) >= 0 {
						t.Fatalf("step %d: took %x, %d", step, e.id, e.payload)
					}
					if h := leading(&e.id); after != 0 && h >= after {
						t.Fatalf("step %d: took %x, which is not between %x and %x", step, h, from, after)
					}
					delete(want, e.id)
				}
				if hand = after; tab.len != len(want) {
					t.Fatalf("step %d: %d entries, want %d", step, tab.len, len(want))
				}
			}
			for taken := false; tab.len > 0 || !taken; {
				var entries []entry
				entries, hand = tab.take(hand)
				taken = true
				for _, e := range entries {
					delete(want, e.id)
				}
			}
			if len(want) > 0 {
				t.Fatalf("%d are left", len(want))
			}
		})
	}
}
