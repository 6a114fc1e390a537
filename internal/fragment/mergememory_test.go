package fragment

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/togodb/togo/internal/event"
)

var largeMerge = flag.Int("merge-mib", 0, "MiB of input of the memory test's largest merge; 0: a small one")

// diskStore reads inputs from disk, and now and then measures what is live in memory.
type diskStore struct {
	dir   string
	bytes int64 // read since the last measurement
	every int64
	peak  uint64
}

func (s *diskStore) GetRange(_ context.Context, key string, off, n int64) ([]byte, error) {
	if s.bytes += n; s.bytes > s.every {
		s.bytes = 0
		s.measure()
	}
	f, err := os.Open(filepath.Join(s.dir, key))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, off)
	return b, err
}

func (s *diskStore) measure() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	s.peak = max(s.peak, m.HeapAlloc)
}

// bulkyFile encodes events of some 300 bytes that nothing compresses.
func bulkyFile(t testing.TB, r *rand.Rand, registry *Registry, rows int) []byte {
	payloads := make([]string, rows)
	for i := range payloads {
		var b []byte
		for range 36 {
			b = fmt.Appendf(b, "%016x", r.Uint64())
		}
		payloads[i] = fmt.Sprintf(`{"service":"s%d","status":%d,"n":%d,"blob":"%s"}`, r.IntN(8), r.IntN(5), r.Int64(), b)
	}
	in := jsonRows(payloads...)
	for i := range in {
		in[i].Timestamp += event.Timestamp(r.Int64N(1e9))
	}
	return encode(t, registry, in).Body
}

// peakOf merges files, each made of so many parts, and gives the live memory's peak beyond
// what was live before.
func peakOf(t testing.TB, files, times int, memory int64) (peak, size int64) {
	r, registry := rand.New(rand.NewPCG(1, 1)), newRegistry()
	s := &diskStore{dir: t.TempDir(), every: 1 << 62}
	var inputs []MergeInput
	for i := range files {
		parts := make([]MergeInput, times)
		for n := range parts {
			body := bulkyFile(t, r, registry, 5000)
			parts[n] = MergeInput{fmt.Sprint("part-", n), int64(len(body))}
			if err := os.WriteFile(filepath.Join(s.dir, parts[n].Key), body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		key := fmt.Sprint("large-", i)
		f, err := os.Create(filepath.Join(s.dir, key))
		if err != nil {
			t.Fatal(err)
		}
		spec := mergeSpec()
		spec.TargetBytes = 1 << 40
		m, err := Merge(context.Background(), s, parts, spec, func(int) (io.Writer, error) { return f, nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, MergeInput{key, m.Files[0].Bytes})
		size += m.Files[0].Bytes
	}
	s.every = size / 80
	s.measure()
	s.measure() // pools give their memory back at the second collection
	s.peak = 0
	s.measure()
	before := s.peak
	spec := mergeSpec()
	spec.MemoryBytes, spec.TargetBytes = memory, 256<<20
	if _, err := Merge(context.Background(), s, inputs, spec, func(int) (io.Writer, error) { return io.Discard, nil }); err != nil {
		t.Fatal(err)
	}
	return int64(s.peak - before), size
}

// The memory of a merge does not grow with its inputs. -merge-mib 5000 takes some minutes.
func TestMergeMemoryIsFlat(t *testing.T) {
	const memory = 16 << 20
	small, n := peakOf(t, 8, 2, memory)
	times := 5
	if *largeMerge > 0 {
		times = max(2, 2*int(int64(*largeMerge)<<20/n))
	}
	large, m := peakOf(t, 8, times, memory)
	t.Logf("%.1f MiB live for %d MiB of input, %.1f MiB for %d MiB; MemoryBytes is %d MiB",
		float64(small)/(1<<20), n>>20, float64(large)/(1<<20), m>>20, memory>>20)
	// Beyond MemoryBytes: a page of each input for a column, and the indexes of the
	// output so far, which end with it.
	if small > memory+12<<20 || large > memory+12<<20 || m < memory*3 {
		t.Errorf("%d bytes live for %d of input, %d for %d", small, n, large, m)
	}
}
