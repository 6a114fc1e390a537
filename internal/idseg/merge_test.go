package idseg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// shelf is a store of segments that counts what is read of it.
type shelf struct {
	objects map[string][]byte
	spoil   func(key string, data []byte) ([]byte, error) // of each read
	reads   int
	bytes   int64
	largest int64
}

func (s *shelf) GetRange(_ context.Context, key string, off, n int64) ([]byte, error) {
	s.reads++
	body, ok := s.objects[key]
	if !ok {
		return nil, objstore.ErrNotFound
	}
	from, to, err := objstore.Span(int64(len(body)), off, n)
	if err != nil {
		return nil, err
	}
	s.bytes += to - from
	s.largest = max(s.largest, to-from)
	data := bytes.Clone(body[from:to])
	if s.spoil != nil {
		return s.spoil(key, data)
	}
	return data, nil
}

// add encodes a segment, and names it as a log would.
func (s *shelf) add(t interface{ Fatal(...any) }, entries []Entry, cfg Config) MergeInput {
	body, buckets, err := Encode(entries, cfg)
	if err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf("ids/%d.ids", len(s.objects))
	s.objects[key] = body
	return MergeInput{Key: key, Bytes: int64(len(body)), Buckets: buckets}
}

// outputs collects what a merge writes.
type outputs []*bytes.Buffer

func (o *outputs) create(n int) (io.Writer, error) {
	if n != len(*o) {
		return nil, fmt.Errorf("output %d after %d", n, len(*o))
	}
	*o = append(*o, new(bytes.Buffer))
	return (*o)[n], nil
}

var all = MergeSpec{Below: math.MinInt64}

// TestMergeIsEncodeOfAll: whatever the inputs, windows and cuts are, the outputs are the bytes
// that Encode makes of all ids that are kept, cut between buckets.
func TestMergeIsEncodeOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		common := rapid.IntRange(0, 14).Draw(t, "common prefix")
		tenants := []event.TenantID{"a", "b", "bb", "c.c", "z"}[:rapid.IntRange(1, 5).Draw(t, "tenants")]
		var kept []Entry
		var inputs []MergeInput
		store := &shelf{objects: map[string][]byte{}}
		spec := MergeSpec{
			Below:       rapid.SampledFrom([]int64{math.MinInt64, 0, 600, 1200, 6000}).Draw(t, "below"),
			TargetBytes: rapid.SampledFrom([]int64{1, 10_000, 1 << 30}).Draw(t, "target"),
			MemoryBytes: rapid.SampledFrom([]int64{1, 30_000, 200_000, 64 << 20}).Draw(t, "memory"),
			Filter:      rapid.SampledFrom([]Config{DefaultConfig(), {FilterBits: 3, FilterHashes: 2}}).Draw(t, "filter"),
		}
		var in, below int64
		taken := map[event.Hash]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "inputs") {
			var entries []Entry
			for range rapid.SampledFrom([]int{0, 1, 10, 256, 1500}).Draw(t, "ids") {
				e := Entry{Tenant: tenants[r.IntN(len(tenants))], Bucket: 600 * int64(r.IntN(3)), ID: randomHash(r), Payload: r.Uint32()}
				for i := range common {
					e.ID[i] = 0xab
				}
				if !taken[e.ID] { // a long common prefix leaves few free bytes
					taken[e.ID] = true
					entries = append(entries, e)
				}
			}
			inputs = append(inputs, store.add(t, entries, rapid.SampledFrom([]Config{DefaultConfig(), spec.Filter}).Draw(t, "input's filter")))
			for _, e := range entries {
				if in++; e.Bucket < spec.Below {
					below++
				} else {
					kept = append(kept, e)
				}
			}
		}
		var out outputs
		merged, err := Merge(t.Context(), store, inputs, spec, out.create)
		if err != nil {
			t.Fatal(err)
		}
		if merged.IDsIn != in || merged.IDsBelow != below || len(merged.Segments) != len(out) {
			t.Fatalf("%+v of %d ids, %d below, in %d outputs", merged, in, below, len(out))
		}
		checkOutputs(t, merged, out, kept, spec)
	})
}

