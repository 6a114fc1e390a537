// Package sketch keeps about what many values are in little memory: how many distinct ones there are, and their quantiles; for many
// groups at once, by number. A group of few values is exact.
package sketch

import (
	"github.com/axiomhq/hyperloglog"

	"github.com/togodb/togo/query/exec/memory"
)

// Distinct counts distinct hashes, by HyperLogLog with 2^14 registers: a standard error of 0.8%. Up to FewHashes it is exact.
type Distinct struct {
	of    []counter
	dense int // sketches that have all their registers
	meter *memory.Meter
}

// counter is one group's: a few hashes, and then a sketch.
type counter struct {
	few    []uint64
	sketch *hyperloglog.Sketch
	taken  int32 // bytes accounted
}

const (
	// FewHashes are counted exactly.
	FewHashes   = 32
	sketchBytes = 17 << 10
	// maxDense is how many sketches have all their registers from the start, which makes them fast; further ones start sparse.
	maxDense = 4096
)

// NewDistinct makes one without groups.
func NewDistinct(m *memory.Meter) *Distinct { return &Distinct{meter: m} }

// Grow makes room for groups up to total.
func (s *Distinct) Grow(total int) error {
	if total <= len(s.of) {
		return nil
	}
	have := cap(s.of)
	s.of = append(s.of, make([]counter, total-len(s.of))...)
	return s.meter.Take(int64(cap(s.of)-have) * 40)
}

// Add adds a hash to a group.
func (s *Distinct) Add(group uint32, h uint64) error { return s.insert(&s.of[group], h) }

func (s *Distinct) insert(c *counter, h uint64) error {
	if c.sketch == nil {
		for _, have := range c.few {
			if have == h {
				return nil
			}
		}
		if len(c.few) < FewHashes {
			if len(c.few) == cap(c.few) {
				if err := s.take(c, 8*max(4, len(c.few))); err != nil {
					return err
				}
			}
			c.few = append(c.few, h)
			return nil
		}
		if err := s.start(c); err != nil {
			return err
		}
	}
	c.sketch.InsertHash(h)
	if c.taken < sketchBytes {
		return s.take(c, 8)
	}
	return nil
}

func (s *Distinct) take(c *counter, n int) error {
	c.taken += int32(n)
	return s.meter.Take(int64(n))
}

// start turns the hashes into a sketch.
func (s *Distinct) start(c *counter) error {
	size := 1 << 10
	if s.dense < maxDense {
		s.dense++
		size = sketchBytes
		c.sketch = hyperloglog.NewNoSparse()
	} else {
		c.sketch = hyperloglog.New14()
	}
	for _, h := range c.few {
		c.sketch.InsertHash(h)
	}
	c.few = nil
	return s.take(c, size)
}

// Merge adds another one's groups: its group g is to[g] here. The other is not used after it.
func (s *Distinct) Merge(other *Distinct, to []uint32) error {
	for g, c := range other.of {
		at := &s.of[to[g]]
		if c.sketch != nil && at.sketch == nil {
			*at, c = c, *at
		}
		for _, h := range c.few {
			if err := s.insert(at, h); err != nil {
				return err
			}
		}
		if c.sketch == nil {
			continue
		}
		if err := at.sketch.Merge(c.sketch); err != nil {
			panic("sketch: sketches of one kind do not merge: " + err.Error())
		}
	}
	return nil
}

// Count is about how many distinct hashes a group has.
func (s *Distinct) Count(group int) int64 {
	c := &s.of[group]
	if c.sketch != nil {
		return int64(c.sketch.Estimate())
	}
	return int64(len(c.few))
}
