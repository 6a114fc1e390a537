package plot

import "math"

// scale maps values to places on the picture.
type scale struct {
	from, to float64 // values
	a, b     float64 // places of from and to
	log      bool
}

func newScale(from, to float64, log bool, a, b float64) scale {
	if from == to { // one value alone: in the middle of something
		switch {
		case log:
			from, to = from/10, to*10
		case from == 0:
			to = 1
		case from > 0:
			from = 0
		default:
			to = 0
		}
	}
	return scale{from, to, a, b, log}
}

func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(v), math.Log10(from), math.Log10(to)
	}
	return s.a + (v-from)/(to-from)*(s.b-s.a)
}

// rounded reaches from a tick to a tick.
func (s scale) rounded() scale {
	if s.log {
		s.from = math.Pow(10, math.Floor(math.Log10(s.from)+1e-9))
		s.to = math.Pow(10, math.Ceil(math.Log10(s.to)-1e-9))
		return s
	}
	step := s.step(5)
	s.from, s.to = math.Floor(s.from/step+1e-9)*step, math.Ceil(s.to/step-1e-9)*step
	return s
}

// step is the distance of about n ticks: 1, 2 or 5 of a power of ten.
func (s scale) step(n int) float64 {
	rough := (s.to - s.from) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	switch r := rough / power; {
	case r <= 1:
		return power
	case r <= 2:
		return 2 * power
	case r <= 5:
		return 5 * power
	}
	return 10 * power
}

// ticks are round values within the scale, about n of them; of a logarithmic one the
// powers of ten.
func (s scale) ticks(n int) []float64 {
	var out []float64
	if s.log {
		first, last := math.Ceil(math.Log10(s.from)-1e-9), math.Floor(math.Log10(s.to)+1e-9)
		each := math.Max(1, math.Ceil((last-first)/float64(n)))
		for e := first; e <= last; e += each {
			out = append(out, math.Pow(10, e))
		}
		return out
	}
	step := s.step(n)
	for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+step*1e-9; i++ {
		out = append(out, i*step+0) // -0 becomes 0
	}
	return out
}
