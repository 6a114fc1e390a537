package idseg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// RangeReader is the part of a store that a merge reads by.
type RangeReader interface {
	GetRange(ctx context.Context, key string, off, n int64) ([]byte, error)
}

// MergeInput names a live segment as the shard log does.
type MergeInput struct {
	Key     string
	Bytes   int64
	Buckets []Bucket // ascending; those that the log still keeps
}

// MergeSpec says what a merge makes. Zero values stand for those of DefaultMergeSpec.
type MergeSpec struct {
	// Below, in seconds: id buckets that begin before it are left out. The zero is a
	// value like any other; math.MinInt64 keeps all.
	Below int64
	// TargetBytes of an output. It is cut between buckets, so it is exceeded only by
	// an output of one bucket.
	TargetBytes int64
	// MemoryBytes bounds what of the ids is in memory at once. Directories, indexes
	// and the filter of the bucket that is merged come on top: 1.3 bytes an id of that bucket.
	MemoryBytes int64
	// Filter is the configuration of the new filters.
	Filter Config
}

// DefaultMergeSpec has outputs of 64 MiB, 64 MiB of memory, and the default filter.
func DefaultMergeSpec() MergeSpec {
	return MergeSpec{TargetBytes: 64 << 20, MemoryBytes: 64 << 20, Filter: DefaultConfig()}
}

// MergedSegment is one output, in the terms of shardlog.IDSegment but for its key.
type MergedSegment struct {
	Bytes   int64
	Sum     string // xxh3-128 of the object, hex
	IDs     int64
	Buckets []Bucket
}

// Merged is what came of a merge.
type Merged struct {
	Segments []MergedSegment // by the n of create
	IDsIn    int64           // of all inputs
	IDsBelow int64           // of them below MergeSpec.Below, and left out
}

// InputError is an input that cannot be used: errors.Is ErrCorrupt, ErrNewerFormat or
// objstore.ErrNotFound, or the world's error of a read.
type InputError struct {
	Key string
	Err error
}

// Error names the segment.
func (e *InputError) Error() string { return fmt.Sprintf("id segment %s: %v", e.Key, e.Err) }

// Unwrap is the reason.
func (e *InputError) Unwrap() error { return e.Err }

// ErrTwice: an identity is there twice, in commits that cannot both hold it. The store
// breaks its promise; nothing is merged.
var ErrTwice = errors.New("identity is there twice")

// ErrMergeDiffers: what a merge was about to write is not what it had read.
var ErrMergeDiffers = errors.New("merged id segments differ from their inputs")

// Merge writes the ids of the inputs into fewer segments, the parts of each id bucket
// into one part with a new filter. Output n goes to the writer that create(n) gives; an
// output is never without ids, so there may be none at all. After an error the outputs
// are worthless: the caller cancels them.
//
// Each byte that is read is checked, and each input part must have as many ids as the
// log says. Of each bucket the number of ids and an order-free checksum over them are
// compared with those of the output. It works on the caller's goroutine alone, and
// reads each input in order: once, and once more the buckets whose ids don't fit into half
// of MemoryBytes, because the filter comes before the ids.
func Merge(ctx context.Context, store RangeReader, inputs []MergeInput, spec MergeSpec, create func(n int) (io.Writer, error)) (*Merged, error) {
	spec, err := spec.check(inputs)
	if err != nil {
		return nil, err
	}
	m := &merger{spec: spec, create: create, merged: &Merged{}}
	byBucket := map[int64][]*cursor{}
	window := max(spec.MemoryBytes/2/int64(max(len(inputs), 1)), minWindow)
	for i := range inputs {
		in := &input{ctx: ctx, store: store, MergeInput: inputs[i], window: window}
		for _, b := range in.Buckets {
			m.merged.IDsIn += b.IDs
			if b.Bucket < spec.Below {
				m.merged.IDsBelow += b.IDs
				continue
			}
			byBucket[b.Bucket] = append(byBucket[b.Bucket], &cursor{in: in, at: b})
		}
	}
	for _, bucket := range slices.Sorted(maps.Keys(byBucket)) {
		if err := m.mergeBucket(byBucket[bucket]); err != nil {
			return nil, err
		}
		delete(byBucket, bucket)
	}
	if err := m.endOutput(); err != nil {
		return nil, err
	}
	return m.merged, nil
}

func (s MergeSpec) check(inputs []MergeInput) (MergeSpec, error) {
	d := DefaultMergeSpec()
	if s.TargetBytes == 0 {
		s.TargetBytes = d.TargetBytes
	}
	if s.MemoryBytes == 0 {
		s.MemoryBytes = d.MemoryBytes
	}
	if s.Filter == (Config{}) {
		s.Filter = d.Filter
	}
	if s.TargetBytes < 1 || s.MemoryBytes < 1 {
		return s, fmt.Errorf("idseg: merge into segments of %d bytes within %d bytes of memory", s.TargetBytes, s.MemoryBytes)
	}
	if err := s.Filter.Validate(); err != nil {
		return s, err
	}
	keys := map[string]bool{}
	for _, in := range inputs {
		if keys[in.Key] {
			return s, fmt.Errorf("idseg: merge of segment %s with itself", in.Key)
		}
		keys[in.Key] = true
		for i, b := range in.Buckets {
			if b.Offset < 0 || b.Length < 1 || b.IDs < 1 || b.Offset > in.Bytes-b.Length || i > 0 && in.Buckets[i-1].Bucket >= b.Bucket {
				return s, &InputError{in.Key, fmt.Errorf("%w: %d bytes have bucket %d at [%d, +%d) with %d ids", ErrCorrupt, in.Bytes, b.Bucket, b.Offset, b.Length, b.IDs)}
			}
		}
	}
	return s, nil
}

// merger writes the outputs, one after the other.
type merger struct {
	spec   MergeSpec
	create func(n int) (io.Writer, error)
	merged *Merged
	out    *output // the one that is written; nil between outputs
}

type output struct {
	w   io.Writer
	sum *objstore.Summer
	seg MergedSegment
}

func (o *output) write(b []byte) error {
	n, err := o.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	_, _ = o.sum.Write(b)
	o.seg.Bytes += int64(len(b))
	return err
}

// outputFor is the output that takes a part of so many bytes.
func (m *merger) outputFor(length int64) (*output, error) {
	if m.out != nil && m.out.seg.Bytes+length > m.spec.TargetBytes {
		if err := m.endOutput(); err != nil {
			return nil, err
		}
	}
	if m.out == nil {
		w, err := m.create(len(m.merged.Segments))
		if err != nil {
			return nil, err
		}
		m.out = &output{w: w, sum: objstore.NewSummer()}
		if err := m.out.write(append([]byte(objectMagic), Format)); err != nil {
			return nil, err
		}
	}
	return m.out, nil
}

func (m *merger) endOutput() error {
	if o := m.out; o != nil {
		o.seg.Sum = o.sum.Sum()
		m.merged.Segments = append(m.merged.Segments, o.seg)
		m.out = nil
	}
	return nil
}

// twice names an identity that two inputs have.
func twice(t event.TenantID, bucket int64, id []byte, a, b string) error {
	return fmt.Errorf("%w: %x of tenant %s in id bucket %d, in segments %s and %s", ErrTwice, id, t, bucket, a, b)
}
