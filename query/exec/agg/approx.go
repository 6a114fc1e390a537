package agg

import (
	"math"

	"github.com/axiomhq/hyperloglog"
	"github.com/influxdata/tdigest"
	"github.com/zeebo/xxh3"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// approxCount is approx_count_distinct, by HyperLogLog with 2^14 registers: a standard error of 0.8%. Up to fewHashes it is exact.
type approxCount struct {
	of    []counter
	dense int         // sketches that have all their registers
	dict  *vec.Vector // the dictionary seen last
	seen  []bool      // entries of it that are in group 0
	meter *memory.Meter
}

// counter is one group's: a few hashes, and then a sketch.
type counter struct {
	few    []uint64
	sketch *hyperloglog.Sketch
	taken  int32 // bytes accounted
}

const (
	fewHashes   = 32
	sketchBytes = 17 << 10
	// maxDense is how many sketches have all their registers from the start, which makes them fast; further ones start sparse.
	maxDense = 4096
)

func (s *approxCount) grow(total int) (err error) {
	s.of, err = grow(s.of, total, counter{}, 40, s.meter)
	return err
}

func (s *approxCount) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := s.grow(total); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0]
	in := v.Values()
	once := groups == nil && v.Dict != nil
	if once && s.dict != v.Dict {
		s.dict, s.seen = v.Dict, make([]bool, v.Dict.Len)
	}
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		at := v.Index(i)
		if once {
			if s.seen[at] {
				continue
			}
			s.seen[at] = true
		}
		if err := s.insert(&s.of[group(groups, i)], hash(in, at)); err != nil {
			return err
		}
		if v.Const && groups == nil {
			break
		}
	}
	return nil
}

func (s *approxCount) insert(c *counter, h uint64) error {
	if c.sketch == nil {
		for _, have := range c.few {
			if have == h {
				return nil
			}
		}
		if len(c.few) < fewHashes {
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

func (s *approxCount) take(c *counter, n int) error {
	c.taken += int32(n)
	return s.meter.Take(int64(n))
}

// start turns the hashes into a sketch.
func (s *approxCount) start(c *counter) error {
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

// hash is the same in every run and process, so that answers are.
func hash(v *vec.Vector, i int) uint64 {
	switch {
	case v.Ints != nil:
		return mix(uint64(v.Ints[i]))
	case v.Doubles != nil:
		f := v.Doubles[i]
		if f == 0 {
			f = 0 // -0 is 0
		}
		if f != f {
			f = math.NaN()
		}
		return mix(math.Float64bits(f))
	case v.Texts != nil:
		return xxh3.HashString(v.Texts[i])
	}
	s := v.Intervals[i]
	return mix(uint64(s.Nanos) ^ mix(uint64(s.Months)<<32^uint64(uint32(s.Days))))
}

// mix is the finalizer of MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func (s *approxCount) Merge(other State, to []uint32, total int) error {
	if err := s.grow(total); err != nil {
		return err
	}
	for g, c := range other.(*approxCount).of {
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
			panic("agg: sketches of one kind do not merge: " + err.Error())
		}
	}
	return nil
}

func (s *approxCount) Result(from, to, total int) (*vec.Vector, error) {
	if err := s.grow(total); err != nil {
		return nil, err
	}
	out := vec.New(vec.Int, to-from)
	for i := range out.Ints {
		c := &s.of[from+i]
		out.Ints[i] = int64(len(c.few))
		if c.sketch != nil {
			out.Ints[i] = int64(c.sketch.Estimate())
		}
	}
	return out, nil
}

// approxQuantile is approx_quantile, by t-digests: near the ends of the distribution within 0.1% of the rank, in
// its middle within 1%. Groups of few values are exact.
type approxQuantile struct {
	q     float64
	out   vec.Type
	of    []digest
	meter *memory.Meter
}

type digest struct {
	few    []float64
	sketch *tdigest.TDigest
}

const (
	fewValues   = 256
	compression = 200
	digestBytes = 40 << 10
)

func (s *approxQuantile) Add(groups []uint32, n int, args []*vec.Vector, total int) (err error) {
	if s.of, err = grow(s.of, total, digest{}, 32, s.meter); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0].Flat()
	for i := range n {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		x := 0.0
		if v.Ints != nil {
			x = float64(v.Ints[i])
		} else {
			x = v.Doubles[i]
		}
		if math.IsNaN(x) {
			continue
		}
		if err := s.add(&s.of[group(groups, i)], x, 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *approxQuantile) add(d *digest, x, weight float64) error {
	if d.sketch == nil && weight == 1 && len(d.few) < fewValues {
		if len(d.few) == cap(d.few) {
			more := max(8, 2*cap(d.few))
			if err := s.meter.Take(int64(more-cap(d.few)) * 8); err != nil {
				return err
			}
			d.few = append(make([]float64, 0, more), d.few...)
		}
		d.few = append(d.few, x)
		return nil
	}
	if d.sketch == nil {
		if err := s.meter.Take(digestBytes); err != nil {
			return err
		}
		d.sketch = tdigest.NewWithCompression(compression)
		for _, y := range d.few {
			d.sketch.Add(y, 1)
		}
		d.few = nil
	}
	d.sketch.Add(x, weight)
	return nil
}

func (s *approxQuantile) Merge(other State, to []uint32, total int) (err error) {
	if s.of, err = grow(s.of, total, digest{}, 32, s.meter); err != nil {
		return err
	}
	for g, d := range other.(*approxQuantile).of {
		at := &s.of[to[g]]
		for _, x := range d.few {
			if err := s.add(at, x, 1); err != nil {
				return err
			}
		}
		if d.sketch == nil {
			continue
		}
		if at.sketch == nil {
			at.sketch, d = d.sketch, digest{few: at.few}
			at.few = nil
			for _, x := range d.few {
				at.sketch.Add(x, 1)
			}
			continue
		}
		for _, c := range d.sketch.Centroids() {
			at.sketch.AddCentroid(c)
		}
	}
	return nil
}

func (s *approxQuantile) Result(from, to, total int) (_ *vec.Vector, err error) {
	if s.of, err = grow(s.of, total, digest{}, 32, s.meter); err != nil {
		return nil, err
	}
	out := vec.Nulls(s.out, to-from)
	for i := range out.Nulls {
		d := &s.of[from+i]
		x := 0.0
		switch {
		case d.sketch != nil:
			x = d.sketch.Quantile(s.q)
		case len(d.few) > 0:
			low, high, part := newFraction(s.q).between(len(d.few))
			rows.Pick(d.few, low)
			x = d.few[low]
			if high > low {
				x = blend(x, least(d.few[high:]), part)
			}
		default:
			continue
		}
		out.Nulls[i] = false
		if s.out == vec.Double {
			out.Doubles[i] = x
		} else {
			out.Ints[i] = int64(math.Round(x))
		}
	}
	return out, nil
}

func least(values []float64) float64 {
	x := values[0]
	for _, y := range values[1:] {
		x = min(x, y)
	}
	return x
}
