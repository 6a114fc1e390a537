package dedup

import (
	"encoding/binary"
	"fmt"
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

// hashes are uniform, crafted with long common prefixes, and at the ends of their range.
func hashes() map[string]func(*rand.Rand) event.Hash {
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
	return map[string]func(*rand.Rand) event.Hash{"uniform": randomHash, "crafted": crafted, "edges": edges}
}

// heapBytes is what is alive; pools let go of what they keep at the second collection.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Pending ids agree with a map through puts and removes.
func TestPendingAgreesWithMap(t *testing.T) {
	for name, next := range hashes() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			var set pending
			want := map[event.Hash]uint32{}
			var keys []event.Hash
			put := func(h event.Hash, payload uint32) {
				there, known := want[h]
				if got, added := set.put(&h, payload); added == known || known && got != there {
					t.Fatalf("put of %x: %d, added: %t; there was %d, %t", h, got, added, there, known)
				}
				if !known {
					want[h] = payload
					keys = append(keys, h)
				}
			}
			remove := func(h event.Hash) {
				there, known := want[h]
				if got, removed := set.remove(&h); removed != known || got != there {
					t.Fatalf("remove of %x: %d, %t; there was %d, %t", h, got, removed, there, known)
				}
				delete(want, h)
			}
			for step := range uint32(60_000) {
				switch {
				case len(keys) > 0 && r.IntN(3) == 0:
					put(keys[r.IntN(len(keys))], step)
				case step > 20_000 && r.IntN(2) == 0:
					remove(keys[r.IntN(len(keys))])
				default:
					put(next(r), step)
				}
				if set.len != len(want) {
					t.Fatalf("step %d: %d entries, want %d", step, set.len, len(want))
				}
			}
			for _, h := range keys {
				payload, ok := set.get(&h)
				if there, known := want[h]; ok != known || payload != there {
					t.Fatalf("%x: %d, %t; want %d, %t", h, payload, ok, there, known)
				}
			}
			for h := range want {
				remove(h)
			}
			for _, h := range keys {
				if _, ok := set.get(&h); ok {
					t.Fatalf("%x is there after all were removed", h)
				}
			}
		})
	}
}

// A table agrees with a map through puts, whatever room it began with, and when it is trimmed.
func TestTableAgreesWithMap(t *testing.T) {
	for name, next := range hashes() {
		for _, room := range []int{0, 100, 5000, 100_000} {
			t.Run(fmt.Sprint(name, room), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				var tab table
				if room > 0 {
					tab = presized(room)
				}
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
					if step%7000 == 6999 {
						tab.trim()
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
}

// A presized table's bytes are true, at most 25 an id when it holds what it was made for, or when
// it holds less and was trimmed.
func TestPresizedTableBytesAreTrueAndFew(t *testing.T) {
	for _, size := range []int{50_000, 80_000, 113_000} {
		for _, trim := range []bool{false, true} {
			r := rand.New(rand.NewPCG(3, 4))
			before := heapBytes()
			tab := presized(size)
			ids := size
			if trim {
				ids /= 2
			}
			for range ids {
				h := randomHash(r)
				tab.put(&h, 1)
			}
			if trim {
				tab.trim()
			}
			grown := heapBytes() - before
			if diff := float64(grown-tab.bytes) / float64(tab.bytes); diff > 0.03 || diff < -0.03 {
				t.Errorf("for %d, trimmed %t: heap grew by %d, the table says %d", size, trim, grown, tab.bytes)
			}
			if perID := float64(tab.bytes) / float64(tab.len); perID > maxIDBytes {
				t.Errorf("for %d, trimmed %t: %.2f bytes an id", size, trim, perID)
			} else {
				t.Logf("for %d, trimmed %t: %.2f bytes an id", size, trim, perID)
			}
			runtime.KeepAlive(&tab)
		}
	}
}

// Bytes is what the heap grows by, and at most 25 bytes an id.
func TestTableBytesAreTrueAndFew(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	before := heapBytes()
	var tab table
	for next := 50_000; next <= 400_000; next = next * 5 / 4 {
		for tab.len < next {
			h := randomHash(r)
			tab.put(&h, 1)
		}
		grown := heapBytes() - before
		if diff := float64(grown-tab.bytes) / float64(tab.bytes); diff > 0.03 || diff < -0.03 {
			t.Errorf("%d ids: heap grew by %d, the table says %d", tab.len, grown, tab.bytes)
		}
		if perID := float64(tab.bytes) / float64(tab.len); perID > 25 {
			t.Errorf("%d ids: %.2f bytes an id", tab.len, perID)
		}
	}
	runtime.KeepAlive(&tab)
}
