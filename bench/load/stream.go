package load

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Event is one event. Its bytes are the stream's until the next call, unless room was given for Value.
type Event struct {
	Tenant    string
	Rank      int // of the tenant: 0 sends most
	Value     []byte
	ID        []byte // a part of Value
	Timestamp time.Time
	Duplicate bool // a copy of an earlier event
	Late      bool
}

// Stream makes a workload's events in order.
type Stream struct {
	w         *Workload
	seed      uint64
	begin     int64 // nanoseconds
	step      int64 // nanoseconds from event to event
	templates []template
	tenants   []string
	alias     []alias
	next      uint64
}

// fastest is the rate that times of events go by where the load goes as fast as it can: then they never lie in the future.
const fastest = 1_000_000

// Events starts at the first event, whose time is begin.
func (w *Workload) Events(seed uint64, begin time.Time) *Stream {
	rate := float64(w.Rate)
	if rate == 0 {
		rate = fastest
	}
	s := &Stream{
		w: w, seed: mix(seed + 1), begin: begin.Truncate(time.Microsecond).UnixNano(), step: int64(1e9 / rate),
		alias: aliases(w.Tenants, w.Skew),
	}
	for i := range w.Tenants {
		s.tenants = append(s.tenants, TenantName(i))
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range w.Event.Templates {
		s.templates = append(s.templates, newTemplate(rng, w.Event))
	}
	return s
}

// TenantName is the name of the tenant of a rank.
func TenantName(rank int) string { return fmt.Sprintf("tenant-%05d", rank) }

// Next is the next event; its payload is appended to room, which may be nil.
func (s *Stream) Next(room []byte) Event {
	n := s.next
	s.next++
	return s.At(n, room)
}

// At is the n-th event, from 0 on.
func (s *Stream) At(n uint64, room []byte) Event {
	original := s.original(n)
	e := s.fresh(original, room)
	e.Duplicate = original != n
	return e
}

// original is the event that the n-th one is a copy of, or n.
func (s *Stream) original(n uint64) uint64 {
	for s.w.Duplicates.Share > 0 && n > 0 {
		r := mix(s.seed ^ n*0xa0761d6478bd642f)
		if unit(r) >= s.w.Duplicates.Share {
			break
		}
		n -= min(s.back(mix(r)), n)
	}
	return n
}

// back is how far behind its original a copy lies: each power of two is as likely as the next. Whole numbers alone decide it,
// so that all machines agree.
func (s *Stream) back(r uint64) uint64 {
	most := uint64(s.w.Duplicates.Distance)
	power := uint64(1) << bounded(r, bits.Len64(most))
	return min(power+uint64(bounded(mix(r), int(power))), most)
}

// fresh makes the event that n stands for if it is no copy.
func (s *Stream) fresh(n uint64, room []byte) Event {
	r := source(mix(s.seed + n*0x9e3779b97f4a7c15))
	rank := s.rank(r.next(), r.next())
	at := s.begin + int64(n)*s.step
	late := s.w.Late.Share > 0 && unit(r.next()) < s.w.Late.Share
	if late {
		at -= int64(unit(r.next())*float64(s.w.Late.By)) / 1000 * 1000
	}
	t := &s.templates[bounded(r.next(), len(s.templates))]
	start := len(room)
	body := append(room, t.body...)
	value := body[start:]
	t.fill(value, &r, n, at)
	return Event{
		Tenant: s.tenants[rank], Rank: rank, Value: value, ID: value[t.id : t.id+idDigits],
		Timestamp: time.Unix(0, at).UTC(), Late: late,
	}
}

func (s *Stream) rank(a, b uint64) int {
	i := bounded(a, len(s.alias))
	if unit(b) < s.alias[i].keep {
		return i
	}
	return s.alias[i].other
}

// alias is a slot of Vose's alias method: i itself with the probability keep, else other.
type alias struct {
	keep  float64
	other int
}

func aliases(n int, skew float64) []alias {
	weights := make([]float64, n)
	sum := 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -skew)
		sum += weights[i]
	}
	out := make([]alias, n)
	var small, large []int
	for i := range weights {
		weights[i] *= float64(n) / sum
		if weights[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		lo, hi := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		out[lo] = alias{weights[lo], hi}
		weights[hi] -= 1 - weights[lo]
		if weights[hi] < 1 {
			large = large[:len(large)-1]
			small = append(small, hi)
		}
	}
	for _, i := range append(small, large...) {
		out[i] = alias{1, i}
	}
	return out
}

// source is a generator of random numbers (splitmix64) that starts anywhere for free.
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	return mix(uint64(*s))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit is from 0 to below 1.
func unit(r uint64) float64 { return float64(r>>11) / (1 << 53) }

// bounded is from 0 to below n.
func bounded(r uint64, n int) int {
	hi, _ := bits.Mul64(r, uint64(n))
	return int(hi)
}