func checkOutputs(t *rapid.T, merged *Merged, out outputs, kept []Entry, spec MergeSpec) {
	next := int64(math.MinInt64) // buckets ascend over all outputs
	total := int64(0)
	for i, seg := range merged.Segments {
		of := slices.DeleteFunc(slices.Clone(kept), func(e Entry) bool {
			return !slices.ContainsFunc(seg.Buckets, func(b Bucket) bool { return b.Bucket == e.Bucket })
		})
		body, buckets, err := Encode(of, spec.Filter)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(body, out[i].Bytes()) || !slices.Equal(buckets, seg.Buckets) {
			t.Fatalf("output %d of %d bytes %v, encoded %d bytes %v", i, out[i].Len(), seg.Buckets, len(body), buckets)
		}
		if seg.Bytes != int64(len(body)) || seg.Sum != objstore.Sum(body) || seg.IDs != int64(len(of)) || len(of) == 0 {
			t.Fatalf("output %d is said to be %+v", i, seg)
		}
		if seg.Bytes > spec.TargetBytes && len(seg.Buckets) > 1 {
			t.Fatalf("output %d of %d buckets has %d bytes, the target is %d", i, len(seg.Buckets), seg.Bytes, spec.TargetBytes)
		}
		for _, b := range seg.Buckets {
			if b.Bucket <= next {
				t.Fatalf("bucket %d after %d", b.Bucket, next)
			}
			next = b.Bucket
		}
		total += seg.IDs
	}
	if total != int64(len(kept)) {
		t.Fatalf("%d ids came out of %d", total, len(kept))
	}
}

// threeSegments share two buckets and three tenants; one has a bucket of its own.
func threeSegments(t *testing.T, ids int) (*shelf, []MergeInput) {
	s := &shelf{objects: map[string][]byte{}}
	inputs := []MergeInput{
		s.add(t, entriesOf(1, 2, 3, ids), DefaultConfig()),
		s.add(t, entriesOf(2, 3, 2, ids), DefaultConfig()),
		s.add(t, entriesOf(3, 2, 3, ids), DefaultConfig()),
	}
	return s, inputs
}

// TestMergeReadsInBoundedPieces, each byte once, or twice if the ids of a bucket do not fit into
// memory; however little of it there is.
func TestMergeReadsInBoundedPieces(t *testing.T) {
	s, inputs := threeSegments(t, 3000)
	var size int64
	for _, in := range inputs {
		size += in.Bytes
	}
	var want outputs
	for _, memory := range []int64{64 << 20, 3 << 20, 600_000, 200_000} {
		var out outputs
		s.reads, s.bytes, s.largest = 0, 0, 0
		spec := all
		spec.MemoryBytes = memory
		if _, err := Merge(t.Context(), s, inputs, spec, out.create); err != nil {
			t.Fatal(err)
		}
		window := memory / 2 / 3
		passes := float64(s.bytes) / float64(size)
		switch {
		case memory > 2*size && (s.reads != 3 || s.bytes != size):
			t.Errorf("memory %d: %d reads of %d bytes, the inputs have %d", memory, s.reads, s.bytes, size)
		case memory > 2*size/3 && passes > 1.1, passes > 2.2:
			t.Errorf("memory %d: %d bytes read, the inputs have %d", memory, s.bytes, size)
		case s.largest > window:
			t.Errorf("memory %d: a read of %d bytes, the window is %d", memory, s.largest, window)
		case want != nil && !bytes.Equal(want[0].Bytes(), out[0].Bytes()):
			t.Errorf("memory %d: another output", memory)
		}
		want = out
	}
}

func TestMergeNamesAnIdentityThatIsThereTwice(t *testing.T) {
	for _, payload := range []uint32{1, 2} {
		s := &shelf{objects: map[string][]byte{}}
		e := Entry{Tenant: "acme", Bucket: 1200, ID: event.Hash{0: 0xc0, 15: 0xfe}, Payload: 1}
		again := e
		again.Payload = payload
		elsewhere := e
		elsewhere.Bucket, elsewhere.Tenant = 1800, "zoo"
		inputs := []MergeInput{
			s.add(t, append(entriesOf(1, 2, 2, 400), e), DefaultConfig()),
			s.add(t, append(entriesOf(2, 2, 2, 400), elsewhere), DefaultConfig()),
			s.add(t, append(entriesOf(3, 2, 2, 400), again), DefaultConfig()),
		}
		for _, memory := range []int64{1, 64 << 20} {
			var out outputs
			spec := all
			spec.MemoryBytes = memory
			_, err := Merge(t.Context(), s, inputs, spec, out.create)
			if !errors.Is(err, ErrTwice) {
				t.Fatalf("merged: %v", err)
			}
			for _, part := range []string{"c00000000000000000000000000000fe", "acme", "1200", inputs[0].Key, inputs[2].Key} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if _, err := Merge(t.Context(), s, inputs[:2], spec, new(outputs).create); err != nil {
				t.Errorf("other buckets or tenants are other identities: %v", err)
			}
		}
	}
}

