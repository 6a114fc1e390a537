package pick

import "github.com/togodb/togo/internal/shardlog"

// tiers are the merges of similar size among fragments of level 0, which ascend in
// size. Each makes one fragment of about the target size, or a smaller one that is at
// least Ratio times its largest input; so a row takes part in few of them.
func (s *sorted) tiers(list []shardlog.Fragment) []Job {
	var jobs []Job
	for {
		n := s.tier(sizes(list))
		if n == 0 {
			return jobs
		}
		jobs = append(jobs, s.job(list[:n:n], 0, WhyTier))
		list = list[n:]
	}
}

// gather is the last merge of small fragments among themselves.
func (s *sorted) gather(list []shardlog.Fragment) []Job {
	n := s.rest(sizes(list))
	if n < 2 {
		return nil
	}
	return []Job{s.job(list[:n:n], 0, WhyLast)}
}

func sizes(list []shardlog.Fragment) []int64 {
	out := make([]int64, len(list))
	for i, f := range list {
		out[i] = f.Bytes
	}
	return out
}

// tier is how many of the smallest make a merge of similar size; 0: they wait. When more wait than
// one job may read, what makes a whole target does not wait for its like: so much is
// written anew once at most. sizes ascend.
func (p Policy) tier(sizes []int64) int {
	best := 0
	var sum int64
	crowded := len(sizes) >= p.MaxInputs
	for i, n := range sizes {
		sum += n
		if i >= p.MaxInputs || !p.small(n) || sum > p.most() {
			break
		}
		if crowded && i > 1 && sum >= p.TargetBytes {
			return i + 1
		}
		if i >= p.Fanin && sum > p.TargetBytes {
			break
		}
		if i+1 >= p.Fanin && sum >= p.Ratio*n {
			best = i + 1
		}
	}
	return best
}

// rest is how many of the smallest make one in a last merge, less than 2 if none do. Its largest is no more than
// Ratio times all smaller ones together, so that rows which come late a few at a time are not
// written anew more than about Ratio times; sizes ascend.
func (p Policy) rest(sizes []int64) int {
	best := 0
	var sum int64
	for i, n := range sizes {
		if i >= p.MaxInputs || !p.small(n) || sum+n > p.most() {
			break
		}
		if i > 0 && n <= p.Ratio*sum {
			best = i + 1
		}
		sum += n
	}
	return best
}

// most is how large one output of about the target size may be.
func (p Policy) most() int64 { return min(p.TargetBytes*3/2, p.MaxInputBytes) }
