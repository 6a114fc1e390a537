package pick

import (
	"slices"

	"github.com/togodb/togo/internal/shardlog"
)

// span is a range of the sort key.
type span struct{ min, max string }

func spanOf(list []shardlog.Fragment) span {
	out := span{list[0].KeyMin, list[0].KeyMax}
	for i := range list {
		out.min, out.max = min(out.min, list[i].KeyMin), max(out.max, list[i].KeyMax)
	}
	return out
}

// overlaps says whether a fragment has keys within a span. To touch at a bound is not to overlap: outputs are
// cut within a key only when it has more rows than fit, and then nothing is won by merging them again.
// A fragment of about the target size that is all of one key can't become narrower, either.
func (s *sorted) overlaps(f *shardlog.Fragment, with span) bool {
	if f.KeyMin == f.KeyMax && !s.small(f.Bytes) {
		return false
	}
	return f.KeyMin < with.max && with.min < f.KeyMax || f.KeyMin == with.min && f.KeyMax == with.max
}

// overlapped parts a level by a span.
func (s *sorted) overlapped(level int, with span) (in, out []shardlog.Fragment) {
	for _, f := range s.level[level] {
		if s.overlaps(&f, with) {
			in = append(in, f)
		} else {
			out = append(out, f)
		}
	}
	return in, out
}

// weigh is what overlapped finds, in bytes and fragments.
func (s *sorted) weigh(level int, with span) (bytes int64, n int) {
	for i := range s.level[level] {
		if s.overlaps(&s.level[level][i], with) {
			bytes += s.level[level][i].Bytes
			n++
		}
	}
	return bytes, n
}

// capacity of a level: two of what comes from level 0 at a time, for level 1, and Ratio times
// that of the one before it for others. The last has no bound.
func (s *sorted) capacity(level int) int64 {
	if level >= s.Levels {
		return 1 << 62
	}
	n := 2 * s.TargetBytes
	for range level {
		n *= s.Ratio
	}
	return n
}

// levels is the one job that moves fragments on to a later level, or gathers them.
func (s *sorted) levels(quiet bool) []Job {
	if s.busy {
		return nil
	}
	why, due := WhyLevel, len(s.fresh) >= s.MaxInputs || total(s.fresh) >= s.Ratio*s.TargetBytes
	overlap := s.Overlap
	if !due && quiet {
		why, due = WhyLast, true
		overlap *= 4 // the last time that these are rewritten, most likely
	}
	stuck := false
	if due && len(s.fresh) > 0 {
		j, ok := s.push(overlap, why)
		if ok {
			return []Job{j}
		}
		stuck = why == WhyLevel // level 1 is in the way
	}
	for level := 1; level < s.Levels; level++ {
		if total(s.level[level]) > s.capacity(level) || stuck && level == 1 {
			if j, ok := s.piece(level); ok {
				return []Job{j}
			}
		}
	}
	if !quiet {
		return nil
	}
	if jobs := s.gather(s.fresh); len(jobs) > 0 {
		return jobs
	}
	for level := 1; level <= s.Levels; level++ {
		if j, ok := s.smooth(level); ok {
			return []Job{j}
		}
	}
	return nil
}

// push moves level 0 on: to the first level that holds it, as long as what is overlapped
// there is not more than overlap times what is on its way.
func (s *sorted) push(overlap int64, why Why) (Job, bool) {
	first, _ := s.overlapped(1, spanOf(s.fresh))
	inputs := s.largest(s.fresh, s.MaxInputs-len(first), s.MaxInputBytes-total(first))
	best, level := 0, 0
	for to := 1; to <= s.Levels && len(inputs) > 0; to++ {
		bytes := total(inputs)
		in, rest := s.overlapped(to, spanOf(inputs))
		if total(in) > overlap*bytes || bytes+total(in) > s.MaxInputBytes || len(inputs)+len(in) > s.MaxInputs {
			break
		}
		inputs = append(inputs, in...)
		best, level = len(inputs), to
		if total(inputs)+total(rest) <= s.capacity(to) {
			break
		}
	}
	if best < 2 {
		return Job{}, false
	}
	return s.job(inputs[:best], level, why), true
}

// largest are the largest fragments that together are no more than so many and so many bytes.
func (s *sorted) largest(list []shardlog.Fragment, count int, bytes int64) []shardlog.Fragment {
	var out []shardlog.Fragment
	for _, f := range slices.Backward(list) {
		if bytes -= f.Bytes; bytes >= 0 && len(out) < count {
			out = append(out, f)
		}
	}
	return out
}

// piece moves neighbours of a level on to the next: those that overlap least of it, but not so few that
// most is rewritten at their edges.
func (s *sorted) piece(level int) (Job, bool) {
	list := s.level[level]
	least := min(total(list), pieceTargets*s.TargetBytes)
	var best []shardlog.Fragment
	var bestMoved, bestRewritten int64
	for from := range list {
		for to := from + 1; to <= len(list); to++ {
			moving := list[from:to]
			moved := total(moving)
			if moved < least {
				continue
			}
			rewritten, n := s.weigh(level+1, spanOf(moving))
			if moved+rewritten > s.MaxInputBytes || len(moving)+n > s.MaxInputs {
				break
			}
			if rewritten > s.Overlap*moved || len(moving)+n < 2 {
				continue
			}
			// Least rewritten for what moves; of equals the most that moves.
			if bestMoved == 0 || rewritten*bestMoved < bestRewritten*moved || rewritten*bestMoved == bestRewritten*moved && moved > bestMoved {
				best, bestMoved, bestRewritten = moving, moved, rewritten
			}
		}
	}
	if bestMoved == 0 {
		return Job{}, false
	}
	in, _ := s.overlapped(level+1, spanOf(best))
	return s.job(slices.Concat(best, in), level+1, WhyLevel), true
}

// A piece of a level has at least so many targets: its edges hardly ever meet those of the next level.
const pieceTargets = 4

// smooth makes fewer of small fragments that are neighbours in a level, if that
// surely makes fewer.
func (s *sorted) smooth(level int) (Job, bool) {
	list := s.level[level]
	small := 0
	for _, f := range list {
		if s.small(f.Bytes) {
			small++
		}
	}
	if small <= 1 {
		return Job{}, false
	}
	for from := 0; from < len(list); from++ {
		var sum int64
		n, smalls := 0, 0
		for _, f := range list[from:] {
			if sum+f.Bytes > s.most() || n == s.MaxInputs {
				break
			}
			if s.small(f.Bytes) {
				smalls++
			}
			sum += f.Bytes
			n++
		}
		if n >= 2 && smalls >= 1 {
			j := s.job(list[from:from+n:from+n], level, WhyLast)
			j.TargetBytes = 2 * sum // one output, whatever the merge makes of its size
			return j, true
		}
	}
	return Job{}, false
}
