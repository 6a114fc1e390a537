package sketch

import (
	"math"
	"slices"

	"github.com/influxdata/tdigest"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
)

// Quantiles keeps t-digests: a quantile is within 1% of the rank in the middle of the distribution, and much nearer at its ends.
// Groups of few values are exact.
type Quantiles struct {
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

// NewQuantiles makes one without groups.
func NewQuantiles(m *memory.Meter) *Quantiles { return &Quantiles{meter: m} }

// Grow makes room for groups up to total.
func (s *Quantiles) Grow(total int) error {
	if total <= len(s.of) {
		return nil
	}
	have := cap(s.of)
	s.of = append(s.of, make([]digest, total-len(s.of))...)
	return s.meter.Take(int64(cap(s.of)-have) * 32)
}

// Add adds a value, which is a number, to a group.
func (s *Quantiles) Add(group uint32, x float64) error { return s.add(&s.of[group], x, 1) }

func (s *Quantiles) add(d *digest, x, weight float64) error {
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

// Merge adds another one's groups: its group g is to[g] here. The other is not used after it.
func (s *Quantiles) Merge(other *Quantiles, to []uint32) error {
	for g, d := range other.of {
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

// Quantile is about the value below which the part q of a group lies; ok is false if the group is empty.
func (s *Quantiles) Quantile(group int, q float64) (x float64, ok bool) {
	d := &s.of[group]
	switch {
	case d.sketch != nil:
		return d.sketch.Quantile(q), true
	case len(d.few) == 0:
		return 0, false
	}
	at := float64(len(d.few)-1) * q
	low := int(math.Floor(at))
	rows.Pick(d.few, low)
	x = d.few[low]
	if part := at - float64(low); part > 0 {
		x = x*(1-part) + slices.Min(d.few[low+1:])*part
	}
	return x, true
}
