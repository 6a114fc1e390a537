package shardlog

import (
	"fmt"
	"slices"
)

// RangeSet is a set of offsets as ascending, disjoint, non-empty ranges that do
// not touch: the one form of a set, so that equal sets are equal slices. The
// functions below take such sets and return such sets; they never change their
// arguments.
type RangeSet = []Range

// Len is the number of offsets in the range.
func (r Range) Len() int64 { return r.Next - r.From }

func (r Range) String() string {
	if r.Next == r.From+1 {
		return fmt.Sprintf("%d", r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.Next-1)
}

// NormalRanges makes a set of ranges in any order; empty ones vanish.
func NormalRanges(ranges []Range) RangeSet {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b Range) int {
		if a.From != b.From {
			if a.From < b.From {
				return -1
			}
			return 1
		}
		return 0
	})
	var out RangeSet
	for _, r := range sorted {
		if r.Next <= r.From {
			continue
		}
		if n := len(out); n > 0 && r.From <= out[n-1].Next {
			out[n-1].Next = max(out[n-1].Next, r.Next)
			continue
		}
		out = append(out, r)
	}
	return out
}

// IsRangeSet says whether ranges are in the form of a set, and not negative.
func IsRangeSet(ranges []Range) bool {
	for i, r := range ranges {
		if r.From < 0 || r.Next <= r.From || i > 0 && r.From <= ranges[i-1].Next {
			return false
		}
	}
	return true
}

// AddRanges is the union of two sets.
func AddRanges(a, b RangeSet) RangeSet {
	out := make(RangeSet, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		var r Range
		if len(b) == 0 || len(a) > 0 && a[0].From <= b[0].From {
			r, a = a[0], a[1:]
		} else {
			r, b = b[0], b[1:]
		}
		if n := len(out); n > 0 && r.From <= out[n-1].Next {
			out[n-1].Next = max(out[n-1].Next, r.Next)
			continue
		}
		out = append(out, r)
	}
	return out
}

// SubtractRanges is the set of a's offsets that are not in b.
func SubtractRanges(a, b RangeSet) RangeSet {
	out := make(RangeSet, 0, len(a)+len(b))
	for _, r := range a {
		for len(b) > 0 && b[0].Next <= r.From {
			b = b[1:]
		}
		for rest := b; len(rest) > 0 && rest[0].From < r.Next; rest = rest[1:] {
			if rest[0].From > r.From {
				out = append(out, Range{r.From, rest[0].From})
			}
			r.From = min(r.Next, rest[0].Next)
		}
		if r.From < r.Next {
			out = append(out, r)
		}
	}
	return out
}

// IntersectRanges is the set of offsets that are in both.
func IntersectRanges(a, b RangeSet) RangeSet {
	var out RangeSet
	for len(a) > 0 && len(b) > 0 {
		from, next := max(a[0].From, b[0].From), min(a[0].Next, b[0].Next)
		if from < next {
			out = append(out, Range{from, next})
		}
		if a[0].Next < b[0].Next {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// ContainsOffset says whether offset is in the set.
func ContainsOffset(set RangeSet, offset int64) bool {
	_, in := slices.BinarySearchFunc(set, offset, func(r Range, o int64) int {
		switch {
		case r.Next <= o:
			return -1
		case r.From > o:
			return 1
		}
		return 0
	})
	return in
}

// CoversRanges says whether every offset of sub is in set.
func CoversRanges(set, sub RangeSet) bool { return len(SubtractRanges(sub, set)) == 0 }

// CountRanges is the number of offsets in the set.
func CountRanges(set RangeSet) int64 {
	var n int64
	for _, r := range set {
		n += r.Len()
	}
	return n
}
