package planner

import (
	"math"
	"slices"
	"time"
)

// Commit is what one commit of a shard holds of a tenant.
type Commit struct {
	At    time.Time // by the writer's clock
	Bytes int64
}

// Step is the time that a rate is taken over: as long as a small tenant waits for
// its commit.
const Step = time.Minute

// Rates is the bytes per second in each step of [from, now), the oldest first (it may
// be longer than the others), from one shard's commits, which it sorts. A commit holds what came
// since the one before, so its bytes are spread over that time: a tenant that is
// committed once a minute has no bursts.
func Rates(from, now time.Time, commits []Commit) []float64 {
	total := max(now.Sub(from), time.Second).Seconds()
	n := max(int(total/Step.Seconds()), 1)
	edge := func(m int) float64 {
		if m == 0 {
			return 0
		}
		return total - float64(n-m)*Step.Seconds()
	}
	out := make([]float64, n)
	slices.SortStableFunc(commits, func(a, b Commit) int { return a.At.Compare(b.At) })
	begin, end := 0.0, 0.0
	for _, c := range commits {
		// Commits of one time share a span. A clock that is off loses no bytes.
		if x := min(c.At.Sub(from).Seconds(), total); x > end {
			begin, end = end, x
		}
		if begin == end {
			out[0] += float64(c.Bytes)
			continue
		}
		for m := range out {
			if part := min(edge(m+1), end) - max(edge(m), begin); part > 0 {
				out[m] += float64(c.Bytes) * part / (end - begin)
			}
		}
	}
	for m := range out {
		out[m] /= edge(m+1) - edge(m)
	}
	return out
}

// halfLife is how long a tenant keeps half of a peak.
const halfLife = 10 * time.Minute

// Sizer turns a tenant's rates into its size: up at once, down slowly, so that a
// tenant that comes and goes keeps the shards that it needs when it comes.
type Sizer struct{ size float64 }

// Observe takes the bytes per second of the next time that lasted so long.
func (s *Sizer) Observe(rate float64, lasted time.Duration) {
	s.size = max(rate, s.size*math.Exp2(-lasted.Seconds()/halfLife.Seconds()))
}

// Size is in bytes per second, rounded up.
func (s *Sizer) Size() int64 { return int64(math.Ceil(s.size)) }

// Size is what the rates of a tenant's shards come to. They all end now; those that reach
// back farther count as they are.
func Size(shards ...[]float64) int64 {
	steps := 0
	for _, rates := range shards {
		steps = max(steps, len(rates))
	}
	var s Sizer
	for back := steps; back > 0; back-- {
		sum := 0.0
		for _, rates := range shards {
			if len(rates) >= back {
				sum += rates[len(rates)-back]
			}
		}
		s.Observe(sum, Step)
	}
	return s.Size()
}