// TestMergeNoticesDamage: each flipped byte of each input is noticed and its segment named, but for
// those of the object's head, which no part needs.
func TestMergeNoticesDamage(t *testing.T) {
	s, inputs := threeSegments(t, 12)
	var want outputs
	if _, err := Merge(t.Context(), s, inputs, all, want.create); err != nil {
		t.Fatal(err)
	}
	for _, in := range inputs {
		for i := range s.objects[in.Key] {
			body := s.objects[in.Key]
			body[i] ^= 0x40
			var out outputs
			_, err := Merge(t.Context(), s, inputs, all, out.create)
			body[i] ^= 0x40
			var bad *InputError
			switch {
			case err == nil && i < objectBytes && bytes.Equal(out[0].Bytes(), want[0].Bytes()):
			case err == nil || !errors.As(err, &bad) || bad.Key != in.Key || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat):
				t.Fatalf("byte %d of %s: %v", i, in.Key, err)
			}
		}
	}
	// The same over windows, where heads and blocks are read one by one.
	big, inputs := threeSegments(t, 3000)
	spec := all
	spec.MemoryBytes = 1
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		in := inputs[r.IntN(3)]
		body := big.objects[in.Key]
		i := objectBytes + r.IntN(len(body)-objectBytes)
		body[i]++
		_, err := Merge(t.Context(), big, inputs, spec, new(outputs).create)
		body[i]--
		var bad *InputError
		if !errors.As(err, &bad) || bad.Key != in.Key {
			t.Fatalf("byte %d of %s: %v", i, in.Key, err)
		}
	}
}

func TestMergeSaysWhatIsWrongWithAnInput(t *testing.T) {
	reset := errors.New("connection reset")
	for name, c := range map[string]struct {
		change func(*shelf, []MergeInput)
		want   error
		named  bool
	}{
		"missing":  {func(s *shelf, in []MergeInput) { delete(s.objects, in[1].Key) }, objstore.ErrNotFound, true},
		"cut":      {func(s *shelf, in []MergeInput) { s.objects[in[1].Key] = s.objects[in[1].Key][:in[1].Bytes-1] }, ErrCorrupt, true},
		"empty":    {func(s *shelf, in []MergeInput) { s.objects[in[1].Key] = nil }, ErrCorrupt, true},
		"newer":    {func(s *shelf, in []MergeInput) { s.objects[in[1].Key][in[1].Buckets[0].Offset+4]++ }, ErrNewerFormat, true},
		"ids":      {func(_ *shelf, in []MergeInput) { in[1].Buckets[1].IDs++ }, ErrCorrupt, true},
		"length":   {func(_ *shelf, in []MergeInput) { in[1].Buckets[0].Length-- }, ErrCorrupt, true},
		"too long": {func(_ *shelf, in []MergeInput) { in[1].Buckets[2].Length++ }, ErrCorrupt, true},
		"swapped":  {func(_ *shelf, in []MergeInput) { b := in[1].Buckets; b[0], b[1] = b[1], b[0] }, ErrCorrupt, true},
		"bucket":   {func(_ *shelf, in []MergeInput) { in[1].Buckets[2].Bucket += 600 }, ErrCorrupt, true},
		"itself":   {func(_ *shelf, in []MergeInput) { in[0] = in[1] }, nil, false},
		"not read": {func(s *shelf, _ []MergeInput) { s.spoil = func(string, []byte) ([]byte, error) { return nil, reset } }, reset, false},
		"read partly": {func(s *shelf, _ []MergeInput) {
			s.spoil = func(_ string, b []byte) ([]byte, error) { return b[1:], nil }
		}, ErrCorrupt, false},
	} {
		for _, memory := range []int64{1, 64 << 20} {
			s, inputs := threeSegments(t, 500)
			c.change(s, inputs)
			spec := all
			spec.MemoryBytes = memory
			_, err := Merge(t.Context(), s, inputs, spec, new(outputs).create)
			var bad *InputError
			if err == nil || c.want != nil && !errors.Is(err, c.want) || c.named && (!errors.As(err, &bad) || bad.Key != inputs[1].Key) {
				t.Errorf("%s, memory %d: %v", name, memory, err)
			}
		}
	}
}

// full is a writer that takes so many bytes.
type full struct {
	room int
	err  error
}

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, f.err
	}
	return len(b), nil
}

func TestMergeStopsAtAWriterThatFails(t *testing.T) {
	s, inputs := threeSegments(t, 500)
	broken := errors.New("no room")
	for _, room := range []int{0, 8, 1000, 100_000} {
		for _, memory := range []int64{1, 64 << 20} {
			spec := all
			spec.MemoryBytes = memory
			_, err := Merge(t.Context(), s, inputs, spec, func(int) (io.Writer, error) { return &full{room, broken}, nil })
			if !errors.Is(err, broken) {
				t.Errorf("room for %d bytes: %v", room, err)
			}
		}
	}
	if _, err := Merge(t.Context(), s, inputs, all, func(int) (io.Writer, error) { return &full{0, nil}, nil }); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that takes nothing and says nothing: %v", err)
	}
	if _, err := Merge(t.Context(), s, inputs, all, func(int) (io.Writer, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("no writer: %v", err)
	}
	for _, spec := range []MergeSpec{{TargetBytes: -1}, {MemoryBytes: -1}, {Filter: Config{FilterBits: 1}}} {
		if _, err := Merge(t.Context(), s, inputs, spec, new(outputs).create); err == nil {
			t.Errorf("%+v: accepted", spec)
		}
	}
}
