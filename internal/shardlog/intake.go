package shardlog

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// IntakeSet gathers intake offsets per source. It is for one goroutine.
type IntakeSet struct {
	sources map[Source]*roaring64.Bitmap
	last    Source // that was asked for, and its bitmap: offsets mostly come many of a source
	lastMap *roaring64.Bitmap
}

// NewIntake is an empty set.
func NewIntake() *IntakeSet { return &IntakeSet{sources: map[Source]*roaring64.Bitmap{}} }

func (s *IntakeSet) of(src Source) *roaring64.Bitmap {
	if s.lastMap != nil && s.last == src {
		return s.lastMap
	}
	bm := s.sources[src]
	if bm == nil {
		bm = roaring64.New()
		s.sources[src] = bm
	}
	s.last, s.lastMap = src, bm
	return bm
}

// Add puts one offset in; a negative one is a bug of the caller.
func (s *IntakeSet) Add(src Source, offset int64) {
	if offset < 0 {
		panic(fmt.Sprintf("shardlog: intake offset %d of %s", offset, src))
	}
	s.of(src).Add(uint64(offset))
}

// AddRange puts [from, next) in.
func (s *IntakeSet) AddRange(src Source, from, next int64) {
	if from < 0 || next < from {
		panic(fmt.Sprintf("shardlog: intake offsets [%d, %d) of %s", from, next, src))
	}
	switch next - from {
	case 0:
	case 1: // a range of one makes the library build its container anew
		s.of(src).Add(uint64(from))
	default:
		s.of(src).AddRange(uint64(from), uint64(next))
	}
}

// Empty says whether no offset is in the set.
func (s *IntakeSet) Empty() bool { return len(s.sources) == 0 }

// Reset empties the set for the next commit.
func (s *IntakeSet) Reset() {
	clear(s.sources)
	s.lastMap = nil
}

// Sources are the sources in the set, in order.
func (s *IntakeSet) Sources() []Source {
	out := make([]Source, 0, len(s.sources))
	for src := range s.sources {
		out = append(out, src)
	}
	slices.SortFunc(out, Source.Compare)
	return out
}

// ToIntake is the set as a record holds it.
func (s *IntakeSet) ToIntake() []Intake {
	out := make([]Intake, 0, len(s.sources))
	for _, src := range s.Sources() {
		out = append(out, Intake{Source: src, Bitmap: bitmapBytes(s.sources[src])})
	}
	return out
}

// Merge puts all offsets of in into the set, or fails and changes nothing.
func (s *IntakeSet) Merge(in []Intake) error {
	bitmaps := make([]*roaring64.Bitmap, len(in))
	for i, one := range in {
		bm, err := readBitmap(one.Bitmap)
		if err != nil {
			return fmt.Errorf("intake of %s: %w", one.Source, err)
		}
		bitmaps[i] = bm
	}
	for i, one := range in {
		s.of(one.Source).Or(bitmaps[i])
	}
	return nil
}

// or puts all offsets of o into the set.
func (s *IntakeSet) or(o *IntakeSet) {
	for src, bm := range o.sources {
		s.of(src).Or(bm)
	}
}

func (s *IntakeSet) equal(o *IntakeSet) bool {
	return maps.EqualFunc(s.sources, o.sources, (*roaring64.Bitmap).Equals)
}

// bytes is about how much memory the set takes.
func (s *IntakeSet) bytes() int64 {
	var n int64
	for _, bm := range s.sources {
		n += int64(bm.GetSizeInBytes())
	}
	return n
}

// Count is the number of offsets of a source in the set.
func (s *IntakeSet) Count(src Source) int64 {
	if bm := s.sources[src]; bm != nil {
		return int64(bm.GetCardinality())
	}
	return 0
}

// Holes are the offsets of [from, next) that are not in the set.
func (s *IntakeSet) Holes(src Source, from, next int64) RangeSet {
	if next <= from {
		return nil
	}
	missing := roaring64.New()
	missing.AddRange(uint64(from), uint64(next))
	if bm := s.sources[src]; bm != nil {
		missing.AndNot(bm)
	}
	var out RangeSet
	for it := missing.Iterator(); it.HasNext(); {
		o := int64(it.Next())
		if n := len(out); n > 0 && out[n-1].Next == o {
			out[n-1].Next++
			continue
		}
		out = append(out, Range{o, o + 1})
	}
	return out
}

// bitmapBytes is the bitmap in the portable format, with runs where they are
// smaller.
func bitmapBytes(bm *roaring64.Bitmap) []byte {
	bm.RunOptimize()
	b, err := bm.ToPortableBytes()
	if err != nil {
		panic(fmt.Sprintf("shardlog: a bitmap in memory cannot be written: %v", err))
	}
	return b
}

// readBitmap reads a bitmap from a record, which may be damaged.
func readBitmap(b []byte) (bm *roaring64.Bitmap, err error) {
	defer func() {
		// The library checks much, but not all, before it indexes.
		if r := recover(); r != nil {
			bm, err = nil, fmt.Errorf("no bitmap: %v", r)
		}
	}()
	bm = roaring64.New()
	n, err := bm.ReadPortableFrom(bytes.NewReader(b))
	switch {
	case err != nil:
		return nil, fmt.Errorf("no bitmap: %w", err)
	case n != int64(len(b)):
		return nil, fmt.Errorf("no bitmap: %d bytes behind its end", int64(len(b))-n)
	case bm.IsEmpty():
		return nil, fmt.Errorf("an empty bitmap")
	}
	if err := bm.Validate(); err != nil {
		return nil, fmt.Errorf("no bitmap: %w", err)
	}
	if bm.Maximum() > math.MaxInt64 {
		return nil, fmt.Errorf("offset %d in a bitmap", bm.Maximum())
	}
	return bm, nil
}
