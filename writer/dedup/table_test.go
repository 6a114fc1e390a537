package dedup

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/togodb/togo/internal/event"
)

func randomHash(r *rand.Rand) (h event.Hash) {
	binary.LittleEndian.PutUint64(h[:8], r.Uint64())
	binary.LittleEndian.PutUint64(h[8:], r.Uint64())
	return h
}

// A table agrees with a map through puts, for uniform hashes and for
// crafted ones that share a long prefix.
func TestTableAgreesWithMap(t *testing.T) {
	crafted := func(r *rand.Rand) event.Hash {
		h := randomHash(r)
		for i := range 12 {
			h[i] = 0xff
		}
		return h
	}
	edges := func(r *rand.Rand) event.Hash {
		if r.IntN(2) == 0 {
			return event.Hash{15: byte(r.Uint32())}
		}
		return randomHash(r)
	}
	for name, next := range map[string]func(*rand.Rand) event.Hash{"uniform": randomHash, "crafted": crafted, "edges": edges} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var tab table
			want := map[event.Hash]uint32{}
			var keys []event.Hash
			for step := range 30000 {
				h := next(r)
				if len(keys) > 0 && r.IntN(4) == 0 {
					h = keys[r.IntN(len(keys))]
				}
				_, there := want[h]
				if tab.put(&h, uint32(step+1)) == there {
					t.Fatalf("step %d: put of %x: there was %v", step, h, there)
				}
				if !there {
					want[h] = uint32(step + 1)
					keys = append(keys, h)
				}
				if tab.len != len(want) {
					t.Fatalf("step %d: %d entries, want %d", step, tab.len, len(want))
				}
			}
			for _, h := range keys {
				p, ok := tab.get(&h)
				if wp, wok := want[h]; ok != wok || p != wp {
					t.Fatalf("%x: got %d %v, want %d %v", h, p, ok, wp, wok)
				}
			}
			for range 1000 {
				h := next(r)
				if _, ok := tab.get(&h); ok != (want[h] != 0) {
					t.Fatalf("%x is there: %t, want %t", h, ok, want[h] != 0)
				}
			}
		})
	}
}

// Bytes is what the heap grows by, and at most 25 bytes an id.
func TestTableBytesAreTrueAndFew(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := rand.New(rand.NewPCG(3, 4))
	before := heap()
	var tab table
	for next := 50_000; next <= 400_000; next = next * 5 / 4 {
		for tab.len < next {
			h := randomHash(r)
			tab.put(&h, 1)
		}
		grown := heap() - before
		if diff := float64(grown-tab.bytes) / float64(tab.bytes); diff > 0.03 || diff < -0.03 {
			t.Errorf("%d ids: heap grew by %d, the table says %d", tab.len, grown, tab.bytes)
		}
		if perID := float64(tab.bytes) / float64(tab.len); perID > 25 {
			t.Errorf("%d ids: %.2f bytes an id", tab.len, perID)
		}
	}
	runtime.KeepAlive(&tab)
}
