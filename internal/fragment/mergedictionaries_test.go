package fragment

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// TestMergeMemoryOfDictionaries: dictionaries of many inputs that have little in common are not gathered beyond the memory.
func TestMergeMemoryOfDictionaries(t *testing.T) {
	const files, memory = 24, 16 << 20
	r, registry := rand.New(rand.NewPCG(1, 1)), newRegistry()
	s := &diskStore{dir: t.TempDir(), every: 1 << 62}
	var inputs []MergeInput
	for i := range files {
		values := make([]string, 400)
		for v := range values {
			var b []byte
			for range 9000 / 16 {
				b = fmt.Appendf(b, "%016x", r.Uint64())
			}
			values[v] = string(b)
		}
		payloads := make([]string, 2400)
		for n := range payloads {
			payloads[n] = fmt.Sprintf(`{"service":"s","stack":"%s"}`, values[n%len(values)])
		}
		in := jsonRows(payloads...)
		for n := range in {
			in[n].Timestamp += event.Timestamp(r.Int64N(1e9))
		}
		body := encode(t, registry, in).Body
		key := fmt.Sprint("coded-", i)
		if err := os.WriteFile(filepath.Join(s.dir, key), body, 0o644); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, MergeInput{key, int64(len(body))})
	}
	s.measure()
	s.measure()
	s.peak = 0
	s.measure()
	before := s.peak
	s.every = 1 << 20
	spec := mergeSpec()
	spec.MemoryBytes, spec.TargetBytes = memory, 1<<40
	_, err := Merge(context.Background(), s, inputs, spec, func(int) (io.Writer, error) { return measuring{s}, nil })
	if err != nil {
		t.Fatal(err)
	}
	live := int64(s.peak - before)
	t.Logf("%d MiB live", live>>20)
	if live > memory+files<<22+64<<20 {
		t.Errorf("%d bytes live for %d inputs with dictionaries of 4 MiB", live, files)
	}
}

// measuring is an output whose writes measure too.
type measuring struct{ s *diskStore }

func (w measuring) Write(b []byte) (int, error) {
	if w.s.bytes += int64(len(b)); w.s.bytes > w.s.every {
		w.s.bytes = 0
		w.s.measure()
	}
	return len(b), nil
}
